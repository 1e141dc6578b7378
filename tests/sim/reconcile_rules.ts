/**
 * What must hold of reconciles: never two of one key at once, never without a pause, none when
 * nothing asks for one, and a queue that is empty in the end.
 *
 * @module
 */

import type { ControllerObserver } from "../../lib/controller/controller.ts";
import type { Reason, WorkqueueObserver } from "../../lib/controller/workqueue.ts";
import type { World } from "../../lib/simulator/mod.ts";
import { at, controllingFoo, DEPLOYMENTS_TABLE, FOOS_TABLE } from "./tables.ts";

/**
 * Most reconciles of one key in one simulated second. Eight retries fit into the first second of a
 * backoff from 5 ms, four looks at a lagging cache, and one for each change.
 */
const RECONCILES_PER_SECOND_MAX = 40;

/** Least pause after a first failure, in milliseconds; it doubles with each. */
const RETRY_FIRST_MS = 5;

/** Up to which pause that is judged, in milliseconds: below every ceiling. */
const RETRY_LEAST_MAX_MS = 60_000;

/** Judges the reconciles of one life of the operator. */
export class ReconcileRules {
  readonly queue: WorkqueueObserver;
  readonly controller: ControllerObserver;
  readonly #world: World;
  readonly #running = new Set<string>();
  /** Keys that need work and that no worker has. */
  readonly #waiting = new Set<string>();
  readonly #counts = new Map<string, { second: number; count: number }>();
  /** When each of the failures in a row of a key was, with nothing else in between. */
  readonly #failedAtMs = new Map<string, number[]>();

  /** `resyncMs` is how often each Foo is looked at without a reason; 0: never. */
  constructor(world: World, { resyncMs }: { resyncMs: number }) {
    this.#world = world;
    this.queue = {
      added: ({ key }) => void this.#waiting.add(key),
      taken: ({ key }) => void this.#waiting.delete(key),
      released: () => {},
      retried: () => {},
    };
    this.controller = {
      started: () => {},
      reconcileStarted: ({ key, reasons }) => {
        world.trace.add(`reconcile ${key}`);
        if (this.#running.has(key)) world.fail(`${key} is in two workers`);
        this.#running.add(key);
        this.#count(key);
        this.#judgePause(key, reasons);
        if (world.phase === "quiet" && resyncMs === 0 && !this.#isBlocked(key)) {
          world.fail(`${key} is looked at though nothing happened`);
        }
      },
      reconcileEnded: ({ key, outcome }) => {
        world.trace.add(`reconciled ${key} ${outcome.type}`);
        this.#running.delete(key);
        if (outcome.type !== "failed") return void this.#failedAtMs.delete(key);
        const before = this.#failedAtMs.get(key) ?? [];
        this.#failedAtMs.set(key, [...before, world.clock.monotonicMs()]);
      },
    };
  }

  /**
   * A retry that nothing but a failure asked for comes after a pause, which doubles. Counted from the
   * failure before the last: a retry may come due while the key is in work for another reason.
   */
  #judgePause(key: string, reasons: readonly Reason[]): void {
    const failedAtMs = this.#failedAtMs.get(key) ?? [];
    if (reasons.some(({ type }) => type !== "retry")) {
      this.#failedAtMs.delete(key); // a change may start the delays anew
      return;
    }
    const count = failedAtMs.length;
    const sinceMs = failedAtMs[count - 2];
    if (sinceMs === undefined) return;
    const pauseMs = this.#world.clock.monotonicMs() - sinceMs;
    if (pauseMs < Math.min(RETRY_LEAST_MAX_MS, RETRY_FIRST_MS * 2 ** (count - 2))) {
      this.#world.fail(`${key} is tried again ${pauseMs} ms after failure ${count - 1}`);
    }
  }

  /** What is still to be done. */
  missing(): string[] {
    const problems = [...this.#waiting].map((key) => `${key} waits in the queue`);
    return [...problems, ...[...this.#running].map((key) => `${key} is in a worker's hands`)];
  }

  #count(key: string): void {
    const second = Math.floor(this.#world.clock.monotonicMs() / 1000);
    const known = this.#counts.get(key);
    const count = known?.second === second ? known.count + 1 : 1;
    this.#counts.set(key, { second, count });
    if (count === RECONCILES_PER_SECOND_MAX + 1) {
      this.#world.fail(
        `${key} is reconciled more than ${RECONCILES_PER_SECOND_MAX} times a second`,
      );
    }
  }

  /** One whose name is taken is looked at now and then: nobody tells when the obstacle goes. */
  #isBlocked(key: string): boolean {
    const { storage } = this.#world.server;
    const foo = storage.find(FOOS_TABLE, key);
    const name = at(foo, "spec", "deploymentName");
    const found = storage.find(DEPLOYMENTS_TABLE, `${foo?.metadata.namespace}/${name}`);
    return found !== undefined && controllingFoo(found) !== foo?.metadata.uid;
  }
}

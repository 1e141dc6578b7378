/**
 * What must hold of reconciles: never two of one key at once, never without a pause, none when
 * nothing asks for one, and a queue that is empty in the end.
 *
 * @module
 */

import type { ControllerObserver } from "../../lib/controller/controller.ts";
import type { WorkqueueObserver } from "../../lib/controller/workqueue.ts";
import type { World } from "../../lib/simulator/mod.ts";
import { at, FOOS_TABLE } from "./tables.ts";

/**
 * Most reconciles of one key in one simulated second. Eight retries fit into the first second of a
 * backoff from 5 ms, four looks at a lagging cache, and one for each change.
 */
const RECONCILES_PER_SECOND_MAX = 40;

/** Judges the reconciles of one life of the operator. */
export class ReconcileRules {
  readonly queue: WorkqueueObserver;
  readonly controller: ControllerObserver;
  readonly #world: World;
  readonly #running = new Set<string>();
  /** Keys that need work and that no worker has. */
  readonly #waiting = new Set<string>();
  readonly #counts = new Map<string, { second: number; count: number }>();

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
      reconcileStarted: ({ key }) => {
        world.trace.add(`reconcile ${key}`);
        if (this.#running.has(key)) world.fail(`${key} is in two workers`);
        this.#running.add(key);
        this.#count(key);
        if (world.phase === "quiet" && resyncMs === 0 && !this.#isBlocked(key)) {
          world.fail(`${key} is looked at though nothing happened`);
        }
      },
      reconcileEnded: ({ key, outcome }) => {
        world.trace.add(`reconciled ${key} ${outcome.type}`);
        this.#running.delete(key);
      },
    };
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
    const conditions = at(this.#world.server.storage.find(FOOS_TABLE, key), "status", "conditions");
    return Array.isArray(conditions) &&
      conditions.some((each) => at(each, "reason") === "ErrResourceExists");
  }
}

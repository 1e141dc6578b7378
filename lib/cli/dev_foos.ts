/**
 * Watches how the Foos of a cluster fare, to tell a person when one is as it should be.
 *
 * @module
 */

import { SharedInformer } from "../cache/shared_informer.ts";
import type { Client } from "../client/client.ts";
import type { Clock, Random } from "../core/clock.ts";
import { silentLogger } from "../core/log.ts";
import { keyOf, type ObjectKey } from "../core/objects.ts";
import { runTogether, unlessAborted } from "../core/tasks.ts";
import { type Foo, FOO_CRD_NAME, FOOS } from "../foo/schema.ts";
import { readyConditionOf } from "../foo/status.ts";

/**
 * How long a Foo must have been ready to be told of, in milliseconds. The operator's own lines come by
 * another way, its output, and what it did is to be read before what came of it.
 */
export const READY_FOR_MS = 150;

/** Where and how to look. */
export interface FollowOptions {
  readonly client: Client;
  /** Told of each Foo that became ready, or is so again for a new spec. */
  readonly onReady: (foo: Foo) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * Follows the Foos of all namespaces until aborted. Foos that were ready before are not told, nor
 * those that are ready for a moment only.
 */
export async function followFoos(options: FollowOptions): Promise<void> {
  const { client, onReady, clock, random, signal } = options;
  const readyOnes = new ReadyOnes({ clock, onReady });
  const informer = new SharedInformer({
    name: FOO_CRD_NAME,
    source: client.resource(FOOS).listWatch({}),
    clock,
    random,
    // The operator has the same troubles with the same server, and tells of them.
    log: silentLogger,
  });
  using _handler = informer.addHandler({
    onChange(change) {
      if (change.type === "deleted" || (change.type === "added" && change.initial)) return;
      const { object } = change;
      const wasReady = change.type === "updated" && isConverged(change.previous) &&
        change.previous.metadata.generation === object.metadata.generation;
      if (isConverged(object) && !wasReady) readyOnes.add(object);
    },
  }, { name: "dev" });
  await runTogether({
    informer: (stop) => informer.run({ signal: stop }),
    teller: (stop) => readyOnes.tell((key) => informer.lister.find(key), { signal: stop }),
  }, { signal });
}

/** Foos that became ready, until that has lasted. */
class ReadyOnes {
  readonly #options: Pick<FollowOptions, "clock" | "onReady">;
  /** Until when each must stay so, the first one first. */
  readonly #waiting = new Map<ObjectKey, { readonly foo: Foo; readonly dueMs: number }>();
  #arrived = Promise.withResolvers<void>();

  constructor(options: Pick<FollowOptions, "clock" | "onReady">) {
    this.#options = options;
  }

  add(foo: Foo): void {
    const key = keyOf(foo.metadata);
    // Deleted first, so that it goes to the end.
    this.#waiting.delete(key);
    this.#waiting.set(key, { foo, dueMs: this.#options.clock.monotonicMs() + READY_FOR_MS });
    this.#arrived.resolve();
  }

  /** Tells of them in order, until aborted. */
  async tell(
    find: (key: ObjectKey) => Foo | undefined,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const { clock, onReady } = this.#options;
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined) {
        this.#arrived = Promise.withResolvers();
        await unlessAborted(this.#arrived.promise, signal);
        continue;
      }
      const [key, { foo, dueMs }] = first;
      const leftMs = dueMs - clock.monotonicMs();
      if (leftMs > 0) {
        await clock.sleep(leftMs, { signal });
        continue;
      }
      this.#waiting.delete(key);
      const now = find(key);
      if (now?.metadata.uid === foo.metadata.uid && isConverged(now)) onReady(now);
    }
  }
}

/**
 * True if the operator has seen the Foo's present spec, and the Pods that it asks for are there and no
 * others: `Ready` itself is content with more.
 */
export function isConverged(foo: Foo): boolean {
  const { metadata: { generation }, spec: { replicas }, status } = foo;
  return status?.observedGeneration === generation && readyConditionOf(foo)?.status === "True" &&
    (replicas === undefined || status?.availableReplicas === replicas);
}

/**
 * Finds keys that a worker does not let go of (field case Q1).
 *
 * A controller cuts a reconcile at its deadline, so a stuck key frees itself in the end; this tells
 * earlier, and also where somebody turned the deadline off or works on a queue without a controller.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { assert } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { RunningKey } from "./workqueue_options.ts";

/**
 * A key held this long is told of unless told otherwise, in milliseconds: half the default deadline
 * of a reconcile, and five times the longest request.
 */
export const STUCK_AFTER_MS = 5 * 60_000;

/** What {@linkcode watchStuckKeys} needs. */
export interface StuckKeysOptions {
  /** Whose workers are watched: a workqueue. */
  readonly queue: { readonly name: string; running(): readonly RunningKey<string>[] };
  /** A hold longer than this is told of, in milliseconds. @default {300_000} */
  readonly afterMs?: number;
  /** Times the looks. */
  readonly clock: Clock;
  /** Gets one line for each such hold. */
  readonly log: Logger;
  /** Told once for each such hold, for counting. What it throws ends the watch. @default none */
  readonly onStuck?: (stuck: RunningKey<string>) => void;
}

/**
 * Tells once of each hold of a key that lasts longer than `afterMs`, at most a quarter of that late.
 * Ends when `signal` aborts, by rejecting with its reason, as a task of `runTogether` may.
 *
 * @throws {AssertionError} If `afterMs` is not above 0.
 */
export async function watchStuckKeys(
  { queue, afterMs = STUCK_AFTER_MS, clock, log, onStuck }: StuckKeysOptions,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  assert(afterMs > 0, `no key is stuck after ${afterMs} ms`);
  let told = new Set<string>();
  for (;;) {
    // Shorter than `afterMs`, so a key that was let go and taken again is seen as young in between.
    await clock.sleep(afterMs / 4, { signal });
    const stuck = queue.running().filter(({ forMs }) => forMs > afterMs);
    for (const hold of stuck.filter(({ key }) => !told.has(key))) {
      log.warn("A key is stuck with its worker", { queue: queue.name, ...hold });
      onStuck?.(hold);
    }
    told = new Set(stuck.map(({ key }) => key));
  }
}

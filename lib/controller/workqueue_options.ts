/**
 * What goes into a workqueue and comes out of it, apart from the queue itself: what a caller reads.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { RateLimiter } from "../core/rate_limiter.ts";
import type { Priority } from "./ready_keys.ts";
import type { Reason } from "./reasons.ts";

/**
 * Hears what a queue does, for the metrics named on each hook. Gauges are not told but read, when
 * someone asks for them: `Workqueue.depth`, `.depthOf()`, `.unfinishedMs`, `.longestRunningMs`.
 *
 * Called synchronously, after the queue's state changed. What a hook throws is logged and dropped.
 */
export interface WorkqueueObserver {
  /** A key needs work from now on (not: waits for later): `workqueue_adds_total`. */
  added(event: { queue: string; key: string; priority: Priority }): void;
  /**
   * A worker took a key `waitedMs` after it was first added: `workqueue_queue_duration_seconds`.
   * Time spent waiting for later does not count, time spent dirty in another worker's hands does.
   */
  taken(event: { queue: string; key: string; priority: Priority; waitedMs: number }): void;
  /** A worker released a key after `workedMs`: `workqueue_work_duration_seconds`. */
  released(event: { queue: string; key: string; workedMs: number }): void;
  /** A key was added for later, with a delay above 0: `workqueue_retries_total`. */
  retried(event: { queue: string; key: string; delayMs: number }): void;
}

/** How, and why, a key is added. */
export interface AddOptions {
  /** How urgent it is. A key that waits as low and is added as normal moves up. @default {"normal"} */
  readonly priority?: Priority;
  /** Why it is added; kept for the one who takes it, within bounds. @default none */
  readonly reason?: Reason;
}

/** A key in a worker's hands. Disposing releases it; a second time does nothing. */
export interface WorkItem<K> extends Disposable {
  /** The key to work on. */
  readonly key: K;
  /** From the first add to the take, in milliseconds. */
  readonly waitedMs: number;
  /** The highest priority that it was added with. */
  readonly priority: Priority;
  /** Why it was added, the first of the different reasons first; at most `REASONS_MAX`. Frozen. */
  readonly reasons: readonly Reason[];
}

/** A key that a worker holds, and since how many milliseconds. */
export interface RunningKey<K> {
  /** The key in work. */
  readonly key: K;
  /** Milliseconds since it was taken. */
  readonly forMs: number;
}

/** What a `Workqueue` is made of. */
export interface WorkqueueOptions<K> {
  /** Name in logs and metrics; by habit the controller's. */
  readonly name: string;
  /** Times the delays. */
  readonly clock: Clock;
  /** Delays of `Workqueue.addRateLimited`. Belongs to this queue alone. */
  readonly rateLimiter: RateLimiter<K>;
  /**
   * The group whose turn a key waits for; pure. Groups share the workers evenly.
   * @default the namespace
   */
  readonly groupOf?: (key: K) => string;
  /** Counts what happens. @default none */
  readonly observer?: WorkqueueObserver;
  /** Hears of hooks that throw. @default {silentLogger} */
  readonly log?: Logger;
}

/**
 * A limit of our own on how fast requests are sent.
 *
 * Requests wait in the order in which they came, each until there is a token for it. One that is
 * aborted leaves the queue and takes no token along (but for the one at the head, whose token may
 * be lost), so aborted requests do not starve the others.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { TokenBucketRateLimiter } from "../core/rate_limiter.ts";
import { unlessAborted } from "../core/tasks.ts";

/** How fast a client sends. Names and meaning are client-go's. */
export interface RateLimit {
  /** Requests a second, in the long run. */
  readonly qps: number;
  /** Requests that may be sent together after a pause. */
  readonly burst: number;
}

/**
 * Lets requests through, one after the other, no faster than a limit.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock } from "../core/clock.ts";
 * const clock = { ...realClock, monotonicMs: () => 0 };
 * const throttle = new RequestThrottle({ qps: 10, burst: 2 }, clock);
 * const { signal } = new AbortController();
 * const waited = [await throttle.admit({ signal }), await throttle.admit({ signal })];
 * deepStrictEqual(waited, [0, 0]); // the burst
 * ```
 */
export class RequestThrottle {
  readonly #bucket: TokenBucketRateLimiter<"">;
  readonly #clock: Clock;
  /** Settles when all who came before have been let through, or have left. */
  #before: Promise<void> = Promise.resolve();
  #queued = 0;

  /** Only stores: the bucket is full at the first request. */
  constructor({ qps, burst }: RateLimit, clock: Clock) {
    this.#bucket = new TokenBucketRateLimiter({ perSecond: qps, burst, clock });
    this.#clock = clock;
  }

  /** Requests that wait now. */
  get queued(): number {
    return this.#queued;
  }

  /**
   * Waits for this request's turn; gives the time that it took, in milliseconds. Rejects with
   * `signal.reason` if that comes first.
   */
  async admit({ signal }: { signal: AbortSignal }): Promise<number> {
    const startedMs = this.#clock.monotonicMs();
    const { promise: passed, resolve: pass } = Promise.withResolvers<void>();
    const before = this.#before;
    // Not just `passed`: who leaves early must not let the next one overtake those in front.
    this.#before = before.then(() => passed);
    this.#queued++;
    try {
      await unlessAborted(before, signal);
      const waitMs = this.#bucket.next("");
      if (waitMs > 0) await this.#clock.sleep(waitMs, { signal });
      return this.#clock.monotonicMs() - startedMs;
    } finally {
      this.#queued--;
      pass();
    }
  }
}

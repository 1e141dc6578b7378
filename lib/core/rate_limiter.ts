/**
 * How long a key has to wait before its next retry.
 *
 * The workqueue asks when a reconcile failed, and only then: changes seen by a watch are never
 * delayed by a limiter (field case Q4). Two limits work together by default, as in client-go: each
 * key backs off on its own, and all keys share one bucket of retries, so that ten thousand objects
 * which fail for one reason do not hit the API server together.
 *
 * Nothing here waits or holds a timer.
 *
 * @module
 */

import { backoffMs, jitter } from "./backoff.ts";
import type { Clock, Random } from "./clock.ts";
import { assert } from "./errors.ts";

/** First delay of a failing key, in milliseconds; client-go's value. */
export const RETRY_BASE_MS = 5;

/**
 * Longest delay of a failing key, before jitter, in milliseconds. Shorter than client-go's 1000 s:
 * five minutes is what a person who repaired the cause is ready to wait, and costs 0.003 requests a
 * second and key.
 */
export const RETRY_MAX_MS = 5 * 60_000;

/** Longest delay in client-go, in milliseconds, for those who want it: pass it as `maxMs`. */
export const CLIENT_GO_RETRY_MAX_MS = 1_000_000;

/** Share of a key's delay that chance adds at most. Keeps keys that failed together apart. */
export const RETRY_JITTER = 0.1;

/**
 * Retries per second that all keys of a queue share. Ten, client-go's value, would spread the
 * recovery of 10,000 failed objects over 17 minutes; fifty takes 200 seconds and is still little for
 * an API server.
 */
export const RETRIES_PER_SECOND = 50;

/** Retries that may start together before {@linkcode RETRIES_PER_SECOND} holds; client-go's value. */
export const RETRY_BURST = 300;

/** Decides the delay before a retry of a key. */
export interface RateLimiter<K> {
  /** Counts a failure of `key` and returns its delay in milliseconds, 0 or more. */
  next(key: K): number;
  /** Forgets the failures of `key`: it succeeded, was given up, or changed. */
  forget(key: K): void;
  /** Failures of `key` since it was last forgotten. */
  failures(key: K): number;
}

/**
 * Doubles the delay at each failure of a key, apart from all other keys.
 *
 * Holds one number for each key that failed and was not forgotten since.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * const limits = { baseMs: 5, maxMs: 12, jitter: 0, random: Math.random };
 * const limiter = new ExponentialRateLimiter<string>(limits);
 * deepStrictEqual([limiter.next("a"), limiter.next("a"), limiter.next("a")], [5, 10, 12]);
 * strictEqual(limiter.next("b"), 5);
 * limiter.forget("a");
 * strictEqual(limiter.next("a"), 5);
 * ```
 */
export class ExponentialRateLimiter<K> implements RateLimiter<K> {
  readonly #limits: { baseMs: number; maxMs: number; jitter: number; random: Random };
  readonly #failures = new Map<K, number>();

  /** `maxMs` bounds the delay before jitter adds up to `jitter` (0.1 = 10 %) of it. */
  constructor(limits: { baseMs: number; maxMs: number; jitter: number; random: Random }) {
    this.#limits = limits;
  }

  /** Counts a failure of `key` and returns its delay in milliseconds. */
  next(key: K): number {
    const failures = this.failures(key);
    this.#failures.set(key, failures + 1);
    return jitter(backoffMs(failures, this.#limits), this.#limits.jitter, this.#limits.random);
  }

  /** Starts again from the first delay for `key`. */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /** Failures of `key` since it was last forgotten. */
  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }
}

/**
 * Lets `perSecond` retries a second through, after a first `burst`, whatever their keys.
 *
 * Each call reserves a token, which may lie in the future: the delay returned is the time until it
 * is there, and is never given back. So whoever asks twice for one retry starves the others; the
 * workqueue asks once for a key that waits (field case Q4).
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const clock = { monotonicMs: () => 0 };
 * const limiter = new TokenBucketRateLimiter<string>({ perSecond: 10, burst: 2, clock });
 * deepStrictEqual([..."abcd"].map((key) => limiter.next(key)), [0, 0, 100, 200]);
 * ```
 */
export class TokenBucketRateLimiter<K> implements RateLimiter<K> {
  readonly #limits: { perSecond: number; burst: number; clock: Pick<Clock, "monotonicMs"> };
  /** Tokens at `#countedAtMs`; negative when reserved ahead. `undefined` until the first call. */
  #tokens: number | undefined;
  #countedAtMs = 0;

  /** Only stores: the bucket is full at the first call. */
  constructor(limits: { perSecond: number; burst: number; clock: Pick<Clock, "monotonicMs"> }) {
    this.#limits = limits;
  }

  /** Reserves a token and returns the milliseconds until it is there. */
  next(_key: K): number {
    const { perSecond, burst, clock } = this.#limits;
    assert(perSecond > 0 && burst >= 1, "a token bucket fills and holds at least one token");
    const nowMs = clock.monotonicMs();
    const refilled = (this.#tokens ?? burst) + (nowMs - this.#countedAtMs) / 1000 * perSecond;
    this.#tokens = Math.min(burst, refilled) - 1;
    this.#countedAtMs = nowMs;
    return this.#tokens >= 0 ? 0 : -this.#tokens / perSecond * 1000;
  }

  /** Does nothing: a bucket knows no keys. */
  forget(_key: K): void {}

  /** Always 0: a bucket counts no failures. */
  failures(_key: K): number {
    return 0;
  }
}

/**
 * All of `limiters` at once: the longest delay counts, each counts each failure.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const fixed = (ms: number): RateLimiter<string> => {
 *   return { next: () => ms, forget: () => {}, failures: () => 0 };
 * };
 * strictEqual(maxOf(fixed(5), fixed(70)).next("a"), 70);
 * ```
 */
export function maxOf<K>(...limiters: readonly RateLimiter<K>[]): RateLimiter<K> {
  return {
    next: (key) => limiters.reduce((ms, limiter) => Math.max(ms, limiter.next(key)), 0),
    forget(key) {
      for (const limiter of limiters) limiter.forget(key);
    },
    failures: (key) => limiters.reduce((n, limiter) => Math.max(n, limiter.failures(key)), 0),
  };
}

/**
 * What a workqueue uses unless told otherwise: each key from 5 ms to 5 min with up to 10 % jitter,
 * all keys together 50 retries a second after a burst of 300.
 *
 * @param options `maxMs` is the longest delay of a key before jitter,
 *   {@linkcode CLIENT_GO_RETRY_MAX_MS} for client-go's.
 */
export function defaultRateLimiter<K>(
  { clock, random, maxMs = RETRY_MAX_MS }: {
    clock: Pick<Clock, "monotonicMs">;
    random: Random;
    maxMs?: number;
  },
): RateLimiter<K> {
  const perKey = new ExponentialRateLimiter<K>({
    baseMs: RETRY_BASE_MS,
    maxMs,
    jitter: RETRY_JITTER,
    random,
  });
  const shared = { perSecond: RETRIES_PER_SECOND, burst: RETRY_BURST, clock };
  return maxOf(perKey, new TokenBucketRateLimiter<K>(shared));
}

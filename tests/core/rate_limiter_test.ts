import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  CLIENT_GO_RETRY_MAX_MS,
  defaultRateLimiter,
  ExponentialRateLimiter,
  maxOf,
  TokenBucketRateLimiter,
} from "../../lib/core/rate_limiter.ts";

/** A clock whose time the test sets. */
function handClock(): { nowMs: number; monotonicMs(): number } {
  return {
    nowMs: 5000,
    monotonicMs() {
      return this.nowMs;
    },
  };
}

Deno.test("ExponentialRateLimiter counts each key apart and forgets it alone", () => {
  const limits = { baseMs: 5, maxMs: 300_000, jitter: 0, random: () => 0 };
  const limiter = new ExponentialRateLimiter<string>(limits);
  deepStrictEqual([1, 2, 3].map(() => limiter.next("a")), [5, 10, 20]);
  strictEqual(limiter.next("b"), 5);
  deepStrictEqual([limiter.failures("a"), limiter.failures("b")], [3, 1]);
  limiter.forget("a");
  deepStrictEqual([limiter.failures("a"), limiter.failures("b")], [0, 1]);
  strictEqual(limiter.next("a"), 5);
});

Deno.test("TokenBucketRateLimiter never lets more through than burst plus rate × time", () => {
  const steps = fc.array(fc.nat(400), { minLength: 1, maxLength: 200 });
  fc.assert(fc.property(steps, fc.integer({ min: 1, max: 50 }), fc.nat(20), (gaps, rate, more) => {
    const burst = 1 + more;
    const clock = handClock();
    const startMs = clock.nowMs;
    const limiter = new TokenBucketRateLimiter<string>({ perSecond: rate, burst, clock });
    const startsAtMs = gaps.map((gapMs) => {
      clock.nowMs += gapMs;
      return clock.nowMs + limiter.next("k");
    });
    startsAtMs.forEach((atMs, index) => {
      const allowed = burst + (atMs - startMs) / 1000 * rate;
      ok(index + 1 <= allowed + 1e-6, `start ${index + 1} of at most ${allowed}`);
    });
  }));
});

Deno.test("TokenBucketRateLimiter refills with time, up to its burst", () => {
  const clock = handClock();
  const limiter = new TokenBucketRateLimiter<string>({ perSecond: 10, burst: 2, clock });
  deepStrictEqual([1, 2, 3].map(() => limiter.next("a")), [0, 0, 100]);
  clock.nowMs += 200;
  deepStrictEqual([1, 2].map(() => limiter.next("a")), [0, 100]);
  clock.nowMs += 3_600_000;
  deepStrictEqual([1, 2, 3].map(() => limiter.next("a")), [0, 0, 100]);
});

Deno.test("maxOf() takes the longest delay and lets every limiter count and forget", () => {
  const limits = { maxMs: 1000, jitter: 0, random: () => 0 };
  const slow = new ExponentialRateLimiter<string>({ ...limits, baseMs: 50 });
  const fast = new ExponentialRateLimiter<string>({ ...limits, baseMs: 1 });
  const both = maxOf<string>(fast, slow);
  deepStrictEqual([both.next("a"), both.next("a")], [50, 100]);
  deepStrictEqual([slow.failures("a"), fast.failures("a"), both.failures("a")], [2, 2, 2]);
  both.forget("a");
  deepStrictEqual([slow.failures("a"), fast.failures("a"), both.failures("a")], [0, 0, 0]);
});

Deno.test("defaultRateLimiter() goes from 5 ms to 5 min, or to the ceiling asked for", () => {
  const clock = handClock();
  const delays = (maxMs?: number) => {
    const limiter = defaultRateLimiter<string>({
      clock,
      random: () => 0,
      ...(maxMs === undefined ? {} : { maxMs }),
    });
    return Array.from({ length: 40 }, () => limiter.next("a"));
  };
  deepStrictEqual(delays().slice(0, 4), [5, 10, 20, 40]);
  strictEqual(delays().at(-1), 300_000);
  strictEqual(delays(CLIENT_GO_RETRY_MAX_MS).at(-1), 1_000_000);
});

Deno.test("defaultRateLimiter() spaces the retries of many keys after a burst of 300", () => {
  const limiter = defaultRateLimiter<string>({ clock: handClock(), random: () => 0.999 });
  const delays = Array.from({ length: 350 }, (_, index) => limiter.next(`k${index}`));
  ok(delays.slice(0, 300).every((ms) => ms >= 5 && ms < 5.5));
  strictEqual(delays[349], 1000); // fifty more at fifty a second
});

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { abortScope, realClock, TIMER_MAX_MS, withDeadline } from "../../lib/core/clock.ts";
import { DeadlineError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

/** Replaces the native timer with one that records delays and fires at once. */
function recordTimers(): Disposable & { readonly delays: number[] } {
  const native = globalThis.setTimeout;
  const delays: number[] = [];
  globalThis.setTimeout = ((_fire: () => void, ms: number) => {
    delays.push(ms);
    return native(() => {}, 0);
  }) as typeof setTimeout;
  return { delays, [Symbol.dispose]: () => void (globalThis.setTimeout = native) };
}

for (const ms of [2 ** 31, 2 ** 32 + 50, 30 * 86_400_000, Infinity]) {
  Deno.test(`Q6 realClock.sleep(${ms}) never hands the runtime a delay that overflows`, async () => {
    const stop = new AbortController();
    let wait: Promise<void>;
    {
      using timers = recordTimers();
      wait = realClock.sleep(ms, { signal: stop.signal });
      deepStrictEqual(timers.delays, [TIMER_MAX_MS]);
    }
    stop.abort(new Error("enough"));
    await rejects(wait, { message: "enough" });
  });
}

for (const ms of [0, -1, NaN, -Infinity]) {
  Deno.test(`Q6 realClock.sleep(${ms}) resolves without a timer`, async () => {
    using timers = recordTimers();
    await realClock.sleep(ms, { signal: new AbortController().signal });
    deepStrictEqual(timers.delays, []);
  });
}

Deno.test("realClock.sleep() rejects with the unchanged reason when already aborted", async () => {
  const reason = { why: "test" };
  await rejects(
    realClock.sleep(1, { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  );
});

Deno.test("realClock.monotonicMs() never goes back", () => {
  const first = realClock.monotonicMs();
  ok(realClock.monotonicMs() >= first);
});

Deno.test("withDeadline() throws DeadlineError naming the action when the limit passes", async () => {
  const clock = new SimClock();
  const { signal } = new AbortController();
  const work = withDeadline((inner) => clock.sleep(10_000, { signal: inner }), {
    action: "the list",
    limitMs: 3000,
    clock,
    signal,
  });
  const failed = rejects(work, (error) => {
    ok(error instanceof DeadlineError);
    strictEqual(error.limitMs, 3000);
    strictEqual(error.message, "Deadline passed: the list took longer than 3000 ms");
    return true;
  });
  await clock.advance(3000);
  await failed;
});

Deno.test("withDeadline() returns the result and leaves no timer behind", async () => {
  const clock = new SimClock();
  const { signal } = new AbortController();
  const result = await withDeadline(() => Promise.resolve(7), {
    action: "nothing",
    limitMs: 3000,
    clock,
    signal,
  });
  strictEqual(result, 7);
  await clock.advance(0);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("P3 abortScope() lets go of a long-lived parent when the scope is left", () => {
  const parent = new AbortController();
  let listeners = 0;
  const add = parent.signal.addEventListener.bind(parent.signal);
  const remove = parent.signal.removeEventListener.bind(parent.signal);
  parent.signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
  parent.signal.removeEventListener = (...args: Parameters<typeof remove>) => (
    listeners--, remove(...args)
  );
  for (let i = 0; i < 100; i++) {
    using scope = abortScope(parent.signal);
    strictEqual(scope.signal.aborted, false);
  }
  strictEqual(listeners, 0);
});

Deno.test("abortScope() of an aborted parent is aborted with the parent's reason", () => {
  using scope = abortScope(AbortSignal.abort("gone"));
  strictEqual(scope.signal.reason, "gone");
});

Deno.test("abortScope() aborts when it is left", () => {
  let signal: AbortSignal;
  {
    using scope = abortScope(new AbortController().signal);
    signal = scope.signal;
  }
  strictEqual(signal.aborted, true);
});

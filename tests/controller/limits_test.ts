import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import {
  CutError,
  type LimitsOptions,
  runWithinLimits,
  UNWIND_MS,
} from "../../lib/controller/limits.ts";
import { DeadlineError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

function limits(options: Partial<LimitsOptions> = {}): { clock: SimClock } & LimitsOptions {
  const clock = new SimClock();
  const { signal: stop } = new AbortController();
  const fixed = { action: "the work", deadlineMs: Infinity, gracePeriodMs: 1000, stop };
  return { ...fixed, onLateEnd: () => {}, ...options, clock };
}

Deno.test("runWithinLimits() gives the work's result and leaves no timer", async () => {
  const options = limits({ deadlineMs: 5000 });
  strictEqual(await runWithinLimits(() => Promise.resolve(7), options), 7);
  strictEqual(options.clock.pendingTimers, 0);
});

Deno.test("runWithinLimits() passes on what the work throws, unchanged, before any limit", async () => {
  const error = new Error("broken");
  await rejects(
    runWithinLimits(() => {
      throw error;
    }, limits()),
    (thrown) => thrown === error,
  );
});

Deno.test("runWithinLimits() says that a limit was the reason, and keeps what was thrown", async () => {
  const options = limits({ deadlineMs: 5000 });
  const failure = new Error("Cannot read", { cause: "aborted" });
  const run = runWithinLimits(async (signal) => {
    await options.clock.sleep(Infinity, { signal }).catch(() => {});
    throw failure;
  }, options);
  const told = rejects(run, (error) => {
    ok(error instanceof CutError && error.isDeadline && !error.isAbandoned);
    strictEqual(error.cause, failure);
    strictEqual(error.message, "Cut short: Deadline passed: the work took longer than 5000 ms");
    return true;
  });
  await options.clock.advance(5000);
  await told;
  strictEqual(options.clock.pendingTimers, 0);
});

Deno.test("runWithinLimits() takes the result of work that ends well though its signal aborted", async () => {
  const options = limits({ deadlineMs: 5000 });
  const { signal: never } = new AbortController();
  const run = runWithinLimits(async () => {
    await options.clock.sleep(5000 + UNWIND_MS - 1, { signal: never });
    return 7;
  }, options);
  await options.clock.advance(5000 + UNWIND_MS);
  strictEqual(await run, 7);
});

Deno.test("runWithinLimits() lets work that starts after the stop have the grace period too", async () => {
  const reason = new Error("SIGTERM");
  const stop = new AbortController();
  stop.abort(reason);
  const options = limits({ stop: stop.signal });
  const run = runWithinLimits((signal) => options.clock.sleep(Infinity, { signal }), options);
  const told = rejects(run, (error) => {
    ok(error instanceof CutError && !error.isDeadline);
    strictEqual(error.reason, reason);
    return true;
  });
  await options.clock.advance(999);
  strictEqual(options.clock.pendingTimers, 2); // the work, and the grace period
  await options.clock.advance(1);
  await told;
});

Deno.test("runWithinLimits() abandons work that heeds nothing, and tells of its end", async () => {
  const late: unknown[] = [];
  const work = Promise.withResolvers<void>();
  const options = limits({ deadlineMs: 5000, onLateEnd: (error) => late.push(error) });
  const run = rejects(runWithinLimits(() => work.promise, options), (error) => {
    ok(error instanceof CutError && error.isAbandoned && error.reason instanceof DeadlineError);
    return true;
  });
  await options.clock.advance(5000 + UNWIND_MS);
  await run;
  deepStrictEqual(late, []);
  work.resolve();
  await options.clock.settle();
  deepStrictEqual(late, [undefined]);
});

Deno.test("runWithinLimits() takes nothing that the work throws for an abandonment, also not undefined", async () => {
  let lateEnds = 0;
  const options = limits({ deadlineMs: 5000, onLateEnd: () => void lateEnds++ });
  await rejects(
    runWithinLimits(() => Promise.reject(undefined), options),
    (thrown) => thrown === undefined,
  );
  const cut = runWithinLimits(async (signal) => {
    await options.clock.sleep(Infinity, { signal }).catch(() => {});
    await Promise.reject(undefined);
  }, options);
  const told = rejects(cut, (error) => error instanceof CutError && !error.isAbandoned);
  await options.clock.advance(5000);
  await told;
  strictEqual(lateEnds, 0);
});

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { AssertionError, ConnectionError, DeadlineError } from "../../lib/core/errors.ts";
import { WATCH_INACTIVITY_MS } from "../../lib/cache/reflector.ts";
import { watchOnce, type WatchOnceOptions } from "../../lib/cache/watch_once.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import type { Thing } from "./objects.ts";
import {
  bookmark,
  errorEvent,
  failing,
  gaps,
  listOf,
  open,
  reflecting,
  type Script,
  scripted,
  silence,
} from "./scripted_source.ts";

const { signal } = new AbortController();

/** Watches once on a script, with limits small enough to count. */
function watching(
  clock: SimClock,
  watch: NonNullable<Script["watch"]>,
  options: Partial<WatchOnceOptions<Thing>> = {},
) {
  return watchOnce(scripted(clock, { watch }).source, {
    name: "things",
    clock,
    resourceVersion: "10",
    timeoutSeconds: 200,
    inactivityMs: 30_000,
    onEvent: () => {},
    onSign: () => {},
    onWorked: () => {},
    signal,
    ...options,
  });
}

Deno.test("watchOnce() says what came of the watch", async () => {
  const clock = new SimClock();
  const cut = new ConnectionError("Connection reset");
  deepStrictEqual(await watching(clock, () => failing(cut, [bookmark(11), bookmark(12)])), {
    end: { type: "failed", error: cut },
    events: 2,
    lastedMs: 0,
    hasWorked: true,
  });
});

Deno.test("watchOnce() takes a watch for working that stays open, if the source tells when it is", async () => {
  const clock = new SimClock();
  const worked: number[] = [];
  const onWorked = () => void worked.push(clock.monotonicMs());
  const told = watching(clock, (call) => open(clock, call), { onWorked });
  await clock.advance(60_000);
  deepStrictEqual([(await told).hasWorked, worked], [true, [5000]]);
  const untold = watching(clock, (call) => silence(clock, call));
  await clock.advance(60_000);
  const { hasWorked, end } = await untold;
  strictEqual(hasWorked, false);
  ok(end.type === "deadline" && end.error instanceof DeadlineError);
});

Deno.test("watchOnce() knows its own deadline also from a source that just stops on abort", async () => {
  const clock = new SimClock();
  const result = watching(clock, async function* (call) {
    yield bookmark(11);
    await clock.sleep(Infinity, call).catch(() => {});
  });
  await clock.advance(30_000);
  strictEqual((await result).end.type, "deadline");
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("watchOnce() releases the source when it stops reading at an ERROR", async () => {
  const clock = new SimClock();
  let isReleased = false;
  const { end, events } = await watching(clock, async function* (call) {
    try {
      yield errorEvent(500);
      await clock.sleep(Infinity, call);
    } finally {
      isReleased = true;
    }
  });
  deepStrictEqual([end.type, events, isReleased], ["failed", 0, true]);
});

Deno.test("watchOnce() rejects with the signal's reason on abort", async () => {
  const clock = new SimClock();
  const stop = new AbortController();
  const result = watching(clock, (call) => open(clock, call), { signal: stop.signal });
  const refused = rejects(result, (reason) => reason === "enough");
  await clock.settle();
  stop.abort("enough");
  await refused;
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("watchOnce() takes no broken program for a broken connection", async () => {
  const clock = new SimClock();
  await rejects(watching(clock, () => failing(new AssertionError("impossible"))), AssertionError);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("W1 reflect() does not slow down for a kind on which nothing ever comes", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, { watch: (call) => silence(clock, call) });
  await clock.advance(10 * WATCH_INACTIVITY_MS);
  const waits = gaps(run.calls.slice(1));
  deepStrictEqual(waits, Array.from({ length: 10 }, () => WATCH_INACTIVITY_MS));
  strictEqual(run.health.failure, undefined);
});

Deno.test("W4 reflect() takes no slow failure for a stable watch", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    // deno-lint-ignore require-yield -- it fails before it is open
    async *watch(call) {
      await clock.sleep(40_000, call);
      throw new ConnectionError("Connection timed out");
    },
  });
  await clock.advance(10 * 60_000);
  const delays = gaps(run.calls.slice(1)).map((ms) => ms - 40_000);
  ok((delays.at(-1) ?? 0) >= 20_000, delays.join());
});

Deno.test("W7 reflect() lists soon again after a watch that was stable, however often it had to before", async () => {
  const clock = new SimClock();
  const stableAt = 6;
  await using run = reflecting(clock, {
    list: (_, turn) => listOf([], String(10 + turn)),
    async *watch(call, turn) {
      yield bookmark(10 + turn);
      if (turn === stableAt) await clock.sleep(40_000, call);
      yield errorEvent(410);
    },
  });
  await clock.runUntil(() => run.health.watches === stableAt + 2, { limitMs: 300_000 });
  // From each watch to the list after it, without the time that the stable watch lasted.
  const delays = gaps(run.calls).filter((_, at) => run.calls[at]?.verb === "watch")
    .map((ms, at) => at === stableAt ? ms - 40_000 : ms);
  ok((delays[stableAt - 1] ?? 0) >= 20_000 && (delays[stableAt] ?? 0) <= 1200, delays.join());
});

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { withDeadline } from "../../lib/core/clock.ts";
import { AssertionError, DeadlineError } from "../../lib/core/errors.ts";
import {
  seededRandom,
  seededUuid,
  SIM_WALL_START_MS,
  SimClock,
} from "../../lib/simulator/sim_clock.ts";

const { signal } = new AbortController();

Deno.test("SimClock.advance() fires timers in time order, then in order of creation", async () => {
  const waits = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 });
  await fc.assert(fc.asyncProperty(waits, async (spans) => {
    const clock = new SimClock();
    const fired: { span: number; index: number; atMs: number }[] = [];
    spans.forEach((span, index) => {
      clock.sleep(span, { signal }).then(() => {
        fired.push({ span, index, atMs: clock.monotonicMs() });
      });
    });
    await clock.advance(20);
    const expected = spans
      .map((span, index) => ({ span, index, atMs: span }))
      .sort((a, b) => a.span - b.span || a.index - b.index);
    deepStrictEqual(fired, expected);
    strictEqual(clock.pendingTimers, 0);
  }));
});

Deno.test("SimClock.sleep() aborted in any order leaves the other timers in order", async () => {
  const plan = fc.array(fc.record({ span: fc.integer({ min: 1, max: 50 }), abort: fc.boolean() }), {
    maxLength: 60,
  });
  await fc.assert(fc.asyncProperty(plan, async (entries) => {
    const clock = new SimClock();
    const fired: number[] = [];
    const aborted: unknown[] = [];
    const stops = entries.map(({ span }) => {
      const stop = new AbortController();
      clock.sleep(span, { signal: stop.signal }).then(
        () => fired.push(span),
        (reason) => aborted.push(reason),
      );
      return stop;
    });
    entries.forEach(({ abort }, index) => abort && stops[index]?.abort(index));
    const kept = entries.filter(({ abort }) => !abort).map(({ span }) => span);
    strictEqual(clock.pendingTimers, kept.length);
    await clock.advance(50);
    deepStrictEqual(fired, kept.sort((a, b) => a - b));
    deepStrictEqual(aborted, entries.flatMap(({ abort }, index) => abort ? [index] : []));
  }));
});

Deno.test("SimClock.advance() lets promise work end before time moves on", async () => {
  const clock = new SimClock();
  const seen: string[] = [];
  clock.sleep(10, { signal }).then(async () => {
    for (let hop = 0; hop < 200; hop++) await Promise.resolve();
    const lines = new Response("a\nb\n").body?.pipeThrough(new TextDecoderStream());
    for await (const text of lines ?? []) seen.push(`${text.length} at ${clock.monotonicMs()}`);
  });
  clock.sleep(11, { signal }).then(() => seen.push(`timer at ${clock.monotonicMs()}`));
  await clock.advance(11);
  deepStrictEqual(seen, ["4 at 10", "timer at 11"]);
});

Deno.test("SimClock.advance() fires timers that others set inside the span", async () => {
  const clock = new SimClock();
  const ticks: number[] = [];
  const loop = (async () => {
    while (ticks.length < 5) {
      await clock.sleep(3, { signal });
      ticks.push(clock.monotonicMs());
    }
  })();
  await clock.advance(10);
  deepStrictEqual(ticks, [3, 6, 9]);
  strictEqual(clock.monotonicMs(), 10);
  await clock.advance(5);
  await loop;
  deepStrictEqual(ticks, [3, 6, 9, 12, 15]);
});

Deno.test("SimClock.sleep() ends at once for 0, less and NaN, never for Infinity", async () => {
  const clock = new SimClock();
  await clock.sleep(0, { signal });
  await clock.sleep(-5, { signal });
  await clock.sleep(NaN, { signal });
  strictEqual(clock.pendingTimers, 0);
  const stop = new AbortController();
  const forever = clock.sleep(Infinity, { signal: stop.signal });
  await clock.advance(1e12);
  strictEqual(clock.pendingTimers, 1);
  stop.abort("enough");
  await rejects(forever, (reason) => reason === "enough");
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("SimClock.sleep() rejects with the reason of a signal aborted before", async () => {
  const clock = new SimClock();
  await rejects(clock.sleep(0, { signal: AbortSignal.abort("no") }), (reason) => reason === "no");
});

Deno.test("SimClock.runUntil() stops at the instant the condition holds", async () => {
  const clock = new SimClock();
  let count = 0;
  const stop = new AbortController();
  const loop = (async () => {
    for (;;) {
      await clock.sleep(100, { signal: stop.signal });
      count++;
    }
  })();
  await clock.runUntil(() => count === 3, { limitMs: 10_000 });
  strictEqual(clock.monotonicMs(), 300);
  await rejects(
    clock.runUntil(() => count > 99, { limitMs: 1050, action: "counting to 99" }),
    (error) => error instanceof DeadlineError && error.message.includes("counting to 99"),
  );
  strictEqual(clock.monotonicMs(), 1350);
  strictEqual(count, 13);
  stop.abort("end");
  await rejects(loop, (reason) => reason === "end");
});

Deno.test("SimClock refuses two drivers and spans that can't pass", async () => {
  const clock = new SimClock();
  const first = clock.advance(1);
  await rejects(clock.advance(1), AssertionError);
  await first;
  for (const span of [-1, NaN, Infinity]) await rejects(clock.advance(span), AssertionError);
  await clock.advance(1); // A refused driver leaves the clock usable.
  strictEqual(clock.monotonicMs(), 2);
});

Deno.test("SimClock works as the clock of withDeadline()", async () => {
  const clock = new SimClock();
  const work = withDeadline((inner) => clock.sleep(Infinity, { signal: inner }), {
    action: "waiting",
    limitMs: 2000,
    clock,
    signal,
  });
  const refused = rejects(work, DeadlineError);
  await clock.advance(2000);
  await refused;
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("SimClock.jumpWall() moves wall time only", async () => {
  const clock = new SimClock();
  strictEqual(clock.wallMs(), SIM_WALL_START_MS);
  await clock.advance(1500.7);
  strictEqual(clock.wallMs(), SIM_WALL_START_MS + 1500);
  clock.jumpWall(-60_000);
  strictEqual(clock.wallMs(), SIM_WALL_START_MS - 58_500);
  strictEqual(clock.monotonicMs(), 1500.7);
});

Deno.test("seededRandom() repeats itself, stays in [0, 1) and spreads evenly for any seed", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (seed) => {
      const random = seededRandom(seed);
      const again = seededRandom(seed);
      const buckets = new Array<number>(10).fill(0);
      for (let draw = 0; draw < 2000; draw++) {
        const value = random();
        strictEqual(again(), value);
        ok(value >= 0 && value < 1);
        const bucket = Math.floor(value * 10);
        buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      }
      // 200 expected a bucket, standard deviation 13: six of them either way.
      ok(buckets.every((count) => count > 120 && count < 280), buckets.join());
    }),
    { numRuns: 50 },
  );
});

Deno.test("seededUuid() gives distinct version 4 UUIDs that repeat with the seed", () => {
  const uuid = seededUuid(seededRandom(3));
  const again = seededUuid(seededRandom(3));
  const seen = new Set<string>();
  for (let draw = 0; draw < 1000; draw++) {
    const value = uuid();
    strictEqual(again(), value);
    ok(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(value));
    seen.add(value);
  }
  strictEqual(seen.size, 1000);
});

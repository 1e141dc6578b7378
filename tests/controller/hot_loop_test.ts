/** What is a loop, what only looks like one, and that nobody's change is held up by it. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type ControllerObserver, requeueAfter, SETTLED } from "../../lib/controller/controller.ts";
import {
  ECHO_MS,
  HOT_RUNS,
  type HotLoop,
  HotLoopDetector,
  SLOWED_MAX_MS,
  SLOWED_MIN_MS,
} from "../../lib/controller/hot_loop.ts";
import { seededRandom } from "../../lib/simulator/sim_clock.ts";
import { startController } from "../support/running_controller.ts";

const KEY = "default/a";
const HOUR_MS = 3_600_000;

/** A controller whose reconciler writes each time, as long as `writes` says so; its own write wakes it. */
function looping(
  { writes = () => true, echoMs = 10 }: { writes?: () => boolean; echoMs?: number } = {},
) {
  const runs: number[] = [];
  const found: HotLoop[] = [];
  const observer: ControllerObserver = {
    started() {},
    reconcileStarted() {},
    reconcileEnded() {},
    hotLoopFound: (loop) => void found.push(loop),
  };
  const world = startController(() => {
    runs.push(world.clock.monotonicMs());
    if (writes()) {
      world.clock.sleep(echoMs, world.stop).then(
        () => world.queue.add(KEY, { reason: { type: "updated", source: "foos" } }),
        () => {}, // stopped
      );
    }
    return Promise.resolve(SETTLED);
  }, { observer });
  world.queue.add(KEY);
  return { world, runs, found };
}

Deno.test("R2 hot loop: a reconciler woken by its own writes is slowed to one a minute, and told once", async () => {
  const { world, runs, found } = looping();
  await using _world = world;
  await world.clock.advance(HOUR_MS);
  ok(runs.length < HOT_RUNS + 70, `${runs.length} runs in an hour`);
  const last = runs.slice(-2);
  strictEqual((last[1] ?? 0) - (last[0] ?? 0), SLOWED_MAX_MS);
  deepStrictEqual(found.map(({ key }) => key), [KEY]);
  const warnings = world.records.filter(({ level }) => level === "warn");
  deepStrictEqual(warnings.map(({ message, fields }) => [message, fields.name]), [
    ["Reconciles of a key cause each other, and are slowed", "a"],
  ]);
});

Deno.test("R1 hot loop: two controllers that undo each other are slowed like one", async () => {
  const { world, runs, found } = looping({ echoMs: 700 });
  await using _world = world;
  await world.clock.advance(HOUR_MS);
  ok(runs.length < HOT_RUNS + 70, `${runs.length} runs in an hour`);
  strictEqual(found.length, 1);
});

Deno.test("hot loop: a reconciler that asks for a look at once, always, is slowed too", async () => {
  const runs: number[] = [];
  await using world = startController(() => {
    runs.push(world.clock.monotonicMs());
    return Promise.resolve(requeueAfter(0));
  });
  world.queue.add(KEY);
  await world.clock.advance(HOUR_MS);
  ok(runs.length < HOT_RUNS + 70, `${runs.length} runs in an hour`);
});

Deno.test("hot loop: a person's change of a slowed object is served at once, and ends the slowness if it helps", async () => {
  let isBroken = true;
  const { world, runs, found } = looping({ writes: () => isBroken });
  await using _world = world;
  await world.clock.advance(10 * 60_000);
  strictEqual(found.length, 1);
  const lastMs = runs.at(-1) ?? 0;
  await world.clock.advance(lastMs + SLOWED_MAX_MS + 5000 - world.clock.monotonicMs());
  isBroken = false;
  const before = runs.length;
  world.queue.add(KEY, { reason: { type: "updated", source: "foos" } });
  await world.clock.settle();
  strictEqual(runs.length, before + 1);
  await world.clock.advance(HOUR_MS);
  // At most the look that was put off before comes after it; nothing is slowed from then on.
  ok(runs.length <= before + 2);
  const settled = runs.length;
  for (let n = 1; n <= 20; n++) {
    world.queue.add(KEY, { reason: { type: "updated", source: "foos" } });
    await world.clock.advance(100);
    strictEqual(runs.length, settled + n);
  }
});

Deno.test("hot loop: an object that others change often is not taken for one, and no change waits long", async () => {
  const rates = fc.record({ everyMs: fc.integer({ min: 20, max: 1500 }), seed: fc.nat() });
  await fc.assert(
    fc.asyncProperty(rates, async ({ everyMs, seed }) => {
      const random = seededRandom(seed);
      const { world, runs, found } = looping({ writes: () => false });
      for (let atMs = 0; atMs < 120_000;) {
        const stepMs = everyMs * (0.5 + random());
        atMs += stepMs;
        world.queue.add(KEY, { reason: { type: "updated", source: "pods" } });
        await world.clock.advance(stepMs);
        const waitedMs = world.clock.monotonicMs() - (runs.at(-1) ?? 0);
        ok(waitedMs <= SLOWED_MIN_MS + 2 * everyMs, `waited ${waitedMs} ms`);
      }
      deepStrictEqual(found, []);
      await world.clock.advance(60_000);
      strictEqual(world.queue.depth + world.queue.delayed, 0);
      await world[Symbol.asyncDispose]();
    }),
    { numRuns: 20 },
  );
});

Deno.test("hot loop: looks asked for after a while, and retries, are none", async () => {
  let runs = 0;
  await using world = startController(() => {
    runs += 1;
    return runs % 2 === 0
      ? Promise.resolve(requeueAfter(ECHO_MS + 1))
      : Promise.reject(new Error("x"));
  });
  world.queue.add(KEY);
  await world.clock.advance(400 * 1000);
  ok(runs > 700, `${runs} runs`);
  strictEqual(world.records.filter(({ level }) => level === "warn").length, 0);
});

Deno.test("HotLoopDetector remembers only keys that ended just now, and suspects for as long as they loop", () => {
  let nowMs = 0;
  const detector = new HotLoopDetector({ clock: { monotonicMs: () => nowMs }, onFound() {} });
  for (let n = 0; n < HOT_RUNS; n++) {
    detector.ended(KEY);
    strictEqual(detector.putOffMs(KEY, []), n < HOT_RUNS - 1 ? 0 : SLOWED_MIN_MS);
  }
  for (let n = 0; n < 2000; n++) {
    detector.ended(`k${n}`);
    nowMs += 100;
  }
  deepStrictEqual([detector.size, detector.slowed], [2 + ECHO_MS / 100, 1]);
  nowMs += 10 * SLOWED_MAX_MS; // its object was deleted
  detector.ended("other");
  deepStrictEqual([detector.size, detector.slowed], [1, 0]);
});

/** A suspect that loops: each run is followed by its echo. Time is the test's. */
function suspect() {
  let nowMs = 0;
  const found: HotLoop[] = [];
  const detector = new HotLoopDetector({
    clock: { monotonicMs: () => nowMs },
    onFound: (loop) => void found.push(loop),
  });
  const looped = [{ type: "hot-loop", source: "foo" } as const];
  const changed = [{ type: "updated", source: "foos" } as const];
  for (let n = 0; n < HOT_RUNS - 1; n++) {
    detector.ended(KEY);
    strictEqual(detector.putOffMs(KEY, changed), 0);
  }
  return {
    found,
    /** The last run ends, and its echo comes. Gives how long the next one is put off. */
    loops() {
      detector.ended(KEY);
      return detector.putOffMs(KEY, changed);
    },
    /** `ms` later a run starts, for these reasons. */
    runs(ms: number, why: "looped" | "changed") {
      nowMs += ms;
      strictEqual(detector.putOffMs(KEY, why === "looped" ? looped : changed), 0);
    },
  };
}

Deno.test("HotLoopDetector tells of a loop only after silence in a row, and slows twice as much each time", () => {
  const { loops, runs, found } = suspect();
  strictEqual(loops(), 2000);
  runs(2000, "looped");
  strictEqual(loops(), 4000);
  runs(4000, "looped");
  strictEqual(loops(), 8000);
  runs(3000, "changed"); // somebody else's: the silence is broken
  strictEqual(loops(), 8000);
  runs(8000, "looped");
  strictEqual(loops(), 16_000);
  runs(16_000, "looped");
  deepStrictEqual(found, []);
  strictEqual(loops(), 32_000);
  runs(32_000, "looped");
  deepStrictEqual(found, [{ key: KEY, runs: HOT_RUNS + 5, delayMs: SLOWED_MAX_MS }]);
});

Deno.test("HotLoopDetector takes a run that was put off before a change of somebody else's for no proof", () => {
  const { loops, runs } = suspect();
  strictEqual(loops(), 2000);
  runs(1500, "changed");
  strictEqual(loops(), 2000);
  runs(1200, "looped"); // the wait from before, which kept the earlier time
  strictEqual(loops(), 2000);
});

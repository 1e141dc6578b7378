/**
 * Controller and queue together under weather: reconciles that take their time, fail, hang, ask for
 * a later look; changes that come at any moment. Each seed is one history.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type Reconciler, requeueAfter, SETTLED } from "../../lib/controller/controller.ts";
import { TerminalError } from "../../lib/controller/reconciler.ts";
import { seededRandom } from "../../lib/simulator/sim_clock.ts";
import { startController } from "../support/running_controller.ts";

const KEYS = ["default/a", "default/b", "default/c", "other/a", "node-1"];
const HOUR_MS = 3_600_000;

Deno.test("Controller loses no change and never runs a key twice at once, whatever happens", async () => {
  const seeds = fc.record({ seed: fc.nat(), workers: fc.integer({ min: 1, max: 4 }) });
  await fc.assert(
    fc.asyncProperty(seeds, async ({ seed, workers }) => {
      const random = seededRandom(seed);
      const wanted = new Map<string, number>(); // the version that each object has
      const seen = new Map<string, number>(); // the version that a reconcile settled on
      const running = new Set<string>();
      let isStormy = true;

      const reconcile: Reconciler = async ({ namespace, name }, { signal }) => {
        const key = namespace === "" ? name : `${namespace}/${name}`;
        strictEqual(running.has(key), false, `${key} is in two workers`);
        running.add(key);
        try {
          const version = wanted.get(key) ?? 0;
          const fate = isStormy ? random() : 1;
          await world.clock.sleep(random() * 500, { signal });
          if (fate < 0.2) throw new Error("Cannot write");
          if (fate < 0.25) await world.clock.sleep(Infinity, { signal }); // up to the deadline
          if (fate < 0.35) return requeueAfter(random() * 5000);
          seen.set(key, version);
          if (fate < 0.45) throw new TerminalError("Cannot use the spec");
          return SETTLED;
        } finally {
          running.delete(key);
        }
      };

      const world = startController(reconcile, { workers, deadlineMs: 30_000 });
      for (let change = 0; change < 150; change++) {
        const key = KEYS[Math.floor(random() * KEYS.length)] ?? "";
        wanted.set(key, (wanted.get(key) ?? 0) + 1);
        world.queue.add(key);
        await world.clock.advance(random() < 0.5 ? 0 : random() * 1000);
      }
      isStormy = false;
      await world.clock.advance(HOUR_MS);

      deepStrictEqual([...seen].sort(), [...wanted].sort());
      deepStrictEqual(world.queue.running(), []);
      deepStrictEqual([world.queue.depth, world.queue.delayed], [0, 0]);
      ok(KEYS.every((key) => world.queue.failures(key) === 0));
      await world[Symbol.asyncDispose]();
    }),
    { numRuns: 40 },
  );
});

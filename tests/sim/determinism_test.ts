import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { simulateFoo } from "./foo_simulation.ts";

/** Enough to have every kind of weather among them. */
const SEEDS = [1, 2, 3, 5, 8, 13, 21, 34];

Deno.test("sim: the same seed gives the same trace, byte for byte, in any order and company", async () => {
  const hashes = new Map<number, string>();
  for (const seed of SEEDS) hashes.set(seed, (await simulateFoo(seed)).traceHash);
  for (const seed of SEEDS.toReversed()) {
    strictEqual((await simulateFoo(seed)).traceHash, hashes.get(seed), `seed ${seed}`);
  }
  strictEqual(new Set(hashes.values()).size, SEEDS.length, "seeds differ");
});

Deno.test("sim: the trace that is kept for a replay is the one that was hashed", async () => {
  const kept = await simulateFoo(7, { keepTrace: true });
  const again = await simulateFoo(7, { keepTrace: true });
  deepStrictEqual(kept.trace, again.trace);
  strictEqual(kept.trace.length, kept.traceLines);
  const { traceHash, trace } = await simulateFoo(7);
  strictEqual(traceHash, kept.traceHash);
  ok(trace.length < kept.trace.length);
  notStrictEqual((await simulateFoo(8)).traceHash, traceHash);
});

Deno.test("sim: another process gives the same trace", async () => {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--allow-read",
      fileURLToPath(import.meta.resolve("./run_seeds.ts")),
      "7",
    ],
  }).output();
  ok(success);
  const { traceHash } = JSON.parse(new TextDecoder().decode(stdout));
  strictEqual(traceHash, (await simulateFoo(7)).traceHash);
});

/**
 * The seeds that every change has to pass, as tests.
 *
 * @module
 */

import { simulateFoo } from "./foo_simulation.ts";

/** Seeds from 1 on; dealt out to the files `seeds_N_test.ts`, which run side by side. */
export const SEEDS_IN_CI = 400;

/** Number of those files. */
export const SHARDS = 4;

/** Seeds in one test: few, so that a failure names few, and many, so that the report stays short. */
const BATCH = 10;

/** Registers the tests of one shard, from 0 on. A failure's message names the seed. */
export function testShard(shard: number): void {
  const perShard = SEEDS_IN_CI / SHARDS;
  const first = 1 + shard * perShard;
  for (let from = first; from < first + perShard; from += BATCH) {
    const to = from + BATCH - 1;
    Deno.test(`sim: seeds ${from} to ${to} converge and keep every promise`, async () => {
      for (let seed = from; seed <= to; seed++) await simulateFoo(seed);
    });
  }
}

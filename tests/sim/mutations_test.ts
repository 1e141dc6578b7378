import { ok } from "node:assert/strict";
import { MutationLab } from "./mutation_run.ts";
import { MUTATIONS } from "./mutations.ts";
import { simulateFoo } from "./foo_simulation.ts";

/** Tried after the known one, which stands for its history only as long as our code acts the same. */
const OTHERS = "1-60";

Deno.test("sim: seeds catch known mistakes in our own sources", async (t) => {
  await using lab = await MutationLab.open();
  for (const mutation of MUTATIONS) {
    await t.step(`seed ${mutation.seed} catches: ${mutation.name}`, async () => {
      const caught = await lab.run(mutation, [String(mutation.seed), OTHERS]);
      ok(
        caught !== undefined,
        "nobody noticed: deno task sim:mutations looks for a seed that does",
      );
    });
  }
});

Deno.test("sim: the seeds that catch mistakes pass without them", async () => {
  for (const seed of new Set(MUTATIONS.map(({ seed }) => seed))) await simulateFoo(seed);
});

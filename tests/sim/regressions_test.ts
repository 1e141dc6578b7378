import { simulateFoo } from "./foo_simulation.ts";
import { REGRESSIONS } from "./regressions.ts";

for (const { seed, why } of REGRESSIONS) {
  Deno.test(`sim: seed ${seed} stays fixed: ${why}`, async () => {
    await simulateFoo(seed);
  });
}

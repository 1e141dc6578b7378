/** Informer sets on a real API server. */
import { realSuite } from "../support/real_suite.ts";
import { realCacheWorld } from "../support/cache_world.ts";
import { SET_CASES } from "./informer_set_cases.ts";

const suite = realSuite();

for (const { name, run } of SET_CASES) {
  suite.test(`${name} (real)`, async (plane) => {
    await using world = realCacheWorld(plane);
    await run(world);
  });
}

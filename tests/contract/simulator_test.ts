/**
 * The contract suite on the simulated API server; see `cases.ts`.
 *
 * @module
 */

import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import { Api, type Backend } from "./backend.ts";
import { CONTRACT } from "./cases.ts";

/** The suite's server: with the workload controllers that a control plane has, and no kubelet. */
function simulated(): { backend: Backend; server: ApiServer } {
  const clock = new SimClock();
  // The controllers are as late as real ones, which a case's next request mostly overtakes.
  const workloads = { delayMs: 50 };
  const server = new ApiServer({ clock, random: seededRandom(1), workloads });
  const backend: Backend = {
    name: "simulator",
    fetch: (path, init) => server.fetch(`http://simulator${path}`, init),
    pass: (ms) => clock.advance(ms),
    async waitFor(promise, limitMs) {
      let isDone = false;
      const watched = promise.finally(() => void (isDone = true));
      // Its failure is thrown by the last line; here it must only not count as unhandled.
      watched.catch(() => {});
      await clock.runUntil(() => isDone, { limitMs, action: "the answer" });
      return await watched;
    },
  };
  return { backend, server };
}

for (const [index, each] of CONTRACT.entries()) {
  Deno.test(`simulator: ${each.name}`, async () => {
    const { backend, server } = simulated();
    await using _server = server;
    await new Api(backend, `s${index}`).run(each);
  });
}

Deno.test("simulator: prints the count of contract cases", () => {
  // The one place where a test prints: the count per backend is part of the suite's promise.
  const line = `contract: ${CONTRACT.length} cases on the simulator\n`;
  Deno.stdout.writeSync(new TextEncoder().encode(line));
});

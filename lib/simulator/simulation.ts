/**
 * Deterministic simulation: a whole program against a simulated API server, in weather, under one
 * seeded scheduler.
 *
 * One seed is one history: it decides what users do and when, what strikes, what chance the program
 * has, and so every line of the trace, byte for byte. A seed that fails can be replayed as often as
 * it takes to understand it.
 *
 * A run has four parts. *Prepare*: the cluster gets what the program needs, in calm weather. *Storm*:
 * users act while faults strike. *Calm*: the faults end, and the world has to converge within a
 * limit. *Quiet*: for a simulated hour nobody does anything that concerns the program, and it must
 * not write. Then the program is stopped and must have left nothing: no timer, no watch.
 *
 * Always checked, whatever the program: that it does not end by itself, does not loop without a
 * pause, converges, keeps quiet, and stops in time. What else must hold the caller says.
 *
 * What it proves nothing about: TLS, sockets, permissions. Those have other tests.
 *
 * @module
 */

import {
  SimulationError,
  type SimulationOptions,
  type SimulationReport,
} from "./simulation_options.ts";
import { Run } from "./simulation_run.ts";

export * from "./simulation_options.ts";

/**
 * Runs one seed.
 *
 * @returns What came of it, if nothing was wrong.
 * @throws {SimulationError} If something was.
 *
 * @example A program that sees to it that there is a ConfigMap
 * ```ts
 * import { ok } from "node:assert/strict";
 * import { CALM } from "./weather_plan.ts";
 *
 * const path = "/api/v1/namespaces/default/configmaps";
 * const report = await simulate({
 *   seed: 7,
 *   // Not a good program: it asks every ten seconds. An operator would watch.
 *   async program({ transport, clock, signal }) {
 *     for (;; await clock.sleep(10_000, { signal })) {
 *       const response = await transport(`http://cluster${path}/a`, { method: "GET", headers: {}, signal });
 *       await response.body?.cancel();
 *       if (response.status !== 404) continue;
 *       const body = JSON.stringify({ metadata: { name: "a" } });
 *       const headers = { "content-type": "application/json" };
 *       await (await transport(`http://cluster${path}`, { method: "POST", headers, body, signal })).body?.cancel();
 *     }
 *   },
 *   weather: CALM,
 *   actions: { remove: async (world) => void await world.request("DELETE", `${path}/a`) },
 *   missing: ({ server }) => server.storage.find("configmaps", "default/a") ? [] : ["no ConfigMap"],
 * });
 * ok(report.writes > 0);
 * ```
 */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const run = new Run(options);
  await run.prepare();
  await run.storm();
  await run.calm();
  await run.quiet();
  await run.end();
  const report = run.report();
  if (report.problems.length > 0) throw new SimulationError(report);
  return report;
}

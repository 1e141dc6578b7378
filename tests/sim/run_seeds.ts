/**
 * Runs seeds one after the other and prints one line of JSON for each: what `deno task sim` and the
 * test of mutations start as processes of their own.
 *
 * Arguments: seeds as `7`, or `first-last`, or `first-last/step`; `--stop` ends after the first that
 * fails; `--trace` prints the whole trace of each.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { SimulationError, type SimulationReport } from "../../lib/simulator/mod.ts";
import { simulateFoo } from "./foo_simulation.ts";

/** One line of output. */
export type SeedResult = Omit<SimulationReport, "trace">;

function seedsOf(text: string): number[] {
  const [, from = "", to = from, step = "1"] = /^(\d+)(?:-(\d+)(?:\/(\d+))?)?$/.exec(text) ?? [];
  if (from === "") throw new RangeError(`Cannot read seeds "${text}"`);
  const seeds: number[] = [];
  for (let seed = Number(from); seed <= Number(to); seed += Number(step)) seeds.push(seed);
  return seeds;
}

async function reportOf(seed: number, keepTrace: boolean): Promise<SimulationReport> {
  try {
    return await simulateFoo(seed, { keepTrace });
  } catch (error) {
    if (error instanceof SimulationError) return error.report;
    throw new Error(`Seed ${seed} broke the simulation`, { cause: error });
  }
}

if (import.meta.main) {
  const flags = Deno.args.filter((arg) => arg.startsWith("--"));
  for (const seed of Deno.args.filter((arg) => !arg.startsWith("--")).flatMap(seedsOf)) {
    const { trace, ...result } = await reportOf(seed, flags.includes("--trace"));
    if (flags.includes("--trace")) console.log(trace.join("\n"));
    console.log(JSON.stringify(result));
    if (flags.includes("--stop") && result.problems.length > 0) break;
  }
}

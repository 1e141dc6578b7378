/**
 * Runs seeds one after the other and prints one line of JSON for each: what `deno task sim` and the
 * test of mutations start as processes of their own.
 *
 * Arguments: seeds as `7`, or `first-last`, or `first-last/step`; `--stop` ends after the first that
 * fails; `--least` looks for the least weather in which a seed still fails; `--trace` prints the whole
 * trace of each seed before its line.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import {
  describeWeather,
  leastWeather,
  SimulationError,
  type SimulationReport,
} from "../../lib/simulator/mod.ts";
import { simulateFoo } from "./foo_simulation.ts";

/** Lines of a failure's trace that are printed. */
const TAIL_LINES = 25;

/** One line of output. */
export interface SeedResult extends Omit<SimulationReport, "trace" | "plan"> {
  /** Of a failure: the end of its trace. */
  readonly tail: readonly string[];
  /** Of a failure, if asked for: the least weather in which it still fails, in words. */
  readonly leastWeather?: string;
}

function seedsOf(text: string): number[] {
  const [, from = "", to = from, step = "1"] = /^(\d+)(?:-(\d+)(?:\/(\d+))?)?$/.exec(text) ?? [];
  if (from === "") throw new RangeError(`Cannot read seeds "${text}"`);
  const seeds: number[] = [];
  for (let seed = Number(from); seed <= Number(to); seed += Number(step)) seeds.push(seed);
  return seeds;
}

async function reportOf(...args: Parameters<typeof simulateFoo>): Promise<SimulationReport> {
  try {
    return await simulateFoo(...args);
  } catch (error) {
    if (error instanceof SimulationError) return error.report;
    throw new Error(`Seed ${args[0]} broke the simulation`, { cause: error });
  }
}

/** The trace up to the first thing that was wrong, or its end. */
function tailOf({ trace, problems }: SimulationReport): readonly string[] {
  if (problems.length === 0) return [];
  const at = trace.findIndex((line) => line.includes(" PROBLEM "));
  return at < 0 ? trace.slice(-TAIL_LINES) : trace.slice(Math.max(0, at - TAIL_LINES), at + 1);
}

async function least(report: SimulationReport): Promise<string> {
  const fails = async (weather: SimulationReport["plan"]) =>
    (await reportOf(report.seed, { weather })).problems.length > 0;
  return describeWeather(await leastWeather(report.plan, fails));
}

async function resultOf(seed: number, flags: readonly string[]): Promise<SeedResult> {
  const keepTrace = flags.includes("--trace");
  const report = await reportOf(seed, { keepTrace });
  if (keepTrace) console.log(report.trace.join("\n"));
  const { trace: _trace, plan: _plan, ...result } = report;
  const wantsLeast = result.problems.length > 0 && flags.includes("--least");
  return {
    ...result,
    tail: tailOf(report),
    ...(wantsLeast ? { leastWeather: await least(report) } : {}),
  };
}

if (import.meta.main) {
  const flags = Deno.args.filter((arg) => arg.startsWith("--"));
  for (const seed of Deno.args.filter((arg) => !arg.startsWith("--")).flatMap(seedsOf)) {
    const result = await resultOf(seed, flags);
    console.log(JSON.stringify(result));
    if (flags.includes("--stop") && result.problems.length > 0) break;
  }
}

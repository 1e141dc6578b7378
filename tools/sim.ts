/**
 * Simulates the whole operator in seeded weather: `deno task sim`.
 *
 * - `deno task sim --seeds 1000` (or `SEEDS=1000 deno task sim`) runs that many fresh seeds, as many
 *   side by side as there are processors, and tells how fast. `--from N` begins at seed N instead.
 * - `SEED=7 deno task sim` replays one seed with its whole trace.
 * - `deno task sim:mutations` makes each known mistake in a copy of the sources and names the first
 *   seed that catches it; `--seeds N` says how many are tried for each.
 *
 * A failure prints its seed, what was wrong, the least weather in which it still fails, and the trace
 * that led to it. The exit status is 1 then.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { fileURLToPath } from "node:url";
import { MutationLab } from "../tests/sim/mutation_run.ts";
import { MUTATIONS } from "../tests/sim/mutations.ts";
import type { SeedResult } from "../tests/sim/run_seeds.ts";

const RUNNER = fileURLToPath(new URL("../tests/sim/run_seeds.ts", import.meta.url));

/** Seeds of a run that does not say how many: half a minute on two processors. */
const SEEDS_DEFAULT = 200;

/** Seeds that are tried for each mutation unless told otherwise. */
const MUTATION_SEEDS_DEFAULT = 300;

/** Fresh seeds begin below this: short enough to be typed. */
const FRESH_MAX = 1_000_000_000;

/** What is asked for on the command line and by the environment. */
export interface SimArguments {
  readonly mode: "seeds" | "replay" | "mutations";
  /** How many; `undefined`: the mode's default. */
  readonly seeds: number | undefined;
  /** The first one; `undefined`: a fresh one. */
  readonly from: number | undefined;
  readonly jobs: number | undefined;
}

/**
 * Reads the arguments.
 *
 * @throws {RangeError} If one is unknown or not a whole number.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const environment = { get: (name: string) => name === "SEED" ? "7" : undefined };
 * const { mode, from } = readArguments([], environment);
 * deepStrictEqual([mode, from], ["replay", 7]);
 * ```
 */
export function readArguments(
  args: readonly string[],
  environment: { get(name: string): string | undefined },
): SimArguments {
  const values = new Map<string, number>();
  const mode = args.includes("mutations") ? "mutations" : "seeds";
  const flat = args.filter((arg) => arg !== "mutations" && arg !== "--")
    .flatMap((arg) => arg.split("="));
  for (let at = 0; at < flat.length; at += 2) {
    const [name = "", value = ""] = flat.slice(at, at + 2);
    if (!["--seeds", "--from", "--jobs"].includes(name)) {
      throw new RangeError(`Unknown argument "${name}": give --seeds, --from or --jobs`);
    }
    values.set(name, wholeNumber(name, value));
  }
  const variable = (name: string) => {
    const value = environment.get(name);
    return value === undefined || value === "" ? undefined : wholeNumber(name, value);
  };
  const seed = variable("SEED");
  return {
    mode: mode === "seeds" && seed !== undefined ? "replay" : mode,
    seeds: values.get("--seeds") ?? variable("SEEDS"),
    from: seed ?? values.get("--from"),
    jobs: values.get("--jobs"),
  };
}

function wholeNumber(name: string, value: string): number {
  if (!/^\d+$/.test(value)) throw new RangeError(`Cannot read ${name} "${value}": a whole number`);
  return Number(value);
}

/** Starts a process that runs `seeds`, and yields what it prints, line by line. */
async function* linesOf(seeds: readonly string[]): AsyncGenerator<string, void, void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-read", "--no-prompt", RUNNER, ...seeds],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let rest = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  const { success } = await child.status;
  if (!success) throw new Error(`Cannot run seeds ${seeds.join(" ")}: the process failed`);
}

/** What a person needs of a failure. */
export function summary(result: SeedResult): string {
  return [
    `Seed ${result.seed} FAILED after ${seconds(result.simulatedMs)} simulated seconds:`,
    ...result.problems.map((problem) => `  - ${problem}`),
    `  weather: ${result.weather}`,
    `  least weather: ${result.leastWeather ?? "not looked for"}`,
    "  trace before it:",
    ...result.tail.map((line) => `    ${line.slice(0, 200)}`),
    `  replay: SEED=${result.seed} deno task sim`,
  ].join("\n");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(0);
}

async function runSeeds({ seeds = SEEDS_DEFAULT, from, jobs }: SimArguments): Promise<number> {
  const first = from ?? Math.floor(Math.random() * FRESH_MAX);
  const last = first + seeds - 1;
  const workers = Math.min(seeds, jobs ?? navigator.hardwareConcurrency);
  console.log(`Seeds ${first} to ${last}, ${workers} side by side`);
  const startedMs = performance.now();
  const failed: number[] = [];
  let [ran, simulatedMs, requests, starts] = [0, 0, 0, 0];
  await Promise.all(Array.from({ length: workers }, async (_, worker) => {
    for await (const line of linesOf([`${first + worker}-${last}/${workers}`, "--least"])) {
      const result: SeedResult = JSON.parse(line);
      ran += 1;
      simulatedMs += result.simulatedMs;
      requests += result.requests;
      starts += result.starts;
      if (result.problems.length === 0) continue;
      failed.push(result.seed);
      console.log(summary(result));
    }
  }));
  const minutes = (performance.now() - startedMs) / 60_000;
  const hours = simulatedMs / 3_600_000;
  console.log(
    `${ran} seeds in ${(minutes * 60).toFixed(0)} s: ${(ran / minutes).toFixed(0)} seeds and ` +
      `${(hours / minutes).toFixed(0)} simulated hours a minute (${hours.toFixed(0)} hours, ` +
      `${requests} requests, ${starts} starts of the operator)`,
  );
  console.log(failed.length === 0 ? "None failed" : `Failed: ${failed.sort((a, b) => a - b)}`);
  return failed.length === 0 ? 0 : 1;
}

async function replay(seed: number): Promise<number> {
  let last = "";
  for await (const line of linesOf([String(seed), "--trace", "--least"])) {
    if (last !== "") console.log(last);
    last = line;
  }
  const result: SeedResult = JSON.parse(last);
  if (result.problems.length > 0) {
    console.log(summary({ ...result, tail: [] }));
    return 1;
  }
  console.log(
    `Seed ${seed} passed: ${seconds(result.simulatedMs)} simulated seconds, ${result.traceLines} ` +
      `lines, trace ${result.traceHash}, weather: ${result.weather}`,
  );
  return 0;
}

async function runMutations(
  { seeds = MUTATION_SEEDS_DEFAULT, from = 1 }: SimArguments,
): Promise<number> {
  await using lab = await MutationLab.open();
  let uncaught = 0;
  for (const mutation of MUTATIONS) {
    const caught = await lab.run(mutation, [`${from}-${from + seeds - 1}`]);
    if (caught === undefined) uncaught += 1;
    const [problem = ""] = caught?.problems ?? [];
    const told = caught === undefined ? "NOT CAUGHT" : `seed ${caught.seed}: ${problem}`;
    console.log(`${mutation.name} → ${told}`);
  }
  console.log(`${MUTATIONS.length - uncaught} of ${MUTATIONS.length} mutations caught`);
  return uncaught === 0 ? 0 : 1;
}

async function main(args: SimArguments): Promise<number> {
  switch (args.mode) {
    case "seeds":
      return await runSeeds(args);
    case "replay":
      return await replay(args.from ?? 0);
    case "mutations":
      return await runMutations(args);
    default:
      return args.mode satisfies never;
  }
}

if (import.meta.main) {
  try {
    Deno.exitCode = await main(readArguments(Deno.args, Deno.env));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    console.error(error.message);
    Deno.exitCode = 2;
  }
}

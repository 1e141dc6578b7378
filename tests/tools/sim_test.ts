import { deepStrictEqual, ok, throws } from "node:assert/strict";
import { readArguments, summary } from "../../tools/sim.ts";

const nothing = { get: () => undefined };

Deno.test("sim: arguments and variables say how many seeds, from which on, or which one", () => {
  const absent = { seeds: undefined, from: undefined, jobs: undefined };
  deepStrictEqual(readArguments([], nothing), { mode: "seeds", ...absent });
  deepStrictEqual(readArguments(["--seeds", "7", "--from=3", "--jobs", "1"], nothing), {
    mode: "seeds",
    seeds: 7,
    from: 3,
    jobs: 1,
  });
  const variables = (values: Record<string, string>) => ({ get: (name: string) => values[name] });
  deepStrictEqual(readArguments([], variables({ SEEDS: "9" })).seeds, 9);
  const replay = readArguments([], variables({ SEED: "5", SEEDS: "" }));
  deepStrictEqual([replay.mode, replay.from], ["replay", 5]);
  deepStrictEqual(readArguments(["mutations", "--seeds", "2"], nothing).mode, "mutations");
});

Deno.test("sim: what it does not know is refused", () => {
  throws(() => readArguments(["--sed", "1"], nothing), RangeError);
  throws(() => readArguments(["--seeds", "many"], nothing), RangeError);
  throws(() => readArguments([], { get: () => "-1" }), RangeError);
});

Deno.test("sim: a failure is told with its seed, its weather and how to replay it", () => {
  const text = summary({
    seed: 7,
    problems: ["not converged: nothing is there"],
    weather: "conflicts 0.5, latencyMs 3",
    leastWeather: "conflicts 0.5",
    traceHash: "00",
    traceLines: 1,
    tail: ["1.000 PROBLEM not converged: nothing is there"],
    simulatedMs: 1000,
    actions: 1,
    requests: 1,
    writes: 1,
    starts: 1,
  });
  for (const part of ["Seed 7", "nothing is there", "conflicts 0.5", "SEED=7 deno task sim"]) {
    ok(text.includes(part), part);
  }
});

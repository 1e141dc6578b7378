/**
 * How little of its weather a failing seed needs, for whoever has to understand it.
 *
 * @module
 */

import { CALM, type Fault, type WeatherPlan } from "./weather_plan.ts";

/**
 * Turns off one fault of `plan` after the other and keeps off what is not needed for `fails` to hold.
 * Each fault costs one run. Another weather is another history, so what is left is a hint: these
 * faults, together, are enough.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { CALM, type WeatherPlan } from "./weather_plan.ts";
 * const plan = { ...CALM, conflicts: 0.5, crashes: 0.1, outages: 1 };
 * // In a test: whether `simulate({ seed, weather, … })` throws.
 * const fails = (weather: WeatherPlan) => Promise.resolve(weather.crashes > 0);
 * deepStrictEqual(await leastWeather(plan, fails), { ...CALM, crashes: 0.1 });
 * ```
 */
export async function leastWeather(
  plan: WeatherPlan,
  fails: (plan: WeatherPlan) => Promise<boolean>,
): Promise<WeatherPlan> {
  let least = plan;
  for (const fault of FAULTS) {
    const less = { ...least, [fault]: 0 };
    if (least[fault] !== 0 && await fails(less)) least = less;
  }
  return least;
}

// Time that nothing takes hides what races, and shows what loops: latency is not in question.
const FAULTS = Object.keys(CALM).filter((name): name is Fault => name !== "latencyMs");

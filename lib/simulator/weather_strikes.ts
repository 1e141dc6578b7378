/**
 * Whether and how a fault strikes: a plan's numbers and chance, turned into decisions.
 *
 * Apart from the weather, which carries the decisions out.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";
import { struckAnswer } from "./weather_answers.ts";
import type { Fault, WeatherPlan } from "./weather_plan.ts";
import type { WatchFate } from "./weather_watch.ts";

/** Longest that a slow answer takes beyond the others, in milliseconds: below the client's limits. */
const SLOW_MAX_MS = 20_000;

/** Longest life of a watch that ends early, in milliseconds: within what most tests simulate. */
const WATCH_LIFE_MAX_MS = 60_000;

/** Longest time that a late watch is behind, in milliseconds. */
const WATCH_LAG_MAX_MS = 5000;

/** Draws what strikes. */
export class Strikes {
  readonly #plan: () => WeatherPlan;
  readonly #random: Random;

  /** `plan` is asked each time, since weather changes. */
  constructor(plan: () => WeatherPlan, random: Random) {
    this.#plan = plan;
    this.#random = random;
  }

  /** True if `fault`, which is a share, strikes this time. Draws nothing for one that is off. */
  hit(fault: Fault): boolean {
    const share = this.#plan()[fault];
    return share > 0 && this.#random() < share;
  }

  /** Time from a request to its answer, in milliseconds. */
  latencyMs(): number {
    const { latencyMs } = this.#plan();
    if (latencyMs === 0) return 0;
    // Never 0: what takes no time at all would hide loops without a pause.
    const usualMs = 0.1 - Math.log(1 - this.#random()) * latencyMs;
    return usualMs + (this.hit("slow") ? this.#random() * SLOW_MAX_MS : 0);
  }

  /** A 500, 503 or 504: the server's own, or that of a proxy before it. */
  serverError(): Response {
    const draw = this.#random();
    if (draw < 0.4) return struckAnswer(500);
    const isProxy = this.#random() < 0.5;
    if (draw < 0.7) return struckAnswer(504, { isProxy });
    const asksToWait = this.#random() < 0.5;
    return struckAnswer(503, { isProxy, ...(asksToWait ? { retryAfterSeconds: 1 } : {}) });
  }

  /** What becomes of a watch that opens now; what it is told again is for others to say. */
  watchFate(): WatchFate {
    const random = this.#random;
    return {
      end: this.#watchEnd(),
      endsAfterMs: WATCH_LIFE_MAX_MS * random() ** 2,
      lagMs: this.hit("lateWatches") ? Math.ceil(WATCH_LAG_MAX_MS * random() ** 2) : 0,
      isBroken: this.hit("brokenLines"),
      repeats: this.hit("repeatingWatches") ? random() : 0,
      prefix: [],
    };
  }

  #watchEnd(): WatchFate["end"] {
    if (this.hit("silentWatches")) return "silent";
    if (this.hit("tornWatches")) return "torn";
    if (!this.hit("cutWatches")) return "none";
    return this.#random() < 0.5 ? "clean" : "reset";
  }
}

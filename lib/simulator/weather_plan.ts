/**
 * Which faults there are and how often each strikes: plain numbers that a test writes down or a seed
 * draws.
 *
 * Apart from the weather that carries them out, so that this is the one list to read.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";

/**
 * How often each fault strikes; 0 turns it off. A *share* is that of requests (or, where it says so,
 * watches or writes) that are struck, from 0 to 1. A *rate* is a mean number per simulated minute.
 */
export interface WeatherPlan {
  /** Mean time from a request to its answer, in milliseconds. */
  readonly latencyMs: number;
  /** Share that takes up to 20 s longer. */
  readonly slow: number;
  /** Share answered 429 with a Retry-After of some seconds. */
  readonly throttled: number;
  /** Share answered 500, 503 or 504; of writes, every other one after it had its effect. */
  readonly serverErrors: number;
  /** Share whose connection is refused: nothing was sent. */
  readonly refused: number;
  /** Share whose connection is reset before the request had an effect. */
  readonly resetBefore: number;
  /** Share whose connection is reset after it had its effect, and before any byte of the answer. */
  readonly resetAfter: number;
  /** Share of answers to reads that are cut inside their body. */
  readonly cutBodies: number;
  /** Share of watches that end early: half of them cleanly, half as a broken connection does. */
  readonly cutWatches: number;
  /** Share of watches that fall silent without an end. */
  readonly silentWatches: number;
  /** Share of watches that end inside a line; if they can, inside a UTF-8 character. */
  readonly tornWatches: number;
  /** Share of watches that lag behind, up to some seconds. */
  readonly lateWatches: number;
  /**
   * Share of watches that tell things twice: old states of what the reader knows already, when they
   * begin, and their own lines.
   */
  readonly repeatingWatches: number;
  /** Share of watches whose bytes come in pieces of any size. */
  readonly brokenLines: number;
  /** Share of lists that allow an old state (`resourceVersion=0`, or "not older than") and get one. */
  readonly staleLists: number;
  /** Share of lists that come in pages of few objects, whatever size was asked for. */
  readonly smallPages: number;
  /** Share of further pages before which the history is compacted, so that their token is too old. */
  readonly expiredPages: number;
  /** Share of lists and watches answered 504 "Too large resource version", as a lagging server does. */
  readonly laggingServers: number;
  /** Share of updates and patches before which another writer changes the object. */
  readonly conflicts: number;
  /** Share of writes at which the program crashes: before or after their effect. */
  readonly crashes: number;
  /** Rate of compactions of all history: watches that resume get 410. */
  readonly compactions: number;
  /** Rate at which all open watches are cut at once, as when a load balancer restarts. */
  readonly massCuts: number;
  /** Rate of outages, from a second to a minute: no connection, and no watch survives. */
  readonly outages: number;
  /** Rate of jumps of the wall clock, up to ten minutes to and fro. */
  readonly clockJumps: number;
  /** Wall clock's error in parts of a thousand: it gains (or loses) so many milliseconds a second. */
  readonly clockDrift: number;
}

/** Names of the faults. */
export type Fault = keyof WeatherPlan;

/** No faults at all, and answers at once. */
export const CALM: WeatherPlan = {
  latencyMs: 0,
  slow: 0,
  throttled: 0,
  serverErrors: 0,
  refused: 0,
  resetBefore: 0,
  resetAfter: 0,
  cutBodies: 0,
  cutWatches: 0,
  silentWatches: 0,
  tornWatches: 0,
  lateWatches: 0,
  repeatingWatches: 0,
  brokenLines: 0,
  staleLists: 0,
  smallPages: 0,
  expiredPages: 0,
  laggingServers: 0,
  conflicts: 0,
  crashes: 0,
  compactions: 0,
  massCuts: 0,
  outages: 0,
  clockJumps: 0,
  clockDrift: 0,
};

/** The worst of each fault that {@linkcode drawWeather} draws. More would hide what is between. */
export const WORST: WeatherPlan = {
  latencyMs: 400,
  slow: 0.1,
  throttled: 0.2,
  serverErrors: 0.3,
  refused: 0.2,
  resetBefore: 0.2,
  resetAfter: 0.2,
  cutBodies: 0.3,
  cutWatches: 0.9,
  silentWatches: 0.6,
  tornWatches: 0.6,
  lateWatches: 0.8,
  repeatingWatches: 0.8,
  brokenLines: 0.8,
  staleLists: 0.9,
  smallPages: 0.9,
  expiredPages: 0.5,
  laggingServers: 0.3,
  conflicts: 0.5,
  crashes: 0.15,
  compactions: 3,
  massCuts: 2,
  outages: 0.5,
  clockJumps: 1,
  clockDrift: 5,
};

/** How likely a seed has a fault at all. */
const FAULT_IS_ON = 0.4;

/**
 * A seed's weather. Swarm testing: each fault is fully off in more than half of the seeds, since
 * faults hide each other (a watch that is always cut is never silent), and one seed in ten is calm
 * but for latency. What is on is drawn evenly up to {@linkcode WORST}.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, ok } from "node:assert/strict";
 * import { seededRandom } from "./sim_clock.ts";
 * const plan = drawWeather(seededRandom(7));
 * deepStrictEqual(drawWeather(seededRandom(7)), plan);
 * ok(plan.conflicts <= WORST.conflicts);
 * ```
 */
export function drawWeather(random: Random): WeatherPlan {
  const isCalm = random() < 0.1;
  const draw = (fault: Fault) => {
    // Both are drawn always, so that one fault's chance does not move the others'.
    const [isOn, force] = [random() < FAULT_IS_ON, random()];
    return !isCalm && isOn ? WORST[fault] * force : 0;
  };
  return {
    latencyMs: 1 + WORST.latencyMs * random() ** 3,
    slow: draw("slow"),
    throttled: draw("throttled"),
    serverErrors: draw("serverErrors"),
    refused: draw("refused"),
    resetBefore: draw("resetBefore"),
    resetAfter: draw("resetAfter"),
    cutBodies: draw("cutBodies"),
    cutWatches: draw("cutWatches"),
    silentWatches: draw("silentWatches"),
    tornWatches: draw("tornWatches"),
    lateWatches: draw("lateWatches"),
    repeatingWatches: draw("repeatingWatches"),
    brokenLines: draw("brokenLines"),
    staleLists: draw("staleLists"),
    smallPages: draw("smallPages"),
    expiredPages: draw("expiredPages"),
    laggingServers: draw("laggingServers"),
    conflicts: draw("conflicts"),
    crashes: draw("crashes"),
    compactions: draw("compactions"),
    massCuts: draw("massCuts"),
    outages: draw("outages"),
    clockJumps: draw("clockJumps"),
    clockDrift: draw("clockDrift") * (random() < 0.5 ? -1 : 1),
  };
}

/** `plan` in a few words: what is on, and how strongly. */
export function describeWeather(plan: WeatherPlan): string {
  const on = Object.entries(plan).filter(([, force]) => force !== 0)
    .map(([fault, force]) => `${fault} ${Number(force).toPrecision(2)}`);
  return on.length === 0 ? "calm" : on.join(", ");
}

/**
 * What a simulation is made of and what comes of it, apart from running it: what a caller reads.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { Program } from "./program.ts";
import type { ApiServer, ApiServerOptions } from "./server.ts";
import type { SimClock } from "./sim_clock.ts";
import type { Trace } from "./trace.ts";
import type { SeenExchange, Weather } from "./weather.ts";
import type { WeatherPlan } from "./weather_plan.ts";

/** Which part of a run it is. */
export type Phase = "prepare" | "storm" | "calm" | "quiet" | "over";

/** Something that users, or others in the cluster, do. */
export type Action = (world: World) => Promise<void> | void;

/** What {@linkcode simulate} runs. */
export interface SimulationOptions {
  /** Decides everything that is left to chance. A whole number. */
  readonly seed: number;
  /** The program under test. Started anew after each crash. */
  readonly program: Program;
  /** Brings into the cluster what the program needs, such as a CustomResourceDefinition. */
  readonly prepare?: (world: World) => Promise<void>;
  /**
   * What users do in the storm, by name. Each seed draws how often it does each, some not at all.
   * @default nothing
   */
  readonly actions?: Readonly<Record<string, Action>>;
  /**
   * What is missing until the world is as it should be, in sentences; none: it has converged. Asked
   * again and again, so without side effects. Read `world.server.storage`, or ask the server.
   */
  readonly missing: (world: World) => readonly string[] | Promise<readonly string[]>;
  /** Is told each request of the program after its effect; returns what is wrong with it. */
  readonly check?: (exchange: SeenExchange, world: World) => readonly string[];
  /** What people do once the storm is over, so that the program has what it needs. @default nothing */
  readonly mend?: (world: World) => Promise<void>;
  /**
   * May the program end with this error, to be started again? Not asked in the quiet part.
   * @default no
   */
  readonly mayFail?: (error: unknown) => boolean;
  /** Which faults strike in the storm, and how often. @default drawn from the seed */
  readonly weather?: WeatherPlan;
  /** Of the simulated server, beside its clock and its chance. @default its defaults */
  readonly server?: Omit<ApiServerOptions, "clock" | "random">;
  /** Length of the storm, in milliseconds. @default drawn from the seed, up to ten minutes */
  readonly stormMs?: number;
  /** How long the world may take to converge, in milliseconds. @default {1_800_000} */
  readonly convergeMs?: number;
  /**
   * How long a converged program may still write, in milliseconds: counts of events, for example.
   * @default {120_000}
   */
  readonly settleMs?: number;
  /** Length of the quiet part, in milliseconds. @default {3_600_000} */
  readonly quietMs?: number;
  /** Most requests of the program in one simulated second. @default {REQUESTS_PER_SECOND_MAX} */
  readonly requestsPerSecondMax?: number;
  /** Keep the whole trace, for a replay; else its end. @default {false} */
  readonly keepTrace?: boolean;
}

/** What came of a run. */
export interface SimulationReport {
  /** The seed of the run: the same one gives the same history again. */
  readonly seed: number;
  /** What was found wrong, the first first; none: the seed passed. */
  readonly problems: readonly string[];
  /** The weather, in words. */
  readonly weather: string;
  /** The weather, in numbers. */
  readonly plan: WeatherPlan;
  /** Identifies the history. */
  readonly traceHash: string;
  /** Length of the whole trace, kept or not. */
  readonly traceLines: number;
  /** The end of the trace, or all of it if it was to be kept. */
  readonly trace: readonly string[];
  /** How long all parts together took, in simulated milliseconds. */
  readonly simulatedMs: number;
  /** Actions of users. */
  readonly actions: number;
  /** Requests of the program that reached the server. */
  readonly requests: number;
  /** The writes among them. */
  readonly writes: number;
  /** How often the program was started. */
  readonly starts: number;
}

/** A seed failed: something that must always hold did not. */
export class SimulationError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "SimulationError";
  /** All that is known of the run. */
  readonly report: SimulationReport;

  /** The message has seed, problems and weather; the trace is in the report. */
  constructor(report: SimulationReport) {
    const problems = report.problems.map((problem) => `  - ${problem}`).join("\n");
    super(
      `Seed ${report.seed} failed after ${
        Math.round(report.simulatedMs / 1000)
      } simulated seconds:\n` +
        `${problems}\n  Weather: ${report.weather}\n  Trace: ${report.traceHash}, ` +
        `${report.traceLines} lines`,
    );
    this.report = report;
  }
}

/** Most requests in one simulated second unless told otherwise: a program without a pause has more. */
export const REQUESTS_PER_SECOND_MAX = 200;

/** A simulated cluster with the program in it. */
export interface World {
  /** The seed of this run. */
  readonly seed: number;
  /** Which part of the run it is now. */
  readonly phase: Phase;
  /** The cluster's API server, as it is behind the weather. */
  readonly server: ApiServer;
  /** What stands between the program and the server. */
  readonly weather: Weather;
  /** The time of everything in the run. Moved by the run alone. */
  readonly clock: SimClock;
  /** For what the caller leaves to chance. */
  readonly random: Random;
  /** What happened so far; a caller may add lines. */
  readonly trace: Trace;
  /**
   * Sends a request as a user who has no weather.
   *
   * @param path With the query, such as `/api/v1/namespaces/default/configmaps`.
   * @param options `contentType` is the body's: of a PATCH a merge patch, unless told otherwise.
   */
  request(
    method: string,
    path: string,
    body?: JsonObject,
    options?: { contentType?: string },
  ): Promise<{ status: number; body: JsonObject }>;
  /** Notes that something is wrong: the seed has failed. */
  fail(problem: string): void;
  /** Kills the program; it is started again. */
  crash(): void;
  /** Stops the program; it is started again. */
  restart(): void;
}

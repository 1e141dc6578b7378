/**
 * Several parts in one process: started in order, watched, started again, stopped in reverse order.
 *
 * What it promises stands at {@linkcode Manager}.
 *
 * It knows no server, no lease and no kind: parts are {@linkcode Runnable}s with names.
 *
 * @module
 */

import { abortScope, type Clock, type Random } from "../core/clock.ts";
import { assert, DeadlineError, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { latch, runTogether, type Task, unlessAborted } from "../core/tasks.ts";
import { UNWIND_MS } from "./limits.ts";
import { type HealthReport, type Runnable, supervise } from "./runnable.ts";

/** What parts are for, in the order in which they start; they stop in the reverse order. */
export type ManagerGroup = "servers" | "webhooks" | "caches" | "always" | "election" | "elected";

/** All groups, in order. `always` is work that needs no election. */
export const MANAGER_GROUPS: readonly ManagerGroup[] = [
  "servers",
  "webhooks",
  "caches",
  "always",
  "election",
  "elected",
];

/** Groups whose parts are started again unless told otherwise. */
const RESTARTED: readonly ManagerGroup[] = ["always", "elected"];

/**
 * Longest stop unless told otherwise, in milliseconds; the time that Kubernetes gives a container by
 * default.
 */
export const SHUTDOWN_BUDGET_MS = 30_000;

/** Where a part is. */
export type PartState = "waiting" | "starting" | "running" | "restarting" | "stopped" | "failed";

/** How a part is. */
export interface PartHealth extends HealthReport {
  /** Where it stands in the order. */
  readonly group: ManagerGroup;
  /** Where it is in its life. */
  readonly state: PartState;
  /** How often it was started again. */
  readonly restarts: number;
}

/** How the whole is, as plain data. */
export interface ManagerHealth {
  /** False while a part is down or says that it is not healthy: for liveness. */
  readonly isHealthy: boolean;
  /** True from when all that needs no election is ready until the stop begins: for readiness. */
  readonly isReady: boolean;
  /** By name. */
  readonly parts: Readonly<Record<string, PartHealth>>;
}

/** Options of one part. */
export interface PartOptions {
  /** What to do when it fails or ends by itself. @default by group, see {@linkcode Manager} */
  readonly onFailure?: "restart" | "stop";
}

/** What a {@linkcode Manager} is made of. */
export interface ManagerOptions {
  /** Times delays and the budget. */
  readonly clock: Clock;
  /** Spreads delays. */
  readonly random: Random;
  /** Gets one line for each start, failure and stop. */
  readonly log: Logger;
  /** Longest stop, in milliseconds. @default {30_000} */
  readonly shutdownBudgetMs?: number;
}

/** One part and what became of it. */
interface Part {
  readonly group: ManagerGroup;
  readonly runnable: Runnable;
  readonly onFailure: "restart" | "stop";
  state: PartState;
  restarts: number;
  lastError: string | undefined;
  running: Promise<void>;
}

/**
 * Runs parts until stopped.
 *
 * What a manager promises:
 * - Groups start one after the other ({@linkcode MANAGER_GROUPS}); the next when all parts of the one before
 *   are ready. Nothing reconciles before caches are filled, nothing elected before the election is
 *   won.
 * - A part that fails, or ends by itself, is started again after a growing delay, and the others go
 *   on (field case P6). Where starting again can't help, it stops everything and is the error of
 *   {@linkcode Manager.run}: by default servers, webhooks, caches and the election, whose end means
 *   that the lease is lost.
 * - When told to stop, readiness drops, then groups stop in reverse order, each awaited, all within
 *   one budget. What has not ended by then is named in the error and left behind.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock, realRandom } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 *
 * const stop = new AbortController();
 * const order: string[] = [];
 * const part = (name: string) => ({
 *   name,
 *   async run({ signal }: { signal: AbortSignal }) {
 *     order.push(`+${name}`);
 *     if (name === "backups") stop.abort(); // the last one: enough
 *     await realClock.sleep(Infinity, { signal }).catch(() => {});
 *     order.push(`-${name}`);
 *   },
 * });
 * const manager = new Manager({ clock: realClock, random: realRandom, log: silentLogger });
 * manager.add("elected", part("backups")).add("caches", part("informers"));
 * await manager.run(stop);
 * deepStrictEqual(order, ["+informers", "+backups", "-backups", "-informers"]);
 * ```
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #parts = new Map<string, Part>();
  #state: "new" | "running" | "stopping" = "new";

  /** Only stores. */
  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /**
   * Adds a part, before the run. Parts of one group start together.
   *
   * @throws {AssertionError} If the manager runs already or has a part of this name.
   */
  add(group: ManagerGroup, runnable: Runnable, { onFailure }: PartOptions = {}): this {
    assert(this.#state === "new", "parts are added before the run");
    assert(!this.#parts.has(runnable.name), `"${runnable.name}" names one part`);
    this.#parts.set(runnable.name, {
      group,
      runnable,
      onFailure: onFailure ?? (RESTARTED.includes(group) ? "restart" : "stop"),
      state: "waiting",
      restarts: 0,
      lastError: undefined,
      running: Promise.resolve(),
    });
    return this;
  }

  /** How everything is, now. Never throws: a part whose report fails is not healthy. */
  health(): ManagerHealth {
    const parts: Record<string, PartHealth> = {};
    for (const [name, part] of this.#parts) parts[name] = this.#partHealth(part);
    const all = [...this.#parts.values()];
    const electedFrom = MANAGER_GROUPS.indexOf("election");
    return {
      isHealthy: Object.values(parts).every(({ isHealthy }) => isHealthy),
      isReady: this.#state === "running" &&
        all.every(({ group, state }) =>
          MANAGER_GROUPS.indexOf(group) >= electedFrom || state === "running"
        ),
      parts,
    };
  }

  /**
   * Starts everything, works until `signal` aborts, stops everything; then resolves. Once.
   *
   * @throws {Error} If a part failed that is not started again, after all others were stopped.
   * @throws {DeadlineError} If parts had not ended when the budget was spent, naming them.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    assert(this.#state === "new", "a manager runs once");
    this.#state = "running";
    using stop = abortScope(signal);
    const failures: Error[] = [];
    const fail = (failure: Error) => {
      failures.push(failure);
      stop.abort(failure);
    };
    const started: { group: ManagerGroup; abort: AbortController }[] = [];
    for (const group of MANAGER_GROUPS) {
      if (stop.signal.aborted) break;
      const abort = new AbortController();
      started.unshift({ group, abort });
      await this.#start(group, { signal: abort.signal, stop: stop.signal, fail });
    }
    await latch().wait({ signal: stop.signal }).catch(() => {}); // until the abort
    this.#state = "stopping";
    this.#options.log.info("Stopping", failures[0] && { error: messageOf(failures[0]) });
    await this.#stop(started, { reason: stop.signal.reason, fail });
    if (failures[0] !== undefined) throw failures[0];
  }

  /** Starts a group and waits until it is ready. Failures go to `fail`. */
  async #start(
    group: ManagerGroup,
    { signal, stop, fail }: {
      signal: AbortSignal;
      stop: AbortSignal;
      fail: (failure: Error) => void;
    },
  ): Promise<void> {
    const parts = this.#partsOf(group);
    for (const part of parts) part.running = this.#runPart(part, { signal, fail });
    const waits: Record<string, Task> = {};
    for (const part of parts) {
      waits[part.runnable.name] = async (stop) => {
        // Who is deaf to the signal must not hold up the stop.
        await unlessAborted((async () => await part.runnable.ready?.({ signal: stop }))(), stop);
        if (part.state === "starting") part.state = "running";
      };
    }
    try {
      await runTogether(waits, { signal: stop });
      if (parts.length > 0 && !stop.aborted) this.#options.log.info("Started", { group });
    } catch (error) {
      fail(new Error(`Cannot start ${group}`, { cause: error }));
    }
  }

  /** Runs one part to its end. Never rejects. */
  async #runPart(
    part: Part,
    { signal, fail }: { signal: AbortSignal; fail: (failure: Error) => void },
  ): Promise<void> {
    const { runnable, onFailure } = part;
    const { clock, random, log } = this.#options;
    const run = (signal: AbortSignal) => runnable.run({ signal });
    part.state = "starting";
    try {
      if (onFailure === "restart") {
        await supervise(run, {
          name: runnable.name,
          clock,
          random,
          log,
          signal,
          onStarted: () => {
            if (part.state === "restarting") part.state = "running";
          },
          onFailed: (error) => {
            part.state = "restarting";
            part.restarts += 1;
            part.lastError = messageOf(error);
          },
        });
      } else {
        await run(signal);
        if (!signal.aborted) throw new Error("it ended by itself");
      }
      part.state = "stopped";
    } catch (error) {
      if (signal.aborted && error === signal.reason) {
        part.state = "stopped";
        return;
      }
      part.state = "failed";
      part.lastError = messageOf(error);
      log.error("A part failed", { part: runnable.name, error: part.lastError });
      fail(new Error(`Part "${runnable.name}" failed`, { cause: error }));
    }
  }

  /** Stops groups one after the other, within the budget; what is left then, at once. */
  async #stop(
    started: readonly { group: ManagerGroup; abort: AbortController }[],
    { reason, fail }: { reason: unknown; fail: (failure: Error) => void },
  ): Promise<void> {
    const { clock, log, shutdownBudgetMs = SHUTDOWN_BUDGET_MS } = this.#options;
    using budget = abortScope(NEVER);
    // Ends with the scope, whose abort at the latest makes the sleep reject.
    const spend = async () => {
      await clock.sleep(shutdownBudgetMs, { signal: budget.signal });
      log.error("The time for stopping is spent", { parts: this.#names(isLeft) });
      for (const { abort } of started) abort.abort(reason);
      await clock.sleep(UNWIND_MS, { signal: budget.signal });
      budget.abort(SPENT);
    };
    spend().catch(() => {});
    for (const { group, abort } of started) {
      abort.abort(reason);
      const ended = Promise.all(this.#partsOf(group).map(({ running }) => running));
      await endOrAbort(ended, budget.signal);
    }
    const left = this.#names(isLeft);
    if (left.length > 0) fail(new DeadlineError(`stopping ${left.join(", ")}`, shutdownBudgetMs));
    else log.info("Stopped");
  }

  #partsOf(group: ManagerGroup): Part[] {
    return [...this.#parts.values()].filter((part) => part.group === group);
  }

  #names(matches: (part: Part) => boolean): string[] {
    return [...this.#parts.values()].filter(matches).map(({ runnable }) => runnable.name);
  }

  #partHealth({ group, state, restarts, lastError, runnable }: Part): PartHealth {
    const about = { group, state, restarts };
    if (state === "restarting" || state === "failed") {
      return { ...about, isHealthy: false, ...(lastError && { message: lastError }) };
    }
    if (state === "waiting" || runnable.health === undefined) return { ...about, isHealthy: true };
    try {
      return { ...runnable.health(), ...about };
    } catch (error) {
      return { ...about, isHealthy: false, message: messageOf(error) };
    }
  }
}

/** Started and not ended. */
function isLeft({ state }: Part): boolean {
  return state === "starting" || state === "running" || state === "restarting";
}

/** Waits for `ended`, which never rejects, or for the abort. */
async function endOrAbort(ended: Promise<unknown>, signal: AbortSignal): Promise<void> {
  await Promise.race([ended, latch().wait({ signal }).catch(() => {})]);
}

const NEVER = new AbortController().signal;
const SPENT = new DOMException("The time for stopping is spent", "TimeoutError");

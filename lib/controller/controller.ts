/**
 * Workers that take keys from a queue and reconcile them.
 *
 * What a controller promises:
 * - It starts no reconcile before every cache and handler it waits for has seen the initial state.
 * - No key is reconciled twice at once, and one that fails, hangs or throws stops no other: each
 *   ending is caught, counted, logged in one line and answered as {@linkcode Reconciler} says.
 * - When its signal aborts it takes no new key, lets running reconciles end within the grace period,
 *   and then ends itself, whatever they do.
 *
 * It knows no kind, no cache and no client: informers put keys into its queue (`enqueue.ts`), the
 * reconciler reads and writes what it was made with.
 *
 * @module
 */

import { abortScope, type Clock } from "../core/clock.ts";
import { assert, AssertionError, isConflict, messageOf } from "../core/errors.ts";
import { type Logger, withFields } from "../core/log.ts";
import { type ObjectKey, splitKey } from "../core/objects.ts";
import { runTogether, type Task } from "../core/tasks.ts";
import { CutError, runWithinLimits } from "./limits.ts";
import { isTerminal, type Reconciler, type ReconcileResult } from "./reconciler.ts";
import type { Workqueue } from "./workqueue.ts";

// The author of a reconciler finds what it takes here, beside what runs it.
export {
  isTerminal,
  type ReconcileContext,
  type Reconciler,
  type ReconcileRequest,
  type ReconcileResult,
  requeueAfter,
  SETTLED,
  TerminalError,
} from "./reconciler.ts";

/** Workers of a controller unless told otherwise: the safe number, as in controller-runtime. */
export const WORKERS_DEFAULT = 1;

/**
 * Longest reconcile unless told otherwise, in milliseconds. Generous, since a request of ours ends
 * within a minute by itself: what runs for ten minutes hangs. `Infinity` turns the limit off.
 */
export const RECONCILE_DEADLINE_MS = 10 * 60_000;

/**
 * How long running reconciles may go on after a stop unless told otherwise, in milliseconds; the
 * time that Kubernetes gives a container by default.
 */
export const GRACE_PERIOD_MS = 30_000;

/** A wait for caches longer than this is told once, with the names of those that lag. */
const SYNC_WARN_AFTER_MS = 30_000;

/**
 * Reconciles below {@linkcode QUICK_RUN_MS} that a worker runs in a row before it lets a timer pass.
 * Such runs wait for nothing but promises, and a chain of those alone keeps the event loop from
 * sockets, signals and the lease: a reconciler that asks for `requeueAfter(0)` would stop the process
 * from ever stopping. Costs 10,000 runs with nothing to do a quarter of a second.
 */
const QUICK_RUNS_MAX = 50;

/** Longest run, in milliseconds, that is taken to have done no I/O. */
const QUICK_RUN_MS = 1;

/** How one run of the reconciler ended. */
export type ReconcileOutcome =
  | ReconcileResult
  /** Not tried again until something changes. */
  | { readonly type: "terminal"; readonly error: unknown }
  /** Tried again in `retryAfterMs`, or earlier on a change; `failures` in a row, this one included. */
  | {
    readonly type: "failed";
    readonly error: unknown;
    readonly reason: FailureReason;
    readonly failures: number;
    readonly retryAfterMs: number;
  };

/**
 * Why a run failed: it threw; it threw what only a programming error throws, or answered with no
 * result; it was cut at its deadline; it was cut because the process stops.
 */
export type FailureReason = "error" | "panic" | "deadline" | "stopped";

/**
 * Hears of reconciles, for the metrics named on each hook. Called synchronously; what a hook throws
 * is logged and dropped.
 */
export interface ControllerObserver {
  /** Once, before the first reconcile: `controller_runtime_max_concurrent_reconciles`. */
  started(event: { controller: string; workers: number }): void;
  /** `controller_runtime_active_workers` goes up. */
  reconcileStarted(event: { controller: string; key: ObjectKey; reconcileId: string }): void;
  /**
   * `controller_runtime_active_workers` goes down, `…_reconcile_time_seconds` gets the duration,
   * `…_reconcile_total` counts settled as `success`, requeue as `requeue_after`, the rest as `error`;
   * `…_reconcile_errors_total` counts failed and terminal, `…_terminal_reconcile_errors_total`
   * terminal, `…_reconcile_panics_total` and `…_reconcile_timeouts_total` the reasons panic and
   * deadline.
   */
  reconcileEnded(
    event: {
      controller: string;
      key: ObjectKey;
      reconcileId: string;
      outcome: ReconcileOutcome;
      durationMs: number;
    },
  ): void;
}

/** Something that must have seen the initial state first: an informer, or one of its handlers. */
export interface SyncSource {
  /** Named in messages when it lags. */
  readonly name: string;
  /** Resolves once the initial state is in. */
  synced(options: { signal: AbortSignal }): Promise<void>;
}

/** What a {@linkcode Controller} is made of. */
export interface ControllerOptions {
  /** Name in logs and metrics. */
  readonly name: string;
  /** Called for each key that a worker takes. */
  readonly reconcile: Reconciler;
  /** Where keys come from. The controller shuts it down when it is stopped. */
  readonly queue: Workqueue<ObjectKey>;
  /** Keys reconciled at a time. @default {1} */
  readonly workers?: number;
  /** Caches and handlers without which a reconcile would decide on half the truth. */
  readonly waitFor: readonly SyncSource[];
  /** Measures and limits reconciles. */
  readonly clock: Clock;
  /** Makes reconcile ids. */
  readonly uuid: () => string;
  /** Gets one line for each failure; each reconcile's own logger is made of it. */
  readonly log: Logger;
  /** Counts reconciles. @default none */
  readonly observer?: ControllerObserver;
  /** Longest run of the reconciler, in milliseconds; `Infinity` for none. @default {600_000} */
  readonly deadlineMs?: number;
  /** How long running reconciles may go on after a stop, in milliseconds. @default {30_000} */
  readonly gracePeriodMs?: number;
}

/**
 * Takes keys and reconciles them until stopped; see the module's text for what it promises.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock, realRandom, realUuid } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 * import { defaultRateLimiter } from "../core/rate_limiter.ts";
 * import { SETTLED } from "./reconciler.ts";
 * import { Workqueue } from "./workqueue.ts";
 *
 * const stop = new AbortController();
 * const rateLimiter = defaultRateLimiter<string>({ clock: realClock, random: realRandom });
 * const queue = new Workqueue({ name: "foo", clock: realClock, rateLimiter });
 * const seen: string[] = [];
 * const controller = new Controller({
 *   name: "foo",
 *   reconcile({ namespace, name }) {
 *     seen.push(`${namespace} ${name}`);
 *     stop.abort();
 *     return Promise.resolve(SETTLED);
 *   },
 *   queue,
 *   waitFor: [], // informers and their handlers
 *   clock: realClock,
 *   uuid: realUuid,
 *   log: silentLogger,
 * });
 * queue.add("default/a");
 * await controller.run({ signal: stop.signal });
 * deepStrictEqual(seen, ["default a"]);
 * ```
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #log: Logger;

  /** Only stores. */
  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#log = withFields(options.log, { controller: options.name });
  }

  /** Name in logs and metrics. */
  get name(): string {
    return this.#options.name;
  }

  /**
   * Works until `signal` aborts, then resolves within the grace period and the two seconds that a
   * reconcile has to unwind. The queue is shut down by then.
   *
   * @throws {Error} If a cache failed to sync, or a worker failed, which is a bug. The queue is left
   *   as it is, so that the call can be repeated; whoever gives up shuts it down.
   * @throws {AssertionError} If the number of workers is not a whole number above 0.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    const { name, queue, workers = WORKERS_DEFAULT, observer } = this.#options;
    assert(Number.isInteger(workers) && workers > 0, `${workers} is a number of workers`);
    await this.#synced(signal);
    if (!signal.aborted) {
      this.#log.info("Controller started", { workers });
      this.#tell(() => observer?.started({ controller: name, workers }));
      const tasks: Record<string, Task> = {};
      for (let n = 1; n <= workers; n++) tasks[`worker ${n}`] = (stop) => this.#work(stop);
      await runTogether(tasks, { signal });
    }
    queue.shutDown();
    this.#log.info("Controller stopped");
  }

  /** Resolves when all caches have their initial state, or on an abort. */
  async #synced(signal: AbortSignal): Promise<void> {
    const { waitFor, clock } = this.#options;
    const waiting = new Set(waitFor);
    const tasks: Record<string, Task> = {};
    waitFor.forEach((source, index) => {
      // Numbered, since two handlers of one informer may share a name.
      tasks[`cache ${index + 1}: ${source.name}`] = async (stop) => {
        await source.synced({ signal: stop });
        waiting.delete(source);
      };
    });
    using reminder = abortScope(signal);
    // Ends with the scope, whose abort at the latest makes the sleep reject.
    clock.sleep(SYNC_WARN_AFTER_MS, { signal: reminder.signal }).then(
      () => this.#log.warn("Still waiting for caches", { caches: [...waiting].map((s) => s.name) }),
      () => {},
    );
    await runTogether(tasks, { signal });
  }

  /** One worker. The key is released on every path, by the scope of `item`. */
  async #work(stop: AbortSignal): Promise<void> {
    let quickRuns = 0;
    for (;;) {
      if (quickRuns === QUICK_RUNS_MAX) {
        await this.#options.clock.sleep(1, { signal: stop });
        quickRuns = 0;
      }
      using item = await this.#options.queue.take({ signal: stop });
      if (item === undefined || stop.aborted) return;
      const durationMs = await this.#reconcile(item.key, stop);
      quickRuns = durationMs < QUICK_RUN_MS ? quickRuns + 1 : 0;
    }
  }

  /** One run, from start to the last hook. Returns its duration in milliseconds. */
  async #reconcile(key: ObjectKey, stop: AbortSignal): Promise<number> {
    const { name: controller, clock, uuid, observer } = this.#options;
    const reconcileId = uuid();
    const log = withFields(this.#log, { ...splitKey(key), reconcileID: reconcileId });
    const startedAtMs = clock.monotonicMs();
    this.#tell(() => observer?.reconcileStarted({ controller, key, reconcileId }));

    const outcome = await this.#outcome(key, { stop, log, reconcileId });
    const durationMs = clock.monotonicMs() - startedAtMs;
    const event = { controller, key, reconcileId, outcome, durationMs };
    this.#tell(() => observer?.reconcileEnded(event));
    logOutcome(log, outcome, Math.round(durationMs));
    return durationMs;
  }

  /** Calls the reconciler and tells the queue what its ending asks for. Never throws for it. */
  async #outcome(
    key: ObjectKey,
    { stop, log, reconcileId }: { stop: AbortSignal; log: Logger; reconcileId: string },
  ): Promise<ReconcileOutcome> {
    const { queue } = this.#options;
    try {
      const result = await this.#call(key, { stop, log, reconcileId });
      assertResult(result);
      queue.forget(key);
      if (result.type === "requeue") queue.addAfter(key, result.afterMs);
      return result;
    } catch (error) {
      if (isTerminal(error)) {
        queue.forget(key);
        return { type: "terminal", error };
      }
      const retryAfterMs = queue.addRateLimited(key);
      const failures = queue.failures(key);
      return { type: "failed", error, reason: failureReason(error), failures, retryAfterMs };
    }
  }

  #call(
    key: ObjectKey,
    { stop, log, reconcileId }: { stop: AbortSignal; log: Logger; reconcileId: string },
  ): Promise<ReconcileResult> {
    const { reconcile, clock } = this.#options;
    const { deadlineMs = RECONCILE_DEADLINE_MS, gracePeriodMs = GRACE_PERIOD_MS } = this.#options;
    return runWithinLimits(
      (signal) => reconcile(splitKey(key), { signal, log, reconcileId }),
      {
        action: `the reconcile of ${key}`,
        clock,
        deadlineMs,
        stop,
        gracePeriodMs,
        onLateEnd: (error) =>
          log.warn("Abandoned reconcile ended after all", {
            ...(error === undefined ? {} : { error: messageOf(error) }),
          }),
      },
    );
  }

  #tell(hook: () => void): void {
    try {
      hook();
    } catch (error) {
      this.#log.error("Controller observer failed", { error: messageOf(error) });
    }
  }
}

/** The reconciler is user code, perhaps untyped: what it answered is looked at before it is used. */
function assertResult(result: unknown): asserts result is ReconcileResult {
  const claim = "a reconcile answers settled, or requeue with a number of milliseconds";
  assert(typeof result === "object" && result !== null && "type" in result, claim);
  if (result.type === "settled") return;
  assert(result.type === "requeue" && "afterMs" in result, claim);
  assert(typeof result.afterMs === "number" && !Number.isNaN(result.afterMs), claim);
}

function failureReason(error: unknown): FailureReason {
  if (error instanceof CutError) return error.isDeadline ? "deadline" : "stopped";
  const isBug = error instanceof AssertionError || error instanceof TypeError ||
    error instanceof ReferenceError || error instanceof RangeError;
  return isBug ? "panic" : "error";
}

/** One line each; the stack only where someone looks for it. */
function logOutcome(log: Logger, outcome: ReconcileOutcome, durationMs: number): void {
  switch (outcome.type) {
    case "settled":
      return log.debug("Reconciled", { durationMs });
    case "requeue":
      return log.debug("Reconciled", { durationMs, requeueAfterMs: outcome.afterMs });
    case "terminal":
      log.error("Reconcile failed for good", { error: messageOf(outcome.error), durationMs });
      return logStack(log, outcome.error);
    case "failed":
      return logFailure(log, outcome, durationMs);
    default:
      return outcome satisfies never;
  }
}

function logFailure(
  log: Logger,
  { error, reason, failures, retryAfterMs }: ReconcileOutcome & { type: "failed" },
  durationMs: number,
): void {
  const retryMs = Math.round(retryAfterMs);
  const fields = { error: messageOf(error), failures, retryAfterMs: retryMs, durationMs };
  if (reason === "stopped") {
    log.warn("Reconcile cut by the stop", { error: fields.error, durationMs });
  } else if (isConflict(error)) {
    // Someone else was faster, and the next look sees what they did: ordinary, unlike the rest.
    log.info("Reconcile met a conflict", fields);
  } else {
    log.error("Reconcile failed", { reason, ...fields });
  }
  if (error instanceof CutError && error.isAbandoned) {
    log.error("Reconcile ignored its signal and was abandoned", { durationMs });
  }
  logStack(log, error);
}

function logStack(log: Logger, error: unknown): void {
  if (error instanceof Error) log.debug("Stack of the failure", { stack: error.stack });
}

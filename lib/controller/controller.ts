/**
 * Workers that take keys from a queue and reconcile them.
 *
 * What it promises stands at {@linkcode Controller}.
 *
 * It knows no kind, no cache and no client: informers put keys into its queue (`enqueue.ts`), the
 * reconciler reads and writes what it was made with.
 *
 * @module
 */

import { abortScope } from "../core/clock.ts";
import { assert, messageOf } from "../core/errors.ts";
import { type Logger, withFields } from "../core/log.ts";
import { splitKey } from "../core/objects.ts";
import { runTogether, type Task } from "../core/tasks.ts";
import {
  type ControllerOptions,
  GRACE_PERIOD_MS,
  RECONCILE_DEADLINE_MS,
  WORKERS_DEFAULT,
} from "./controller_options.ts";
import { type HotLoop, HotLoopDetector } from "./hot_loop.ts";
import { runWithinLimits } from "./limits.ts";
import { assertResult, failureReason, logOutcome, type ReconcileOutcome } from "./outcome.ts";
import { describeReasons } from "./reasons.ts";
import { classifyError, type ReconcileResult } from "./reconciler.ts";
import { watchStuckKeys } from "./stuck_keys.ts";
import { waitForSync } from "./sync.ts";
import type { WorkItem } from "./workqueue.ts";

// The author of a reconciler finds what it takes here, beside what runs it.
export {
  IgnorableError,
  isTerminal,
  type ReconcileContext,
  type Reconciler,
  type ReconcileRequest,
  type ReconcileResult,
  requeueAfter,
  RequeueError,
  SETTLED,
  TerminalError,
} from "./reconciler.ts";
export {
  type ControllerObserver,
  type ControllerOptions,
  GRACE_PERIOD_MS,
  RECONCILE_DEADLINE_MS,
  WORKERS_DEFAULT,
} from "./controller_options.ts";
export type { FailureReason, ReconcileOutcome } from "./outcome.ts";
export type { SyncSource } from "./sync.ts";

/**
 * Reconciles below {@linkcode QUICK_RUN_MS} that a worker runs in a row before it lets a timer pass.
 * Such runs wait for nothing but promises, and a chain of those alone keeps the event loop from
 * sockets, signals and the lease: a reconciler that asks for `requeueAfter(0)` would stop the process
 * from ever stopping. Costs 10,000 runs with nothing to do a quarter of a second.
 */
const QUICK_RUNS_MAX = 50;

/** Longest run, in milliseconds, that is taken to have done no I/O. */
const QUICK_RUN_MS = 1;

/**
 * Takes keys and reconciles them until stopped.
 *
 * What a controller promises:
 * - It starts no reconcile before every cache and handler it waits for has seen the initial state.
 * - No key is reconciled twice at once, and one that fails, hangs or throws stops no other: each
 *   ending is caught, counted, logged in one line and answered as {@linkcode Reconciler} says.
 * - A key whose reconciles cause each other is slowed and told of ({@linkcode HotLoop}).
 * - When its signal aborts it takes no new key, lets running reconciles end within the grace period,
 *   and then ends itself, whatever they do.
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

  readonly #hotLoops: HotLoopDetector;

  /** Only stores. */
  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#log = withFields(options.log, { controller: options.name });
    this.#hotLoops = new HotLoopDetector({
      clock: options.clock,
      onFound: (loop) => this.#hotLoopFound(loop),
    });
  }

  /** Name in logs and metrics. */
  get name(): string {
    return this.#options.name;
  }

  /** Keys that are slowed since their reconciles seem to cause each other: for a gauge. */
  get slowedKeys(): number {
    return this.#hotLoops.slowed;
  }

  /**
   * Works until `signal` aborts, then resolves within the grace period and the two seconds that a
   * reconcile has to unwind. The queue is shut down by then.
   *
   * @throws {DeadlineError} If caches did not sync within `syncDeadlineMs`, naming them.
   * @throws {Error} If a cache failed to sync, or a worker failed, which is a bug. In both cases the
   *   queue is left as it is, so that the call can be repeated; whoever gives up shuts it down.
   * @throws {AssertionError} If the number of workers is not a whole number above 0.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    const { name, queue, workers = WORKERS_DEFAULT, observer } = this.#options;
    const { waitFor, clock, syncDeadlineMs } = this.#options;
    assert(Number.isInteger(workers) && workers > 0, `${workers} is a number of workers`);
    await waitForSync({
      sources: waitFor,
      clock,
      log: this.#log,
      ...(syncDeadlineMs === undefined ? {} : { deadlineMs: syncDeadlineMs }),
      signal,
    });
    if (!signal.aborted) {
      this.#log.info("Controller started", { workers });
      this.#tell(() => observer?.started({ controller: name, workers }));
      await this.#workTogether(workers, signal);
    }
    queue.shutDown();
    this.#log.info("Controller stopped");
  }

  /** Workers, and who looks after them: it ends with the last worker. */
  async #workTogether(workers: number, signal: AbortSignal): Promise<void> {
    const { name: controller, queue, clock, observer, stuckAfterMs } = this.#options;
    using watch = abortScope(signal);
    let working = workers;
    const tasks: Record<string, Task> = {};
    for (let n = 1; n <= workers; n++) {
      tasks[`worker ${n}`] = async (stop) => {
        try {
          await this.#work(stop);
        } finally {
          if (--working === 0) watch.abort(WORK_ENDED);
        }
      };
    }
    tasks["stuck keys"] = async () => {
      try {
        await watchStuckKeys({
          queue,
          clock,
          log: this.#log,
          ...(stuckAfterMs === undefined ? {} : { afterMs: stuckAfterMs }),
          onStuck: (stuck) => this.#tell(() => observer?.keyStuck?.({ controller, ...stuck })),
        }, watch);
      } catch (error) {
        if (error !== watch.signal.reason) throw error;
      }
    };
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
      const putOffMs = this.#hotLoops.putOffMs(item.key, item.reasons);
      if (putOffMs > 0) {
        const { key, priority } = item;
        const reason = { type: "hot-loop", source: this.name } as const;
        this.#options.queue.addAfter(key, putOffMs, { priority, reason });
        quickRuns += 1;
        continue;
      }
      const durationMs = await this.#reconcile(item, stop);
      this.#hotLoops.ended(item.key);
      quickRuns = durationMs < QUICK_RUN_MS ? quickRuns + 1 : 0;
    }
  }

  /** One run, from start to the last hook. Returns its duration in milliseconds. */
  async #reconcile(item: WorkItem<string>, stop: AbortSignal): Promise<number> {
    const { name: controller, clock, uuid, observer } = this.#options;
    const { key, reasons, priority } = item;
    const reconcileId = uuid();
    const log = withFields(this.#log, { ...splitKey(key), reconcileID: reconcileId });
    const startedAtMs = clock.monotonicMs();
    this.#tell(() =>
      observer?.reconcileStarted({ controller, key, reconcileId, reasons, priority })
    );

    const outcome = await this.#outcome(item, { stop, log, reconcileId });
    const durationMs = clock.monotonicMs() - startedAtMs;
    const event = { controller, key, reconcileId, outcome, durationMs };
    this.#tell(() => observer?.reconcileEnded(event));
    logOutcome(log, outcome, {
      durationMs: Math.round(durationMs),
      ...(reasons.length === 0 ? {} : { reasons: describeReasons(reasons) }),
    });
    return durationMs;
  }

  /** Calls the reconciler and tells the queue what its ending asks for. Never throws for it. */
  async #outcome(item: WorkItem<string>, run: Run): Promise<ReconcileOutcome> {
    const { queue } = this.#options;
    const { key, priority } = item;
    const source = this.name;
    const result = await this.#result(item, run);
    if (result.type === "settled" || result.type === "terminal") {
      queue.forget(key);
      return result;
    }
    if (result.type === "requeue") {
      queue.forget(key);
      queue.addAfter(key, result.afterMs, { priority, reason: { type: "requeue", source } });
      return result;
    }
    const { error } = result;
    const reason = { type: "retry", source } as const;
    const retryAfterMs = queue.addRateLimited(key, { priority, reason });
    const failures = queue.failures(key);
    return { type: "failed", error, reason: failureReason(error), failures, retryAfterMs };
  }

  /** What the reconciler answered, or what it threw stands for. Never throws. */
  async #result(
    item: WorkItem<string>,
    run: Run,
  ): Promise<Exclude<ReconcileOutcome, { type: "failed" }> | { type: "failed"; error: unknown }> {
    try {
      const result = await this.#call(item, run);
      assertResult(result);
      return result;
    } catch (error) {
      return classifyError(error);
    }
  }

  #call(
    { key, reasons, priority }: WorkItem<string>,
    { stop, log, reconcileId }: Run,
  ): Promise<ReconcileResult> {
    const { reconcile, clock } = this.#options;
    const { deadlineMs = RECONCILE_DEADLINE_MS, gracePeriodMs = GRACE_PERIOD_MS } = this.#options;
    return runWithinLimits(
      (signal) => reconcile(splitKey(key), { signal, log, reconcileId, reasons, priority }),
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

  #hotLoopFound({ key, runs, delayMs }: HotLoop): void {
    const { name: controller, observer } = this.#options;
    this.#log.warn("Reconciles of a key cause each other, and are slowed", {
      ...splitKey(key),
      runs,
      delayMs,
    });
    this.#tell(() => observer?.hotLoopFound?.({ controller, key, runs, delayMs }));
  }

  #tell(hook: () => void): void {
    try {
      hook();
    } catch (error) {
      this.#log.error("Controller observer failed", { error: messageOf(error) });
    }
  }
}

/** What belongs to one run beside its key. */
interface Run {
  readonly stop: AbortSignal;
  readonly log: Logger;
  readonly reconcileId: string;
}

const WORK_ENDED = new DOMException("The last worker has ended", "AbortError");

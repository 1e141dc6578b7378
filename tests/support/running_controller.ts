/**
 * A controller that runs on a simulated clock, for tests of what it does with its reconciler.
 *
 * @module
 */

import { strictEqual } from "node:assert/strict";
import {
  Controller,
  type ControllerOptions,
  type Reconciler,
  type ReconcileResult,
  SETTLED,
} from "../../lib/controller/controller.ts";
import { Workqueue } from "../../lib/controller/workqueue.ts";
import { defaultRateLimiter } from "../../lib/core/rate_limiter.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { type LogRecord, recordingLogger } from "./recording_logger.ts";

/** What {@linkcode startController} gives. */
export interface RunningController extends AsyncDisposable {
  readonly clock: SimClock;
  readonly queue: Workqueue<string>;
  readonly records: LogRecord[];
  readonly stop: AbortController;
  /** Ends with the controller. */
  readonly running: Promise<void>;
  hasEnded(): boolean;
}

/**
 * A running controller with ids `id-1`, `id-2`, … and retries without jitter. Leaving the scope
 * stops it, awaits its end and checks that it left no timer.
 */
export function startController(
  reconcile: Reconciler,
  options: Partial<ControllerOptions> = {},
): RunningController {
  const clock = new SimClock();
  const rateLimiter = defaultRateLimiter<string>({ clock, random: () => 0 });
  const queue = new Workqueue<string>({ name: "foo", clock, rateLimiter });
  const { log, records } = recordingLogger();
  const stop = new AbortController();
  let ids = 0;
  const controller = new Controller({
    name: "foo",
    reconcile,
    queue,
    waitFor: [],
    clock,
    uuid: () => `id-${++ids}`,
    log,
    ...options,
  });
  let hasEnded = false;
  const running = controller.run({ signal: stop.signal }).finally(() => hasEnded = true);
  return {
    clock,
    queue,
    records,
    stop,
    running,
    hasEnded: () => hasEnded,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await clock.advance(120_000);
      await running;
      strictEqual(clock.pendingTimers, 0);
    },
  };
}

/** A reconciler that answers with one of `answers` after the other, the last for ever. */
export function scriptedReconciler(
  answers: (() => Promise<ReconcileResult>)[],
  seen: string[] = [],
): Reconciler {
  return ({ namespace, name }) => {
    seen.push(`${namespace}/${name}`);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer === undefined ? Promise.resolve(SETTLED) : answer();
  };
}

/** An answer that fails with `error`. */
export function fails(error: unknown): () => Promise<never> {
  return () => Promise.reject(error);
}

/** An answer that settles. */
export function settles(): Promise<ReconcileResult> {
  return Promise.resolve(SETTLED);
}

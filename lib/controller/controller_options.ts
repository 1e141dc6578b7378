/**
 * What a controller is made of and what it tells, apart from the controller: what a caller reads.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { ObjectKey } from "../core/objects.ts";
import type { HotLoop } from "./hot_loop.ts";
import type { ReconcileOutcome } from "./outcome.ts";
import type { Priority } from "./ready_keys.ts";
import type { Reason } from "./reasons.ts";
import type { Reconciler } from "./reconciler.ts";
import type { SyncSource } from "./sync.ts";
import type { Workqueue } from "./workqueue.ts";

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

/**
 * Hears of reconciles, for the metrics named on each hook. Called synchronously; what a hook throws
 * is logged and dropped.
 */
export interface ControllerObserver {
  /** Once, before the first reconcile: `controller_runtime_max_concurrent_reconciles`. */
  started(event: { controller: string; workers: number }): void;
  /** `controller_runtime_active_workers` goes up. */
  reconcileStarted(
    event: {
      controller: string;
      key: ObjectKey;
      reconcileId: string;
      reasons: readonly Reason[];
      priority: Priority;
    },
  ): void;
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
  /** A reconcile runs for `forMs` already; told once for each. */
  keyStuck?(event: { controller: string; key: ObjectKey; forMs: number }): void;
  /** Reconciles of a key cause each other; told once for each such loop. For counting and an Event. */
  hotLoopFound?(event: HotLoop & { controller: string }): void;
}

/** What a `Controller` is made of. */
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
  /**
   * Longest wait for {@linkcode ControllerOptions.waitFor}, in milliseconds; then `run` fails with
   * the names of those that lag. Whoever sets it restarts the controller, as a manager does.
   * @default {Infinity}
   */
  readonly syncDeadlineMs?: number;
  /** A reconcile that runs longer than this is told of, in milliseconds. @default {300_000} */
  readonly stuckAfterMs?: number;
}

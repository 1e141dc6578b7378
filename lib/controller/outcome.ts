/**
 * How a run of a reconciler ended, and the line that says so.
 *
 * @module
 */

import { assert, AssertionError, isConflict, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { CutError } from "./limits.ts";
import type { ReconcileResult } from "./reconciler.ts";

/** How one run of the reconciler ended. */
export type ReconcileOutcome =
  /** `error` is the `IgnorableError` or `RequeueError` that stood for the result. */
  | (ReconcileResult & { readonly error?: unknown })
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
 * The reconciler is user code, perhaps untyped: what it answered is looked at before it is used.
 *
 * @throws {AssertionError} If it is no result.
 */
export function assertResult(result: unknown): asserts result is ReconcileResult {
  const claim = "a reconcile answers settled, or requeue with a number of milliseconds";
  assert(typeof result === "object" && result !== null && "type" in result, claim);
  if (result.type === "settled") return;
  assert(result.type === "requeue" && "afterMs" in result, claim);
  assert(typeof result.afterMs === "number" && !Number.isNaN(result.afterMs), claim);
}

/** Why a run that threw `error` failed. */
export function failureReason(error: unknown): FailureReason {
  if (error instanceof CutError) return error.isDeadline ? "deadline" : "stopped";
  const isBug = error instanceof AssertionError || error instanceof TypeError ||
    error instanceof ReferenceError || error instanceof RangeError;
  return isBug ? "panic" : "error";
}

/** One line each; the stack only where someone looks for it. `about` is added to each record. */
export function logOutcome(
  log: Logger,
  outcome: ReconcileOutcome,
  about: { durationMs: number; reasons?: string },
): void {
  switch (outcome.type) {
    case "settled":
      return log.debug("Reconciled", { ...errorField(outcome), ...about });
    case "requeue": {
      const fields = { requeueAfterMs: outcome.afterMs, ...errorField(outcome), ...about };
      // Who throws to wait says why, and that is worth a line: it looks like a hang from outside.
      return log[outcome.error === undefined ? "debug" : "info"]("Reconciled", fields);
    }
    case "terminal":
      log.error("Reconcile failed for good", { error: messageOf(outcome.error), ...about });
      return logStack(log, outcome.error);
    case "failed":
      return logFailure(log, outcome, about);
    default:
      return outcome satisfies never;
  }
}

function logFailure(
  log: Logger,
  { error, reason, failures, retryAfterMs }: ReconcileOutcome & { type: "failed" },
  about: { durationMs: number; reasons?: string },
): void {
  const retryMs = Math.round(retryAfterMs);
  const fields = { error: messageOf(error), failures, retryAfterMs: retryMs, ...about };
  if (reason === "stopped") {
    log.warn("Reconcile cut by the stop", { error: fields.error, ...about });
  } else if (isConflict(error)) {
    // Someone else was faster, and the next look sees what they did: ordinary, unlike the rest.
    log.info("Reconcile met a conflict", fields);
  } else {
    log.error("Reconcile failed", { reason, ...fields });
  }
  if (error instanceof CutError && error.isAbandoned) {
    log.error("Reconcile ignored its signal and was abandoned", about);
  }
  logStack(log, error);
}

function errorField({ error }: { error?: unknown }): { error?: string } {
  return error === undefined ? {} : { error: messageOf(error) };
}

function logStack(log: Logger, error: unknown): void {
  if (error instanceof Error) log.debug("Stack of the failure", { stack: error.stack });
}

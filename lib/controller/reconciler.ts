/**
 * What the author of an operator writes and what it may answer.
 *
 * A file of its own so that a reconciler, and its tests, need neither queue nor controller.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";

/** Which object to look at. Holds nothing of what happened to it: the reconciler reads the present. */
export interface ReconcileRequest {
  /** Its namespace; `""` if it is cluster-scoped. */
  readonly namespace: string;
  /** Its name. */
  readonly name: string;
}

/** What comes along with a request. */
export interface ReconcileContext {
  /**
   * Aborts when the reconcile's deadline or the grace period of a stop has passed, and when the
   * reconcile has ended. Hand it to everything that waits.
   */
  readonly signal: AbortSignal;
  /** Adds `controller`, `namespace`, `name` and `reconcileID` to each record. */
  readonly log: Logger;
  /** Unique to this run: ties together its log records and traces. */
  readonly reconcileId: string;
}

/** How a reconcile ended when it did not throw. */
export type ReconcileResult =
  /** Nothing left to do until something changes. */
  | { readonly type: "settled" }
  /** Look again in `afterMs` milliseconds, or earlier if something changes. */
  | { readonly type: "requeue"; readonly afterMs: number };

/** Nothing left to do until something changes. */
export const SETTLED: ReconcileResult = Object.freeze({ type: "settled" });

/**
 * Look again in `ms` milliseconds, at once for 0 or less. Not for failures: throw, and the delay
 * grows by itself.
 *
 * @throws {AssertionError} If `ms` is NaN.
 */
export function requeueAfter(ms: number): ReconcileResult {
  assert(!Number.isNaN(ms), "a delay is a number");
  return { type: "requeue", afterMs: ms };
}

/**
 * Brings the world to where the object wants it. Called with one key at a time per object, again
 * and again; when nothing changed, it changes nothing.
 *
 * What its ending means, in order of precedence:
 *
 * 1. It throws a {@linkcode TerminalError}, or an error with one among its causes: counted as an
 *    error, failures forgotten, not tried again until something changes.
 * 2. It throws anything else, at once or later, or answers with what is no result, or is cut at its
 *    deadline: tried again after a delay that grows with each failure.
 * 3. `requeue`: failures forgotten, looked at again after the delay asked for.
 * 4. `settled`: failures forgotten, nothing more until something changes.
 *
 * A change that comes in while it runs leads to another run in every case, terminal included.
 */
export type Reconciler = (
  request: ReconcileRequest,
  context: ReconcileContext,
) => Promise<ReconcileResult>;

/**
 * Trying again can't help: the object itself is at fault, and only its change is worth a new look.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const error = new TerminalError("Cannot use deploymentName \"A B\": not a DNS-1123 subdomain");
 * strictEqual(isTerminal(new Error("Cannot reconcile", { cause: error })), true);
 * ```
 */
export class TerminalError extends Error {
  /** Tells it from other errors in logs. */
  override readonly name = "TerminalError";
}

/** True if `error`, or one of its causes, is a {@linkcode TerminalError}. */
export function isTerminal(error: unknown): boolean {
  // Bounded, since a cause may form a cycle.
  for (let depth = 0; depth < 16 && error instanceof Error; depth++) {
    if (error instanceof TerminalError) return true;
    error = error.cause;
  }
  return false;
}

/**
 * What the author of an operator writes and what it may answer.
 *
 * A file of its own so that a reconciler, and its tests, need neither queue nor controller.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { Priority } from "./ready_keys.ts";
import type { Reason } from "./reasons.ts";

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
  /**
   * Why this run takes place, at most `REASONS_MAX`; empty if whoever added the key gave none. To be
   * told, never to decide by: several causes fall together, and after a restart all are `initial`.
   */
  readonly reasons: readonly Reason[];
  /** How urgent it was: `low` for the first list and resyncs. */
  readonly priority: Priority;
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
 * What its ending means, in order of precedence. An error stands for the first of these classes among
 * itself and its causes, from the outside in:
 *
 * 1. It throws a {@linkcode TerminalError}: counted as an error, failures forgotten, not tried again
 *    until something changes.
 * 2. It throws a {@linkcode RequeueError} or {@linkcode IgnorableError}: as if it had answered
 *    `requeue` or `settled`.
 * 3. It throws anything else, at once or later, or answers with what is no result, or is cut at its
 *    deadline: tried again after a delay that grows with each failure.
 * 4. `requeue`: failures forgotten, looked at again after the delay asked for.
 * 5. `settled`: failures forgotten, nothing more until something changes.
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

/**
 * No failure, though it ends the reconcile from deep inside: settled, until something changes. For
 * what takes care of itself, like a namespace that is being deleted.
 */
export class IgnorableError extends Error {
  /** Tells it from other errors in logs. */
  override readonly name = "IgnorableError";
}

/**
 * No failure, but a wait: looked at again after a delay that does not grow, failures forgotten. For
 * what someone else has yet to do, like a dependency that is not ready.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const error = new RequeueError("Waiting for Secret a/b", { afterMs: 5000 });
 * strictEqual(classifyError(new Error("Cannot reconcile", { cause: error })).type, "requeue");
 * ```
 */
export class RequeueError extends Error {
  /** Tells it from other errors in logs. */
  override readonly name = "RequeueError";
  /** When to look again, in milliseconds. */
  readonly afterMs: number;

  /**
   * The message says what is waited for.
   *
   * @throws {AssertionError} If `afterMs` is NaN.
   */
  constructor(message: string, { afterMs, cause }: { afterMs: number; cause?: unknown }) {
    super(message, { cause });
    assert(!Number.isNaN(afterMs), "a delay is a number");
    this.afterMs = afterMs;
  }
}

/** What a thrown error stands for; see {@linkcode Reconciler}. */
export type Classified =
  | { readonly type: "terminal" | "settled" | "failed"; readonly error: unknown }
  | { readonly type: "requeue"; readonly afterMs: number; readonly error: unknown };

/** Causes looked at, since they may form a cycle. */
const CAUSES_MAX = 16;

/** What `error` stands for, by the first of the three classes among itself and its causes. */
export function classifyError(error: unknown): Classified {
  let cause = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
    if (cause instanceof TerminalError) return { type: "terminal", error };
    if (cause instanceof IgnorableError) return { type: "settled", error };
    if (cause instanceof RequeueError) return { type: "requeue", afterMs: cause.afterMs, error };
    cause = cause.cause;
  }
  return { type: "failed", error };
}

/** True if `error` stands for a {@linkcode TerminalError}: it is one, or one is its cause. */
export function isTerminal(error: unknown): boolean {
  return classifyError(error).type === "terminal";
}

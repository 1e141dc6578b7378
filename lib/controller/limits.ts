/**
 * Runs a piece of user code that may hang, so that nothing else hangs with it.
 *
 * A reconcile that never ends would keep its key for ever (field case Q1) and hold up a stop. Two
 * limits bound it: its own deadline, and the grace period once the process stops. Each first aborts
 * the work's signal; work that ends upon that is awaited. Work that ignores its signal is abandoned
 * {@linkcode UNWIND_MS} later. JavaScript can't kill it: should it ever go on, it does so beside a
 * new run of the same key, with an aborted signal that makes each request of ours fail.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { DeadlineError, messageOf } from "../core/errors.ts";

/**
 * How long aborted work may take to end before it is abandoned, in milliseconds. An abort cuts
 * requests at once, so what remains are `finally` blocks.
 */
export const UNWIND_MS = 2000;

/** The work's signal was aborted, and the work failed after that or never ended. */
export class CutError extends Error {
  /** Tells it from other errors in logs. */
  override readonly name = "CutError";
  /** Why its signal was aborted: a {@linkcode DeadlineError}, or the stop's reason. */
  readonly reason: unknown;
  /** True if the work ignored its signal and may still be running. */
  readonly isAbandoned: boolean;

  /** `cause` is what the work threw, if it did. */
  constructor(reason: unknown, { isAbandoned, cause }: { isAbandoned: boolean; cause?: unknown }) {
    super(`Cut short: ${messageOf(reason)}`, { cause });
    this.reason = reason;
    this.isAbandoned = isAbandoned;
  }

  /** True if the work was cut for taking longer than its deadline. */
  get isDeadline(): boolean {
    return this.reason instanceof DeadlineError;
  }
}

/** Options of {@linkcode runWithinLimits}. */
export interface LimitsOptions {
  /** Completes "Deadline passed: … took longer than". */
  readonly action: string;
  /** Measures the limits. */
  readonly clock: Clock;
  /** Longest run, in milliseconds; `Infinity` for none. */
  readonly deadlineMs: number;
  /** Aborts when the process stops; the work's own signal follows after the grace period. */
  readonly stop: AbortSignal;
  /** How long work may go on after `stop`, in milliseconds. */
  readonly gracePeriodMs: number;
  /** Told when abandoned work ends after all; `error` is what it threw, if it did. */
  onLateEnd(error: unknown): void;
}

/**
 * Runs `work` within its limits. Its signal also aborts once it has ended, so that what it left
 * running ends too.
 *
 * @throws {CutError} If a limit passed and `work` failed after that, or was abandoned. Else what it
 *   threw, also before its first `await`.
 */
export async function runWithinLimits<R>(
  work: (signal: AbortSignal) => Promise<R>,
  options: LimitsOptions,
): Promise<R> {
  const { action, clock, deadlineMs, stop, gracePeriodMs } = options;
  const cut = new AbortController();
  const timers = new AbortController(); // ends the waits below together with the work
  const abandoned = Promise.withResolvers<never>();
  let abandonment: CutError | undefined;

  const cutAfter = async (ms: number, reasonOf: () => unknown) => {
    try {
      await clock.sleep(ms, { signal: timers.signal });
      cut.abort(reasonOf());
      await clock.sleep(UNWIND_MS, { signal: timers.signal });
      abandonment = new CutError(cut.signal.reason, { isAbandoned: true });
      abandoned.reject(abandonment);
    } catch (error) {
      if (error !== timers.signal.reason) throw error; // else the work ended in time
    }
  };
  // Both end with the work at the latest, since `timers` aborts then.
  const follow = () => {
    cutAfter(gracePeriodMs, () => stop.reason);
  };
  // Made when needed: an error's stack is dear beside a reconcile that finds nothing to do.
  if (deadlineMs < Infinity) cutAfter(deadlineMs, () => new DeadlineError(action, deadlineMs));
  if (stop.aborted) follow();
  else stop.addEventListener("abort", follow, { once: true });

  const run = (async () => await work(cut.signal))();
  try {
    return await Promise.race([run, abandoned.promise]);
  } catch (error) {
    if (abandonment !== undefined && error === abandonment) {
      run.then(() => options.onLateEnd(undefined), options.onLateEnd);
      throw error;
    }
    if (!cut.signal.aborted) throw error;
    throw new CutError(cut.signal.reason, { isAbandoned: false, cause: error });
  } finally {
    stop.removeEventListener("abort", follow);
    timers.abort(ENDED);
    cut.abort(ENDED);
  }
}

const ENDED = new DOMException("The work that this signal belongs to has ended", "AbortError");

/**
 * Three deadlines of one request, on one timer.
 *
 * One limit over a whole request would cut healthy watches (field case W3) and, made long enough
 * for a large list, would notice a dead connection too late. So waiting for the headers, waiting
 * for the next bytes and the request as a whole each have their own limit. Moving from one wait to
 * the next costs an assignment: a timer that finds its deadline moved sleeps on.
 *
 * @module
 */

import { abortScope, type Clock } from "../core/clock.ts";
import { DeadlineError } from "../core/errors.ts";

/** Limits of one request, in milliseconds; `Infinity` for none. */
export interface DeadlineLimits {
  /** From sending the request to its headers. */
  readonly headersMs: number;
  /** From asking for bytes of the body to some. */
  readonly inactivityMs: number;
  /** From sending the request to the end of its body. */
  readonly totalMs: number;
}

/** What a request waits for: `nothing` while whoever reads it is busy. */
export type Awaited = "headers" | "bytes" | "nothing";

/** The running deadlines of a request; leaving their scope ends them. */
export interface RequestDeadlines extends Disposable {
  /** Aborts with a {@linkcode DeadlineError} once a limit has passed, or as the caller's does. */
  readonly signal: AbortSignal;
  /** From now on the request waits for `what`. */
  expect(what: Awaited): void;
}

/** Starts the deadlines of the request that `action` names, for errors. */
export function startDeadlines({ action, limits, clock, signal }: {
  readonly action: string;
  readonly limits: DeadlineLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): RequestDeadlines {
  const scope = abortScope(signal);
  const startedMs = clock.monotonicMs();
  let awaited: Awaited = "nothing";
  let sinceMs = startedMs;

  const waitLimitMs = () => {
    if (awaited === "nothing") return Infinity;
    return awaited === "headers" ? limits.headersMs : limits.inactivityMs;
  };
  const expire = async () => {
    for (;;) {
      const nowMs = clock.monotonicMs();
      const waitRestMs = sinceMs + waitLimitMs() - nowMs;
      const totalRestMs = startedMs + limits.totalMs - nowMs;
      if (totalRestMs <= 0) throw new DeadlineError(action, limits.totalMs);
      if (waitRestMs <= 0) {
        throw new DeadlineError(`waiting for ${awaited} of ${action}`, waitLimitMs());
      }
      // Woken at least that often, it meets every later deadline on time.
      const stepMs = Math.min(waitRestMs, totalRestMs, limits.inactivityMs, limits.headersMs);
      await clock.sleep(stepMs, { signal: scope.signal });
    }
  };
  // Ends with the scope, whose abort at the latest makes the sleep reject; then this is no news.
  expire().catch((error) => scope.abort(error));

  return {
    signal: scope.signal,
    expect(what) {
      awaited = what;
      sinceMs = clock.monotonicMs();
    },
    [Symbol.dispose]: () => scope[Symbol.dispose](),
  };
}

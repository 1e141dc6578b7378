/**
 * Three deadlines of each request, and one timer for all requests.
 *
 * One limit over a whole request would cut healthy watches (field case W3) and, made long enough
 * for a large list, would notice a dead connection too late. So waiting for the headers, waiting
 * for the next bytes and the request as a whole each have their own limit. Moving from one wait to
 * the next costs an assignment: a timer that finds its deadlines moved sleeps on.
 *
 * @module
 */

import { type AbortScope, abortScope, type Clock } from "../core/clock.ts";
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

/** One running request, as the watch looks at it. */
interface Running {
  readonly action: string;
  readonly limits: DeadlineLimits;
  readonly startedMs: number;
  readonly scope: AbortScope;
  awaited: Awaited;
  sinceMs: number;
}

/**
 * Watches over the deadlines of many requests with one timer: a request costs it an entry in a set.
 *
 * The timer runs while there are requests, and wakes when the first of their deadlines could pass.
 */
export class DeadlineWatch {
  readonly #clock: Clock;
  readonly #running = new Set<Running>();
  /** The sleep under way, and when it ends; none while there is nothing to watch. */
  #sleep: { untilMs: number; stop: AbortController } | undefined;

  /** Only stores. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts the deadlines of the request that `action` names, for errors. */
  start({ action, limits, signal }: {
    readonly action: string;
    readonly limits: DeadlineLimits;
    readonly signal: AbortSignal;
  }): RequestDeadlines {
    const scope = abortScope(signal);
    const nowMs = this.#clock.monotonicMs();
    const request: Running = {
      action,
      limits,
      scope,
      startedMs: nowMs,
      awaited: "nothing",
      sinceMs: nowMs,
    };
    this.#running.add(request);
    // It will never have to be woken for sooner than that, whatever it waits for.
    this.#wakeBy(nowMs + Math.min(limits.headersMs, limits.inactivityMs, limits.totalMs));
    return {
      signal: scope.signal,
      expect: (what) => {
        request.awaited = what;
        request.sinceMs = this.#clock.monotonicMs();
      },
      [Symbol.dispose]: () => {
        scope[Symbol.dispose]();
        this.#running.delete(request);
        if (this.#running.size === 0) this.#rest();
      },
    };
  }

  #wakeBy(atMs: number): void {
    if (atMs === Infinity || (this.#sleep !== undefined && this.#sleep.untilMs <= atMs)) return;
    this.#rest();
    const stop = new AbortController();
    this.#sleep = { untilMs: atMs, stop };
    // Rejects when a sooner sleep takes its place, or when there is nothing left to watch.
    this.#clock.sleep(atMs - this.#clock.monotonicMs(), { signal: stop.signal })
      .then(() => this.#look(), () => {});
  }

  #rest(): void {
    this.#sleep?.stop.abort(RESTED);
    this.#sleep = undefined;
  }

  #look(): void {
    this.#sleep = undefined;
    const nowMs = this.#clock.monotonicMs();
    let nextMs = Infinity;
    for (const request of this.#running) {
      const error = expiryOf(request, nowMs);
      if (error !== undefined) request.scope.abort(error);
      else if (!request.scope.signal.aborted) {
        nextMs = Math.min(nextMs, lookAgainMs(request, nowMs));
      }
    }
    this.#wakeBy(nextMs);
  }
}

const RESTED = new DOMException("No request is left to watch", "AbortError");

function waitLimitMs({ awaited, limits }: Running): number {
  if (awaited === "nothing") return Infinity;
  return awaited === "headers" ? limits.headersMs : limits.inactivityMs;
}

function expiryOf(request: Running, nowMs: number): DeadlineError | undefined {
  const { action, awaited, limits, startedMs, sinceMs } = request;
  if (nowMs - startedMs >= limits.totalMs) return new DeadlineError(action, limits.totalMs);
  const limitMs = waitLimitMs(request);
  if (nowMs - sinceMs < limitMs) return undefined;
  return new DeadlineError(`waiting for ${awaited} of ${action}`, limitMs);
}

/** When to look next: at the present wait's deadline, or the soonest one of a wait begun now. */
function lookAgainMs(request: Running, nowMs: number): number {
  const { headersMs, inactivityMs, totalMs } = request.limits;
  return Math.min(
    request.sinceMs + waitLimitMs(request),
    request.startedMs + totalMs,
    nowMs + Math.min(headersMs, inactivityMs),
  );
}

/**
 * Time and chance, the only door to the real ones.
 *
 * Everything that waits or draws a random number takes it from here as an argument, so that a
 * simulation can own both (and so replay a run from its seed).
 *
 * @module
 */

import { DeadlineError } from "./errors.ts";

/** Where time comes from. */
export interface Clock {
  /** Milliseconds from an arbitrary start; never goes back. For durations and deadlines. */
  monotonicMs(): number;
  /** Wall-clock milliseconds since 1970; may jump. Only for timestamps that others read. */
  wallMs(): number;
  /**
   * Waits `ms` milliseconds: at once for 0, less or NaN, for ever for `Infinity`.
   * Rejects with `signal.reason` if that comes first.
   */
  sleep(ms: number, options: { signal: AbortSignal }): Promise<void>;
}

/** A number from 0 (included) to 1 (excluded), as `Math.random` gives. */
export type Random = () => number;

/**
 * Longest delay that one native timer is given, in milliseconds. Above 2^31 - 1 the runtime fires at
 * once (field case Q6), so longer waits are made of several timers.
 */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's clock. */
export const realClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  async sleep(ms, { signal }) {
    signal.throwIfAborted();
    const untilMs = performance.now() + (ms > 0 ? ms : 0);
    for (let restMs = untilMs - performance.now(); restMs > 0;) {
      await nativeSleep(Math.min(restMs, TIMER_MAX_MS), signal);
      restMs = untilMs - performance.now();
    }
  },
};

/** The machine's chance. */
export const realRandom: Random = (): number => Math.random();

/** A random UUID of the machine. */
export const realUuid = (): string => crypto.randomUUID();

function nativeSleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => {
    clearTimeout(timer);
    reject(signal.reason);
  };
  const timer = setTimeout(() => {
    signal.removeEventListener("abort", abort);
    resolve();
  }, ms);
  signal.addEventListener("abort", abort, { once: true });
  return promise;
}

/**
 * Runs `work` with a signal that aborts when `signal` does or after `limitMs`, and waits until it
 * has ended: work that ignores its signal is waited for.
 *
 * @throws {DeadlineError} If the limit passed and `work` failed because of it. Else what it threw.
 */
export async function withDeadline<R>(
  work: (signal: AbortSignal) => Promise<R>,
  { action, limitMs, clock, signal }: {
    action: string;
    limitMs: number;
    clock: Clock;
    signal: AbortSignal;
  },
): Promise<R> {
  using scope = abortScope(signal);
  // Ends with the scope, whose abort at the latest makes the sleep reject.
  clock.sleep(limitMs, { signal: scope.signal }).then(
    () => scope.abort(new DeadlineError(action, limitMs)),
    () => {},
  );
  return await work(scope.signal);
}

/** A signal of one's own below a longer-lived one; see {@linkcode abortScope}. */
export interface AbortScope extends Disposable {
  /** Aborts with the parent, by `abort`, or when the scope is left. */
  readonly signal: AbortSignal;
  /** Aborts the scope's signal alone; the parent goes on. */
  abort(reason: unknown): void;
}

/**
 * An abort signal that follows `parent` until the scope is left, when it aborts and lets go of
 * `parent`. Used in place of `AbortSignal.any`, whose results stay registered on a long-lived
 * parent (field case P3).
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const stop = new AbortController();
 * using scope = abortScope(stop.signal);
 * stop.abort("stop");
 * strictEqual(scope.signal.reason, "stop");
 * ```
 */
export function abortScope(parent: AbortSignal): AbortScope {
  const controller = new AbortController();
  const follow = () => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]() {
      parent.removeEventListener("abort", follow);
      controller.abort(SCOPE_LEFT);
    },
  };
}

const SCOPE_LEFT = new DOMException("The scope of this signal was left", "AbortError");

/**
 * How long to wait before trying again: growing delays with a ceiling, spread by chance.
 *
 * A file of its own because every loop that talks to the API server needs the same three things
 * and must get them equal: the reflector, the workqueue's rate limiter, leader election, the event
 * recorder. Nothing here waits; the caller sleeps on its own clock and signal.
 *
 * @module
 */

import type { Random } from "./clock.ts";
import { assert } from "./errors.ts";

/**
 * Highest power that a delay grows to. Far above any use (2^60 ms is 36 million years), and low
 * enough that the product stays finite, so that a base of 0 gives 0 and not NaN.
 */
const EXPONENT_MAX = 60;

/** Bounds of a growing delay, in milliseconds. */
export interface BackoffLimits {
  /** First delay. */
  readonly baseMs: number;
  /** Ceiling of the delay, before jitter. Below the base, it wins. */
  readonly maxMs: number;
}

/**
 * Delay before retry number `failures` (0 is the first), in milliseconds: the base, doubled at each
 * failure, up to the ceiling. Without jitter; add {@linkcode jitter} where many clients may wait for
 * the same thing.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const limits = { baseMs: 5, maxMs: 30 };
 * deepStrictEqual([0, 1, 2, 3, 4].map((n) => backoffMs(n, limits)), [5, 10, 20, 30, 30]);
 * ```
 */
export function backoffMs(failures: number, limits: BackoffLimits): number {
  return growth(failures, { ...limits, factor: 2 });
}

/**
 * Spreads `ms` over [ms, ms × (1 + factor)), so that clients which failed together do not come back
 * together. Never shortens a delay: what a server asked for with `Retry-After` stays respected.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(jitter(1000, 0.5, () => 0.5), 1250);
 * ```
 */
export function jitter(ms: number, factor: number, random: Random): number {
  return ms * (1 + factor * random());
}

/** Options of a {@linkcode Backoff}. */
export interface BackoffOptions extends BackoffLimits {
  /** By how much the delay grows at each failure. @default {2} */
  readonly factor?: number;
  /** Share of the delay that chance adds at most: 0.1 adds up to 10 %; 0 none. */
  readonly jitter: number;
  /** Where chance comes from. */
  readonly random: Random;
}

/**
 * The backoff of one loop: counts failures in a row and says how long to wait after each.
 *
 * The owner calls {@linkcode Backoff.reset} on success. Where a "success" may be a connection that
 * breaks again at once, it resets only after one that lasted: this class has no clock to judge that.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * const backoff = new Backoff({ baseMs: 800, maxMs: 30_000, jitter: 0, random: Math.random });
 * deepStrictEqual([backoff.nextMs(), backoff.nextMs(), backoff.failures], [800, 1600, 2]);
 * backoff.reset();
 * strictEqual(backoff.nextMs(), 800);
 * ```
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  /** Only stores; the first delay is the base. */
  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Failures since the start or the last {@linkcode Backoff.reset}. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts one failure and returns the delay before the next try, in milliseconds, with jitter. */
  nextMs(): number {
    const { factor = 2, random } = this.#options;
    const delayMs = growth(this.#failures, { ...this.#options, factor });
    this.#failures += 1;
    return jitter(delayMs, this.#options.jitter, random);
  }

  /** Forgets the failures: it works again. */
  reset(): void {
    this.#failures = 0;
  }
}

/** `baseMs × factor^failures`, at most `maxMs`. */
function growth(
  failures: number,
  { baseMs, maxMs, factor }: BackoffLimits & { readonly factor: number },
): number {
  assert(failures >= 0, "a number of failures is not negative");
  assert(baseMs >= 0 && maxMs >= 0 && factor >= 1, "a backoff grows from 0 or more");
  return Math.min(maxMs, baseMs * factor ** Math.min(failures, EXPONENT_MAX));
}

/**
 * What happens after a request's answer: garbage collection, namespace and definition controllers,
 * the workload stand-ins.
 *
 * Work without delay runs at the end of the request that caused it, in order; delayed work waits on
 * the clock. Nothing here uses real time, so a simulation stays in control.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { assert } from "../core/errors.ts";

/**
 * Most pieces of work that one request may cause. More is a loop between controllers, which a real
 * cluster would run for ever and a test must not.
 */
export const WORK_MAX = 1_000_000;

/** A queue of work that belongs to one server. */
export class Background {
  readonly #clock: Clock;
  readonly #lifetime = new AbortController();
  readonly #ready: (() => void)[] = [];
  readonly #waiting = new Set<Promise<void>>();
  #isDraining = false;
  #failure: { readonly error: unknown } | undefined;

  /** `clock` is where delays pass. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `work` after `delayMs` milliseconds: with 0 or less at the end of the running request. */
  after(delayMs: number, work: () => void): void {
    if (this.#lifetime.signal.aborted) return;
    if (!(delayMs > 0)) {
      this.#ready.push(work);
      return;
    }
    const waiting = this.#wait(delayMs, work).finally(() => this.#waiting.delete(waiting));
    this.#waiting.add(waiting);
  }

  /** Runs all ready work, and the ready work that it causes. Throws what work threw. */
  drain(): void {
    this.#rethrow();
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      for (let count = 0;; count++) {
        const work = this.#ready.shift();
        if (work === undefined) break;
        assert(count < WORK_MAX, "background work comes to an end");
        work();
      }
    } finally {
      this.#isDraining = false;
    }
  }

  /** Drops all work that waits, and throws if any had failed. */
  async close(): Promise<void> {
    this.#lifetime.abort(CLOSED);
    this.#ready.length = 0;
    await Promise.all(this.#waiting);
    this.#rethrow();
  }

  async #wait(delayMs: number, work: () => void): Promise<void> {
    const { signal } = this.#lifetime;
    try {
      await this.#clock.sleep(delayMs, { signal });
      this.#ready.push(work);
      this.drain();
    } catch (error) {
      // Nobody awaits this: the next request, or close(), throws it.
      if (error !== signal.reason) this.#failure ??= { error };
    }
  }

  #rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

const CLOSED = new DOMException("The simulated server was closed", "AbortError");

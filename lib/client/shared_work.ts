/**
 * One piece of work that many wait for ("single flight"): a plugin is run once, however many
 * requests need its answer.
 *
 * @module
 */

import { unlessAborted } from "../core/tasks.ts";

/** Work under way; see {@linkcode shareWork}. */
export interface SharedWork<R> {
  /** False once the work has ended or was given up: then start another. */
  readonly isRunning: boolean;
  /**
   * Waits for the result. When the last one who waits is aborted the work is aborted too, and that
   * one goes on only when it has ended, so nothing is left running unseen.
   */
  join(options: { signal: AbortSignal }): Promise<R>;
}

/**
 * Starts `work`, for any number of callers to {@linkcode SharedWork.join}. The one who starts it
 * must join it in the same turn.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const { signal } = new AbortController();
 * let runs = 0;
 * const work = shareWork(() => Promise.resolve(++runs));
 * const [a, b] = await Promise.all([work.join({ signal }), work.join({ signal })]);
 * strictEqual(a, 1);
 * strictEqual(b, 1);
 * ```
 */
export function shareWork<R>(work: (signal: AbortSignal) => Promise<R>): SharedWork<R> {
  const controller = new AbortController();
  let waiters = 0;
  let isRunning = true;
  const ended = () => {
    isRunning = false;
  };
  const result = work(controller.signal);
  // Both outcomes are told by `join`; this only notes the end.
  const settled = result.then(ended, ended);
  return {
    get isRunning() {
      return isRunning;
    },
    async join({ signal }) {
      waiters++;
      try {
        return await unlessAborted(result, signal);
      } finally {
        if (--waiters === 0 && isRunning) {
          isRunning = false;
          controller.abort(ABANDONED);
          await settled;
        }
      }
    },
  };
}

const ABANDONED = new DOMException("Nobody waits for this work any more", "AbortError");

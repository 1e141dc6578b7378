/**
 * Structured concurrency: tasks with names that start together, stop together and are awaited.
 *
 * @module
 */

// @ts-types="./std_async.d.ts"
import { abortable } from "@std/async/abortable";
import { abortScope } from "./clock.ts";

/** Work that ends when its signal aborts. */
export type Task = (signal: AbortSignal) => Promise<void>;

/**
 * Runs all tasks until each has ended. The first failure stops the others and is thrown, wrapped
 * with the task's name, once all have ended. An abort of `signal` stops them all and is not a
 * failure: a task that rejects with the signal's reason has ended well.
 *
 * @example
 * ```ts
 * import { rejects } from "node:assert/strict";
 * await rejects(
 *   runTogether({
 *     fails: () => Promise.reject(new Error("broken")),
 *     waits: (signal) => new Promise((end) => signal.addEventListener("abort", () => end())),
 *   }, { signal: new AbortController().signal }),
 *   { message: 'Task "fails" failed' },
 * );
 * ```
 */
export async function runTogether(
  tasks: Readonly<Record<string, Task>>,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  using scope = abortScope(signal);
  const failures: Error[] = [];
  await Promise.all(
    Object.entries(tasks).map(async ([name, task]) => {
      try {
        await task(scope.signal);
      } catch (cause) {
        if (scope.signal.aborted && cause === scope.signal.reason) return;
        const failure = new Error(`Task "${name}" failed`, { cause });
        failures.push(failure);
        scope.abort(failure);
      }
    }),
  );
  if (failures[0] !== undefined) throw failures[0];
}

/**
 * Waits for `promise`, but no longer than `signal` lives. The promise itself is not cancelled: use
 * this only for waits that have no source to cancel.
 */
export function unlessAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R> {
  return abortable(promise, signal);
}

/** An event that happens once and can be waited for; see {@linkcode latch}. */
export interface Latch {
  /** True once {@linkcode Latch.open} was called. */
  readonly isOpen: boolean;
  /** Lets all waiters, present and future, go on. Again is fine. */
  open(): void;
  /** Resolves when open. Rejects with `signal.reason` if that comes first. */
  wait(options: { signal: AbortSignal }): Promise<void>;
}

/** A closed {@linkcode Latch}. */
export function latch(): Latch {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isOpen = false;
  return {
    get isOpen() {
      return isOpen;
    },
    open() {
      isOpen = true;
      resolve();
    },
    wait: ({ signal }) => isOpen ? Promise.resolve() : unlessAborted(promise, signal),
  };
}

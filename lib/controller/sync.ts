/**
 * Waiting for caches: nobody may decide on half of the truth (field case S5).
 *
 * @module
 */

import { abortScope, type Clock } from "../core/clock.ts";
import { DeadlineError } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { runTogether, type Task, unlessAborted } from "../core/tasks.ts";

/**
 * How long a controller that is restarted when it fails waits for its caches, in milliseconds;
 * controller-runtime's value. One that is not restarted waits for ever.
 */
export const SYNC_DEADLINE_MS = 2 * 60_000;

/** A wait for caches longer than this is told once, with the names of those that lag. */
const SYNC_WARN_AFTER_MS = 30_000;

/** Something that must have seen the initial state first: an informer, or one of its handlers. */
export interface SyncSource {
  /** Named in messages when it lags. */
  readonly name: string;
  /** Resolves once the initial state is in. */
  synced(options: { signal: AbortSignal }): Promise<void>;
}

/** What {@linkcode waitForSync} needs. */
export interface SyncOptions {
  /** What to wait for; names may occur twice. */
  readonly sources: readonly SyncSource[];
  /** Measures the wait. */
  readonly clock: Clock;
  /** Gets one line if it takes long. */
  readonly log: Logger;
  /** Longest wait, in milliseconds. @default {Infinity} */
  readonly deadlineMs?: number;
  /** Ends the wait, which then resolves: what comes next looks at the signal anyway. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when all sources have their initial state, or on an abort.
 *
 * @throws {DeadlineError} If that takes longer than `deadlineMs`, naming those that lag.
 * @throws {Error} If a source failed.
 */
export async function waitForSync(options: SyncOptions): Promise<void> {
  const { sources, clock, log, deadlineMs = Infinity, signal } = options;
  const waiting = new Set(sources);
  const names = () => [...waiting].map(({ name }) => name);
  const tasks: Record<string, Task> = {};
  sources.forEach((source, index) => {
    // Numbered, since two handlers of one informer may share a name.
    tasks[`cache ${index + 1}: ${source.name}`] = async (stop) => {
      // A source that is deaf to its signal must hold up neither the deadline nor the stop.
      await unlessAborted(source.synced({ signal: stop }), stop);
      waiting.delete(source);
    };
  });
  using scope = abortScope(signal);
  const after = (ms: number, act: () => void) =>
    // Ends with the scope, whose abort at the latest makes the sleep reject.
    clock.sleep(ms, { signal: scope.signal }).then(act, () => {});
  after(SYNC_WARN_AFTER_MS, () => log.warn("Still waiting for caches", { caches: names() }));
  if (deadlineMs < Infinity) {
    after(deadlineMs, () => {
      scope.abort(new DeadlineError(`waiting for caches (${names().join(", ")})`, deadlineMs));
    });
  }
  await runTogether(tasks, { signal: scope.signal });
  if (scope.signal.aborted && !signal.aborted) throw scope.signal.reason;
}

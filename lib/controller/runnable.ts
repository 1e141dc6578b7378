/**
 * A part of a process: what a manager starts, watches, starts again and stops.
 *
 * @module
 */

import { Backoff } from "../core/backoff.ts";
import type { Clock, Random } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { Task } from "../core/tasks.ts";

/** How a part is, as plain data: a server of health checks shows it, nobody decides by it. */
export interface HealthReport {
  /** False if only a restart of the process can help. */
  readonly isHealthy: boolean;
  /** What is wrong, or worth knowing, in one sentence. */
  readonly message?: string;
  /** Numbers and names for people. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

/** One part. */
export interface Runnable {
  /** Named in logs, health and errors; unique within a manager. */
  readonly name: string;
  /**
   * Works until `signal` aborts, then ends, well or with the signal's reason. An earlier end, even
   * without an error, counts as a failure (field case P6).
   */
  run(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Resolves when the parts that build on this one may start: a server listens, caches are filled,
   * the election is won. Asked once, after `run` was called. @default at once
   */
  ready?(options: { signal: AbortSignal }): Promise<void>;
  /** How it is. Quick; may be asked at any time. @default healthy while it runs */
  health?(): HealthReport;
}

/** First and longest delay before a part that failed is started again, in milliseconds. */
export const RESTART_BACKOFF = { baseMs: 1000, maxMs: 60_000 } as const;

/** A run that lasted this long, in milliseconds, starts again from the first delay. */
const LASTED_MS = 5 * 60_000;

/** Share of a delay that chance adds at most. */
const JITTER = 0.1;

/** What {@linkcode supervise} needs. */
export interface SuperviseOptions {
  /** Names the task. */
  readonly name: string;
  /** Times the delays. */
  readonly clock: Clock;
  /** Spreads them. */
  readonly random: Random;
  /** Gets one line for each failure. */
  readonly log: Logger;
  /** Told when the task ended, before the delay. @default none */
  readonly onFailed?: (error: unknown) => void;
  /** Told when it is started, the first time too. @default none */
  readonly onStarted?: () => void;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/**
 * Runs `task` until `signal` aborts, and starts it again after a growing delay whenever it fails or
 * ends by itself. Resolves when the task has ended after the abort.
 *
 * @throws What the task throws after the abort, unless it is the signal's reason.
 */
export async function supervise(task: Task, options: SuperviseOptions): Promise<void> {
  const { name, clock, random, log, onFailed, onStarted, signal } = options;
  const backoff = new Backoff({ ...RESTART_BACKOFF, jitter: JITTER, random });
  while (!signal.aborted) {
    const startedAtMs = clock.monotonicMs();
    let error: unknown = new Error(`${name} ended by itself`);
    try {
      onStarted?.();
      await task(signal);
    } catch (failure) {
      error = failure;
      if (signal.aborted && error !== signal.reason) throw error;
    }
    if (signal.aborted) return;

    if (clock.monotonicMs() - startedAtMs >= LASTED_MS) backoff.reset();
    const restartAfterMs = Math.round(backoff.nextMs());
    log.error("A part failed, and is started again", {
      part: name,
      error: messageOf(error),
      restartAfterMs,
    });
    onFailed?.(error);
    await clock.sleep(restartAfterMs, { signal }).catch((failure) => {
      if (failure !== signal.reason) throw failure;
    });
  }
}

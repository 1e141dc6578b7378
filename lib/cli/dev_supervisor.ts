/**
 * Keeps an operator running: again when its sources change, again when it fails.
 *
 * What a supervisor of a developer's program owes: one operator at a time, the next only when the
 * last has ended; every change leads to a start after it; and a program that can't work does not
 * spin: one whose sources don't load waits for the next change, one that fails is given longer and
 * longer pauses, which a change cuts short.
 *
 * @module
 */

import { Backoff } from "../core/backoff.ts";
import { abortScope, type Clock, type Random } from "../core/clock.ts";
import type { OperatorEnd, OperatorRun } from "./dev_process.ts";
import type { Changes } from "./dev_sources.ts";

/** Pauses after failures, in milliseconds: a second at first, at most half a minute. */
const PAUSE = { baseMs: 1000, maxMs: 30_000, jitter: 0 };

/** An operator that ran for so long, in milliseconds, worked: the next failure is a first one. */
const WORKED_MS = 60_000;

/** What is told of. */
export type SupervisorNews =
  | { readonly type: "changed"; readonly paths: readonly string[] }
  /** It ended by itself. `retryMs` is absent if only a change can help. */
  | { readonly type: "ended"; readonly end: OperatorEnd; readonly retryMs?: number };

/** What {@linkcode supervise} needs. */
export interface SupervisorOptions {
  /** Starts an operator. What it throws ends the supervision. */
  readonly start: () => Promise<OperatorRun>;
  readonly changes: Changes;
  /** False if nothing will ever change: then what does not load is tried again as well. */
  readonly hasSources: boolean;
  readonly tell: (news: SupervisorNews) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** Runs operators until `signal` aborts; then resolves, with the last one ended. */
export async function supervise(
  options: SupervisorOptions,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const { start, tell, clock, random } = options;
  const backoff = new Backoff({ ...PAUSE, random });
  while (!signal.aborted) {
    const startedMs = clock.monotonicMs();
    const run = await start();
    let what: Happening;
    try {
      what = await whatHappens(run, options, signal);
      if (what.type === "changed") tell(what);
    } finally {
      await run.stop();
    }
    if (clock.monotonicMs() - startedMs >= WORKED_MS) backoff.reset();
    if (what.type === "stop") return;
    if (what.type === "changed") backoff.reset();
    else if (await pause(what.end, { ...options, backoff }, signal)) backoff.reset();
  }
}

type Happening =
  | { readonly type: "stop" }
  | { readonly type: "changed"; readonly paths: readonly string[] }
  | { readonly type: "ended"; readonly end: OperatorEnd };

/** The first of: the operator ends, a source changes, we are told to stop. */
async function whatHappens(
  run: OperatorRun,
  { changes }: SupervisorOptions,
  signal: AbortSignal,
): Promise<Happening> {
  using scope = abortScope(signal);
  try {
    const first = await Promise.race<Happening>([
      run.ended.then((end) => ({ type: "ended", end })),
      changes.next({ signal: scope.signal }).then((paths) => ({ type: "changed", paths })),
    ]);
    return signal.aborted ? { type: "stop" } : first;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return { type: "stop" };
    throw error;
  }
}

/** Waits until another try makes sense. @returns True if that is because of a change. */
async function pause(
  end: OperatorEnd,
  { changes, hasSources, tell, clock, backoff }: SupervisorOptions & { backoff: Backoff },
  signal: AbortSignal,
): Promise<boolean> {
  const isRetried = end.wasLoaded || !hasSources;
  const retryMs = isRetried ? backoff.nextMs() : Infinity;
  tell({ type: "ended", end, ...(isRetried && { retryMs }) });
  using scope = abortScope(signal);
  try {
    const paths = await Promise.race([
      clock.sleep(retryMs, { signal: scope.signal }),
      changes.next({ signal: scope.signal }),
    ]);
    if (!Array.isArray(paths)) return false;
    tell({ type: "changed", paths });
    return true;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return false;
    throw error;
  }
}

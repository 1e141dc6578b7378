/**
 * Finds keys whose reconciles cause each other, and slows them (field cases R1, R2).
 *
 * A reconciler that writes at each look, a time or an unordered list say, is woken by its own write,
 * for ever. So are two controllers that undo each other's work. Nothing fails, so no backoff helps;
 * what shows is load on the API server.
 *
 * It is told apart from an object that changes often by what happens when it is slowed: **a loop that
 * is slowed falls silent**, since its changes are its own, while other changes keep coming. So:
 *
 * 1. A key that ran {@linkcode HOT_RUNS} times, each within {@linkcode ECHO_MS} of the end of the run
 *    before, is suspected. From now on a run that would start so soon is put off.
 * 2. If nothing else happens until then, that run counts as self-caused and the next is put off for
 *    twice as long, up to {@linkcode SLOWED_MAX_MS}. After {@linkcode CONFIRMED_AFTER} in a row it is
 *    told, once.
 * 3. A change that comes later than an echo would is somebody else's, and is served at once. So a
 *    person who edits a slowed object waits no longer than else.
 * 4. A run that is not followed by another soon ends the suspicion.
 *
 * No change is lost: a run is put off, never dropped.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { ObjectKey } from "../core/objects.ts";
import type { Reason } from "./reasons.ts";

/** Close runs in a row that make a key suspect. A rollout of hundreds of Pods makes fewer echoes. */
export const HOT_RUNS = 50;

/**
 * Time in which one's own write comes back by the watch, in milliseconds, with room to spare: what
 * comes later is taken for somebody else's change.
 */
export const ECHO_MS = 1000;

/** First delay of a suspect key, in milliseconds. Longer than an echo, or silence could not be told. */
export const SLOWED_MIN_MS = 2000;

/** Longest delay, in milliseconds: what remains of a loop is a write a minute. */
export const SLOWED_MAX_MS = 60_000;

/** Silent delays in a row until a key is told of: 14 s of silence between looks are no accident. */
export const CONFIRMED_AFTER = 3;

/** A key that was slowed and is not looked at for so long, in milliseconds, has gone. */
const FORGET_AFTER_MS = 10 * SLOWED_MAX_MS;

/** What is told of a key whose reconciles cause each other. */
export interface HotLoop {
  /** The key. */
  readonly key: ObjectKey;
  /** Runs in a row until it was told. */
  readonly runs: number;
  /** How long its next run is put off, in milliseconds. */
  readonly delayMs: number;
}

/** What is known of one key. */
interface State {
  /** Close runs in a row. */
  runs: number;
  /** How long a close run is put off; 0: not suspect. */
  delayMs: number;
  /** Put-off runs in a row in whose wait nothing happened. */
  silent: number;
  /** A close run was put off since the last one ended. */
  isPutOff: boolean;
  endedAtMs: number;
}

/** Watches the runs of one controller. */
export class HotLoopDetector {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #onFound: (loop: HotLoop) => void;
  /** Least recently ended first; only keys that ended within an echo's time, and suspects. */
  readonly #states = new Map<ObjectKey, State>();

  /** Only stores. `onFound` is told of each loop once; it must not throw. */
  constructor(options: {
    clock: Pick<Clock, "monotonicMs">;
    onFound: (loop: HotLoop) => void;
  }) {
    this.#clock = options.clock;
    this.#onFound = options.onFound;
  }

  /** Keys remembered. */
  get size(): number {
    return this.#states.size;
  }

  /** Keys that are slowed now. */
  get slowed(): number {
    return this.#states.values().reduce((n, { delayMs }) => n + (delayMs > 0 ? 1 : 0), 0);
  }

  /** How long to put off a run of `key` that is about to start, in milliseconds; 0: it may. */
  putOffMs(key: ObjectKey, reasons: readonly Reason[]): number {
    const state = this.#states.get(key);
    if (state === undefined) return 0;
    const sinceMs = this.#clock.monotonicMs() - state.endedAtMs;
    if (sinceMs <= ECHO_MS) {
      if (state.delayMs === 0 && ++state.runs < HOT_RUNS) return 0;
      if (state.delayMs === 0) state.delayMs = SLOWED_MIN_MS;
      state.isPutOff = true;
      return state.delayMs - sinceMs;
    }
    if (!state.isPutOff) {
      // The last run was followed by nothing for longer than an echo: it is no loop.
      this.#states.delete(key);
      return 0;
    }
    if (reasons.some(({ type }) => type !== "hot-loop")) state.silent = 0;
    // One that was put off before a change of somebody else's was served comes early: it proves nothing.
    else if (sinceMs >= state.delayMs) this.#confirm(key, state);
    state.isPutOff = false;
    return 0;
  }

  /** A run of `key` ended. */
  ended(key: ObjectKey): void {
    const endedAtMs = this.#clock.monotonicMs();
    const state = this.#states.get(key) ??
      { runs: 0, delayMs: 0, silent: 0, isPutOff: false, endedAtMs };
    state.endedAtMs = endedAtMs;
    this.#states.delete(key);
    this.#states.set(key, state); // as the last
    for (const [other, { endedAtMs: at, delayMs }] of this.#states) {
      const idleMs = endedAtMs - at;
      if (idleMs <= ECHO_MS) break;
      if (delayMs === 0 || idleMs > FORGET_AFTER_MS) this.#states.delete(other);
    }
  }

  /** Nothing happened while a run was put off. */
  #confirm(key: ObjectKey, state: State): void {
    state.runs += 1;
    state.silent += 1;
    state.delayMs = Math.min(SLOWED_MAX_MS, 2 * state.delayMs);
    if (state.silent !== CONFIRMED_AFTER) return;
    this.#onFound({ key, runs: state.runs, delayMs: state.delayMs });
  }
}

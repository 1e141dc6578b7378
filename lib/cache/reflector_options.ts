/**
 * What a reflector is told, apart from what it does: also for those that make reflectors.
 *
 * @module
 */

import type { Clock, Random } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { ReflectorObserver } from "./reflector_health.ts";
import type { StoreChange } from "./store.ts";

/** Options of {@linkcode reflect}. */
export interface ReflectOptions<T> {
  /** What is reflected, for logs: `foos.samplecontroller.k8s.io`. */
  readonly name: string;
  /** For pauses, deadlines and intervals. */
  readonly clock: Clock;
  /** For jitter and the watch's length. */
  readonly random: Random;
  /** Takes what went wrong and when it was over. */
  readonly log: Logger;
  /**
   * Told all changes, in order, right after the store has them; once for the first list even if it
   * was empty. A throw ends the reflector: a change that was not told is lost.
   */
  readonly onChange: (changes: readonly StoreChange<T>[]) => void;
  /** Hooks for metrics and health. */
  readonly observer?: ReflectorObserver;
  /**
   * How long a watch may be silent, in milliseconds. Servers send a bookmark a minute; half as much
   * again forgives a late one. @default {90_000}
   */
  readonly inactivityMs?: number;
  /**
   * How the whole state is read: `"stream"` as a watch that begins with it, where the server offers
   * that, and in pages where not; `"pages"` always in pages. @default {"pages"}
   */
  readonly initialList?: "pages" | "stream";
  /**
   * How often the whole state is read again though the watch works, in milliseconds, up to a quarter
   * more by chance. A server that was restored from a backup may go on as if nothing had happened,
   * and only this finds it. 0 is never. Where lists are streamed, not before the watch that brought the
   * last one ends: four minutes at most. @default {43_200_000}, 12 hours
   */
  readonly relistMs?: number;
  /** Ends the reflector. */
  readonly signal: AbortSignal;
}

/** Default of {@linkcode ReflectOptions.inactivityMs}. */
export const WATCH_INACTIVITY_MS = 90_000;

/** Default of {@linkcode ReflectOptions.relistMs}: twice a day, as client-go's resync once was. */
export const RELIST_MS = 12 * 60 * 60_000;

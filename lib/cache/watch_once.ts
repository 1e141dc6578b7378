/**
 * One watch from its start to its end, whatever that is.
 *
 * Apart from the reflector's loop, because a watch has two clocks of its own: servers and networks
 * that fall silent tell nobody, so every watch is ended from here at the latest after the time that
 * the server was given for it, and earlier if nothing at all comes (field cases W1, W2). Neither
 * limit covers a stream in which events flow (W3).
 *
 * @module
 */

import { type AbortScope, abortScope, type Clock } from "../core/clock.ts";
import { AssertionError, DeadlineError } from "../core/errors.ts";
import type { WatchEvent } from "../core/watch_event.ts";
import type { ListWatch, WatchCall } from "./list_watch.ts";
import { errorOfStatus } from "./recovery.ts";

/** How much later than asked a watch may end before we end it, in milliseconds. */
export const WATCH_GRACE_MS = 10_000;

/** A watch that is open for so long, in milliseconds, works, even if it has brought nothing yet. */
export const WATCH_SHORT_MS = 5000;

/** Events that tell something; the server's ERROR becomes the watch's end. */
export type NewsEvent<T> = Exclude<WatchEvent<T>, { type: "ERROR" }>;

/** Options of {@linkcode watchOnce}. */
export interface WatchOnceOptions<T> {
  /** What is watched, for the messages of deadlines. */
  readonly name: string;
  readonly clock: Clock;
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  /** Ask for the whole state first: see `WatchCall`. */
  readonly sendInitialEvents?: true;
  /**
   * A limit of the reader's own, beside those on silence and length: asked for whenever it may have
   * passed. It may move on, never back. @default none
   */
  readonly limit?: () => WatchLimit | undefined;
  /** How long the watch may be silent, in milliseconds. */
  readonly inactivityMs: number;
  /**
   * Given each event in order. `"enough"` ends the watch as if the server had. What it throws ends
   * the watch and is thrown on.
   */
  readonly onEvent: (event: NewsEvent<T>) => "enough" | void;
  /** Called whenever the server did something on this watch. */
  readonly onSign: () => void;
  /** Called once, when the watch brought something or was seen open for a while. */
  readonly onWorked: () => void;
  readonly signal: AbortSignal;
}

/** When a watch has to end, and what for. */
export interface WatchLimit {
  /** Monotonic time. */
  readonly atMs: number;
  /** What the watch ends with. */
  readonly error: DeadlineError;
}

/** How a watch came to its end. */
export type WatchEnd =
  /** The server ended it, as it does each watch some day. */
  | { readonly type: "ended" }
  /** We ended it: silent for too long, or not ended by the server in time. */
  | { readonly type: "deadline"; readonly error: DeadlineError }
  /** The request failed, the connection broke, or the server sent an ERROR. */
  | { readonly type: "failed"; readonly error: unknown };

/** What is known of a watch when it is over. */
export interface WatchResult {
  readonly end: WatchEnd;
  /** Events and bookmarks that it brought. */
  readonly events: number;
  readonly lastedMs: number;
  /** See {@linkcode WatchOnceOptions.onWorked}. */
  readonly hasWorked: boolean;
}

const WATCH_OVER = new DOMException("The watch is over", "AbortError");

/**
 * Watches once. Resolves when the watch is over and all it held is released.
 *
 * @throws {unknown} `signal.reason` on abort, and what `onEvent`, `onSign` and `onWorked` threw.
 */
export async function watchOnce<T>(
  source: ListWatch<T>,
  options: WatchOnceOptions<T>,
): Promise<WatchResult> {
  const { resourceVersion, timeoutSeconds, sendInitialEvents, signal } = options;
  const watch = new OpenWatch(options);
  using scope = abortScope(signal);
  const guard = watch.guard(scope);
  const call = {
    resourceVersion,
    timeoutSeconds,
    ...(sendInitialEvents && { sendInitialEvents }),
    onOpen: () => watch.sign(),
    signal: scope.signal,
  };
  let end: WatchEnd = { type: "ended" };
  try {
    for await (const event of orFailure(source, call)) {
      if (event.type === "FAILURE") {
        end = { type: "failed", error: event.error };
        break;
      }
      watch.sign();
      if (event.type === "ERROR") {
        end = { type: "failed", error: errorOfStatus(event.status) };
        break;
      }
      const verdict = options.onEvent(event);
      watch.brought();
      if (verdict === "enough") break;
    }
    // Our own deadline is the reason for the end, whether the source throws it or just stops.
    const reason: unknown = scope.signal.aborted ? scope.signal.reason : undefined;
    if (reason instanceof DeadlineError) end = { type: "deadline", error: reason };
  } finally {
    scope.abort(WATCH_OVER);
    await guard;
  }
  signal.throwIfAborted();
  return watch.over(end);
}

/** One watch, as far as it has come. */
class OpenWatch<T> {
  readonly #options: WatchOnceOptions<T>;
  readonly #startedMs: number;
  #lastSignMs: number;
  #events = 0;
  #isOpen = false;
  #hasWorked = false;

  constructor(options: WatchOnceOptions<T>) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    this.#lastSignMs = this.#startedMs;
  }

  /** The server did something. */
  sign(): void {
    this.#isOpen = true;
    this.#lastSignMs = this.#options.clock.monotonicMs();
    this.#options.onSign();
  }

  /** An event came and was taken. */
  brought(): void {
    this.#events += 1;
    this.#worked();
  }

  over(end: WatchEnd): WatchResult {
    const lastedMs = this.#options.clock.monotonicMs() - this.#startedMs;
    if (end.type === "ended") this.sign();
    if (this.#isOpen && lastedMs >= WATCH_SHORT_MS) this.#worked();
    return { end, events: this.#events, lastedMs, hasWorked: this.#hasWorked };
  }

  /** Aborts `scope` with a {@linkcode DeadlineError} when a limit passes. Ends with the scope. */
  async guard(scope: AbortScope): Promise<void> {
    const { clock, name, inactivityMs, timeoutSeconds } = this.#options;
    const limitMs = timeoutSeconds * 1000 + WATCH_GRACE_MS;
    try {
      // The first look is early: it tells that a quiet watch works.
      let waitMs = Math.min(WATCH_SHORT_MS, inactivityMs);
      for (;;) {
        await clock.sleep(waitMs, scope);
        const nowMs = clock.monotonicMs();
        if (this.#isOpen && nowMs - this.#startedMs >= WATCH_SHORT_MS) this.#worked();
        // One timer for many events: each look sets the next one as far off as is safe.
        const silenceLeftMs = this.#lastSignMs + inactivityMs - nowMs;
        const timeLeftMs = this.#startedMs + limitMs - nowMs;
        const limit = this.#options.limit?.();
        const limitLeftMs = limit === undefined ? Infinity : limit.atMs - nowMs;
        if (limit !== undefined && limitLeftMs <= 0) {
          scope.abort(limit.error);
        } else if (silenceLeftMs <= 0) {
          scope.abort(new DeadlineError(`waiting for a sign of life of ${name}`, inactivityMs));
        } else if (timeLeftMs <= 0) {
          scope.abort(new DeadlineError(`watching ${name}`, limitMs));
        }
        waitMs = Math.min(silenceLeftMs, timeLeftMs, limitLeftMs);
      }
    } catch (error) {
      if (error !== scope.signal.reason) throw error;
    }
  }

  #worked(): void {
    if (this.#hasWorked) return;
    this.#hasWorked = true;
    this.#options.onWorked();
  }
}

/**
 * The watch with its failure as a last event, so that what the *reader* of the events throws is never
 * taken for a failure of the connection and retried.
 */
async function* orFailure<T>(
  source: ListWatch<T>,
  call: WatchCall,
): AsyncGenerator<WatchEvent<T> | { type: "FAILURE"; error: unknown }, void, void> {
  try {
    yield* source.watch(call);
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    yield { type: "FAILURE", error };
  }
}

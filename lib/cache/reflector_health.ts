/**
 * What a reflector tells about itself, for metrics and health checks.
 *
 * Apart from the reflector, so that neither knows how metrics look, and so that "is this cache still
 * alive?" has one answer: the age of the server's last sign of life, not the absence of errors. A
 * connection that died in silence produces no error (field cases W1, W2, W4).
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { ListReason, ReflectorVerb } from "./recovery.ts";

/** What is told of a list that became the store's content. */
export interface ListedReport {
  /** What it was for. */
  readonly reason: ListReason;
  /** How it was read. */
  readonly by: "pages" | "stream";
  /** Objects that it had. */
  readonly items: number;
  /** Differences from what the store had. */
  readonly changes: number;
  /** From the request to the last object. */
  readonly durationMs: number;
}

/** Hooks of a reflector. They run inside its loop: quick, and never throwing. */
export interface ReflectorObserver {
  /** A list became the store's content. */
  listed?(list: ListedReport): void;
  /** A watch starts. */
  watchStarted?(watch: { resourceVersion: string }): void;
  /** The watch proved itself: an event came, or it was seen open a while after its start. */
  watchWorked?(): void;
  /** A watch is over: the server ended it, a deadline of ours did, or it failed. */
  watchEnded?(
    watch: { end: "ended" | "deadline" | "failed"; events: number; durationMs: number },
  ): void;
  /** The server sent something: a list, an event, a bookmark, a watch's headers or its end. */
  signOfLife?(): void;
  /** A list or watch failed and is tried again, unless something else changes, in `retryInMs`. */
  failed?(failure: { verb: ReflectorVerb; error: unknown; retryInMs: number }): void;
}

/** A failure that has not been followed by a success of the same verb. */
export interface StandingFailure {
  /** What was being done. */
  readonly verb: ReflectorVerb;
  /** Monotonic time of the first failure in a row. */
  readonly sinceMs: number;
  /** What the last of them said. */
  readonly message: string;
}

/**
 * Remembers what health checks and gauges ask for, and passes all on to an observer.
 *
 * A check may say: ready when synced and without {@linkcode ReflectorHealth.failure}; dead when
 * {@linkcode ReflectorHealth.lastSignOfLifeMs} is minutes old.
 */
export class ReflectorHealth implements ReflectorObserver {
  readonly #clock: Clock;
  readonly #next: ReflectorObserver;
  #lastSignOfLifeMs: number | undefined;
  #failure: StandingFailure | undefined;
  #lists = 0;
  #watches = 0;

  /** Only stores. */
  constructor({ clock, observer }: { clock: Clock; observer?: ReflectorObserver | undefined }) {
    this.#clock = clock;
    this.#next = observer ?? {};
  }

  /** Monotonic time at which the server last sent something; `undefined` before the first. */
  get lastSignOfLifeMs(): number | undefined {
    return this.#lastSignOfLifeMs;
  }

  /** What keeps failing, if something does. */
  get failure(): StandingFailure | undefined {
    return this.#failure;
  }

  /** Lists that succeeded. More than 1 means that the watch could not go on somewhere. */
  get lists(): number {
    return this.#lists;
  }

  /** Watches started. */
  get watches(): number {
    return this.#watches;
  }

  /** See {@linkcode ReflectorObserver.listed}. */
  listed(list: ListedReport): void {
    this.#lists += 1;
    // A list proves nothing about watching: with rights to list only, the watch stays failed (W11).
    if (this.#failure?.verb === "list") this.#failure = undefined;
    this.#next.listed?.(list);
  }

  /** See {@linkcode ReflectorObserver.watchStarted}. */
  watchStarted(watch: { resourceVersion: string }): void {
    this.#watches += 1;
    this.#next.watchStarted?.(watch);
  }

  /** See {@linkcode ReflectorObserver.watchEnded}. */
  watchEnded(watch: Parameters<Required<ReflectorObserver>["watchEnded"]>[0]): void {
    this.#next.watchEnded?.(watch);
  }

  /** See {@linkcode ReflectorObserver.signOfLife}. */
  signOfLife(): void {
    this.#lastSignOfLifeMs = this.#clock.monotonicMs();
    this.#next.signOfLife?.();
  }

  /** See {@linkcode ReflectorObserver.watchWorked}. */
  watchWorked(): void {
    if (this.#failure?.verb === "watch") this.#failure = undefined;
    this.#next.watchWorked?.();
  }

  /** See {@linkcode ReflectorObserver.failed}. */
  failed(failure: { verb: ReflectorVerb; error: unknown; retryInMs: number }): void {
    const standing = this.#failure?.verb === failure.verb ? this.#failure : undefined;
    this.#failure = {
      verb: failure.verb,
      sinceMs: standing?.sinceMs ?? this.#clock.monotonicMs(),
      message: messageOf(failure.error),
    };
    this.#next.failed?.(failure);
  }
}

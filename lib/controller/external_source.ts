/**
 * Keys that something outside the cluster asks for: a stream of messages, or the passing of time.
 *
 * What a source promises:
 * - It runs until its signal aborts. A stream that fails *or ends* is opened again after a delay that
 *   grows: one that ended in silence would otherwise never be missed (field case P6).
 * - What its callbacks throw is logged, counted by `onError`, and costs one message or one round.
 * - It holds nothing back: keys go into the queue at once, where each waits once.
 *
 * It does not promise delivery. What a stream told while it was cut is lost, so a reconciler that
 * depends on the outside also looks by itself now and then: with {@linkcode everyInterval}, or by
 * answering `requeueAfter`.
 *
 * @module
 */

import { Backoff, jitter } from "../core/backoff.ts";
import type { Clock, Random } from "../core/clock.ts";
import { assert, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { ObjectKey } from "../core/objects.ts";
import { unlessAborted } from "../core/tasks.ts";
import type { Priority } from "./ready_keys.ts";
import type { AddOptions } from "./workqueue_options.ts";

/** First and longest delay before a stream is opened again, in milliseconds. */
export const REOPEN_BACKOFF = { baseMs: 1000, maxMs: 60_000 } as const;

/** A stream that lasted this long, in milliseconds, starts again from the first delay. */
const LASTED_MS = 60_000;

/** Share of an interval that chance adds at most, so that many sources don't work in step. */
const JITTER = 0.1;

/**
 * Messages that are read in a row before a timer may pass. A stream with a backlog gives them without
 * any I/O between, and a chain of promises alone keeps the event loop from sockets, signals and the
 * lease. It costs a backlog of 10,000 messages a tenth of a second.
 */
const MESSAGES_IN_A_ROW_MAX = 200;

/** Puts keys into a queue for as long as it runs. */
export interface ExternalSource {
  /** Named in logs, and as the source of the reason of each key. */
  readonly name: string;
  /** Runs until `signal` aborts, then rejects with its reason. Never ends before. */
  run(
    queue: { add(key: ObjectKey, options?: AddOptions): void },
    options: { signal: AbortSignal },
  ): Promise<void>;
}

/** What every source has. */
export interface ExternalSourceOptions {
  /** Names the source. */
  readonly name: string;
  /** Times delays and intervals. */
  readonly clock: Clock;
  /** Spreads them. */
  readonly random: Random;
  /** Gets one line for each failure. */
  readonly log: Logger;
  /** Told of each error, besides the log: for counting. @default none */
  readonly onError?: (error: unknown) => void;
}

/** What {@linkcode fromStream} needs. */
export interface StreamOptions<E> extends ExternalSourceOptions {
  /** Opens the stream. Its signal aborts when the source stops. */
  readonly open: (options: { signal: AbortSignal }) => AsyncIterable<E>;
  /** The keys that a message concerns; none is fine. */
  readonly mapper: (message: E) => Iterable<ObjectKey>;
  /** How urgent they are. @default {"normal"} */
  readonly priority?: Priority;
}

/** What {@linkcode everyInterval} needs. */
export interface IntervalOptions extends ExternalSourceOptions {
  /** Time between two rounds, in milliseconds; chance adds up to a tenth. The first is after one. */
  readonly everyMs: number;
  /** The keys to look at in a round, e.g. those of a lister. */
  readonly keys: () => Iterable<ObjectKey>;
  /** How urgent they are. @default {"low"} */
  readonly priority?: Priority;
}

/**
 * The keys that the messages of a stream concern: of a webhook's receiver, a queue, a subscription.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock, realRandom } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 *
 * const stop = new AbortController();
 * const source = fromStream({
 *   name: "uploads",
 *   async *open() {
 *     yield { bucket: "a" };
 *     stop.abort();
 *   },
 *   mapper: ({ bucket }) => [`default/${bucket}`],
 *   clock: realClock,
 *   random: realRandom,
 *   log: silentLogger,
 * });
 * const keys: string[] = [];
 * await source.run({ add: (key) => keys.push(key) }, stop).catch(() => {});
 * deepStrictEqual(keys, ["default/a"]);
 * ```
 */
export function fromStream<E>(options: StreamOptions<E>): ExternalSource {
  const { name, clock, random, log, onError } = options;
  return {
    name,
    async run(queue, { signal }) {
      const backoff = new Backoff({ ...REOPEN_BACKOFF, jitter: JITTER, random });
      for (;;) {
        const openedAtMs = clock.monotonicMs();
        let error: unknown;
        try {
          await readStream(options, queue, signal);
        } catch (failure) {
          error = failure;
        }
        signal.throwIfAborted();
        if (clock.monotonicMs() - openedAtMs >= LASTED_MS) backoff.reset();
        const retryAfterMs = Math.round(backoff.nextMs());
        log.warn("External source ended, and is opened again", {
          source: name,
          retryAfterMs,
          ...(error === undefined ? {} : { error: messageOf(error) }),
        });
        if (error !== undefined) onError?.(error);
        await clock.sleep(retryAfterMs, { signal });
      }
    },
  };
}

/**
 * A round of looks every so often, for reconcilers whose outside tells of no changes. Low priority by
 * default: nobody waits for it.
 *
 * @throws {AssertionError} If the interval is not above 0, which would be a hot loop.
 */
export function everyInterval(options: IntervalOptions): ExternalSource {
  const { name, everyMs, keys, clock, random, priority = "low" } = options;
  assert(everyMs > 0, `an interval is longer than ${everyMs} ms`);
  return {
    name,
    async run(queue, { signal }) {
      for (;;) {
        await clock.sleep(jitter(everyMs, JITTER, random), { signal });
        for (const key of guarded(options, () => [...keys()])) {
          queue.add(key, { priority, reason: { type: "external", source: name } });
        }
      }
    },
  };
}

/** Reads a stream to its end. */
async function readStream<E>(
  options: StreamOptions<E>,
  queue: { add(key: ObjectKey, options?: AddOptions): void },
  signal: AbortSignal,
): Promise<void> {
  const { open, mapper, name, clock, priority = "normal" } = options;
  const stream = open({ signal })[Symbol.asyncIterator]();
  try {
    for (let messages = 1;; messages++) {
      if (messages % MESSAGES_IN_A_ROW_MAX === 0) await clock.sleep(1, { signal });
      // A stream that does not heed the signal must not hold up the stop.
      const { done, value } = await unlessAborted(stream.next(), signal);
      if (done) return;
      for (const key of guarded(options, () => [...mapper(value)])) {
        queue.add(key, { priority, reason: { type: "external", source: name } });
      }
    }
  } finally {
    // Not awaited: a generator that hangs answers when it goes on, that is perhaps never. What it
    // throws on the way out concerns nobody any more.
    stream.return?.().catch(() => {});
  }
}

/** The keys that a callback gives; none if it throws. */
function guarded(
  { name, log, onError }: ExternalSourceOptions,
  call: () => ObjectKey[],
): ObjectKey[] {
  try {
    return call();
  } catch (error) {
    log.error("Cannot map an external event to keys", { source: name, error: messageOf(error) });
    onError?.(error);
    return [];
  }
}

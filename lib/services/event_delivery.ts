/**
 * Gets one event, or the count of its repeats, to the API server: which request, which tries.
 *
 * Apart from the recorder, which decides what is written and when, and keeps the state.
 *
 * @module
 */

import { Backoff } from "../core/backoff.ts";
import { type Clock, type Random, withDeadline } from "../core/clock.ts";
import {
  ApiError,
  ConnectionError,
  DeadlineError,
  isAlreadyExists,
  isObjectNotFound,
} from "../core/errors.ts";
import { microTimeOf } from "../core/timestamps.ts";
import { type EventDraft, eventName, type EventSeries } from "./event_draft.ts";

/** Delay before the second try of a write, in milliseconds; it doubles with each. */
const RETRY_BASE_MS = 500;

/** Longest delay between two tries, in milliseconds, also if the server asks for more. */
const RETRY_MAX_MS = 10_000;

/** Longest request, in milliseconds: an event that takes longer must not hold up the others. */
const REQUEST_LIMIT_MS = 10_000;

/** All that is needed of a client. `client.resource(EVENTS)` fits it. */
export interface EventWriter {
  /** Stores a new event. Rejects with an `ApiError` if the server refuses. */
  create(event: EventDraft, options: { namespace: string; signal: AbortSignal }): Promise<unknown>;
  /** Changes the count of an event. A 404 makes the recorder create it anew. */
  patch(
    options: {
      name: string;
      namespace: string;
      patch: { type: "merge"; body: { series: EventSeries } };
      signal: AbortSignal;
    },
  ): Promise<unknown>;
}

/** One event and its repeats. */
export interface Series {
  /** What makes events the same; see `seriesKey`. */
  readonly key: string;
  /** The Event as it was, or is to be, created. */
  draft: EventDraft;
  /** How often it happened. */
  count: number;
  /** How much of that the server was told; 0: nothing yet. */
  sentCount: number;
  /** Wall time of the last time, for the server, in milliseconds. */
  lastAtMs: number;
  /** Monotonic time of the last time, in milliseconds. */
  recordedAtMs: number;
  /** Monotonic time of the last write, in milliseconds. */
  sentAtMs: number;
  /** In the queue or in a sender's hands. */
  isQueued: boolean;
  /** The server has an Event of this name, as far as we know. */
  isStored: boolean;
  /** Tries of the current write. */
  tries: number;
}

/** What {@linkcode deliver} works with. */
export interface DeliverOptions {
  /** Does the requests. */
  readonly client: EventWriter;
  /** Times tries and requests. */
  readonly clock: Clock;
  /** Spreads the tries. */
  readonly random: Random;
  /** Makes new names, where one is taken or gone. */
  readonly uuid: () => string;
  /** Most tries of this write, those before included. */
  readonly triesMax: number;
  /** Ends the tries, and the request under way. */
  readonly signal: AbortSignal;
}

/**
 * Writes what the server was not told of `series`, and notes in it what was written. Tries again
 * where that may help: no connection, no answer in time, 409, 429 and 5xx.
 *
 * @throws `signal.reason`, or the failure of the last try.
 */
export async function deliver(series: Series, options: DeliverOptions): Promise<void> {
  const { clock, random, triesMax, signal } = options;
  const bounds = { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS };
  const backoff = new Backoff({ ...bounds, jitter: 0.5, random });
  for (;;) {
    signal.throwIfAborted();
    series.tries += 1;
    try {
      const limits = { action: "writing an event", limitMs: REQUEST_LIMIT_MS, clock, signal };
      return await withDeadline((limit) => write(series, { ...options, signal: limit }), limits);
    } catch (error) {
      signal.throwIfAborted();
      if (series.tries >= triesMax || !isWorthRetrying(error)) throw error;
      const askedMs = error instanceof ApiError ? error.retryAfterMs ?? 0 : 0;
      await clock.sleep(Math.max(backoff.nextMs(), Math.min(askedMs, RETRY_MAX_MS)), { signal });
    }
  }
}

async function write(series: Series, options: DeliverOptions): Promise<void> {
  const { count } = series; // repeats that come in meanwhile wait for the next time
  const news = { count, lastObservedTime: microTimeOf(series.lastAtMs) };
  if (series.isStored) {
    if (await isPatched(series, news, options)) {
      series.sentCount = count;
      return;
    }
    rename(series, options.uuid); // it expired or was deleted, and a name is not used twice
  }
  // The first time it has no series, whatever was counted since: that comes with the next flush.
  const isFirst = series.sentCount === 0;
  await create(series, isFirst ? series.draft : { ...series.draft, series: news }, options);
  series.isStored = true;
  series.sentCount = isFirst ? 1 : count;
}

/** Patches the Event's count; false if there is no such Event any more. */
async function isPatched(
  series: Series,
  news: EventSeries,
  { client, signal }: DeliverOptions,
): Promise<boolean> {
  const { name, namespace } = series.draft.metadata;
  try {
    await client.patch({
      name,
      namespace,
      patch: { type: "merge", body: { series: news } },
      signal,
    });
    return true;
  } catch (error) {
    if (isObjectNotFound(error)) return false;
    throw error;
  }
}

async function create(
  series: Series,
  event: EventDraft,
  { client, uuid, signal }: DeliverOptions,
): Promise<void> {
  try {
    await client.create(event, { namespace: event.metadata.namespace, signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // After other tries it is ours: one of them got through, and we did not hear of it.
    if (series.tries > 1) return;
    rename(series, uuid);
    throw error;
  }
}

function rename(series: Series, uuid: () => string): void {
  const { metadata, regarding } = series.draft;
  const name = eventName(regarding.name, uuid);
  series.draft = { ...series.draft, metadata: { ...metadata, name } };
  series.isStored = false;
}

/** Failures that may go by themselves. A name that was taken is replaced by then. */
function isWorthRetrying(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof DeadlineError) return true;
  return error instanceof ApiError &&
    (error.status === 409 || error.status === 429 || error.status >= 500);
}

/**
 * Tells people what happened to an object, as Kubernetes Events, best effort.
 *
 * What it promises stands at {@linkcode EventRecorder}.
 *
 * @module
 */

import { type Clock, type Random, withDeadline } from "../core/clock.ts";
import { isNamespaceTerminating, isNotFound, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { latch, runTogether, type Task } from "../core/tasks.ts";
import { deliver, type EventWriter, type Series } from "./event_delivery.ts";
import { eventDraft, type EventInput, type EventSource, seriesKey } from "./event_draft.ts";

export type { EventWriter } from "./event_delivery.ts";
export type { EventInput, Regarding } from "./event_draft.ts";

/** At most one write of a count in this time; client-go's value. Events live an hour by default. */
export const SERIES_FLUSH_MS = 30 * 60_000;

/** What did not happen again for this long is over; client-go's value. */
export const SERIES_IDLE_MS = 6 * 60_000;

/** Events that wait for a sender at most; client-go's value. */
export const QUEUE_MAX = 1000;

/** Different events remembered at most, to recognise repeats; client-go's value. */
export const SERIES_MAX = 4096;

/** Requests at a time. One would drop events of a mass creation, many would delay reconciles. */
const SENDERS = 4;

/** How often series are looked through, in milliseconds: how late a flush may be. */
const TICK_MS = 60_000;

/** Tries of one write. They span about 20 s: a restart of an API server. */
const TRIES_MAX = 6;

/** Longest flush at the end, in milliseconds; it is part of the process' time to stop. */
export const END_FLUSH_LIMIT_MS = 5000;

/** A failure is told once in this time, in milliseconds; the rest only at debug. */
const WARN_EVERY_MS = 60_000;

/** What an {@linkcode EventRecorder} is made of. */
export interface EventRecorderOptions extends EventSource {
  /** Does the requests: `client.resource(EVENTS)`. */
  readonly client: EventWriter;
  /** Stamps events, times tries and flushes. */
  readonly clock: Clock;
  /** Spreads tries. */
  readonly random: Random;
  /** Makes names unique. */
  readonly uuid: () => string;
  /** Gets a line for what is lost, at most one a minute above debug. */
  readonly log: Logger;
}

/**
 * Writes events in its own time.
 *
 * What a recorder promises:
 * - {@linkcode EventRecorder.record} never waits, never throws and never fails a reconcile (E1). It
 *   notes the event; a few senders write it in their own time.
 * - Everything is bounded: the queue, the number of remembered events, the tries, each request and
 *   the flush at the end. What does not fit is dropped and counted.
 * - The first time something happens it is written at once. The same thing again is only counted, and
 *   the count is written into the Event's `series` at most once per {@linkcode SERIES_FLUSH_MS}, when
 *   it stopped happening for {@linkcode SERIES_IDLE_MS}, and when the recorder ends. So an error that
 *   comes back every second costs two requests an hour, and still shows as lasting.
 *
 * What it does not promise: that an event arrives. Nothing may depend on one.
 *
 * Needs the rights to create and patch `events.k8s.io/events` in the namespaces of the objects, and
 * in `default` for cluster-scoped ones.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock, realRandom, realUuid } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 *
 * const notes: string[] = [];
 * const stop = new AbortController();
 * const recorder = new EventRecorder({
 *   client: { // client.resource(EVENTS)
 *     create: (event) => Promise.resolve(notes.push(`${event.reason}: ${event.note}`)),
 *     patch: () => Promise.resolve(),
 *   },
 *   reportingController: "samplecontroller.k8s.io/foo-controller",
 *   reportingInstance: "foo-operator-0",
 *   clock: realClock,
 *   random: realRandom,
 *   uuid: realUuid,
 *   log: silentLogger,
 * });
 * const running = recorder.run({ signal: stop.signal });
 * recorder.record({
 *   regarding: {
 *     gvk: { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" },
 *     metadata: { name: "a", namespace: "default", uid: "1", resourceVersion: "7" },
 *   },
 *   type: "Normal",
 *   reason: "Synced",
 *   action: "Sync",
 *   note: "Foo synced successfully",
 * });
 * stop.abort(); // what was recorded before is still written
 * await running;
 * deepStrictEqual(notes, ["Synced: Foo synced successfully"]);
 * ```
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** Least recently recorded first. */
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  #arrival = latch();
  #dropped = 0;
  #warnedAtMs = -Infinity;
  #hasEnded = false;

  /** Only stores. Events recorded before {@linkcode EventRecorder.run} wait for it. */
  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Events, and counts of repeats, that were given up: for a metric. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Notes that something happened. Never waits, never throws; does nothing once the run has ended. */
  record(event: EventInput): void {
    try {
      this.#record(event);
    } catch (error) {
      this.#giveUp("Cannot record an event", error);
    }
  }

  /**
   * Writes what is recorded until `signal` aborts, then what is left, each with one try and all
   * within {@linkcode END_FLUSH_LIMIT_MS}. Never fails for what the API server does.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    const tasks: Record<string, Task> = { flusher: (stop) => this.#flushInTime(stop) };
    for (let n = 1; n <= SENDERS; n++) tasks[`sender ${n}`] = (stop) => this.#sendArrivals(stop);
    await runTogether(tasks, { signal });
    await this.#sendRest();
  }

  #record(input: EventInput): void {
    if (this.#hasEnded) {
      this.#dropped += 1;
      return;
    }
    const { clock, uuid } = this.#options;
    const draft = eventDraft(input, { source: this.#options, wallMs: clock.wallMs(), uuid });
    const key = seriesKey(draft);
    const known = this.#series.get(key);
    const series: Series = known ?? {
      ...{ key, draft, count: 0, sentCount: 0, lastAtMs: 0, recordedAtMs: 0, sentAtMs: -Infinity },
      ...{ isQueued: false, isStored: false, tries: 0 },
    };
    series.count += 1;
    series.lastAtMs = clock.wallMs();
    series.recordedAtMs = clock.monotonicMs();

    if (known === undefined && !this.#enqueue(series)) return;
    this.#series.delete(key); // to the end: recently recorded
    this.#series.set(key, series);
    const [oldest] = this.#series.values();
    if (this.#series.size > SERIES_MAX && oldest !== undefined) this.#end(oldest);
  }

  /** Queues a write for `series`; false, and counted as dropped, if there is no room. */
  #enqueue(series: Series): boolean {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#giveUp("Event dropped: too many wait", undefined);
      return false;
    }
    series.isQueued = true;
    series.tries = 0;
    this.#queue.push(series);
    this.#arrival.open();
    return true;
  }

  /** Forgets `series`; the next event of its kind makes a new one. Unwritten repeats are written. */
  #end(series: Series): void {
    if (this.#series.get(series.key) === series) this.#series.delete(series.key);
    if (!series.isQueued && series.count > series.sentCount) this.#enqueue(series);
  }

  /** Writes the counts of repeats when their time has come. Ends with `stop`. */
  async #flushInTime(stop: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      await clock.sleep(TICK_MS, { signal: stop });
      const nowMs = clock.monotonicMs();
      for (const series of [...this.#series.values()]) {
        if (series.isQueued) continue;
        const isDue = series.count > series.sentCount &&
          nowMs - series.sentAtMs >= SERIES_FLUSH_MS;
        if (nowMs - series.recordedAtMs >= SERIES_IDLE_MS) this.#end(series);
        else if (isDue) this.#enqueue(series);
      }
    }
  }

  /** One sender. Ends with `stop`; what it was about to write then goes back into the queue. */
  async #sendArrivals(stop: AbortSignal): Promise<void> {
    for (;;) {
      const series = this.#queue.shift();
      if (series === undefined) {
        if (this.#arrival.isOpen) this.#arrival = latch();
        await this.#arrival.wait({ signal: stop });
        continue;
      }
      try {
        await this.#send(series, { triesMax: TRIES_MAX, signal: stop });
      } catch (error) {
        this.#queue.unshift(series);
        throw error;
      }
    }
  }

  /** The last writes: everything queued, and every count that was not written. */
  async #sendRest(): Promise<void> {
    const { clock, log } = this.#options;
    this.#hasEnded = true;
    const isUnwritten = (each: Series) => !each.isQueued && each.count > each.sentCount;
    this.#queue.push(...[...this.#series.values()].filter(isUnwritten));

    const unsent = new Set(this.#queue);
    const sendAll = async (signal: AbortSignal) => {
      for (let series = this.#queue.shift(); series !== undefined; series = this.#queue.shift()) {
        await this.#send(series, { triesMax: series.tries + 1, signal });
        if (!series.isQueued) unsent.delete(series);
      }
    };
    const tasks: Record<string, Task> = {};
    for (let n = 1; n <= SENDERS; n++) tasks[`sender ${n}`] = sendAll;
    const { signal } = new AbortController(); // the caller's has aborted already
    const bounds = { action: "the last events", limitMs: END_FLUSH_LIMIT_MS, clock, signal };
    // For `runTogether`, senders that are cut by the limit have ended well: what is left tells.
    await withDeadline((limit) => runTogether(tasks, { signal: limit }), bounds);
    if (unsent.size === 0) return;
    this.#dropped += unsent.size;
    log.info("Events were not sent before the end", { events: unsent.size });
  }

  /** Writes `series`, or gives it up. Throws only `signal.reason`. */
  async #send(
    series: Series,
    { triesMax, signal }: { triesMax: number; signal: AbortSignal },
  ): Promise<void> {
    try {
      await deliver(series, { ...this.#options, triesMax, signal });
      series.sentAtMs = this.#options.clock.monotonicMs();
      series.isQueued = false;
      // Nobody will look after its repeats later.
      const isLast = this.#hasEnded || this.#series.get(series.key) !== series;
      if (isLast && series.count > series.sentCount) this.#enqueue(series);
    } catch (error) {
      signal.throwIfAborted();
      this.#failed(series, error);
    }
  }

  /** Gives `series` up. An object whose namespace is going needs no news, and no noise (E1). */
  #failed(series: Series, error: unknown): void {
    series.isQueued = false;
    if (this.#series.get(series.key) === series) this.#series.delete(series.key);
    if (!isNamespaceTerminating(error) && !isNotFound(error)) {
      return this.#giveUp("Cannot write an event", error);
    }
    this.#dropped += 1;
    const { name, namespace } = series.draft.regarding;
    this.#options.log.debug("Event not written: its namespace is going", { namespace, name });
  }

  /** Counts a loss and tells it in one line, the first in a while as a warning. */
  #giveUp(message: string, error: unknown): void {
    this.#dropped += 1;
    const { clock, log } = this.#options;
    const why = error === undefined ? {} : { error: messageOf(error) };
    const fields = { ...why, dropped: this.#dropped };
    if (clock.monotonicMs() - this.#warnedAtMs < WARN_EVERY_MS) return log.debug(message, fields);
    this.#warnedAtMs = clock.monotonicMs();
    log.warn(message, fields);
  }
}

/**
 * The queue between "something changed" and "a worker looks at it".
 *
 * Its contract is client-go's, which operators have relied on for a decade:
 *
 * - **Stingy.** A key added ten times before a worker takes it is handed out once.
 * - **Never twice at once.** A key that a worker holds is handed to nobody else.
 * - **Nothing lost.** A key added while a worker holds it is handed out again after its release
 *   (field case Q2): the worker may have read the object before it changed.
 * - **Fair.** Ready keys leave in the order in which they became ready.
 *
 * In sets: `dirty` holds what needs work, `processing` what workers hold, `ready` the keys to hand
 * out, in order. Always: ready ⊆ dirty, ready ∩ processing = ∅, and a key that is dirty but not ready
 * is in processing.
 *
 * Keys may also be added for later. A key waits once, until the earliest time asked for, and waiting
 * does not keep it from being handed out for another reason before. One timer serves all waits.
 *
 * Different from client-go, on purpose: a retry asked for a key that already waits for one takes no
 * second token (field case Q4), and shutting down drops what is queued instead of handing it out to
 * the end, since the next start lists everything anyway.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { assert, messageOf } from "../core/errors.ts";
import { type Logger, silentLogger } from "../core/log.ts";
import type { ObjectKey } from "../core/objects.ts";
import type { RateLimiter } from "../core/rate_limiter.ts";
import { type Latch, latch } from "../core/tasks.ts";
import { DelayHeap } from "./delay_heap.ts";
import { Fifo } from "./fifo.ts";

/**
 * Hears what a queue does, for the metrics named on each hook. Gauges are not told but read, when
 * someone asks for them: {@linkcode Workqueue.depth}, {@linkcode Workqueue.unfinishedMs},
 * {@linkcode Workqueue.longestRunningMs}.
 *
 * Called synchronously, after the queue's state changed. What a hook throws is logged and dropped.
 */
export interface WorkqueueObserver {
  /** A key needs work from now on (not: waits for later): `workqueue_adds_total`. */
  added(event: { queue: string; key: string }): void;
  /**
   * A worker took a key `waitedMs` after it was first added: `workqueue_queue_duration_seconds`.
   * Time spent waiting for later does not count, time spent dirty in another worker's hands does.
   */
  taken(event: { queue: string; key: string; waitedMs: number }): void;
  /** A worker released a key after `workedMs`: `workqueue_work_duration_seconds`. */
  released(event: { queue: string; key: string; workedMs: number }): void;
  /** A key was added for later, with a delay above 0: `workqueue_retries_total`. */
  retried(event: { queue: string; key: string; delayMs: number }): void;
}

/** A key in a worker's hands. Disposing releases it; a second time does nothing. */
export interface WorkItem<K> extends Disposable {
  /** The key to work on. */
  readonly key: K;
  /** From the first add to the take, in milliseconds. */
  readonly waitedMs: number;
}

/** A key that a worker holds, and since how many milliseconds. */
export interface RunningKey<K> {
  /** The key in work. */
  readonly key: K;
  /** Milliseconds since it was taken. */
  readonly forMs: number;
}

/** What a {@linkcode Workqueue} is made of. */
export interface WorkqueueOptions<K> {
  /** Name in logs and metrics; by habit the controller's. */
  readonly name: string;
  /** Times the delays. */
  readonly clock: Clock;
  /** Delays of {@linkcode Workqueue.addRateLimited}. Belongs to this queue alone. */
  readonly rateLimiter: RateLimiter<K>;
  /** Counts what happens. @default none */
  readonly observer?: WorkqueueObserver;
  /** Hears of hooks that throw. @default {silentLogger} */
  readonly log?: Logger;
}

/**
 * Keys that need work, each once; see the module's text for the contract.
 *
 * Bounded by the number of distinct keys, that is of objects: a queue that dropped keys would lie.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { realClock } from "../core/clock.ts";
 * import { defaultRateLimiter } from "../core/rate_limiter.ts";
 *
 * const { signal } = new AbortController();
 * const rateLimiter = defaultRateLimiter<string>({ clock: realClock, random: Math.random });
 * const queue = new Workqueue({ name: "foo", clock: realClock, rateLimiter });
 * queue.add("default/a");
 * queue.add("default/a"); // waits already
 * {
 *   using item = await queue.take({ signal });
 *   strictEqual(item?.key, "default/a");
 *   queue.add("default/a"); // changed while we work on it: handed out again
 *   strictEqual(queue.depth, 1);
 * } // released here, on every path
 * queue.shutDown();
 * strictEqual(await queue.take({ signal }), undefined);
 * ```
 */
export class Workqueue<K extends string = ObjectKey> {
  readonly #options: WorkqueueOptions<K>;
  readonly #log: Logger;
  /** Keys that need work, with the monotonic time of the first add since they were last taken. */
  readonly #dirty = new Map<K, number>();
  /** Keys in workers' hands, with the monotonic time at which they were taken. */
  readonly #processing = new Map<K, number>();
  readonly #ready = new Fifo<K>();
  readonly #takers = new Set<(item: WorkItem<K> | undefined) => void>();
  readonly #delayed = new DelayHeap<K>();
  /** Delayed keys that took a token of the rate limiter for this wait. */
  readonly #retrying = new Set<K>();
  #timer: { readonly atMs: number; readonly stop: AbortController } | undefined;
  #idle: Latch | undefined;
  #isShutDown = false;

  /** Only stores. */
  constructor(options: WorkqueueOptions<K>) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
  }

  /** Name in logs and metrics. */
  get name(): string {
    return this.#options.name;
  }

  /** Keys that need work and that no worker has taken since: `workqueue_depth`. */
  get depth(): number {
    return this.#dirty.size;
  }

  /** Keys that wait for later and need no work yet. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** True once {@linkcode Workqueue.shutDown} was called. Never false again. */
  get isShutDown(): boolean {
    return this.#isShutDown;
  }

  /** Milliseconds that the keys in workers' hands have been there, added up. */
  get unfinishedMs(): number {
    return this.running().reduce((sumMs, { forMs }) => sumMs + forMs, 0);
  }

  /** The longest of those times; 0 if no worker holds a key. Finds workers that hang (Q1). */
  get longestRunningMs(): number {
    return this.running().reduce((maxMs, { forMs }) => Math.max(maxMs, forMs), 0);
  }

  /** The keys in workers' hands, longest held first. */
  running(): readonly RunningKey<K>[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#processing].map(([key, takenAtMs]) => ({ key, forMs: nowMs - takenAtMs }));
  }

  /** `key` needs work, now. For changes: never delayed, never counted as a failure. */
  add(key: K): void {
    if (this.#isShutDown || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#options.clock.monotonicMs());
    if (!this.#processing.has(key)) this.#ready.push(key);
    this.#tell((observer, queue) => observer.added({ queue, key }));
    this.#handOut();
  }

  /**
   * `key` needs work in `ms` milliseconds: at once for 0 or less, never for `Infinity`. If it waits
   * already, the earlier time stays.
   *
   * @throws {AssertionError} If `ms` is NaN, which would otherwise be a hot loop or a lost key.
   */
  addAfter(key: K, ms: number): void {
    assert(!Number.isNaN(ms), "a delay is a number");
    if (this.#isShutDown || ms === Infinity) return;
    if (ms <= 0) return this.add(key);
    this.#delayed.add(key, this.#options.clock.monotonicMs() + ms);
    this.#arm();
    this.#tell((observer, queue) => observer.retried({ queue, key, delayMs: ms }));
  }

  /**
   * `key` failed: it needs work again after the rate limiter's delay. If it already waits for such a
   * retry, or is ready to be taken, nothing is counted and no token is used.
   *
   * @returns Milliseconds until it becomes ready; `Infinity` once shut down.
   */
  addRateLimited(key: K): number {
    if (this.#isShutDown) return Infinity;
    if (this.#dirty.has(key) && !this.#processing.has(key)) return 0;
    if (!this.#retrying.has(key)) {
      const delayMs = this.#options.rateLimiter.next(key);
      if (delayMs > 0 && delayMs < Infinity) this.#retrying.add(key);
      this.addAfter(key, delayMs);
    }
    const waiting = this.#delayed.find(key);
    if (waiting === undefined) return this.#dirty.has(key) ? 0 : Infinity;
    return Math.max(0, waiting.atMs - this.#options.clock.monotonicMs());
  }

  /**
   * Forgets the failures of `key`: it succeeded, was given up, or its spec changed. Does not release
   * it, and leaves a retry that already waits in place: one look too many is harmless.
   */
  forget(key: K): void {
    this.#retrying.delete(key);
    this.#options.rateLimiter.forget(key);
  }

  /** Failures of `key` since it was last forgotten. */
  failures(key: K): number {
    return this.#options.rateLimiter.failures(key);
  }

  /**
   * The next key, as soon as there is one; callers are served in the order in which they came. The
   * key is the caller's until the item is disposed.
   *
   * @returns `undefined` once the queue is shut down.
   * @throws `signal.reason` if that comes first. An item handed over before is still the caller's.
   */
  async take({ signal }: { signal: AbortSignal }): Promise<WorkItem<K> | undefined> {
    signal.throwIfAborted();
    if (this.#isShutDown) return undefined;
    const key = this.#ready.shift();
    if (key !== undefined) return this.#start(key);

    const { promise, resolve, reject } = Promise.withResolvers<WorkItem<K> | undefined>();
    const abort = () => {
      this.#takers.delete(resolve);
      reject(signal.reason);
    };
    this.#takers.add(resolve);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Ends the queue for good: waiting takers get `undefined`, what is queued or waits is dropped, adds
   * are ignored from now on, and no timer is left (field case Q3). Keys in workers' hands stay theirs.
   */
  shutDown(): void {
    this.#isShutDown = true;
    this.#ready.clear();
    this.#dirty.clear();
    this.#delayed.clear();
    this.#retrying.clear();
    this.#arm();
    for (const resolve of this.#takers) resolve(undefined);
    this.#takers.clear();
  }

  /**
   * Shuts down, then waits until every key in a worker's hands is released.
   *
   * @throws `signal.reason` if that comes first; the queue stays shut down.
   */
  async drain({ signal }: { signal: AbortSignal }): Promise<void> {
    this.shutDown();
    if (this.#processing.size === 0) return;
    this.#idle ??= latch();
    await this.#idle.wait({ signal });
  }

  /** Puts `key` into the hands of a worker. */
  #start(key: K): WorkItem<K> {
    const nowMs = this.#options.clock.monotonicMs();
    const addedAtMs = this.#dirty.get(key);
    assert(addedAtMs !== undefined, "a ready key is dirty");
    assert(!this.#processing.has(key), "a ready key is in no worker's hands");
    this.#dirty.delete(key);
    this.#processing.set(key, nowMs);
    const waitedMs = nowMs - addedAtMs;
    this.#tell((observer, queue) => observer.taken({ queue, key, waitedMs }));
    let isHeld = true;
    return {
      key,
      waitedMs,
      [Symbol.dispose]: () => {
        // Once only: by then the key may be in the hands of another worker.
        if (isHeld) this.#release(key);
        isHeld = false;
      },
    };
  }

  #release(key: K): void {
    const takenAtMs = this.#processing.get(key);
    assert(takenAtMs !== undefined, "a released key was held");
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#ready.push(key);
    const workedMs = this.#options.clock.monotonicMs() - takenAtMs;
    this.#tell((observer, queue) => observer.released({ queue, key, workedMs }));
    if (this.#processing.size === 0) this.#idle?.open();
    this.#handOut();
  }

  /** Gives ready keys to waiting takers, first to first. */
  #handOut(): void {
    for (const resolve of this.#takers) {
      const key = this.#ready.shift();
      if (key === undefined) return;
      this.#takers.delete(resolve);
      resolve(this.#start(key));
    }
  }

  /** Makes the one timer fit the key that is due next. */
  #arm(): void {
    const next = this.#delayed.peek();
    if (next?.atMs === this.#timer?.atMs) return;
    this.#timer?.stop.abort();
    this.#timer = undefined;
    if (next === undefined) return;

    const { clock } = this.#options;
    const timer = { atMs: next.atMs, stop: new AbortController() };
    this.#timer = timer;
    clock.sleep(next.atMs - clock.monotonicMs(), { signal: timer.stop.signal }).then(
      () => this.#timer === timer && this.#fire(),
      () => {}, // replaced by another timer, or shut down
    );
  }

  /** The timer went off: what is due becomes ready. */
  #fire(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#timer = undefined;
    for (let next = this.#delayed.peek(); next && next.atMs <= nowMs; next = this.#delayed.peek()) {
      this.#delayed.shift();
      this.#retrying.delete(next.key);
      this.add(next.key);
    }
    this.#arm();
  }

  /** A hook that throws must not leave a key half moved: each is called after the move, guarded. */
  #tell(hook: (observer: WorkqueueObserver, queue: string) => void): void {
    if (this.#options.observer === undefined) return;
    try {
      hook(this.#options.observer, this.name);
    } catch (error) {
      this.#log.error("Workqueue observer failed", { queue: this.name, error: messageOf(error) });
    }
  }
}

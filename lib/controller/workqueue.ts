/**
 * The queue between "something changed" and "a worker looks at it".
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

import { withDeadline } from "../core/clock.ts";
import { assert, messageOf } from "../core/errors.ts";
import { type Logger, silentLogger } from "../core/log.ts";
import type { ObjectKey } from "../core/objects.ts";
import { type Latch, latch } from "../core/tasks.ts";
import { DelayHeap } from "./delay_heap.ts";
import { type Priority, ReadyKeys } from "./ready_keys.ts";
import { mergeReasons, NO_REASONS, type Reason, reasonsOf } from "./reasons.ts";
import type {
  AddOptions,
  RunningKey,
  WorkItem,
  WorkqueueObserver,
  WorkqueueOptions,
} from "./workqueue_options.ts";

export type {
  AddOptions,
  RunningKey,
  WorkItem,
  WorkqueueObserver,
  WorkqueueOptions,
} from "./workqueue_options.ts";
export type { Priority } from "./ready_keys.ts";
export type { Reason, ReasonType } from "./reasons.ts";

/** Keys named in a message at most. */
const NAMED_MAX = 5;

/** What is known of a key that needs work, or will. */
interface Need {
  /** Monotonic time of the first add since it was last taken; when it was asked for if it waits. */
  readonly sinceMs: number;
  priority: Priority;
  reasons: readonly Reason[];
}

/**
 * Keys that need work, each once.
 *
 * Its contract is client-go's, which operators have relied on for a decade:
 * - **Stingy.** A key added ten times before a worker takes it is handed out once.
 * - **Never twice at once.** A key that a worker holds is handed to nobody else.
 * - **Nothing lost.** A key added while a worker holds it is handed out again after its release
 *   (field case Q2): the worker may have read the object before it changed.
 * - **Fair.** Ready keys leave in the order in which they became ready, namespaces in turns, urgent
 *   ones first, and none starves: with N namespaces that have ready keys, and p keys of its own
 *   ahead of it, a normal key leaves after at most p + (p + 1) × (N − 1) other normal ones.
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
  /** Keys that need work. */
  readonly #dirty = new Map<K, Need>();
  /** Keys in workers' hands, with the monotonic time at which they were taken. */
  readonly #processing = new Map<K, number>();
  readonly #ready = new ReadyKeys<K>();
  readonly #takers = new Set<(item: WorkItem<K> | undefined) => void>();
  readonly #delayed = new DelayHeap<K>();
  /** What delayed keys will need; the same keys as in the heap. */
  readonly #later = new Map<K, Need>();
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

  /** Those of them with this priority, for the label `priority`. Costs O(depth). */
  depthOf(priority: Priority): number {
    return this.#dirty.values().reduce((n, need) => n + (need.priority === priority ? 1 : 0), 0);
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
  add(key: K, { priority = "normal", reason }: AddOptions = {}): void {
    this.#add(key, priority, reasonsOf(reason));
  }

  /**
   * `key` needs work in `ms` milliseconds: at once for 0 or less, never for `Infinity`. If it waits
   * already, the earlier time and the higher priority stay.
   *
   * @throws {AssertionError} If `ms` is NaN, which would otherwise be a hot loop or a lost key.
   */
  addAfter(key: K, ms: number, options: AddOptions = {}): void {
    assert(!Number.isNaN(ms), "a delay is a number");
    if (this.#isShutDown || ms === Infinity) return;
    if (ms <= 0) return this.add(key, options);
    const { priority = "normal", reason } = options;
    const sinceMs = this.#options.clock.monotonicMs();
    this.#delayed.add(key, sinceMs + ms);
    const need = this.#later.get(key) ?? { sinceMs, priority, reasons: NO_REASONS };
    join(need, priority, reasonsOf(reason));
    this.#later.set(key, need);
    this.#arm();
    this.#tell((observer, queue) => observer.retried({ queue, key, delayMs: ms }));
  }

  /**
   * `key` failed: it needs work again after the rate limiter's delay. If it already waits for such a
   * retry, or is ready to be taken, nothing is counted and no token is used.
   *
   * @returns Milliseconds until it becomes ready; `Infinity` once shut down.
   */
  addRateLimited(key: K, options: AddOptions = {}): number {
    if (this.#isShutDown) return Infinity;
    if (this.#dirty.has(key) && !this.#processing.has(key)) return 0;
    if (!this.#retrying.has(key)) {
      const delayMs = this.#options.rateLimiter.next(key);
      if (delayMs > 0 && delayMs < Infinity) this.#retrying.add(key);
      this.addAfter(key, delayMs, options);
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
    this.#later.clear();
    this.#retrying.clear();
    this.#arm();
    for (const resolve of this.#takers) resolve(undefined);
    this.#takers.clear();
  }

  /**
   * Shuts down, then waits until every key in a worker's hands is released.
   *
   * @param options `limitMs` is the longest wait, in milliseconds. @default {Infinity}
   * @throws {DeadlineError} After `limitMs`, naming the keys. The queue stays shut down.
   * @throws `signal.reason` if that comes first; as before.
   */
  async drain(
    { signal, limitMs = Infinity }: { signal: AbortSignal; limitMs?: number },
  ): Promise<void> {
    this.shutDown();
    if (this.#processing.size === 0) return;
    const idle = this.#idle ??= latch();
    if (limitMs === Infinity) return await idle.wait({ signal });
    const keys = [...this.#processing.keys()].slice(0, NAMED_MAX).join(", ");
    await withDeadline((signal) => idle.wait({ signal }), {
      action: `draining ${this.name} of ${keys}`,
      limitMs,
      clock: this.#options.clock,
      signal,
    });
  }

  #add(key: K, priority: Priority, reasons: readonly Reason[]): void {
    if (this.#isShutDown) return;
    const need = this.#dirty.get(key);
    if (need !== undefined) {
      if (join(need, priority, reasons)) this.#ready.raise(key);
      return;
    }
    const sinceMs = this.#options.clock.monotonicMs();
    this.#dirty.set(key, { sinceMs, priority, reasons });
    if (!this.#processing.has(key)) this.#makeReady(key, priority);
    this.#tell((observer, queue) => observer.added({ queue, key, priority }));
    this.#handOut();
  }

  #makeReady(key: K, priority: Priority): void {
    const { groupOf = namespaceOf } = this.#options;
    this.#ready.push(key, { group: groupOf(key), priority });
  }

  /** Puts `key` into the hands of a worker. */
  #start(key: K): WorkItem<K> {
    const nowMs = this.#options.clock.monotonicMs();
    const need = this.#dirty.get(key);
    assert(need !== undefined, "a ready key is dirty");
    assert(!this.#processing.has(key), "a ready key is in no worker's hands");
    this.#dirty.delete(key);
    this.#processing.set(key, nowMs);
    const { priority, reasons } = need;
    const waitedMs = nowMs - need.sinceMs;
    this.#tell((observer, queue) => observer.taken({ queue, key, priority, waitedMs }));
    let isHeld = true;
    return {
      key,
      waitedMs,
      priority,
      reasons,
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
    const need = this.#dirty.get(key);
    if (need !== undefined) this.#makeReady(key, need.priority);
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
      const need = this.#later.get(next.key);
      assert(need !== undefined, "a delayed key has a need");
      this.#later.delete(next.key);
      this.#add(next.key, need.priority, need.reasons);
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

/** Adds what another add asks for to `need`. True if that made it more urgent. */
function join(need: Need, priority: Priority, reasons: readonly Reason[]): boolean {
  need.reasons = mergeReasons(need.reasons, reasons);
  if (priority === need.priority || priority === "low") return false;
  need.priority = priority;
  return true;
}

/** As `splitKey` says, without making an object: asked for each key that becomes ready. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}

/**
 * One cache of one kind for all who need it: a reflector, its store, and handlers that are told of
 * every change.
 *
 * What it promises stands at {@linkcode SharedInformer}.
 *
 * There is no queue between store and handlers, as one thread needs none: a change goes from the watch
 * line through the store to all handlers in one step.
 *
 * @module
 */

import { jitter } from "../core/backoff.ts";
import type { Clock, Random } from "../core/clock.ts";
import { assert, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { keyOf, type KubeObject } from "../core/objects.ts";
import { type Latch, latch, runTogether } from "../core/tasks.ts";
import { BudgetWatch, type CacheBudget, type CacheUsage } from "./budget.ts";
import type { Indexers } from "./indexer.ts";
import { type ListWatch, reflect, type ReflectOptions } from "./reflector.ts";
import { ReflectorHealth, type ReflectorObserver } from "./reflector_health.ts";
import { type Lister, Store, type StoreChange, type StoreOptions } from "./store.ts";

/** Told of changes. Quick, since it holds up the cache of its kind and everything else. */
export interface ChangeHandler<T> {
  /** Takes one change. Objects are frozen. */
  onChange(change: StoreChange<T>): void;
}

/** Hooks of an informer, for metrics. They must not throw. */
export interface InformerObserver extends ReflectorObserver {
  /** A handler threw. */
  handlerFailed?(failure: { handler: string; error: unknown }): void;
  /** The cache came to hold more than its budget, or less than nine tenths of it again. */
  budgetCrossed?(usage: CacheUsage): void;
}

/** Options of a {@linkcode SharedInformer}. */
export interface SharedInformerOptions<T>
  extends
    Omit<StoreOptions<T>, "log" | "measuresBytes">,
    Pick<ReflectOptions<T>, "inactivityMs" | "initialList" | "relistMs"> {
  /** What is cached, for logs and metrics: `foos.samplecontroller.k8s.io`. */
  readonly name: string;
  /** Where objects come from. */
  readonly source: ListWatch<T>;
  /**
   * How often every object is told again as updated, with `previous === object`, in milliseconds; up
   * to a tenth more by chance. 0 is never. No cure for missed changes, which don't happen here: it is
   * for reconcilers that also look at something no watch tells about. @default {0}
   */
  readonly resyncMs?: number;
  /** What the cache is expected to hold; more is warned about. @default no limit */
  readonly budget?: CacheBudget;
  /** As the reflector's. */
  readonly clock: Clock;
  /** As the reflector's. */
  readonly random: Random;
  /** As the reflector's. */
  readonly log: Logger;
  /** Told what the informer and its reflector do. */
  readonly observer?: InformerObserver;
}

/** A handler's place in an informer. Leaving its scope takes the handler out. */
export interface HandlerRegistration extends Disposable {
  /** The name it was added with. */
  readonly name: string;
  /** True once the handler was told the whole first state (S5). */
  readonly hasSynced: boolean;
  /** How often the handler threw. */
  readonly failures: number;
  /** Resolves once {@linkcode HandlerRegistration.hasSynced}. Rejects with `signal.reason`. */
  synced(options: { signal: AbortSignal }): Promise<void>;
}

/** How much chance adds to the resync interval, so that informers don't do it in step. */
const RESYNC_JITTER = 0.1;

/**
 * Caches one kind and tells its handlers what changes.
 *
 * What an informer promises to each handler:
 * - The objects of the first list come as additions with `initial: true`, also to a handler that was
 *   added later: it gets the store as it is then, before {@linkcode SharedInformer.addHandler} returns.
 * - From then on it is told each change of the store once, in order per object. No order is promised
 *   between objects. A change that came and went while the connection was cut may be skipped: what
 *   counts is the state, and the last one is always told.
 * - When it is told, the lister has the change already, and maybe later ones.
 * - Whatever a handler throws is logged and counted, and reaches neither the other handlers nor the
 *   reflector (field case S2).
 *
 * Handlers run on the one thread that also reads the watch: they put keys into a workqueue and return.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock, realRandom } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 *
 * const metadata = { name: "a", uid: "u1", resourceVersion: "7", creationTimestamp: "" };
 * const stop = new AbortController();
 * const informer = new SharedInformer({
 *   name: "pods",
 *   source: {
 *     list: () => Promise.resolve({
 *       items: [{ apiVersion: "v1", kind: "Pod", metadata }],
 *       resourceVersion: "7",
 *     }),
 *     async *watch({ signal }) {
 *       await realClock.sleep(Infinity, { signal });
 *     },
 *   },
 *   clock: realClock,
 *   random: realRandom,
 *   log: silentLogger,
 * });
 * const seen: string[] = [];
 * using registration = informer.addHandler(
 *   { onChange: (change) => void seen.push(change.type) },
 *   { name: "example" },
 * );
 * const running = informer.run(stop);
 * await registration.synced(stop);
 * deepStrictEqual([seen, informer.lister.keys()], [["added"], ["a"]]);
 * stop.abort();
 * await running;
 * ```
 */
export class SharedInformer<T extends KubeObject> {
  /** The name given. */
  readonly name: string;
  /** What health checks and metrics ask of this cache. */
  readonly health: ReflectorHealth;
  readonly #options: SharedInformerOptions<T>;
  readonly #store: Store<T>;
  readonly #budget: BudgetWatch;
  readonly #synced: Latch = latch();
  /** Replaced, never edited: a round of telling goes over the handlers that it began with. */
  #registrations: readonly Registration<T>[] = [];
  #wasRun = false;

  /** Only stores; nothing is read before {@linkcode SharedInformer.run}. */
  constructor(options: SharedInformerOptions<T>) {
    const { name, clock, observer } = options;
    this.name = name;
    this.#options = options;
    this.#store = new Store({ ...options, measuresBytes: options.budget?.bytes !== undefined });
    this.#budget = new BudgetWatch(options.budget ?? {});
    this.health = new ReflectorHealth({ clock, observer });
  }

  /** The cached objects, for reading. Empty before the first list. */
  get lister(): Lister<T> {
    return this.#store;
  }

  /** How much the cache holds, for metrics and health checks. */
  get usage(): CacheUsage {
    return {
      objects: this.#store.size,
      bytes: this.#options.budget?.bytes === undefined ? undefined : this.#store.bytes,
      isOverBudget: this.#budget.isOver,
    };
  }

  /** Adds indexes, at any time: see {@linkcode Store.addIndexers}. */
  addIndexers(indexers: Indexers<T>): void {
    this.#store.addIndexers(indexers);
  }

  /** How often the cache's version went back, since the server was restored. */
  get timesBack(): number {
    return this.#store.timesBack;
  }

  /** Waits for the cache to have a version: see {@linkcode Store.reached}. */
  async reached(resourceVersion: string, options: { signal: AbortSignal }): Promise<void> {
    await this.#store.reached(resourceVersion, options);
  }

  /** Waits for what the cache will have: see {@linkcode Store.until}. */
  async until(claim: () => boolean, options: { signal: AbortSignal }): Promise<void> {
    await this.#store.until(claim, options);
  }

  /** True once the first list is in the store and all handlers present then were told it. */
  get hasSynced(): boolean {
    return this.#synced.isOpen;
  }

  /** Resolves once {@linkcode SharedInformer.hasSynced}. Rejects with `signal.reason`. */
  async synced({ signal }: { signal: AbortSignal }): Promise<void> {
    await this.#synced.wait({ signal });
  }

  /**
   * Adds a handler, at any time, also from inside another handler. `name` is for logs and metrics.
   *
   * If the informer has a state already, the handler is told it before this returns.
   */
  addHandler(handler: ChangeHandler<T>, { name }: { name: string }): HandlerRegistration {
    const registration = new Registration(handler, {
      name,
      onFailure: (failure) => this.#handlerFailed(name, failure),
      onDispose: () => {
        this.#registrations = this.#registrations.filter((other) => other !== registration);
      },
    });
    this.#registrations = [...this.#registrations, registration];
    // Not "has synced": inside the round that tells the first list, the store is full already, and
    // that round goes past this handler.
    if (this.#store.resourceVersion !== "") {
      registration.tell(
        this.#store.all().map((object) => ({ type: "added", object, initial: true })),
      );
      registration.markSynced();
    }
    return registration;
  }

  /**
   * Fills the cache and keeps it current until `signal` aborts; then resolves. Once in a lifetime.
   *
   * @throws {AssertionError} If called a second time.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    assert(!this.#wasRun, `informer ${this.name} is run once`);
    this.#wasRun = true;
    const { source, resyncMs = 0, inactivityMs, initialList, relistMs, clock, random, log } =
      this.#options;
    await runTogether({
      reflector: (signal) =>
        reflect(source, this.#store, {
          name: this.name,
          clock,
          random,
          log,
          observer: this.health,
          onChange: (changes) => this.#tellAll(changes),
          ...(inactivityMs === undefined ? {} : { inactivityMs }),
          ...(initialList === undefined ? {} : { initialList }),
          ...(relistMs === undefined ? {} : { relistMs }),
          signal,
        }),
      ...(resyncMs > 0 ? { resync: (signal: AbortSignal) => this.#resync(resyncMs, signal) } : {}),
    }, { signal });
  }

  /** The reflector's first call is the first list, even an empty one. */
  #tellAll(changes: readonly StoreChange<T>[]): void {
    this.#lookAtBudget();
    const registrations = this.#registrations;
    for (const registration of registrations) registration.tell(changes);
    if (this.#synced.isOpen) return;
    for (const registration of registrations) registration.markSynced();
    this.#synced.open();
  }

  #lookAtBudget(): void {
    const news = this.#budget.look(this.usage);
    if (news === undefined) return;
    const { budget, log, observer } = this.#options;
    const { usage } = this;
    const fields = { informer: this.name, ...usage, budget };
    if (news === "kept") log.info("Cache is within its budget again", fields);
    else log.warn("Cache holds more than its budget", fields);
    observer?.budgetCrossed?.(usage);
  }

  async #resync(resyncMs: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    await this.#synced.wait({ signal });
    for (;;) {
      await clock.sleep(jitter(resyncMs, RESYNC_JITTER, random), { signal });
      const changes = this.#store.all().map((object) => {
        return { type: "updated", object, previous: object } as const;
      });
      for (const registration of this.#registrations) registration.tell(changes);
    }
  }

  #handlerFailed(handler: string, { change, error, isRepeat }: HandlerFailure<T>): void {
    const { metadata } = change.type === "deleted" ? change.last : change.object;
    this.#options.log[isRepeat ? "debug" : "error"]("Handler failed", {
      informer: this.name,
      handler,
      change: change.type,
      object: keyOf(metadata),
      error: messageOf(error),
    });
    this.#options.observer?.handlerFailed?.({ handler, error });
  }
}

interface HandlerFailure<T> {
  readonly change: StoreChange<T>;
  readonly error: unknown;
  /** Not the first in this round: a handler that fails for 10,000 objects says so once. */
  readonly isRepeat: boolean;
}

interface RegistrationOptions<T> {
  readonly name: string;
  readonly onFailure: (failure: HandlerFailure<T>) => void;
  readonly onDispose: () => void;
}

/** Tells one handler, and keeps what it throws from everyone else. */
class Registration<T> implements HandlerRegistration {
  readonly name: string;
  readonly #handler: ChangeHandler<T>;
  readonly #options: RegistrationOptions<T>;
  readonly #synced: Latch = latch();
  #failures = 0;
  #isDisposed = false;

  constructor(handler: ChangeHandler<T>, options: RegistrationOptions<T>) {
    this.name = options.name;
    this.#handler = handler;
    this.#options = options;
  }

  get hasSynced(): boolean {
    return this.#synced.isOpen;
  }

  get failures(): number {
    return this.#failures;
  }

  async synced({ signal }: { signal: AbortSignal }): Promise<void> {
    await this.#synced.wait({ signal });
  }

  tell(changes: readonly StoreChange<T>[]): void {
    const failuresBefore = this.#failures;
    for (const change of changes) {
      if (this.#isDisposed) return;
      try {
        // A handler should not be async, but the types let it pass; its rejection must not go
        // unhandled, which would end the process.
        const result: unknown = this.#handler.onChange(change);
        if (result instanceof Promise) result.catch((error) => this.#failed(change, error, false));
      } catch (error) {
        this.#failed(change, error, this.#failures > failuresBefore);
      }
    }
  }

  #failed(change: StoreChange<T>, error: unknown, isRepeat: boolean): void {
    this.#failures += 1;
    this.#options.onFailure({ change, error, isRepeat });
  }

  /** The handler was told the first state. */
  markSynced(): void {
    this.#synced.open();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#options.onDispose();
  }
}

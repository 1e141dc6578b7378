/**
 * All caches of a program: shared, started and awaited together, added and removed while it runs.
 *
 * What it promises stands at {@linkcode InformerSet}.
 *
 * @module
 */

import { type AbortScope, abortScope, withDeadline } from "../core/clock.ts";
import { assert, AssertionError, DeadlineError, messageOf } from "../core/errors.ts";
import type { KubeObject } from "../core/objects.ts";
import {
  type CacheDeclaration,
  type CachedKind,
  type CacheParts,
  KindCache,
  nameOfKind,
} from "./kind_cache.ts";
import { type CacheScope, textOfScope } from "./scope.ts";
import type { ChangeHandler, HandlerRegistration } from "./shared_informer.ts";
import type { Lister } from "./store.ts";

/** One holder's share in a cache. Leaving its scope takes its handlers out and lets go. */
export interface CacheHandle<T extends KubeObject> extends Disposable {
  /** Kind and scope, for messages. */
  readonly name: string;
  /** The cache, shared with others. */
  readonly cache: KindCache<T>;
  /** Reads the cache. */
  readonly lister: Lister<T>;
  /** True once the cache had its first list. */
  readonly hasSynced: boolean;
  /** Resolves once {@linkcode CacheHandle.hasSynced}. Rejects with `signal.reason`. */
  synced(options: { signal: AbortSignal }): Promise<void>;
  /** Adds a handler that goes with this handle: see `SharedInformer.addHandler`. */
  addHandler(handler: ChangeHandler<T>, options: { name: string }): HandlerRegistration;
}

/** What a health check and a metric ask of one informer. */
export interface InformerReport {
  /** Its name: kind, and namespace if it is of one. */
  readonly name: string;
  /** True once it had its first list. */
  readonly hasSynced: boolean;
  /** How long ago the server last sent something, in milliseconds; `undefined`: never. */
  readonly silentMs: number | undefined;
  /** What fails at present, if something does. */
  readonly failure: string | undefined;
  /** True if it has ended by a defect and will not come back. */
  readonly isDead: boolean;
  /** Objects held. */
  readonly objects: number;
  /** Their memory, in bytes, if the budget has a limit for it. */
  readonly bytes: number | undefined;
  /** True if the cache holds more than was expected. */
  readonly isOverBudget: boolean;
}

/** A cache and those who hold it. */
interface Entry {
  /** Of the objects' type that its kind claims. */
  readonly cache: KindCache<KubeObject>;
  /** What is kept of each object: those who share it must agree. */
  readonly keeps: { readonly transform: unknown; readonly managedFields: boolean };
  readonly kindName: string;
  holders: number;
  /** What it ended with, if it did. */
  failure: string | undefined;
  /** Ends it; there once it runs. */
  scope: AbortScope | undefined;
}

/**
 * The caches of a program.
 *
 * What the set promises:
 * - **One cache for one kind and scope**, however many declare it. It lives as long as one of those
 *   who declared it; the last to let go stops its watch and frees its memory.
 * - **Nothing is cached that nobody declared.** A read of something else is an error that says what
 *   to declare, at once: a cache that starts by itself at the first read is where controllers of
 *   other frameworks hang, without the right to list, or fill their memory with a kind that was
 *   meant to be read once.
 * - **One kind never stops another.** A kind that can't be listed leaves the rest alone, and so does
 *   a cache whose program is broken: it is told as failed, for liveness, and the others go on.
 * - A kind whose definition is deleted counts as having no objects after half a minute, and is
 *   cached again when the definition comes back (field case W12).
 *
 * @example Two parts of a program share one cache
 * ```ts
 * import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
 * import { realClock, realRandom } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 * import type { KubeObject } from "../core/objects.ts";
 *
 * const PODS = { gvk: { group: "", version: "v1", kind: "Pod" }, plural: "pods" };
 * const metadata = { name: "a", uid: "u1", resourceVersion: "7", creationTimestamp: "" };
 * const source = () => ({ // a client's `client.resource(PODS).listWatch(selection)`
 *   list: () => Promise.resolve({
 *     items: [{ apiVersion: "v1", kind: "Pod", metadata }],
 *     resourceVersion: "7",
 *   }),
 *   async *watch({ signal }: { signal: AbortSignal }) {
 *     await realClock.sleep(Infinity, { signal });
 *   },
 * });
 *
 * const caches = new InformerSet({ clock: realClock, random: realRandom, log: silentLogger });
 * throws(() => caches.lister(PODS), /Nobody declared a cache of pods/);
 *
 * const stop = new AbortController();
 * using first = caches.declare<KubeObject>({ kind: PODS, source });
 * using second = caches.declare<KubeObject>({ kind: PODS, source });
 * strictEqual(first.cache, second.cache);
 *
 * const running = caches.run(stop);
 * await caches.synced({ limitMs: 30_000, signal: stop.signal });
 * deepStrictEqual(caches.lister(PODS).keys(), ["a"]);
 * stop.abort();
 * await running;
 * ```
 */
export class InformerSet {
  readonly #parts: CacheParts;
  /** By kind, version and scope. */
  readonly #entries = new Map<string, Entry>();
  /** Caches that run or are ending. */
  readonly #tasks = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  /** Only stores. */
  constructor(parts: CacheParts) {
    this.#parts = parts;
  }

  /**
   * Declares that a cache is needed, before or while the set runs. If there is one of this kind and
   * scope, that is shared: it gets the indexes it lacks, and its source, intervals and budget stay.
   *
   * @throws {AssertionError} If there is one that keeps something else of the objects (`transform`,
   * `keepManagedFields`), or has another function for an index.
   */
  declare<T extends KubeObject>(declaration: CacheDeclaration<T>): CacheHandle<T> {
    const id = idOf(declaration.kind, declaration.scope ?? {});
    const entry = this.#entries.get(id) ?? this.#add(id, declaration);
    const { keeps } = entry;
    assert(
      keeps.transform === declaration.transform &&
        keeps.managedFields === (declaration.keepManagedFields ?? false),
      `all who share the cache of ${entry.cache.name} keep the same of its objects`,
    );
    const cache = typed<T>(entry);
    cache.addIndexers(declaration.indexers ?? {});
    entry.holders += 1;
    return handleOf(cache, () => this.#letGo(id, entry));
  }

  /**
   * The cache of a kind. `scope` may be left out if there is one of this kind.
   *
   * @throws {AssertionError} If nobody declared it, with what to declare.
   */
  cache<T extends KubeObject>(kind: CachedKind<T>, scope?: CacheScope): KindCache<T> {
    if (scope !== undefined) {
      const entry = this.#entries.get(idOf(kind, scope));
      return typed<T>(entry ?? this.#undeclared(kind, textOfScope(scope)));
    }
    const [only, ...others] = this.#of(kind);
    if (only === undefined) return this.#undeclared(kind);
    if (others.length === 0) return typed<T>(only);
    const names = [only, ...others].map(({ cache }) => cache.name).join("; ");
    throw new AssertionError(
      `Say which cache of ${nameOfKind(kind)} to read, by its scope: ${names}`,
    );
  }

  /** Reads the cache of a kind. Throws as {@linkcode InformerSet.cache}. */
  lister<T extends KubeObject>(kind: CachedKind<T>, scope?: CacheScope): Lister<T> {
    return this.cache(kind, scope).lister;
  }

  /** True if all caches that are declared now have had their first list. */
  get hasSynced(): boolean {
    return [...this.#entries.values()].every(({ cache }) => cache.hasSynced);
  }

  /**
   * Resolves once all caches that are declared now have had their first list. Rejects with
   * `signal.reason`.
   *
   * @throws {DeadlineError} If that takes longer than `limitMs`, with the names of those that lag
   * and what keeps them.
   */
  async synced({ limitMs, signal }: { limitMs: number; signal: AbortSignal }): Promise<void> {
    const caches = Array.from(this.#entries.values(), ({ cache }) => cache);
    try {
      await withDeadline(
        (limited) => Promise.all(caches.map((cache) => cache.synced({ signal: limited }))),
        { action: "filling the caches", limitMs, clock: this.#parts.clock, signal },
      );
    } catch (error) {
      if (!(error instanceof DeadlineError) || signal.aborted) throw error;
      const laggards = caches.flatMap((cache) => cache.laggards).join("; ");
      throw new DeadlineError(`filling the caches (${laggards})`, limitMs);
    }
  }

  /** How each informer is, for health checks and metrics. */
  report(): readonly InformerReport[] {
    const nowMs = this.#parts.clock.monotonicMs();
    return [...this.#entries.values()].flatMap(({ cache, failure }) =>
      Array.from(cache.informers.values(), ({ name, hasSynced, health, usage }) => ({
        name,
        hasSynced,
        silentMs: health.lastSignOfLifeMs === undefined
          ? undefined
          : nowMs - health.lastSignOfLifeMs,
        failure: failure ?? health.failure?.message,
        isDead: failure !== undefined,
        ...usage,
      }))
    );
  }

  /**
   * Runs all caches, also those that are declared later, until `signal` aborts; then resolves when
   * all have ended. Once in a lifetime. Never rejects because of a cache.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    assert(this.#signal === undefined, "an informer set is run once");
    this.#signal = signal;
    for (const entry of this.#entries.values()) this.#start(entry, signal);
    try {
      await this.#parts.clock.sleep(Infinity, { signal });
    } catch (error) {
      if (error !== signal.reason) throw error;
    }
    // None starts after the abort, so none is missed.
    await Promise.all(this.#tasks);
  }

  #add<T extends KubeObject>(id: string, declaration: CacheDeclaration<T>): Entry {
    const entry: Entry = {
      cache: untyped(new KindCache(declaration, this.#parts)),
      keeps: {
        transform: declaration.transform,
        managedFields: declaration.keepManagedFields ?? false,
      },
      kindName: kindIdOf(declaration.kind),
      holders: 0,
      failure: undefined,
      scope: undefined,
    };
    this.#entries.set(id, entry);
    if (this.#signal !== undefined) this.#start(entry, this.#signal);
    return entry;
  }

  #start(entry: Entry, signal: AbortSignal): void {
    if (signal.aborted) return;
    const scope = abortScope(signal);
    entry.scope = scope;
    const task = this.#run(entry, scope).finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
  }

  async #run(entry: Entry, scope: AbortScope): Promise<void> {
    try {
      await entry.cache.run(scope);
    } catch (error) {
      // Only a defect comes here: what the server does is the reflector's to deal with.
      entry.failure = messageOf(error);
      this.#parts.log.error("A cache has ended; its kind is not followed any more", {
        cache: entry.cache.name,
        error: entry.failure,
      });
    } finally {
      scope[Symbol.dispose]();
    }
  }

  #letGo(id: string, entry: Entry): void {
    entry.holders -= 1;
    if (entry.holders > 0) return;
    this.#entries.delete(id);
    entry.scope?.abort(LET_GO);
  }

  #of(kind: CachedKind<unknown>): Entry[] {
    const kindId = kindIdOf(kind);
    return [...this.#entries.values()].filter(({ kindName }) => kindName === kindId);
  }

  #undeclared(kind: CachedKind<unknown>, scope?: string): never {
    const what = `${nameOfKind(kind)}${scope === undefined ? "" : ` (${scope})`}`;
    const present = this.#of(kind).map(({ cache }) => cache.name).join("; ");
    throw new AssertionError(
      `Nobody declared a cache of ${what}: declare({ kind: ${kind.gvk.kind}, … }) before reading it, ` +
        `or read from the server${present === "" ? "" : `. Declared: ${present}`}`,
    );
  }
}

const LET_GO = new DOMException("Nobody needs this cache any more", "AbortError");

function kindIdOf(kind: CachedKind<unknown>): string {
  return `${nameOfKind(kind)}/${kind.gvk.version}`;
}

function idOf(kind: CachedKind<unknown>, scope: CacheScope): string {
  return `${kindIdOf(kind)} ${textOfScope(scope)}`;
}

function handleOf<T extends KubeObject>(cache: KindCache<T>, letGo: () => void): CacheHandle<T> {
  const registrations = new Set<HandlerRegistration>();
  let isHeld = true;
  return {
    name: cache.name,
    cache,
    lister: cache.lister,
    get hasSynced() {
      return cache.hasSynced;
    },
    synced: (options) => cache.synced(options),
    addHandler(handler, options) {
      assert(isHeld, `the handle of ${cache.name} is still held`);
      const registration = cache.addHandler(handler, {
        ...options,
        onDispose: () => registrations.delete(registration),
      });
      registrations.add(registration);
      return registration;
    },
    [Symbol.dispose]() {
      if (!isHeld) return;
      isHeld = false;
      for (const registration of registrations) registration[Symbol.dispose]();
      letGo();
    },
  };
}

/**
 * The boundary between caches of many types in one map and those who name one: that a kind's objects
 * are `T`s is what the kind claims, as everywhere in the client.
 */
function typed<T extends KubeObject>({ cache }: Entry): KindCache<T> {
  const known: unknown = cache;
  return known as KindCache<T>;
}

function untyped<T extends KubeObject>(cache: KindCache<T>): KindCache<KubeObject> {
  const known: unknown = cache;
  return known as KindCache<KubeObject>;
}

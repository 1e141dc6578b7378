/**
 * A client that reads from caches and writes to the server.
 *
 * What it promises stands at {@linkcode CachedClient}.
 *
 * @module
 */

import type { CacheHandle, InformerSet } from "../cache/informer_set.ts";
import type { CacheDeclaration, KindCache } from "../cache/kind_cache.ts";
import { type CacheScope, hasNamespace } from "../cache/scope.ts";
import type { Lister } from "../cache/store.ts";
import type { Client } from "../client/client.ts";
import type { KindDefinition } from "../client/kinds.ts";
import type { Patch } from "../client/patch.ts";
import type { ResourceClient } from "../client/resource_client.ts";
import type {
  CreateOptions,
  DeleteOptions,
  ObjectPlace,
  WriteOptions,
} from "../client/resource_options.ts";
import type { Clock } from "../core/clock.ts";
import { assert, DeadlineError, isObjectNotFound } from "../core/errors.ts";
import { deepFreeze, type Draft, keyOf, type KubeObject } from "../core/objects.ts";
import { WriteLog } from "./write_log.ts";

/** What a {@linkcode CachedClient} is made of. */
export interface CachedClientOptions {
  /** Takes the writes and live reads. */
  readonly client: Client;
  /** Has the caches that are read, and is run by someone else. */
  readonly caches: InformerSet;
  /** Bounds the waits. */
  readonly clock: Clock;
  /** How long reads wait for own writes, in milliseconds after the write. @default {10_000} */
  readonly lagMaxMs?: number;
}

/** How a kind is to be cached; see `CacheDeclaration`. */
export type CacheOptions<T extends KubeObject> = Omit<CacheDeclaration<T>, "kind" | "source">;

/**
 * Reads from caches, writes to the server.
 *
 * What it promises:
 * - **Reads cost no request.** They answer from a cache that was declared; a read of a kind or a
 *   namespace that nobody declared is an error that says what to declare.
 * - **Reads see own writes.** After a write through this client, a read of the same object, or of a
 *   set that it may be in, waits until the cache has it. The wait is bounded: past it `find` asks
 *   the server, and the others fail, so that a reconciler tries again later rather than decide on
 *   what it knows to be old.
 * - **Nothing is laid over the cache, and nothing is kept from handlers**: a change by someone else
 *   that comes in together with an own write is told like any other (field case Q2).
 * - **Other people's writes may be seen late**, as in every cache. Where that is not good enough,
 *   `live` reads from the server.
 *
 * @example The simulated server stands for a cluster
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { InformerSet } from "../cache/informer_set.ts";
 * import { Client } from "../client/client.ts";
 * import { CONFIG_MAPS } from "../client/kinds.ts";
 * import { RestClient } from "../client/rest.ts";
 * import { realClock as clock, realRandom as random } from "../core/clock.ts";
 * import { silentLogger as log } from "../core/log.ts";
 * import { ApiServer } from "../simulator/server.ts";
 *
 * await using server = new ApiServer({ clock, random });
 * const client = new Client(
 *   new RestClient({
 *     transport: (url, init) => server.fetch(url, init),
 *     connection: { server: "https://sim:6443", userAgent: "example/1.0" },
 *     clock,
 *   }),
 * );
 * const caches = new InformerSet({ clock, random, log });
 * const cached = new CachedClient({ client, caches, clock });
 * using handle = cached.declare(CONFIG_MAPS, { scope: { namespaces: ["default"] } });
 *
 * const stop = new AbortController();
 * const { signal } = stop;
 * const running = caches.run({ signal });
 * await handle.synced({ signal });
 * const configMaps = cached.resource(CONFIG_MAPS);
 * const place = { name: "a", namespace: "default" };
 * await configMaps.create({ metadata: place }, { signal });
 * const found = await configMaps.find({ ...place, signal }); // from the cache, surely
 * strictEqual(found?.metadata.name, "a");
 * stop.abort();
 * await running;
 * ```
 */
export class CachedClient {
  readonly #options: CachedClientOptions;
  /** What was written, for each cache, and gone with it. */
  readonly #writes = new WeakMap<object, unknown>();

  /** Only stores. */
  constructor(options: CachedClientOptions) {
    this.#options = options;
  }

  /** The client below: for kinds without a cache, and for everything that is no resource. */
  get live(): Client {
    return this.#options.client;
  }

  /** Declares a cache of `kind`: see `InformerSet.declare`. Hold the handle while you read. */
  declare<T extends KubeObject>(
    kind: KindDefinition<T>,
    options: CacheOptions<T> = {},
  ): CacheHandle<T> {
    const { client, caches } = this.#options;
    const source = (selection: object) => client.resource(kind).listWatch(selection);
    return caches.declare({ ...options, kind, source });
  }

  /**
   * Declares a cache of the metadata of `kind`: for labels and owners of what is large or secret.
   * Read it from the handle; `resource` is for whole objects.
   */
  declareMetadata<T extends KubeObject>(
    { __type: _, ...kind }: KindDefinition<T>,
    { scope, ...options }: CacheOptions<KubeObject> = {},
  ): CacheHandle<KubeObject> {
    const { client, caches } = this.#options;
    return caches.declare<KubeObject>({
      ...options,
      kind,
      scope: { ...scope, metadataOnly: true },
      source: (selection) => client.metadata(kind).listWatch(selection),
    });
  }

  /**
   * Reads and writes objects of `kind`, through the cache of this scope; `scope` may be left out if
   * the kind has one cache.
   *
   * @throws {AssertionError} If nobody declared the cache.
   */
  resource<T extends KubeObject>(kind: KindDefinition<T>, scope?: CacheScope): CachedResource<T> {
    const { client, caches } = this.#options;
    const cache = caches.cache(kind, scope);
    assert(cache.scope.metadataOnly !== true, `the cache of ${cache.name} has whole objects`);
    return new CachedResource({
      live: client.resource(kind),
      cache,
      writes: this.#writesOf(cache),
    });
  }

  /** One log for one cache: a write by one holder of a resource is seen by all. */
  #writesOf<T extends KubeObject>(cache: KindCache<T>): WriteLog<T> {
    const known = this.#writes.get(cache);
    // Made below for this very cache, whose objects are `T`s.
    if (known instanceof WriteLog) return known;
    const made = new WriteLog(cache, this.#options);
    this.#writes.set(cache, made);
    return made;
  }
}

/** The verbs of one kind through one cache. Made by {@linkcode CachedClient.resource}. */
export class CachedResource<T extends KubeObject> {
  /** Reads from the server, and writes that no cached read has to see. */
  readonly live: ResourceClient<T>;
  readonly #cache: KindCache<T>;
  readonly #writes: WriteLog<T>;

  /** Only stores. */
  constructor(
    { live, cache, writes }: {
      live: ResourceClient<T>;
      cache: KindCache<T>;
      writes: WriteLog<T>;
    },
  ) {
    this.live = live;
    this.#cache = cache;
    this.#writes = writes;
  }

  /**
   * The object, frozen; `undefined` if there is none, or none that the cache selects. As new as own
   * writes: if the cache lags behind them for too long, the server is asked.
   *
   * @throws {AssertionError} If the cache does not have the namespace.
   * @throws {Error} What a live read throws, but not that there is no such object.
   */
  async find(
    { name, namespace, signal }: ObjectPlace & { readonly signal: AbortSignal },
  ): Promise<T | undefined> {
    this.#assertNamespace(namespace);
    const place = { name, ...(namespace === undefined ? {} : { namespace }) };
    const key = keyOf(place);
    try {
      await this.#writes.caughtUp({ key }, { signal });
    } catch (error) {
      if (!(error instanceof DeadlineError) || signal.aborted) throw error;
      return await this.#findLive({ ...place, signal });
    }
    return this.#cache.lister.find(key);
  }

  /**
   * All objects of the cache, or of one namespace, frozen, in no promised order.
   *
   * @throws {DeadlineError} If the cache lags behind own writes for too long.
   * @throws {AssertionError} If the cache does not have the namespace.
   */
  async all(
    { namespace, signal }: { readonly namespace?: string; readonly signal: AbortSignal },
  ): Promise<readonly T[]> {
    const lister = await this.#caughtUp(namespace, signal);
    return inNamespace(lister.all(), namespace);
  }

  /**
   * Objects that an index files under `value`, as {@linkcode CachedResource.all}.
   *
   * @throws {DeadlineError} If the cache lags behind own writes for too long.
   * @throws {AssertionError} If no such index was declared, or the cache does not have the namespace.
   */
  async byIndex(
    { index, value, namespace, signal }: {
      readonly index: string;
      readonly value: string;
      readonly namespace?: string;
      readonly signal: AbortSignal;
    },
  ): Promise<readonly T[]> {
    const lister = await this.#caughtUp(namespace, signal);
    return inNamespace(lister.byIndex(index, value), namespace);
  }

  /** As `ResourceClient.create`. */
  async create(draft: Draft<T>, options: CreateOptions): Promise<T> {
    return this.#wrote(await this.live.create(draft, options), options);
  }

  /** As `ResourceClient.update`. Cached objects are frozen: change a copy. */
  async update(object: T, options: WriteOptions): Promise<T> {
    return this.#wrote(await this.live.update(object, options), options);
  }

  /** As `ResourceClient.updateStatus`. */
  async updateStatus(object: T, options: WriteOptions): Promise<T> {
    return this.#wrote(await this.live.updateStatus(object, options), options);
  }

  /** As `ResourceClient.patch`. */
  async patch(
    options: ObjectPlace & WriteOptions & {
      readonly patch: Patch<T>;
      readonly subresource?: string;
    },
  ): Promise<T> {
    const { name, namespace, subresource, dryRun } = options;
    const written = await this.live.patch(options);
    // Other subresources answer with an object of their own.
    if (subresource === undefined || subresource === "status") return this.#wrote(written, options);
    const key = keyOf({ name, ...(namespace === undefined ? {} : { namespace }) });
    if (!dryRun) this.#writes.wrotePart(key, written.metadata.resourceVersion);
    return written;
  }

  /** As `ResourceClient.delete`. The cache has it when the object is gone, or about to go. */
  async delete(options: DeleteOptions): Promise<void> {
    const { name, namespace, preconditions, dryRun } = options;
    const key = keyOf({ name, ...(namespace === undefined ? {} : { namespace }) });
    // Before, since a watch may be faster than the answer.
    const uid = preconditions?.uid ?? this.#writes.uidOf(key);
    await this.live.delete(options);
    if (!dryRun) this.#writes.deleted(key, uid);
  }

  #wrote(written: T, { dryRun }: WriteOptions): T {
    if (!dryRun) this.#writes.wrote(written);
    return written;
  }

  async #findLive(place: ObjectPlace & { readonly signal: AbortSignal }): Promise<T | undefined> {
    try {
      const object = deepFreeze(await this.live.get(place));
      return this.#cache.has(object) === false ? undefined : object;
    } catch (error) {
      if (isObjectNotFound(error)) return undefined;
      throw error;
    }
  }

  async #caughtUp(namespace: string | undefined, signal: AbortSignal): Promise<Lister<T>> {
    if (namespace === undefined) {
      await this.#writes.caughtUp({}, { signal });
      return this.#cache.lister;
    }
    this.#assertNamespace(namespace);
    await this.#writes.caughtUp({ namespace }, { signal });
    return this.#cache.informerOf(namespace)?.lister ?? this.#cache.lister;
  }

  #assertNamespace(namespace = ""): void {
    assert(
      hasNamespace(this.#cache.scope, namespace),
      `namespace "${namespace}" is in the cache that is read, which is ${this.#cache.name}: ` +
        "declare one that has it, or read live",
    );
  }
}

function inNamespace<T extends KubeObject>(
  objects: readonly T[],
  namespace: string | undefined,
): readonly T[] {
  if (namespace === undefined) return objects;
  return objects.filter(({ metadata }) => metadata.namespace === namespace);
}

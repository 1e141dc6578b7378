/**
 * The state of one kind as last seen: written by its reflector, read by everyone.
 *
 * Cost: a relist that finds nothing new makes keys and nothing else, and runs no user code.
 *
 * @module
 */

import { AssertionError, messageOf } from "../core/errors.ts";
import { type Logger, silentLogger } from "../core/log.ts";
import {
  deepFreeze,
  keyOf,
  type KubeObject,
  type ObjectKey,
  withoutManagedFields,
} from "../core/objects.ts";
import { approximateBytes } from "./budget.ts";
import { type IndexedSlot, Indexer, type Indexers } from "./indexer.ts";
import { hasReached, StoreWaiters } from "./store_waiters.ts";
import { identityOf, isNewerThan, isOlder, isOlderVersion, isUnchanged } from "./versions.ts";

/** One difference between two states of a store. */
export type StoreChange<T> =
  /** `initial`: it was there before we looked, rather than made since. */
  | { readonly type: "added"; readonly object: T; readonly initial: boolean }
  /** `previous === object` when nothing changed and this is a resync. */
  | { readonly type: "updated"; readonly object: T; readonly previous: T }
  /**
   * `certain: false`: the server did not say so; the object was missing from a list, or another one
   * has its name. It is gone all the same, but `last` may be older than its real last state.
   */
  | { readonly type: "deleted"; readonly last: T; readonly certain: boolean };

/** The read-only half of a store. Each call answers from one state; two calls may differ. */
export interface Lister<T> {
  /** The object with this key ({@linkcode keyOf}), if it is known. */
  find(key: ObjectKey): T | undefined;
  /** All objects, in no promised order. The same frozen array until something changes. */
  all(): readonly T[];
  /** Keys of all objects, in the order of {@linkcode Lister.all}. */
  keys(): readonly ObjectKey[];
  /**
   * Objects that the index function files under `value`, in no promised order.
   *
   * @throws {AssertionError} If no index of this name was declared.
   */
  byIndex(index: string, value: string): readonly T[];
  /** Values of an index that have objects. Throws as {@linkcode Lister.byIndex}. */
  indexValues(index: string): readonly string[];
  /** Number of objects. */
  readonly size: number;
  /** Everything up to this version is in; `""` before the first list. */
  readonly resourceVersion: string;
}

/** Options of a {@linkcode Store}. */
export interface StoreOptions<T> {
  /** What `byIndex` can be asked. @default none */
  readonly indexers?: Indexers<T>;
  /**
   * Makes what is kept out of what came, e.g. to drop fields nobody reads. Pure; must keep name,
   * namespace, uid and resourceVersion. If it throws, the object is kept as it came. @default identity
   */
  readonly transform?: (object: T) => T;
  /**
   * Keep `metadata.managedFields`: often a third of an object, and of use only to those who work
   * with field ownership. They go before `transform` runs. @default {false}
   */
  readonly keepManagedFields?: boolean;
  /** Count the memory of the objects, for {@linkcode Store.bytes}: a walk over each. @default {false} */
  readonly measuresBytes?: boolean;
  /** Is told of transforms and index functions that throw. @default silent */
  readonly log?: Logger;
}

interface Slot<T> extends IndexedSlot<T> {
  /** Number of the last list that had the object: what tells which ones a list lacks. */
  seenInList: number;
  /** 0 if it is not counted. */
  bytes: number;
}

/** What a store keeps of an object, made by {@linkcode Store.staged}. */
export interface Staged<T> {
  /** Transformed and frozen. */
  readonly object: T;
  /** What each index files it under. */
  readonly values: readonly (readonly string[])[];
  /** Its memory, if that is counted. */
  readonly bytes: number;
}

const NO_CHANGES: readonly never[] = Object.freeze([]);

/**
 * Keeps objects by key and tells what each write changed.
 *
 * What a store promises:
 * - Objects are frozen to the bottom. All readers share them, and none can spoil them for others.
 * - A change is whole or absent: a relist replaces everything in one step, with the deletions worked
 *   out, and no reader sees half of it. One thread, no locks.
 * - It never goes back in time for an object: an older version of what it holds is ignored, unless
 *   the writer says that time itself went back on the server (a restored backup).
 * - Every difference between two states is told once, as {@linkcode StoreChange}s, to the writer. An
 *   object that was deleted and created anew under its name is a deletion and an addition.
 *
 * It does not promise to be current: it lags behind the server, and behind one's own writes too. It
 * takes over what it is given: objects are frozen in place.
 *
 * @example
 * ```ts
 * import { strictEqual, throws } from "node:assert/strict";
 * const store = new Store({ indexers: { byKind: (object) => [object.kind] } });
 * const metadata = { name: "a", uid: "u1", resourceVersion: "7", creationTimestamp: "" };
 * store.set({ apiVersion: "v1", kind: "Pod", metadata });
 * strictEqual(store.byIndex("byKind", "Pod")[0], store.find("a"));
 * throws(() => metadata.name = "b", TypeError); // frozen
 * ```
 */
export class Store<T extends KubeObject> implements Lister<T> {
  readonly #slots = new Map<ObjectKey, Slot<T>>();
  readonly #indexer: Indexer<T>;
  readonly #transform: ((object: T) => T) | undefined;
  readonly #keepManagedFields: boolean;
  readonly #measuresBytes: boolean;
  readonly #log: Logger;
  readonly #waiters = new StoreWaiters();
  #resourceVersion = "";
  #timesBack = 0;
  #bytes = 0;
  #lists = 0;
  #all: readonly T[] | undefined;

  /** Only stores; the store starts empty. */
  constructor(options: StoreOptions<T> = {}) {
    this.#indexer = new Indexer(options.indexers ?? {}, (object, index, error) => {
      this.#report("Cannot index an object", object, { index, error: messageOf(error) });
    });
    this.#transform = options.transform;
    this.#keepManagedFields = options.keepManagedFields ?? false;
    this.#measuresBytes = options.measuresBytes ?? false;
    this.#log = options.log ?? silentLogger;
  }

  /** About how much memory the objects take, in bytes; 0 unless it was to be counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds indexes; one that is there already with the same function stays.
   *
   * @throws {AssertionError} If an index of this name has another function.
   */
  addIndexers(indexers: Indexers<T>): void {
    this.#indexer.add(indexers, this.#slots.values());
  }

  /**
   * Resolves once everything up to `resourceVersion` is in; at once if the two can't be ordered.
   * Rejects with `signal.reason`. Has no limit of its own.
   */
  async reached(resourceVersion: string, { signal }: { signal: AbortSignal }): Promise<void> {
    await this.until(() => hasReached(this.#resourceVersion, resourceVersion), { signal });
  }

  /**
   * Resolves once `claim`, about what this store has, holds. Rejects with `signal.reason`. `claim` is
   * pure, quick and never throws.
   */
  async until(claim: () => boolean, { signal }: { signal: AbortSignal }): Promise<void> {
    if (!claim()) await this.#waiters.wait(claim, { signal });
  }

  /** See {@linkcode Lister.resourceVersion}. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** How often the version went back: versions from before may never be reached. */
  get timesBack(): number {
    return this.#timesBack;
  }

  /** See {@linkcode Lister.size}. */
  get size(): number {
    return this.#slots.size;
  }

  /** See {@linkcode Lister.find}. */
  find(key: ObjectKey): T | undefined {
    return this.#slots.get(key)?.object;
  }

  /** See {@linkcode Lister.all}. */
  all(): readonly T[] {
    this.#all ??= Object.freeze(Array.from(this.#slots.values(), (slot) => slot.object));
    return this.#all;
  }

  /** See {@linkcode Lister.keys}. */
  keys(): readonly ObjectKey[] {
    return [...this.#slots.keys()];
  }

  /** See {@linkcode Lister.byIndex}. */
  byIndex(index: string, value: string): readonly T[] {
    return this.#indexer.find(index, value);
  }

  /** See {@linkcode Lister.indexValues}. */
  indexValues(index: string): readonly string[] {
    return this.#indexer.values(index);
  }

  /**
   * Takes in one object as a watch told it, and moves the store's version up to the object's.
   *
   * @returns What changed: nothing if the store has this version or a newer one already; a deletion
   * (not certain) and an addition if another object had the key.
   */
  set(object: T): readonly StoreChange<T>[] {
    this.advanceTo(object.metadata.resourceVersion);
    const key = keyOf(object.metadata);
    const held = this.#slots.get(key)?.object;
    if (held !== undefined && (isUnchanged(object, held) || isOlder(object, held))) {
      return NO_CHANGES;
    }
    const changes: StoreChange<T>[] = [];
    this.#put(key, this.#prepare(object), { changes, initial: false });
    return changes;
  }

  /**
   * Takes out one object as a watch told it, and moves the store's version up to the object's.
   *
   * @returns The deletion, with `object` as its last state; nothing if the key is unknown, or now
   * belongs to another or a newer object.
   */
  remove(object: T): readonly StoreChange<T>[] {
    this.advanceTo(object.metadata.resourceVersion);
    const key = keyOf(object.metadata);
    const slot = this.#slots.get(key);
    if (slot === undefined) return NO_CHANGES;
    if (slot.object.metadata.uid !== object.metadata.uid || isOlder(object, slot.object)) {
      return NO_CHANGES;
    }
    this.#drop(key, slot);
    // The deletion's own object: it may have changed since we saw it (finalizers, status).
    return [{ type: "deleted", last: this.#transformed(object), certain: true }];
  }

  /**
   * Makes `items` the whole content, in one step, and `resourceVersion` the store's version.
   *
   * Unless `mayGoBack`, items that are older than what the store holds are ignored, and so is the
   * absence of objects that are newer than the list. Pass `mayGoBack` with a list that was read from
   * the server's latest state: if its versions are lower, the server was restored from a backup.
   *
   * @returns What changed: deletions first, none of them certain, then additions and updates in the
   * order of `items`. Empty if nothing did.
   */
  replaceAll(
    items: readonly T[],
    resourceVersion: string,
    options: { mayGoBack?: boolean } = {},
  ): readonly StoreChange<T>[] {
    // First all that runs user code, with the old state still in place; then the switch.
    const staged = items.map((item) => this.staged(item));
    return this.replaceStaged(staged, resourceVersion, options);
  }

  /**
   * What would be kept of `raw`, without keeping it: for lists that come object by object, so that
   * what is not kept of them need not wait for the last one. If the store has this very version, it
   * is that, and no user code runs.
   */
  staged(raw: T): Staged<T> {
    const slot = this.#slots.get(keyOf(raw.metadata));
    return slot !== undefined && isUnchanged(raw, slot.object) ? slot : this.#prepare(raw);
  }

  /** As {@linkcode Store.replaceAll}, of what {@linkcode Store.staged} made. */
  replaceStaged(
    items: readonly Staged<T>[],
    resourceVersion: string,
    { mayGoBack = false }: { mayGoBack?: boolean } = {},
  ): readonly StoreChange<T>[] {
    const list = ++this.#lists;
    const prepared: (readonly [ObjectKey, Staged<T>])[] = [];
    let seen = 0;
    for (const item of items) {
      const key = keyOf(item.object.metadata);
      const slot = this.#slots.get(key);
      if (slot !== undefined) {
        if (slot.seenInList !== list) seen += 1;
        slot.seenInList = list;
        if (isUnchanged(item.object, slot.object)) continue;
      }
      prepared.push([key, item]);
    }
    const changes: StoreChange<T>[] = [];
    if (seen < this.#slots.size) {
      for (const [key, slot] of this.#slots) {
        if (slot.seenInList === list) continue;
        if (!mayGoBack && isNewerThan(slot.object, resourceVersion)) continue;
        this.#drop(key, slot);
        changes.push({ type: "deleted", last: slot.object, certain: false });
      }
    }
    for (const [key, next] of prepared) {
      // Looked up again, since a list may hold an object twice.
      const held = this.#slots.get(key)?.object;
      if (held !== undefined && isUnchanged(next.object, held)) continue;
      if (held !== undefined && !mayGoBack && isOlder(next.object, held)) continue;
      this.#put(key, next, { changes, initial: list === 1 });
    }
    if (mayGoBack && isOlderVersion(resourceVersion, this.#resourceVersion)) this.#timesBack += 1;
    if (mayGoBack) this.#moveTo(resourceVersion);
    else this.advanceTo(resourceVersion);
    return changes;
  }

  /** Moves the store's version up, as a bookmark tells. An older version, or `""`, is ignored. */
  advanceTo(resourceVersion: string): void {
    if (resourceVersion !== "" && !isOlderVersion(resourceVersion, this.#resourceVersion)) {
      this.#moveTo(resourceVersion);
    }
  }

  #moveTo(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
    this.#waiters.changing();
  }

  #put(
    key: ObjectKey,
    { object, values, bytes }: Staged<T>,
    { changes, initial }: { changes: StoreChange<T>[]; initial: boolean },
  ): void {
    this.#all = undefined;
    this.#waiters.changing();
    const slot = this.#slots.get(key);
    this.#bytes += bytes - (slot?.bytes ?? 0);
    if (slot === undefined) {
      const added = { object, values, seenInList: this.#lists, bytes };
      this.#slots.set(key, added);
      this.#indexer.insert(added);
      changes.push({ type: "added", object, initial });
      return;
    }
    const previous = slot.object;
    slot.bytes = bytes;
    this.#indexer.replace(slot, object, values);
    if (previous.metadata.uid === object.metadata.uid) {
      changes.push({ type: "updated", object, previous });
    } else {
      changes.push({ type: "deleted", last: previous, certain: false });
      changes.push({ type: "added", object, initial });
    }
  }

  #drop(key: ObjectKey, slot: Slot<T>): void {
    this.#all = undefined;
    this.#waiters.changing();
    this.#bytes -= slot.bytes;
    this.#slots.delete(key);
    this.#indexer.remove(slot);
  }

  /** All that is done to an object before it can be read: the only place that runs user code. */
  #prepare(raw: T): Staged<T> {
    const object = this.#transformed(raw);
    const values = this.#indexer.valuesOf(object);
    return { object, values, bytes: this.#measuresBytes ? approximateBytes(object) : 0 };
  }

  #transformed(raw: T): T {
    const object = this.#keepManagedFields ? raw : withoutManagedFields(raw);
    if (this.#transform === undefined) return deepFreeze(object);
    // Copied before: the transform may edit in place, and whose object it is must survive that.
    const kept = { ...object, metadata: { ...object.metadata } };
    try {
      const made = this.#transform(object);
      if (identityOf(made) === identityOf(kept)) return deepFreeze(made);
      throw new AssertionError("The transform changed the object's identity");
    } catch (error) {
      this.#report("Cannot transform an object", kept, { error: messageOf(error) });
      return deepFreeze(kept);
    }
  }

  #report(message: string, object: T, fields: Readonly<Record<string, unknown>>): void {
    const { kind, metadata } = object;
    this.#log.error(message, { kind, object: keyOf(metadata), ...fields });
  }
}

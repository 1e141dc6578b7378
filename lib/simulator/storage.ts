/**
 * What etcd is to the real server: all objects, one revision that grows by one with each write, and
 * a bounded history from which watches start and old lists are read.
 *
 * The storage knows nothing of kinds beyond a name for each table, does no validation and never
 * waits. Objects in it are deeply frozen; each carries the revision of its last write as
 * `metadata.resourceVersion`. Listeners are told of each write in order, inside the write.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import { deepFreeze, keyOf, type ObjectKey } from "../core/objects.ts";
import type { ApiObject } from "./api_object.ts";

/** One write. */
export interface StoredChange {
  /** The write's number: its object's resourceVersion. */
  readonly revision: number;
  /** As watches tell it. */
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** The table's name, such as `apps/deployments`. */
  readonly table: string;
  /** The object's place in its table. */
  readonly key: ObjectKey;
  /** The new state; of a deletion, the last one under the deletion's own revision. */
  readonly object: ApiObject;
  /** The state before; absent for `ADDED`. */
  readonly previous?: ApiObject;
}

/** Is told of each write, synchronously and in order. Must not write itself. */
export type StorageListener = (change: StoredChange) => void;

/**
 * Changes kept by default. A real server keeps at least five minutes of them; at the write rates of
 * a simulation this is hours.
 */
export const HISTORY_LIMIT = 20_000;

interface Table {
  readonly objects: Map<ObjectKey, ApiObject>;
  /** Keys in etcd's order (bytes); made again after a key came or went. */
  sortedKeys: ObjectKey[] | undefined;
}

/** The objects, their revision and their history. */
export class Storage {
  #revision: number;
  #compacted: number;
  readonly #tables = new Map<string, Table>();
  #history: StoredChange[] = [];
  readonly #historyLimit: number;
  readonly #listeners = new Set<StorageListener>();

  /** `revision` is where counting starts; `historyLimit` bounds the changes kept. */
  constructor(options: { revision?: number; historyLimit?: number } = {}) {
    this.#revision = options.revision ?? 1;
    this.#compacted = this.#revision;
    this.#historyLimit = options.historyLimit ?? HISTORY_LIMIT;
  }

  /** Revision of the last write. */
  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision that can be read or watched from. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  /** The object under `key`, if there is one. */
  find(table: string, key: ObjectKey): ApiObject | undefined {
    return this.#tables.get(table)?.objects.get(key);
  }

  /** All objects of a table in key order, now. */
  all(table: string): ApiObject[] {
    const found = this.#tables.get(table);
    if (found === undefined) return [];
    found.sortedKeys ??= [...found.objects.keys()].sort(byBytes);
    const result: ApiObject[] = [];
    for (const key of found.sortedKeys) {
      const object = found.objects.get(key);
      if (object !== undefined) result.push(object);
    }
    return result;
  }

  /** Number of objects in a table. */
  size(table: string): number {
    return this.#tables.get(table)?.objects.size ?? 0;
  }

  /** Names of the tables that hold anything. */
  tables(): string[] {
    return [...this.#tables].filter(([, table]) => table.objects.size > 0).map(([name]) => name);
  }

  /**
   * All objects of a table in key order as they were at `revision`.
   *
   * @throws {AssertionError} If that revision is compacted or has not come yet: check before.
   */
  allAt(table: string, revision: number): ApiObject[] {
    assert(revision >= this.#compacted, `revision ${revision} is not compacted`);
    assert(revision <= this.#revision, `revision ${revision} has come`);
    if (revision === this.#revision) return this.all(table);
    const then = new Map(this.#tables.get(table)?.objects);
    for (let at = this.#history.length - 1; at >= 0; at--) {
      const change = this.#history[at];
      if (change === undefined || change.revision <= revision) break;
      if (change.table !== table) continue;
      if (change.previous === undefined) then.delete(change.key);
      else then.set(change.key, change.previous);
    }
    return [...then].sort(([a], [b]) => byBytes(a, b)).map(([, object]) => object);
  }

  /** Changes of a table after `revision`, oldest first. */
  changesAfter(table: string, revision: number): StoredChange[] {
    // From the end: watches mostly resume from shortly ago.
    const found: StoredChange[] = [];
    for (let at = this.#history.length - 1; at >= 0; at--) {
      const change = this.#history[at];
      if (change === undefined || change.revision <= revision) break;
      if (change.table === table) found.push(change);
    }
    return found.reverse();
  }

  /** Adds an object that does not exist yet, and returns it as stored. */
  add(table: string, object: ApiObject): ApiObject {
    const key = keyOf(object.metadata);
    assert(this.find(table, key) === undefined, `${table} has no ${key} yet`);
    const stored = this.#stamp(object);
    const into = this.#table(table);
    into.objects.set(key, stored);
    into.sortedKeys = undefined;
    this.#record({ revision: this.#revision, type: "ADDED", table, key, object: stored });
    return stored;
  }

  /** Replaces an object that exists, and returns it as stored. */
  replace(table: string, object: ApiObject): ApiObject {
    const key = keyOf(object.metadata);
    const previous = this.find(table, key);
    assert(previous !== undefined, `${table} has ${key}`);
    const stored = this.#stamp(object);
    this.#table(table).objects.set(key, stored);
    this.#record({
      revision: this.#revision,
      type: "MODIFIED",
      table,
      key,
      object: stored,
      previous,
    });
    return stored;
  }

  /** Removes an object that exists, and returns its last state under the removal's revision. */
  remove(table: string, key: ObjectKey): ApiObject {
    const previous = this.find(table, key);
    assert(previous !== undefined, `${table} has ${key}`);
    const last = this.#stamp(previous);
    const from = this.#table(table);
    from.objects.delete(key);
    from.sortedKeys = undefined;
    this.#record({ revision: this.#revision, type: "DELETED", table, key, object: last, previous });
    return last;
  }

  /**
   * Forgets the history up to `revision` (default: all of it), as etcd's compaction does: lists and
   * watches from before it get 410.
   */
  compact(revision: number = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
    this.#history = this.#history.filter((change) => change.revision > this.#compacted);
  }

  /** Tells `listener` of each later write until the result is disposed of. */
  listen(listener: StorageListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Uses up a revision without a write, as writes of other components do on a real server. */
  advanceRevision(): void {
    this.#revision++;
  }

  #table(name: string): Table {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = { objects: new Map(), sortedKeys: undefined };
      this.#tables.set(name, table);
    }
    return table;
  }

  #stamp(object: ApiObject): ApiObject {
    this.#revision++;
    const resourceVersion = String(this.#revision);
    return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion } });
  }

  #record(change: StoredChange): void {
    this.#history.push(change);
    // Drops a tenth at once, so that a long run does not copy the history at each write.
    if (this.#history.length > this.#historyLimit * 1.1) {
      const oldest = this.#history[this.#history.length - this.#historyLimit - 1];
      if (oldest !== undefined) this.compact(oldest.revision);
    }
    for (const listener of [...this.#listeners]) listener(change);
  }
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

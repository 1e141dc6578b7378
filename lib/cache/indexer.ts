/**
 * Finds the objects of a store by something other than their key: by owner, by node, by label.
 *
 * A file of its own because it is the only part of the store that runs code of its users on every
 * change. It promises that such code can't hurt the store: an index function that throws files its
 * object under no value, and is reported.
 *
 * Costs one map entry per index value that has objects, and nothing when an object changes but its
 * index values don't. Values without objects are dropped, so that those which come and go leave no
 * trace (field case S1).
 *
 * @module
 */

import { assert, AssertionError } from "../core/errors.ts";

/** The values under which an index files `object`. Pure; called once per change of the object. */
export type IndexFn<T> = (object: T) => readonly string[];

/** Index functions by the name that `byIndex` asks for. */
export type Indexers<T> = Readonly<Record<string, IndexFn<T>>>;

/** One object's values, one list per index, in the order of the indexes. */
export type IndexValues = readonly (readonly string[])[];

/** An object in its place. The place stays when the object is replaced, so indexes can point at it. */
export interface IndexedSlot<T> {
  object: T;
  values: IndexValues;
}

/**
 * The objects under one value. Most indexes are by something that has one object (an owner's
 * Deployment), and a set costs some 200 bytes, so a single object stands for itself.
 */
type Bucket<T> = IndexedSlot<T> | Set<IndexedSlot<T>>;

const NO_VALUES: readonly string[] = Object.freeze([]);

/** The indexes of one store. Only the store uses it; readers see `Lister.byIndex`. */
export class Indexer<T> {
  readonly #functions: (readonly [string, IndexFn<T>])[];
  readonly #buckets: Map<string, Map<string, Bucket<T>>>;
  readonly #report: (object: T, index: string, error: unknown) => void;

  /**
   * Stores the functions; all indexes start empty. `report` is told of each index function that
   * throws.
   */
  constructor(
    indexers: Indexers<T>,
    report: (object: T, index: string, error: unknown) => void,
  ) {
    this.#report = report;
    this.#functions = Object.entries(indexers);
    this.#buckets = new Map(this.#functions.map(([name]) => [name, new Map()]));
  }

  /**
   * Adds indexes and files `slots`, which are all there are, under them. One that is there already
   * stays, if it is the same function.
   *
   * @throws {AssertionError} If an index of this name has another function.
   */
  add(indexers: Indexers<T>, slots: Iterable<IndexedSlot<T>>): void {
    const known = new Map(this.#functions);
    const added = Object.entries(indexers).filter(([name, indexFn]) => {
      const same = known.get(name);
      assert(same === undefined || same === indexFn, `index "${name}" has one function`);
      return same === undefined;
    });
    if (added.length === 0) return;
    const addition = new Indexer(Object.fromEntries(added), this.#report);
    for (const slot of slots) {
      const values = addition.valuesOf(slot.object);
      addition.#file(slot, values);
      slot.values = [...slot.values, ...values];
    }
    this.#functions.push(...added);
    for (const [name, buckets] of addition.#buckets) this.#buckets.set(name, buckets);
  }

  /** What to file `object` under. */
  valuesOf(object: T): IndexValues {
    return this.#functions.map(([name, indexFn]) => {
      try {
        return indexFn(object);
      } catch (error) {
        this.#report(object, name, error);
        return NO_VALUES;
      }
    });
  }

  /** Files a new slot under its values. */
  insert(slot: IndexedSlot<T>): void {
    slot.values = this.#whole(slot.object, slot.values);
    this.#file(slot, slot.values);
  }

  #file(slot: IndexedSlot<T>, values: IndexValues): void {
    this.#functions.forEach(([name], at) => {
      const buckets = this.#bucketsOf(name);
      for (const value of values[at] ?? NO_VALUES) {
        const bucket = buckets.get(value);
        if (bucket === undefined) buckets.set(value, slot);
        else if (bucket instanceof Set) bucket.add(slot);
        else buckets.set(value, new Set([bucket, slot]));
      }
    });
  }

  /** Takes a slot out of all its buckets. */
  remove(slot: IndexedSlot<T>): void {
    this.#functions.forEach(([name], at) => {
      const buckets = this.#bucketsOf(name);
      for (const value of slot.values[at] ?? NO_VALUES) {
        const bucket = buckets.get(value);
        if (bucket instanceof Set) bucket.delete(slot);
        if (bucket === slot || (bucket instanceof Set && bucket.size === 0)) buckets.delete(value);
      }
    });
  }

  /** Puts `object` in place of the slot's, and files the slot anew where its values changed. */
  replace(slot: IndexedSlot<T>, object: T, found: IndexValues): void {
    const values = this.#whole(object, found);
    if (isSame(slot.values, values)) {
      slot.object = object;
      return;
    }
    this.remove(slot);
    slot.object = object;
    slot.values = values;
    this.insert(slot);
  }

  /**
   * Objects filed under `value`, in no promised order.
   *
   * @throws {AssertionError} If no index of this name was declared.
   */
  find(index: string, value: string): readonly T[] {
    const bucket = this.#bucketsOf(index).get(value);
    if (bucket === undefined) return [];
    return bucket instanceof Set ? Array.from(bucket, (slot) => slot.object) : [bucket.object];
  }

  /** Values of `index` that have objects. Throws as {@linkcode Indexer.find}. */
  values(index: string): readonly string[] {
    return [...this.#bucketsOf(index).keys()];
  }

  /** `values`, unless they were worked out before an index was added: while a list came, say. */
  #whole(object: T, values: IndexValues): IndexValues {
    return values.length === this.#functions.length ? values : this.valuesOf(object);
  }

  #bucketsOf(index: string): Map<string, Bucket<T>> {
    const buckets = this.#buckets.get(index);
    if (buckets !== undefined) return buckets;
    const declared = [...this.#buckets.keys()].join(", ") || "none";
    throw new AssertionError(`Index "${index}" was not declared in indexers (${declared})`);
  }
}

function isSame(a: IndexValues, b: IndexValues): boolean {
  return a.every((values, at) => {
    const others = b[at] ?? NO_VALUES;
    return values.length === others.length && values.every((value, i) => value === others[i]);
  });
}

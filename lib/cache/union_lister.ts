/**
 * Several stores of one kind, read as one: what a cache of some namespaces is made of.
 *
 * @module
 */

import type { ObjectKey } from "../core/objects.ts";
import { splitKey } from "../core/objects.ts";
import type { Lister } from "./store.ts";
import { isOlderVersion } from "./versions.ts";

/**
 * Reads several listers of one kind, one a namespace, as one.
 *
 * Each part is a state of the server, but not all of the same version: two objects of different
 * namespaces may be seen at different times. Nobody may rely on more than that anyway, since changes
 * of two objects have no order.
 */
export class UnionLister<T> implements Lister<T> {
  readonly #parts: ReadonlyMap<string, Lister<T>>;
  /** What `all` was made of, to give the same array until a part changes. */
  #seen: readonly (readonly T[])[] = [];
  #all: readonly T[] = Object.freeze([]);

  /** Only stores. `parts` are by namespace. */
  constructor(parts: ReadonlyMap<string, Lister<T>>) {
    this.#parts = parts;
  }

  /** See {@linkcode Lister.find}. */
  find(key: ObjectKey): T | undefined {
    return this.#parts.get(splitKey(key).namespace)?.find(key);
  }

  /** See {@linkcode Lister.all}. */
  all(): readonly T[] {
    const seen = this.#each((part) => part.all());
    if (seen.some((objects, at) => objects !== this.#seen[at])) {
      this.#all = Object.freeze(seen.flat());
      this.#seen = seen;
    }
    return this.#all;
  }

  /** See {@linkcode Lister.keys}. */
  keys(): readonly ObjectKey[] {
    return this.#each((part) => part.keys()).flat();
  }

  /** See {@linkcode Lister.byIndex}. */
  byIndex(index: string, value: string): readonly T[] {
    return this.#each((part) => part.byIndex(index, value)).flat();
  }

  /** See {@linkcode Lister.indexValues}; each value once. */
  indexValues(index: string): readonly string[] {
    return [...new Set(this.#each((part) => part.indexValues(index)).flat())];
  }

  /** See {@linkcode Lister.size}. */
  get size(): number {
    return this.#each((part) => part.size).reduce((sum, size) => sum + size, 0);
  }

  /** The oldest of the parts' versions: what all of them have reached. */
  get resourceVersion(): string {
    const [first = "", ...others] = this.#each((part) => part.resourceVersion);
    return others.reduce(
      (oldest, version) => version === "" || isOlderVersion(version, oldest) ? version : oldest,
      first,
    );
  }

  #each<R>(read: (part: Lister<T>) => R): R[] {
    return Array.from(this.#parts.values(), read);
  }
}

/**
 * Sets of field paths, as `managedFields` hold them in `fieldsV1`.
 *
 * A path is a list of elements in their wire form: `f:spec` (a member), `k:{"name":"a"}` (an item
 * of a `map` list), `v:"a"` (an item of a `set` list). A set is a tree of them, in which any node
 * may be a path of the set (`.` on the wire) or merely lead to some. Sets are not changed once
 * built.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject, setMember } from "../core/json.ts";

/** Element kinds in the order in which the server writes them. */
const ELEMENT_ORDER = ["f", "k", "v", "i"];

/**
 * A set of field paths.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const mine = FieldSet.parse({ "f:spec": { "f:a": {}, "f:b": {} } });
 * const theirs = FieldSet.parse({ "f:spec": { ".": {}, "f:b": {} } });
 * deepStrictEqual(mine.difference(theirs).toJson(), { "f:spec": { "f:a": {} } });
 * deepStrictEqual(mine.intersection(theirs).paths().map(pathText), [".spec.b"]);
 * ```
 */
export class FieldSet {
  readonly #members: ReadonlySet<string>;
  readonly #children: ReadonlyMap<string, FieldSet>;

  private constructor(members: ReadonlySet<string>, children: ReadonlyMap<string, FieldSet>) {
    this.#members = members;
    this.#children = children;
  }

  /** The set without paths. */
  static readonly EMPTY: FieldSet = new FieldSet(new Set(), new Map());

  /** The set of `members` here and of `children` below; children that are empty are left out. */
  static of(members: Iterable<string>, children: Iterable<[string, FieldSet]>): FieldSet {
    const kept = new Map([...children].filter(([, child]) => !child.isEmpty));
    const set = new FieldSet(new Set(members), kept);
    return set.isEmpty ? FieldSet.EMPTY : set;
  }

  /** Reads `fieldsV1`; what is malformed in it is left out. */
  static parse(fields: Json | undefined): FieldSet {
    if (!isJsonObject(fields)) return FieldSet.EMPTY;
    const members: string[] = [];
    const children: [string, FieldSet][] = [];
    for (const [element, below] of Object.entries(fields)) {
      if (element === "." || !isJsonObject(below)) continue;
      const isLeaf = Object.keys(below).length === 0;
      if (isLeaf || Object.hasOwn(below, ".")) members.push(element);
      if (!isLeaf) children.push([element, FieldSet.parse(below)]);
    }
    return FieldSet.of(members, children);
  }

  /** True if there is no path in it. */
  get isEmpty(): boolean {
    return this.#members.size === 0 && this.#children.size === 0;
  }

  /** True if the path of `element` itself is in the set. */
  has(element: string): boolean {
    return this.#members.has(element);
  }

  /** What is below `element`. */
  below(element: string): FieldSet {
    return this.#children.get(element) ?? FieldSet.EMPTY;
  }

  /** The paths in either. */
  union(other: FieldSet): FieldSet {
    if (this.isEmpty) return other;
    if (other.isEmpty) return this;
    const children = new Map(this.#children);
    for (const [element, child] of other.#children) {
      children.set(element, this.below(element).union(child));
    }
    return FieldSet.of([...this.#members, ...other.#members], children);
  }

  /** The paths in both. */
  intersection(other: FieldSet): FieldSet {
    return FieldSet.of(
      [...this.#members].filter((element) => other.has(element)),
      [...this.#children].map(([element, child]) => [
        element,
        child.intersection(other.below(element)),
      ]),
    );
  }

  /** The paths in this one that are not in `other`; what is below a path of `other` stays. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    return FieldSet.of(
      [...this.#members].filter((element) => !other.has(element)),
      [...this.#children].map(([element, child]) => [
        element,
        child.difference(other.below(element)),
      ]),
    );
  }

  /** This set with `change` made to what is below each element; `member` decides the paths here. */
  map(
    member: (element: string, below: FieldSet) => boolean,
    change: (element: string, below: FieldSet) => FieldSet,
  ): FieldSet {
    const elements = new Set([...this.#members, ...this.#children.keys()]);
    return FieldSet.of(
      [...elements].filter((element) => member(element, this.below(element))),
      [...this.#children].map(([element, child]) => [element, change(element, child)]),
    );
  }

  /** Only what is at or below the elements that `keep` accepts. */
  only(keep: (element: string) => boolean): FieldSet {
    return FieldSet.of(
      [...this.#members].filter(keep),
      [...this.#children].filter(([element]) => keep(element)),
    );
  }

  /** True if both hold the same paths. */
  equals(other: FieldSet): boolean {
    return this.#members.size === other.#members.size &&
      this.#children.size === other.#children.size &&
      [...this.#members].every((element) => other.has(element)) &&
      [...this.#children].every(([element, child]) => child.equals(other.below(element)));
  }

  /** All paths, in the server's order: those that end here before those that go on. */
  paths(): string[][] {
    return [
      ...sorted(this.#members).map((element) => [element]),
      ...sorted(this.#children.keys()).flatMap((element) =>
        this.below(element).paths().map((path) => [element, ...path])
      ),
    ];
  }

  /** The wire form. */
  toJson(): JsonObject {
    const json: JsonObject = {};
    for (const element of sorted(new Set([...this.#members, ...this.#children.keys()]))) {
      const below = this.#children.get(element)?.toJson() ?? {};
      const isBoth = this.has(element) && this.#children.has(element);
      setMember(json, element, isBoth ? { ".": {}, ...below } : below);
    }
    return json;
  }
}

/**
 * A path as the server prints it in conflicts.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(pathText(["f:spec", 'k:{"name":"a","port":1}', "f:x"]), '.spec[name="a",port=1].x');
 * strictEqual(pathText(["f:finalizers", 'v:"a"']), '.finalizers[="a"]');
 * ```
 */
export function pathText(path: readonly string[]): string {
  return path.map((element) => {
    const rest = element.slice(2);
    switch (element[0]) {
      case "f":
        return `.${rest}`;
      case "k":
        return keyText(rest);
      case "v":
        return `[=${rest}]`;
      default:
        return `[${rest}]`;
    }
  }).join("");
}

/** `{"a":1}` as `[a=1]`. */
export function keyText(key: string): string {
  const fields: unknown = JSON.parse(key);
  if (!isJsonObject(fields)) return `[${key}]`;
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `[${pairs.join(",")}]`;
}

function sorted(elements: Iterable<string>): string[] {
  const rank = (element: string) => ELEMENT_ORDER.indexOf(element[0] ?? "");
  return [...elements].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}

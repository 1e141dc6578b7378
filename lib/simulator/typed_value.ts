/**
 * Values seen through their schema, as structured merge sees them: which fields a value has, what
 * differs between two values, what their merge is, and a value without some fields.
 *
 * Lists and maps that are `atomic` count as one field. Where the schema knows nothing (below
 * `x-kubernetes-preserve-unknown-fields`), objects are maps of such values and lists are atomic.
 *
 * @module
 */

import {
  isJsonObject,
  type Json,
  jsonEqual,
  type JsonObject,
  memberOf,
  setMember,
} from "../core/json.ts";
import { FieldSet } from "./field_set.ts";
import { itemKey } from "./list_keys.ts";
import type { SchemaNode } from "./schema_node.ts";

/** What differs between two values. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The schema of a member of an object of schema `schema`; `undefined` where nothing is known. */
export type MemberOf = (name: string) => SchemaNode | undefined;

/** A value and what is known of it. `schema` undefined: nothing. */
interface Typed {
  readonly value: Json;
  readonly schema: SchemaNode | undefined;
}

/** How a value is taken apart: not at all, as one field, by items, by members. */
type Shape = "scalar" | "atomic" | "list" | "map";

/** What the value is decides; the schema says only whether it counts as one field. */
function shapeOf({ value, schema }: Typed): Shape {
  if (Array.isArray(value)) {
    return schema?.isArray === true && schema.listType !== "atomic" ? "list" : "atomic";
  }
  if (isJsonObject(value)) return schema?.isAtomicMap === true ? "atomic" : "map";
  return "scalar";
}

/** True if `name` is a field of its own type here, and not one of many alike. */
function isDeclared(schema: SchemaNode | undefined, name: string): boolean {
  return schema?.property(name) !== undefined;
}

/** What is known of the member `name`. */
function memberSchema(schema: SchemaNode | undefined, name: string): SchemaNode | undefined {
  return schema?.member(name);
}

/** Items of a non-atomic list by their path element; of duplicates the first. */
function itemsByKey(list: readonly Json[], schema: SchemaNode): Map<string, Json> {
  const items = new Map<string, Json>();
  for (const item of list) {
    const key = itemKey(item, schema);
    if (key !== undefined && !items.has(key)) items.set(key, item);
  }
  return items;
}

/** The fields of `value`: leaves, items of keyed lists, members of free maps. */
export function fieldsOf(value: Json, schema: SchemaNode | undefined): FieldSet {
  const members: string[] = [];
  const children: [string, FieldSet][] = [];
  if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const below = memberSchema(schema, name);
      const shape = shapeOf({ value: member, schema: below });
      const isLeaf = shape === "scalar" || shape === "atomic";
      const isEmptyMap = isJsonObject(member) && Object.keys(member).length === 0;
      if (isLeaf || isEmptyMap || !isDeclared(schema, name)) members.push(`f:${name}`);
      if (!isLeaf) children.push([`f:${name}`, fieldsOf(member, below)]);
    }
  } else if (Array.isArray(value) && schema !== undefined) {
    for (const [key, item] of itemsByKey(value, schema)) {
      members.push(key);
      const shape = shapeOf({ value: item, schema: schema.items });
      if (shape !== "scalar" && shape !== "atomic") {
        children.push([key, fieldsOf(item, schema.items)]);
      }
    }
  }
  return FieldSet.of(members, children);
}

/** What differs from `before` to `after`, members of an object whose schema is `schema`. */
export function compareFields(
  before: JsonObject,
  after: JsonObject,
  schema: SchemaNode | undefined,
): Comparison {
  const comparer = new Comparer();
  return comparer.maps(before, after, schema);
}

/** The comparison of equal values. */
const NOTHING: Comparison = {
  added: FieldSet.EMPTY,
  modified: FieldSet.EMPTY,
  removed: FieldSet.EMPTY,
};

/** Collects the three sets of one level. */
class Level {
  readonly #members = { added: [] as string[], modified: [] as string[], removed: [] as string[] };
  readonly #below: [string, Comparison][] = [];

  /** Puts `element` itself into the set. */
  add(kind: keyof Comparison, element: string): void {
    this.#members[kind].push(element);
  }

  /** Puts what was found below `element` into the sets. */
  below(element: string, comparison: Comparison): void {
    if (comparison !== NOTHING) this.#below.push([element, comparison]);
  }

  /** The three sets, of this level and all below. */
  result(): Comparison {
    const set = (kind: keyof Comparison) =>
      FieldSet.of(
        this.#members[kind],
        this.#below.map(([element, comparison]) => [element, comparison[kind]]),
      );
    return { added: set("added"), modified: set("modified"), removed: set("removed") };
  }
}

/** Compares two objects level by level. */
class Comparer {
  /** Compares the members of two objects. */
  maps(before: JsonObject, after: JsonObject, schema: SchemaNode | undefined): Comparison {
    const level = new Level();
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const old = memberOf(before, name);
      const value = memberOf(after, name);
      this.#values(level, `f:${name}`, old, value, memberSchema(schema, name));
    }
    return level.result();
  }

  /**
   * Compares what is at `element`, `undefined` where it is absent, and adds the outcome to `level`.
   *
   * A new or removed container is told together with all that is in it: each part may have an
   * owner.
   */
  #values(
    level: Level,
    element: string,
    old: Json | undefined,
    value: Json | undefined,
    schema: SchemaNode | undefined,
  ): void {
    if (old !== undefined && value !== undefined && jsonEqual(old, value)) return;
    if (old === undefined) level.add("added", element);
    else if (value === undefined) level.add("removed", element);
    const shapes = [old, value]
      .filter((each) => each !== undefined && each !== null)
      .map((each) => shapeOf({ value: each ?? null, schema }));
    const isSameShape = shapes.every((shape) => shape === shapes[0]);
    const isLeaf = shapes.every((shape) => shape === "scalar" || shape === "atomic") ||
      // A change from an empty container to an empty one is told of the container itself.
      (sizeOf(old) === 0 && sizeOf(value) === 0);
    const isChanged = old !== undefined && value !== undefined;
    if (isChanged && (isLeaf || !isSameShape)) level.add("modified", element);
    if (isLeaf) return;
    level.below(
      element,
      shapes.includes("list") && schema !== undefined
        ? this.#lists(listOf(old), listOf(value), schema)
        : this.maps(mapOf(old), mapOf(value), schema),
    );
  }

  /** Compares the items of two keyed lists; their order does not count. */
  #lists(before: readonly Json[], after: readonly Json[], schema: SchemaNode): Comparison {
    const level = new Level();
    const old = itemsByKey(before, schema);
    const now = itemsByKey(after, schema);
    for (const key of new Set([...old.keys(), ...now.keys()])) {
      this.#values(level, key, old.get(key), now.get(key), schema.items);
    }
    return level.result();
  }
}

/** The items of `value`, none if it is no list. */
function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The members of `value`, none if it is no object. */
function mapOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** How many parts `value` has. */
function sizeOf(value: Json | undefined): number {
  if (Array.isArray(value)) return value.length;
  return isJsonObject(value) ? Object.keys(value).length : 0;
}

/** `live` with `applied` merged into it: maps by member, keyed lists by item, the rest replaced. */
export function mergeValues(
  live: Json | undefined,
  applied: Json,
  schema: SchemaNode | undefined,
): Json {
  const shape = shapeOf({ value: applied, schema });
  if (shape === "map" && isJsonObject(applied)) {
    const result: JsonObject = {};
    const old = mapOf(live);
    for (const [name, value] of Object.entries(old)) {
      const other = memberOf(applied, name);
      setMember(
        result,
        name,
        other === undefined ? value : mergeValues(value, other, memberSchema(schema, name)),
      );
    }
    for (const [name, value] of Object.entries(applied)) {
      if (!Object.hasOwn(old, name)) setMember(result, name, value);
    }
    return result;
  }
  if (shape === "list" && Array.isArray(applied) && schema !== undefined) {
    return mergeLists(listOf(live), applied, schema);
  }
  return applied;
}

/**
 * Items of both lists. The applied ones come in the applied order; those that only the live list
 * has keep their place relative to the items around them. This is the server's algorithm, step by
 * step, since the order is visible to users.
 */
function mergeLists(
  live: readonly Json[],
  applied: readonly Json[],
  schema: SchemaNode,
): Json[] {
  const old = itemsByKey(live, schema);
  const wanted = itemsByKey(applied, schema);
  const oldKeys = [...old.keys()];
  const wantedKeys = [...wanted.keys()];
  const shared = wantedKeys.filter((key) => old.has(key));
  const merged = new Set<string>();
  const result: Json[] = [];
  const take = (key: string) => {
    const item = wanted.get(key);
    const oldItem = old.get(key);
    if (item !== undefined) result.push(mergeValues(oldItem, item, schema.items));
    else if (oldItem !== undefined) result.push(oldItem);
    merged.add(key);
    if (shared[0] === key) shared.shift();
  };
  let [left, right] = [0, 0];
  while (left < oldKeys.length || right < wantedKeys.length) {
    const oldKey = oldKeys[left];
    const wantedKey = wantedKeys[right];
    if (oldKey !== undefined && oldKey === wantedKey) {
      take(oldKey);
      left++;
      right++;
      continue;
    }
    if (oldKey !== undefined && !wanted.has(oldKey)) {
      take(oldKey);
      left++;
      continue;
    }
    // Shared, but not the one that is due: it comes when the applied order says so.
    const isDue = shared[0] === undefined || shared[0] === oldKey;
    if (oldKey !== undefined && wantedKey !== undefined && !isDue) {
      left++;
      continue;
    }
    if (oldKey !== undefined && merged.has(oldKey)) left++;
    if (wantedKey !== undefined) {
      take(wantedKey);
      right++;
    }
  }
  return result;
}

/** `value` without the fields of `set`; a container that loses all its parts is gone. */
export function removeFields(
  value: Json,
  set: FieldSet,
  schema: SchemaNode | undefined,
): Json | undefined {
  if (set.isEmpty) return value;
  const shape = shapeOf({ value, schema });
  if (shape === "map" && isJsonObject(value)) {
    const result: JsonObject = {};
    for (const [name, member] of Object.entries(value)) {
      if (set.has(`f:${name}`)) continue;
      const left = removeFields(member, set.below(`f:${name}`), memberSchema(schema, name));
      setMember(result, name, left ?? null);
    }
    return Object.keys(result).length === 0 ? undefined : result;
  }
  if (shape === "list" && Array.isArray(value) && schema !== undefined) {
    const left = value.flatMap((item) => {
      const key = itemKey(item, schema) ?? "";
      if (set.has(key)) return [];
      return [removeFields(item, set.below(key), schema.items) ?? null];
    });
    return left.length === 0 ? undefined : left;
  }
  return value;
}

/** `set` in which the declared fields that lead to paths are paths themselves. */
export function withParents(set: FieldSet, schema: SchemaNode | undefined): FieldSet {
  const schemaBelow = (element: string) =>
    element.startsWith("f:") ? memberSchema(schema, element.slice(2)) : schema?.items;
  return set.map(
    (element, below) =>
      set.has(element) ||
      (!below.isEmpty && element.startsWith("f:") && isDeclared(schema, element.slice(2))),
    (element, below) => withParents(below, schemaBelow(element)),
  );
}

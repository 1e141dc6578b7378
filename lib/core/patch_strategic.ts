/**
 * Strategic merge patch, as Kubernetes applies it to built-in kinds: like a merge patch, but lists
 * whose schema names a merge key are merged item by item, and directives say what merging can't.
 *
 * | directive | meaning |
 * | --- | --- |
 * | `$patch: replace` | in an object: the rest of the patch replaces it; as a list item: the list |
 * | `$patch: delete` | in an object: it becomes empty; as a list item: the item with this key goes |
 * | `$deleteFromPrimitiveList/<field>` | these values go from the list `<field>` |
 * | `$setElementOrder/<field>` | the order of the list `<field>` by key or value |
 * | `$retainKeys` | members of the object that are not in this list go |
 *
 * Pure: the result shares unchanged parts with its inputs, which may be frozen. Order follows the
 * server: without `$setElementOrder`, items that are new come before those that only the document
 * has. Custom resources have no merge keys, and the API server refuses this patch for them (415).
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
} from "./json.ts";
import { PatchError } from "./patch_error.ts";

/** What a strategic merge must know of a place. Absent strategies and keys mean "replace whole". */
export interface StrategicSchema {
  /** The schema of a member of an object. */
  member(name: string): StrategicSchema | undefined;
  /** The schema of the items of a list. */
  readonly items: StrategicSchema | undefined;
  /** `merge`, `replace`, `retainKeys`: `x-kubernetes-patch-strategy`, split at commas. */
  readonly patchStrategies: readonly string[];
  /** Member by which items are told apart: `x-kubernetes-patch-merge-key`. */
  readonly patchMergeKey: string | undefined;
}

/** Says what is done to the object it stands in. */
const PATCH = "$patch";
/** Lists the members that stay. */
const RETAIN_KEYS = "$retainKeys";
/** Before the name of a list from which values go. */
const DELETE_PREFIX = "$deleteFromPrimitiveList/";
/** Before the name of a list whose order is said. */
const ORDER_PREFIX = "$setElementOrder/";

/**
 * `document` after the strategic merge patch `patch`.
 *
 * @throws {PatchError} `malformed` for a directive that can't be understood and for `$retainKeys`
 * that leave out a member of the patch; `missing` for a list item without its merge key.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const text = { member: () => undefined, items: undefined, patchStrategies: [],
 *   patchMergeKey: undefined };
 * const list = { ...text, items: text, patchStrategies: ["merge"], patchMergeKey: "name" };
 * const schema = { ...text, member: (name: string) => name === "containers" ? list : undefined };
 * deepStrictEqual(
 *   applyStrategicPatch(
 *     { containers: [{ name: "a", image: "x" }, { name: "b", image: "y" }] },
 *     { containers: [{ name: "b", image: "z" }, { name: "a", $patch: "delete" }] },
 *     schema,
 *   ),
 *   { containers: [{ name: "b", image: "z" }] },
 * );
 * ```
 */
export function applyStrategicPatch(
  document: JsonObject,
  patch: JsonObject,
  schema: StrategicSchema | undefined,
): JsonObject {
  return mergeObjects(document, patch, schema);
}

/** Merges member by member, after the directives that concern the object as a whole. */
function mergeObjects(
  original: JsonObject,
  patch: JsonObject,
  schema: StrategicSchema | undefined,
): JsonObject {
  const directive = patch[PATCH];
  if (directive === "replace") return objectOf(asItStands(patch));
  if (directive === "delete") return {};
  if (directive !== undefined) {
    throw new PatchError("malformed", `Unknown patch type: ${JSON.stringify(directive)}`);
  }
  const result = retained(original, patch);
  const handled = mergeOrderedLists(result, patch, schema);
  for (const [key, value] of Object.entries(patch)) {
    if (key === RETAIN_KEYS || key.startsWith(ORDER_PREFIX) || handled.has(key)) continue;
    if (key.startsWith(DELETE_PREFIX)) {
      deleteValues(result, key.slice(DELETE_PREFIX.length), value);
      continue;
    }
    const old = memberOf(result, key);
    if (value === null) delete result[key];
    else setMember(result, key, mergeValues(old, value, schema?.member(key)));
  }
  return result;
}

/** Merges two values of one kind; one that is new, or of another kind, replaces the old. */
function mergeValues(
  original: Json | undefined,
  patch: Json,
  schema: StrategicSchema | undefined,
): Json {
  const replaces = schema?.patchStrategies.includes("replace") === true;
  if (isJsonObject(original) && isJsonObject(patch)) {
    return replaces ? patch : mergeObjects(original, patch, schema);
  }
  if (Array.isArray(original) && Array.isArray(patch)) {
    return mergeLists(original, patch, schema);
  }
  return newMember(patch);
}

/**
 * A copy of `original`'s top level with only the members that `$retainKeys` lists, if it is there.
 */
function retained(original: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch[RETAIN_KEYS];
  const result: JsonObject = {};
  if (keys !== undefined && !Array.isArray(keys)) {
    throw new PatchError("malformed", "Cannot read $retainKeys: it is not a list");
  }
  const stray = keys === undefined
    ? undefined
    : Object.entries(patch).find(([key, value]) =>
      !key.startsWith("$") && value !== null && !keys.includes(key)
    );
  if (stray !== undefined) {
    throw new PatchError("malformed", `Cannot read $retainKeys: it leaves out "${stray[0]}"`);
  }
  for (const [key, value] of Object.entries(original)) {
    if (keys === undefined || keys.includes(key)) setMember(result, key, value);
  }
  return result;
}

/** Carries out `$deleteFromPrimitiveList` on the list `field`. */
function deleteValues(result: JsonObject, field: string, values: Json): void {
  if (!Array.isArray(values)) {
    throw new PatchError("malformed", `Cannot read ${DELETE_PREFIX}${field}: it is not a list`);
  }
  const list = memberOf(result, field);
  if (!Array.isArray(list)) return;
  setMember(result, field, list.filter((item) => !includes(values, item)));
}

/** Merges the lists that have an order given; returns their names, which are then done. */
function mergeOrderedLists(
  result: JsonObject,
  patch: JsonObject,
  schema: StrategicSchema | undefined,
): Set<string> {
  const handled = new Set<string>();
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(ORDER_PREFIX)) continue;
    const field = directive.slice(ORDER_PREFIX.length);
    if (!Array.isArray(order)) {
      throw new PatchError("malformed", `Cannot read ${directive}: it is not a list`);
    }
    const old = memberOf(result, field);
    const value = memberOf(patch, field);
    if (value === null) continue;
    const list = schema?.member(field);
    const merged = value === undefined ? old : mergeValues(old, value, list);
    if (!Array.isArray(merged)) continue;
    handled.add(field);
    // Values to delete from the same list go first, since the order does not list them.
    const deleted = patch[`${DELETE_PREFIX}${field}`];
    const left = Array.isArray(deleted)
      ? merged.filter((item) => !includes(deleted, item))
      : merged;
    handled.add(`${DELETE_PREFIX}${field}`);
    const originalOrder = Array.isArray(old) ? old : [];
    setMember(result, field, inOrder(left, { order, originalOrder, key: list?.patchMergeKey }));
  }
  return handled;
}

/** Merges two lists: of objects by key, of values by value, and without a strategy not at all. */
function mergeLists(
  original: Json[],
  patch: Json[],
  schema: StrategicSchema | undefined,
): Json[] {
  if (schema?.patchStrategies.includes("merge") !== true) return patch.map(asItStands);
  const hasObjects = [...original, ...patch].some(isJsonObject);
  const key = schema.patchMergeKey;
  if (!hasObjects) {
    const both = [...original, ...patch];
    const merged = both.filter((item, index) => both.indexOf(item) === index);
    return inOrder(merged, { order: patch, originalOrder: original, key: undefined });
  }
  if (key === undefined) {
    throw new PatchError("malformed", "Cannot merge lists of objects without a merge key");
  }
  const special = specialItems(original, patch, key);
  const merged = [...special.original];
  for (const item of special.patch) {
    const object = keyed(item, key);
    const at = merged.findIndex((old) => sameKey(old, object, key));
    const old = merged[at];
    if (isJsonObject(old)) merged[at] = mergeObjects(old, object, schema.items);
    else merged.push(asItStands(object));
  }
  return inOrder(merged, { order: special.patch, originalOrder: special.original, key });
}

/** Carries out the items that are directives; what is left of both lists is to be merged. */
function specialItems(
  original: readonly Json[],
  patch: readonly Json[],
  key: string,
): { original: Json[]; patch: Json[] } {
  let left = [...original];
  const rest: Json[] = [];
  let replaces = false;
  for (const item of patch) {
    const directive = isJsonObject(item) ? item[PATCH] : undefined;
    if (directive === undefined) rest.push(item);
    else if (directive === "delete") {
      const object = keyed(item, key);
      left = left.filter((old) => !sameKey(old, object, key));
    } else if (directive === "replace") replaces = true;
    else throw new PatchError("malformed", `Unknown patch type: ${JSON.stringify(directive)}`);
  }
  return { original: replaces ? [] : left, patch: rest };
}

/** How the items of a merged list are to stand. */
interface Ordering {
  /** Items, or objects with at least the key, in the wanted order. */
  readonly order: readonly Json[];
  readonly originalOrder: readonly Json[];
  readonly key: string | undefined;
}

/**
 * Items in `order`, with those that only the document has kept in their place before an ordered one
 * that followed them there.
 */
function inOrder(items: readonly Json[], { order, originalOrder, key }: Ordering): Json[] {
  const indexIn = (list: readonly Json[], item: Json) =>
    list.findIndex((other) =>
      key === undefined ? jsonEqual(other, item) : sameKey(other, item, key)
    );
  const ordered = items.filter((item) => indexIn(order, item) >= 0)
    .sort((a, b) => indexIn(order, a) - indexIn(order, b));
  const others = items.filter((item) => indexIn(order, item) < 0)
    .sort((a, b) => indexIn(originalOrder, a) - indexIn(originalOrder, b));
  const result: Json[] = [];
  let at = 0;
  for (const item of ordered) {
    const itemIndex = indexIn(originalOrder, item);
    for (; at < others.length; at++) {
      const other = others[at] ?? null;
      const otherIndex = indexIn(originalOrder, other);
      if (itemIndex < 0 || otherIndex < 0 || otherIndex > itemIndex) break;
      result.push(other);
    }
    result.push(item);
  }
  return [...result, ...others.slice(at)];
}

/** `item`, which must have the merge key: without it, nobody can say which item is meant. */
function keyed(item: Json, key: string): JsonObject {
  if (!isJsonObject(item) || memberOf(item, key) === undefined) {
    throw new PatchError(
      "missing",
      `Cannot merge list item ${
        JSON.stringify(item)
      }: it does not contain declared merge key: ${key}`,
    );
  }
  return item;
}

/** True if both items have the same merge key. */
function sameKey(a: Json, b: Json, key: string): boolean {
  return isJsonObject(a) && isJsonObject(b) && jsonEqual(a[key], b[key]);
}

/** The value of a member that is new: there is nothing for its directives to act on, so they go. */
function newMember(value: Json): Json {
  if (Array.isArray(value)) {
    return value.filter((item) => !(isJsonObject(item) && item[PATCH] !== undefined)).map(
      newMember,
    );
  }
  return strippedMembers(value, newMember);
}

/**
 * A value that is taken as it stands. The server leaves directives inside of it, which then are
 * unknown fields and go: an item that was to be deleted stays, without its directive.
 */
function asItStands(value: Json): Json {
  return Array.isArray(value) ? value.map(asItStands) : strippedMembers(value, asItStands);
}

/** The members that are no directives and not null, changed by `change`. */
function strippedMembers(value: Json, change: (member: Json) => Json): Json {
  if (!isJsonObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const isDirective = key === PATCH || key === RETAIN_KEYS || key.startsWith(DELETE_PREFIX) ||
      key.startsWith(ORDER_PREFIX);
    if (!isDirective && member !== null) setMember(result, key, change(member));
  }
  return result;
}

/** True if `values` has an equal of `item`. */
function includes(values: readonly Json[], item: Json): boolean {
  return values.some((value) => jsonEqual(value, item));
}

/** `value`, or an empty object if it is none. */
function objectOf(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}

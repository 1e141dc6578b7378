/**
 * What tells the items of a list apart, by the list's type: nothing for atomic lists, the value for
 * sets, the key fields for maps. Validation, field ownership and defaults must agree on it.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject, memberOf, setMember } from "../core/json.ts";
import type { SchemaNode } from "./schema_node.ts";

/**
 * The key fields of an item of a `map` list, sorted by name; absent ones take their default and
 * are left out if they have none.
 */
export function keyFields(item: JsonObject, list: SchemaNode): JsonObject {
  const key: JsonObject = {};
  for (const name of [...list.listMapKeys].sort()) {
    const value = memberOf(item, name) ?? list.items?.property(name)?.default;
    if (value !== undefined) setMember(key, name, value);
  }
  return key;
}

/**
 * The path element of `item` in the wire form of field ownership: `k:{"name":"a"}` or `v:"a"`;
 * `undefined` in an atomic list, and for an item that can't have one.
 */
export function itemKey(item: Json, list: SchemaNode): string | undefined {
  switch (list.listType) {
    case "atomic":
      return undefined;
    case "set":
      return `v:${JSON.stringify(item)}`;
    case "map":
      return isJsonObject(item) ? `k:${JSON.stringify(keyFields(item, list))}` : undefined;
    default:
      return list.listType satisfies never;
  }
}

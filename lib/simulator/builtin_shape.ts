/**
 * The shape that a built-in object has after it went through the server's typed decoding: no null,
 * and no empty map or list where the type leaves them out.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject, setMember } from "../core/json.ts";
import type { SchemaNode } from "./schema_node.ts";

/**
 * `object` as typed decoding and encoding would leave it. Empty structs stay, since a pointer to one
 * means something (`emptyDir: {}`); so do empty values of required members.
 */
export function asTyped(object: JsonObject, schema: SchemaNode | undefined): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(object)) {
    if (value === null) continue;
    const below = schema?.member(name);
    const typed = typedValue(value, below);
    const isRequired = schema?.required.includes(name) === true;
    if (below !== undefined && !isRequired && isEmpty(typed, below)) continue;
    setMember(result, name, typed);
  }
  return result;
}

function typedValue(value: Json, schema: SchemaNode | undefined): Json {
  if (Array.isArray(value)) return value.map((item) => typedValue(item, schema?.items));
  return isJsonObject(value) ? asTyped(value, schema) : value;
}

/** True for an empty list, or an empty map as opposed to a struct. */
function isEmpty(value: Json, schema: SchemaNode): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0 && schema.additional !== undefined;
}

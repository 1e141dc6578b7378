/**
 * Does an applied configuration fit its schema well enough to be merged? The server refuses what it
 * can't type with an error of its own, before any validation.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { keyText } from "./field_set.ts";
import { itemKey } from "./list_keys.ts";
import type { SchemaNode } from "./schema_node.ts";

/** Members that an embedded object has whatever its schema says. */
const OBJECT_MEMBERS = new Set(["apiVersion", "kind", "metadata"]);

/** What can't be typed, as lines such as `.spec.foo: field not declared in schema`. */
export function typingErrors(value: Json, schema: SchemaNode | undefined, path: string): string[] {
  if (value === null || schema === undefined) return [];
  const expected = expectedInstead(value, schema);
  if (expected !== undefined) {
    return [`${path}: expected ${expected}, got ${goText(value, expected)}`];
  }
  if (isJsonObject(value)) return mapErrors(value, schema, path);
  return Array.isArray(value) ? listErrors(value, schema, path) : [];
}

/** The server's text for one or several lines. */
export function typingMessage(lines: readonly string[]): string {
  return lines.length === 1 ? lines[0] ?? "" : `errors:\n${lines.map((l) => `  ${l}`).join("\n")}`;
}

/** Members that don't fit, or that a closed object does not have. */
function mapErrors(value: JsonObject, schema: SchemaNode, path: string): string[] {
  const isClosed = schema.hasProperties && !schema.preservesUnknown && !schema.allowsAnyAdditional;
  const errors: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const below = schema.member(name);
    if (below !== undefined) errors.push(...typingErrors(member, below, `${path}.${name}`));
    else if (isClosed && !(schema.isEmbeddedResource && OBJECT_MEMBERS.has(name))) {
      // The server looks no further in an object in which it found an undeclared field.
      return [...errors, `${path}.${name}: field not declared in schema`];
    }
  }
  return errors;
}

/** Items that don't fit, that can have no key, or whose key another one has. */
function listErrors(items: readonly Json[], schema: SchemaNode, path: string): string[] {
  const seen = new Set<string>();
  const told = new Set<string>();
  return items.flatMap((item, index) => {
    const why = keylessReason(item, schema);
    if (why !== undefined) return [`${path}: element ${index}: associative list ${why}`];
    const key = itemKey(item, schema);
    const place = key === undefined ? `${path}[${index}]` : `${path}${elementText(key)}`;
    if (key !== undefined && seen.has(key)) {
      if (told.has(key)) return [];
      told.add(key);
      return [`${path}: duplicate entries for key ${elementText(key)}`];
    }
    if (key !== undefined) seen.add(key);
    return typingErrors(item, schema.items, place);
  });
}

/** Why an item of a keyed list can have no key. */
function keylessReason(item: Json, schema: SchemaNode): string | undefined {
  if (schema.listType === "map") {
    if (item === null) return "with keys may not have a null element";
    return isJsonObject(item) ? undefined : "with keys may not have non-map elements";
  }
  if (schema.listType !== "set") return undefined;
  if (item === null) return "without keys has an element that's an explicit null";
  if (Array.isArray(item)) return "without keys has an element that's a list type";
  return isJsonObject(item) ? "without keys has an element that's a map type" : undefined;
}

/** An item's key as the server prints it. */
function elementText(key: string): string {
  return key.startsWith("k:") ? keyText(key.slice(2)) : `[=${key.slice(2)}]`;
}

/** Types as the server's merge knows them. */
type Expected = "list" | "map" | "string" | "boolean" | "numeric (int or float)";

/** What the schema wants, if that is not what `value` is. */
function expectedInstead(value: Json, schema: SchemaNode): Expected | undefined {
  if (schema.isIntOrString) return undefined;
  const wanted = expectedOf(schema);
  const found = Array.isArray(value)
    ? "list"
    : isJsonObject(value)
    ? "map"
    : typeof value === "number"
    ? "numeric (int or float)"
    : typeof value === "boolean"
    ? "boolean"
    : "string";
  return wanted === found ? undefined : wanted;
}

/** The type that the schema wants; `undefined` if any will do. */
function expectedOf(schema: SchemaNode): Expected | undefined {
  if (schema.isObject) return "map";
  switch (schema.type) {
    case "array":
      return "list";
    case "string":
    case "boolean":
      return schema.type;
    case "integer":
    case "number":
      return "numeric (int or float)";
    default:
      return undefined;
  }
}

/** How the server's library prints a value in these errors: differently for each expected type. */
function goText(value: Json, expected: Expected): string {
  switch (expected) {
    case "string":
      return `&value.valueUnstructured{Value:${goLiteral(value)}}`;
    case "numeric (int or float)":
      return goType(value);
    default:
      return `&{${goPlain(value)}}`;
  }
}

/** The name of the value's type in Go. */
function goType(value: Json): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** The value as Go source, `%#v`. */
function goLiteral(value: Json): string {
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goLiteral).join(", ")}}`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort().map((key) =>
    `${JSON.stringify(key)}:${goLiteral(value[key] ?? null)}`
  );
  return `map[string]interface {}{${members.join(", ")}}`;
}

/** The value as Go prints it for people, `%v`. */
function goPlain(value: Json): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goPlain).join(" ")}]`;
  if (!isJsonObject(value)) return String(value);
  const members = Object.keys(value).sort().map((key) => `${key}:${goPlain(value[key] ?? null)}`);
  return `map[${members.join(" ")}]`;
}

/**
 * How a schema's values look to CEL: their static types, for checking a rule, and their run-time
 * values, for running it.
 *
 * Kubernetes' conventions: only declared properties exist; names that are no CEL identifiers are
 * escaped (`x.y` is `x__dot__y`, `namespace` is `__namespace__`); a `null` is an absent field;
 * `date-time`, `duration` and `byte` strings are times, durations and bytes.
 *
 * @module
 */

import { isJsonObject, type Json } from "../core/json.ts";
import {
  CEL_DURATION,
  CEL_TIMESTAMP,
  type CelEnvironment,
  kubernetesEnvironment,
} from "./cel_library.ts";
import type { SchemaNode } from "./schema_node.ts";

/** Words that CEL keeps for itself. */
const RESERVED = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

/**
 * What can't stand in an identifier, and how Kubernetes writes it; in the order of replacement,
 * since the replacements have underscores themselves.
 */
const ESCAPES: readonly (readonly [string, string])[] = [
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
];

/** Name of the type of a whole object. */
export const ROOT_TYPE = "Self";

/** How deep types are declared; below it, values are dynamic. Deeper than real schemas go. */
const TYPE_DEPTH_MAX = 30;

/**
 * The name of a property in a rule; `undefined` if it can't be named there.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(celName("x.y"), "x__dot__y");
 * strictEqual(celName("namespace"), "__namespace__");
 * strictEqual(celName("1st"), undefined);
 * ```
 */
export function celName(property: string): string | undefined {
  if (RESERVED.has(property)) return `__${property}__`;
  let name = property;
  for (const [from, to] of ESCAPES) name = name.replaceAll(from, to);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : undefined;
}

/** Declares the types below `schema` in `environment`; returns the CEL type of `schema` itself. */
export function declareType(
  environment: CelEnvironment,
  schema: SchemaNode,
  name: string,
  depth = 0,
): string {
  if (schema.isIntOrString || schema.nullable || depth > TYPE_DEPTH_MAX) return "dyn";
  switch (schema.type) {
    case "string":
      return stringType(schema.format);
    case "integer":
      return "int";
    case "number":
      return "double";
    case "boolean":
      return "bool";
    case "array": {
      const items = schema.items;
      if (items === undefined) return "list<dyn>";
      return `list<${declareType(environment, items, `${name}_i`, depth + 1)}>`;
    }
    case "object":
      return objectType(environment, schema, name, depth);
    default:
      return "dyn";
  }
}

/** The type of a string of this format. */
function stringType(format: string | undefined): string {
  if (format === "date-time" || format === "date") return CEL_TIMESTAMP;
  if (format === "duration") return CEL_DURATION;
  return format === "byte" ? "bytes" : "string";
}

/**
 * A map if its members are alike, else a type with a field for each property that has a name in
 * CEL.
 */
function objectType(
  environment: CelEnvironment,
  schema: SchemaNode,
  name: string,
  depth: number,
): string {
  const additional = schema.additional;
  if (additional !== undefined) {
    return `map<string, ${declareType(environment, additional, `${name}_v`, depth + 1)}>`;
  }
  if (!schema.hasProperties && !schema.isEmbeddedResource) {
    return schema.preservesUnknown || schema.allowsAnyAdditional ? "dyn" : "map<string, dyn>";
  }
  const fields: Record<string, string> = {};
  for (const property of schema.propertyNames) {
    const field = celName(property);
    const node = schema.property(property);
    if (field === undefined || node === undefined) continue;
    fields[field] = declareType(environment, node, `${name}_${field}`, depth + 1);
  }
  if (schema.isEmbeddedResource || name === ROOT_TYPE) {
    fields["apiVersion"] = "string";
    fields["kind"] = "string";
    fields["metadata"] = metadataType(environment, name);
  }
  const type = `kubernetes.${name}`;
  // One class for each type: the library tells types apart by their constructors.
  environment.registerType(type, { ctor: class {}, fields });
  environment.registerOperator(`${type} == ${type}`, () => false);
  return type;
}

/** Rules see no more of an object's metadata than its name. */
function metadataType(environment: CelEnvironment, owner: string): string {
  const type = `kubernetes.${owner}_meta`;
  environment.registerType(type, {
    ctor: class {},
    fields: { name: "string", generateName: "string" },
  });
  return type;
}

/** `value` as CEL sees it. */
export function celValue(value: Json, schema: SchemaNode | undefined): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    const isInteger = schema === undefined || schema.type !== "number";
    return isInteger && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === "string") return celString(value, schema);
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema?.items));

  const object: Record<string, unknown> = {};
  const isMap = schema?.additional !== undefined || schema?.hasProperties !== true;
  for (const [key, member] of Object.entries(value)) {
    if (member === null) continue;
    const node = schema?.member(key);
    const name = isMap ? key : celName(key);
    if (name !== undefined) object[name] = celValue(member, node);
  }
  return object;
}

/** Made on first use and kept. */
let durationProgram: ((context: Record<string, unknown>) => unknown) | undefined;

/** A string as its format wants it. */
function celString(text: string, schema: SchemaNode | undefined): unknown {
  switch (schema === undefined ? "string" : stringType(schema.format)) {
    case CEL_TIMESTAMP:
      return new Date(text);
    case CEL_DURATION:
      // The library exports no constructor of durations, so one is made by an expression.
      durationProgram ??= kubernetesEnvironment().registerVariable("text", "string")
        .parse("duration(text)");
      return durationProgram({ text });
    case "bytes":
      return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    default:
      return text;
  }
}

/** True if `value` is an object or array, whose value the server leaves out of its messages. */
export function isComposite(value: Json): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

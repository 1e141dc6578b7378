/**
 * Validation of a custom resource against its OpenAPI schema, with the API server's messages and in
 * its order: for a value its type, the combinators, its own limits; for an object its members by
 * name and then what is missing.
 *
 * As the server does on updates ("ratcheting"), what did not change is not judged again: a schema
 * that became stricter does not freeze objects that were stored before.
 *
 * @module
 */

import { isJsonObject, type Json, jsonEqual, type JsonObject, memberOf } from "../core/json.ts";
import { type FieldError, requiredField, unsupportedField } from "./field_errors.ts";
import { hasFormat } from "./formats.ts";
import { goPattern } from "./go_pattern.ts";
import { itemKey } from "./list_keys.ts";
import { SchemaNode } from "./schema_node.ts";

/** The field of errors that the server can't place. */
const NO_FIELD = "<nil>";

/** The OpenAPI errors of `value`. `old` is the stored value at the same place, if there is one. */
export function openApiErrors(
  value: Json,
  schema: SchemaNode,
  path: string,
  old: Json | undefined,
): FieldError[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  if (value === null && schema.nullable) return [];
  return [
    ...typeErrors(value, schema, path),
    ...combinatorErrors(value, schema, path),
    ...(typeof value === "string" ? stringErrors(value, schema, path) : []),
    ...(typeof value === "number" ? numberErrors(value, schema, path) : []),
    ...(Array.isArray(value) ? arrayErrors(value, schema, path, old) : []),
    ...enumErrors(value, schema, path),
    ...(isJsonObject(value) ? objectErrors(value, schema, path, old) : []),
  ];
}

/** The name of a value's type, as the server tells it. */
export function typeNameOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

/**
 * The value has another type than the schema says, or a string another format.
 *
 * Both are told by reason `FieldValueTypeInvalid`; numbers out of a format's range are not, since
 * the server finds those by the value.
 */
function typeErrors(value: Json, schema: SchemaNode, path: string): FieldError[] {
  const found = typeNameOf(value);
  const wanted = schema.isIntOrString ? "integer,string" : schema.type;
  if (wanted === undefined) return [];
  const isRight = schema.isIntOrString
    ? found === "integer" || found === "string"
    : found === wanted || (wanted === "number" && found === "integer");
  if (!isRight) {
    const errors = [typeInvalid(path, wanted, found)];
    // The server tells a fraction twice, by type and by value.
    if (found === "number" && wanted === "integer") {
      errors.push(unplaced(`Checked value must be of type integer (default format) in ${path}`));
    }
    return errors;
  }
  const format = schema.format;
  if (typeof value === "string" && format !== undefined && !hasFormat(value, format)) {
    return [typeInvalid(path, format, value)];
  }
  return [];
}

/**
 * What `anyOf`, `oneOf`, `allOf` and `not` refuse.
 *
 * The server does not say at which field such an error is, and then adds the errors of the branch
 * that came closest, so that the user sees what would have been right.
 */
function combinatorErrors(value: Json, schema: SchemaNode, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const anyOf = branches(schema, "anyOf");
  if (anyOf.length > 0) {
    const failures = anyOf.map((branch) => openApiErrors(value, branch, path, undefined));
    if (failures.every((failure) => failure.length > 0)) {
      errors.push(unplaced(`"${path}" must validate at least one schema (anyOf)`));
      errors.push(...best(failures));
    }
  }
  const oneOf = branches(schema, "oneOf");
  if (oneOf.length > 0) {
    const failures = oneOf.map((branch) => openApiErrors(value, branch, path, undefined));
    const valid = failures.filter((failure) => failure.length === 0).length;
    if (valid !== 1) {
      const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
      errors.push(unplaced(`"${path}" must validate one and only one schema (oneOf). ${found}`));
      if (valid === 0) errors.push(...best(failures));
    }
  }
  const allOf = branches(schema, "allOf")
    .map((branch) => openApiErrors(value, branch, path, undefined));
  if (allOf.some((failure) => failure.length > 0)) {
    errors.push(unplaced(`"${path}" must validate all the schemas (allOf)`), ...allOf.flat());
  }
  const not = schema.json["not"];
  if (isJsonObject(not) && openApiErrors(value, SchemaNode.of(not), path, undefined).length === 0) {
    errors.push(unplaced(`"${path}" must not validate the schema (not)`));
  }
  return errors;
}

/** The server explains by the branch that came closest; the first of equals. */
function best(failures: readonly FieldError[][]): FieldError[] {
  return failures.reduce((least, next) => next.length < least.length ? next : least);
}

/** The schemas that the combinator `key` lists. */
function branches(schema: SchemaNode, key: string): SchemaNode[] {
  const value = schema.json[key];
  // An int-or-string's own `anyOf` of the two types says nothing new.
  if (!Array.isArray(value) || schema.isIntOrString) return [];
  return value.filter(isJsonObject).map((branch) => SchemaNode.of(branch));
}

/**
 * Limits of strings. Lengths count characters, although the message speaks of bytes; the pattern is
 * only tried on a string of a right length, as the server does.
 */
function stringErrors(value: string, schema: SchemaNode, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const length = [...value].length;
  const maxLength = schema.json["maxLength"];
  if (typeof maxLength === "number" && length > maxLength) {
    errors.push(tooLong(path, maxLength));
  }
  const minLength = schema.json["minLength"];
  if (typeof minLength === "number" && length < minLength) {
    errors.push(invalid(path, value, `should be at least ${minLength} chars long`));
  }
  const pattern = schema.json["pattern"];
  if (errors.length === 0 && typeof pattern === "string" && !goPattern(pattern).test(value)) {
    errors.push(invalid(path, value, `should match '${pattern}'`));
  }
  return errors;
}

/** Limits of numbers, in the server's order: what it must be a multiple of comes first. */
function numberErrors(value: number, schema: SchemaNode, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum } = schema.json;
  const format = schema.format;
  if (format === "int32" && Number.isInteger(value) && value !== (value | 0)) {
    errors.push(unplaced(`Checked value must be of type integer with format int32 in ${path}`));
  }
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf)) {
    errors.push(invalid(path, value, `should be a multiple of ${multipleOf}`));
  }
  if (typeof maximum === "number") {
    if (exclusiveMaximum === true && value >= maximum) {
      errors.push(invalid(path, value, `should be less than ${maximum}`));
    } else if (value > maximum) {
      errors.push(invalid(path, value, `should be less than or equal to ${maximum}`));
    }
  }
  if (typeof minimum === "number") {
    if (exclusiveMinimum === true && value <= minimum) {
      errors.push(invalid(path, value, `should be greater than ${minimum}`));
    } else if (value < minimum) {
      errors.push(invalid(path, value, `should be greater than or equal to ${minimum}`));
    }
  }
  return errors;
}

/** True if `value` is a whole number of times `factor`. */
function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  // Decimal fractions such as 0.3 / 0.1 miss the integer by a rounding error.
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

/** Items first, in their order, then how many there are. */
function arrayErrors(
  items: readonly Json[],
  schema: SchemaNode,
  path: string,
  old: Json | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  const itemSchema = schema.items;
  if (itemSchema !== undefined) {
    const oldItems = oldItemsByKey(schema, old);
    items.forEach((item, index) => {
      const oldItem = oldItems?.get(itemKey(item, schema) ?? "");
      errors.push(...openApiErrors(item, itemSchema, `${path}[${index}]`, oldItem));
    });
  }
  const { minItems, maxItems } = schema.json;
  if (typeof minItems === "number" && items.length < minItems) {
    errors.push(invalid(path, items.length, `should have at least ${minItems} items`));
  }
  if (typeof maxItems === "number" && items.length > maxItems) {
    errors.push(tooMany(path, items.length, maxItems));
  }
  return errors;
}

/** Only items of `map` lists have an identity by which an old one can be found. */
export function oldItemsByKey(
  schema: SchemaNode,
  old: Json | undefined,
): Map<string, Json> | undefined {
  if (schema.listType !== "map" || !Array.isArray(old)) return undefined;
  return new Map(old.map((item) => [itemKey(item, schema) ?? "", item]));
}

/** The value is none of those that are listed; told also of a value whose type is wrong. */
function enumErrors(value: Json, schema: SchemaNode, path: string): FieldError[] {
  const allowed = schema.json["enum"];
  if (!Array.isArray(allowed) || allowed.some((each) => jsonEqual(each, value))) return [];
  return [unsupportedField(path, value, allowed.map((each) => String(each)))];
}

/**
 * Members by name, then what is missing, then how many there are.
 *
 * The server takes members in no fixed order; ours is sorted, so that the same object always gets
 * the same answer.
 */
function objectErrors(
  object: JsonObject,
  schema: SchemaNode,
  path: string,
  old: Json | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(object).sort()) {
    const member = schema.member(key);
    const value = memberOf(object, key);
    if (member === undefined || value === undefined) continue;
    const oldMember = isJsonObject(old) ? memberOf(old, key) : undefined;
    errors.push(...openApiErrors(value, member, joined(path, key), oldMember));
  }
  for (const name of schema.required) {
    if (!Object.hasOwn(object, name)) errors.push(requiredField(joined(path, name)));
  }
  const { minProperties, maxProperties } = schema.json;
  const count = Object.keys(object).length;
  if (typeof minProperties === "number" && count < minProperties) {
    errors.push(invalid(path, count, `should have at least ${minProperties} properties`));
  }
  if (typeof maxProperties === "number" && count > maxProperties) {
    errors.push(tooMany(path, count, maxProperties));
  }
  return errors;
}

/** The path of the member `name` of what is at `path`; the whole object has the empty path. */
function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** The value breaks a limit; `detail` ends the sentence that begins with the path. */
function invalid(path: string, value: Json, detail: string): FieldError {
  return {
    reason: "FieldValueInvalid",
    field: path,
    message: `Invalid value: ${JSON.stringify(value)}: ${path} in body ${detail}`,
  };
}

/** The value has the type or, for a string, the text `found` instead of `wanted`. */
function typeInvalid(path: string, wanted: string, found: string): FieldError {
  const quoted = JSON.stringify(found);
  return {
    reason: "FieldValueTypeInvalid",
    field: path,
    message: `Invalid value: ${quoted}: ${path} in body must be of type ${wanted}: ${quoted}`,
  };
}

/** An error for which the server names no field and no value. */
function unplaced(detail: string): FieldError {
  return {
    reason: "FieldValueInvalid",
    field: NO_FIELD,
    message: `Invalid value: "": ${detail}`,
  };
}

/**
 * The string has more than `max` characters; the server leaves the value out, as it may be huge.
 */
function tooLong(path: string, max: number): FieldError {
  return {
    reason: "FieldValueTooLong",
    field: path,
    message: `Too long: may not be more than ${max} byte${max === 1 ? "" : "s"}`,
  };
}

/** The array or object has `count` entries instead of at most `max`. */
function tooMany(path: string, count: number, max: number): FieldError {
  return {
    reason: "FieldValueTooMany",
    field: path,
    message: `Too many: ${count}: must have at most ${max} item${max === 1 ? "" : "s"}`,
  };
}

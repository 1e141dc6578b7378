/**
 * Is a CustomResourceDefinition's schema structural? With the API server's errors.
 *
 * Structural means: every value's type is said where it stands, once, outside of the combinators
 * (`allOf`, `anyOf`, `oneOf`, `not`), so that pruning and defaulting need not guess.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from "./field_errors.ts";
import { goPattern } from "./go_pattern.ts";
import { OBJECT_META } from "./object_meta.ts";
import { SchemaNode } from "./schema_node.ts";
import { defaultObject, pruneObject } from "./schema_prune.ts";
import { openApiErrors } from "./schema_validate.ts";

/** Where the server says the schema is when all versions share it. */
export const SCHEMA_PATH = "spec.validation.openAPIV3Schema";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];

/** Members that may stand outside of the combinators only. */
const NOT_IN_COMBINATORS = [
  "type",
  "title",
  "description",
  "default",
  "nullable",
  "additionalProperties",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
];

/** Everything that is wrong with `schema`, which stands at `path`; empty if it is structural. */
export function structuralErrors(schema: JsonObject, path: string): FieldError[] {
  if (schema["type"] === undefined) {
    return [requiredField(`${path}.type`, "must not be empty at the root")];
  }
  if (schema["type"] !== "object") {
    return [invalidField(`${path}.type`, schema["type"], "must be object at the root")];
  }
  const errors = [...metadataErrors(schema, path), ...nodeErrors(schema, path)];
  // Defaults can only be judged by a schema that is right otherwise.
  return errors.length > 0 ? errors : defaultErrors(schema, path);
}

/** A schema may constrain the name of its objects and nothing else of their metadata. */
function metadataErrors(schema: JsonObject, path: string): FieldError[] {
  const metadata = members(schema["properties"])["metadata"];
  if (!isJsonObject(metadata)) return [];
  const others = Object.keys(members(metadata["properties"]))
    .filter((name) => name !== "name" && name !== "generateName");
  return others.length === 0 ? [] : [forbiddenField(
    `${path}.properties[metadata]`,
    "must not specify anything other than name and generateName, but metadata is implicitly " +
      "specified",
  )];
}

/** Errors at and below one place that is outside of combinators. */
function nodeErrors(schema: JsonObject, path: string): FieldError[] {
  const errors = [
    ...plainErrors(schema, path),
    ...typeErrors(schema, path),
    ...extensionErrors(schema, path),
    ...listErrors(schema, path),
    ...combinatorErrors(schema, path),
  ];
  for (const [name, property] of Object.entries(members(schema["properties"]))) {
    const at = `${path}.properties[${name}]`;
    if (!isJsonObject(property)) continue;
    errors.push(...untyped(property, at, "specified object fields"), ...nodeErrors(property, at));
  }
  for (
    const [key, what] of [
      ["items", "specified array items"],
      ["additionalProperties", "specified object fields"],
    ] as const
  ) {
    const child = schema[key];
    if (!isJsonObject(child)) continue;
    const at = `${path}.${key}`;
    errors.push(...untyped(child, at, what), ...nodeErrors(child, at));
  }
  return errors;
}

/** Errors that are wrong in any place, also in a combinator. */
function plainErrors(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (schema["$ref"] !== undefined) {
    errors.push(forbiddenField(`${path}.$ref`, "$ref is not supported"));
  }
  if (schema["uniqueItems"] === true) {
    errors.push(forbiddenField(
      `${path}.uniqueItems`,
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    ));
  }
  if (Array.isArray(schema["items"])) {
    errors.push(
      forbiddenField(`${path}.items`, "items must be a schema object and not an array"),
    );
  }
  const pattern = schema["pattern"];
  if (typeof pattern === "string") {
    try {
      goPattern(pattern);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      errors.push(invalidField(
        `${path}.pattern`,
        pattern,
        `must be a valid regular expression, but isn't: ${why}`,
      ));
    }
  }
  return errors;
}

/** The type is one that exists, and what belongs to a type stands with it. */
function typeErrors(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const type = schema["type"];
  if (type !== undefined && !(typeof type === "string" && TYPES.includes(type))) {
    errors.push(unsupportedField(`${path}.type`, type, TYPES));
  }
  if (type === "array" && schema["items"] === undefined) {
    errors.push(requiredField(`${path}.items`, "must be specified"));
  }
  const additional = schema["additionalProperties"];
  if (schema["properties"] !== undefined && additional !== undefined && additional !== false) {
    errors.push(forbiddenField(
      `${path}.additionalProperties`,
      "additionalProperties and properties are mutual exclusive",
    ));
  }
  return errors;
}

/** Every value has a type, but for the two extensions that stand for one. */
function untyped(schema: JsonObject, path: string, what: string): FieldError[] {
  const isSaid = schema["type"] !== undefined || schema["$ref"] !== undefined ||
    schema["x-kubernetes-int-or-string"] === true ||
    schema["x-kubernetes-preserve-unknown-fields"] === true;
  return isSaid ? [] : [requiredField(`${path}.type`, `must not be empty for ${what}`)];
}

/** The extensions that say how much of a value is known. */
function extensionErrors(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const preserve = schema["x-kubernetes-preserve-unknown-fields"];
  if (preserve === false) {
    errors.push(invalidField(
      `${path}.x-kubernetes-preserve-unknown-fields`,
      preserve,
      "must be true or undefined",
    ));
  }
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  if (isEmbedded && preserve !== true && schema["properties"] === undefined) {
    errors.push(requiredField(
      `${path}.properties`,
      "must not be empty if x-kubernetes-embedded-resource is true without " +
        "x-kubernetes-preserve-unknown-fields",
    ));
  }
  const mapType = schema["x-kubernetes-map-type"];
  if (mapType !== undefined && mapType !== "atomic" && mapType !== "granular") {
    errors.push(
      unsupportedField(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]),
    );
  }
  return errors;
}

/** `x-kubernetes-list-type` stands at arrays only, and says one of three things. */
function listErrors(schema: JsonObject, path: string): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType === undefined) return [];
  if (schema["type"] !== "array") {
    return [invalidField(
      `${path}.type`,
      schema["type"] ?? "",
      "must be array if x-kubernetes-list-type is specified",
    )];
  }
  if (listType !== "atomic" && listType !== "set" && listType !== "map") {
    return [
      unsupportedField(`${path}.x-kubernetes-list-type`, listType, ["atomic", "set", "map"]),
    ];
  }
  return listType === "map" ? mapListErrors(schema, path) : [];
}

/**
 * The keys of a `map` list exist, and every item has them, by itself or by default: without all its
 * keys an item has no identity.
 */
function mapListErrors(schema: JsonObject, path: string): FieldError[] {
  const keys = schema["x-kubernetes-list-map-keys"];
  const keysPath = `${path}.x-kubernetes-list-map-keys`;
  if (!Array.isArray(keys) || keys.length === 0) {
    return [requiredField(keysPath, "must not be empty if x-kubernetes-list-type is map")];
  }
  const items = isJsonObject(schema["items"]) ? schema["items"] : {};
  const properties = members(items["properties"]);
  if (keys.some((key) => typeof key !== "string" || properties[key] === undefined)) {
    return [invalidField(keysPath, keys, "entries must all be names of item properties")];
  }
  const required = Array.isArray(items["required"]) ? items["required"] : [];
  return keys.flatMap((key) => {
    const property = typeof key === "string" ? properties[key] : undefined;
    const hasDefault = isJsonObject(property) && property["default"] !== undefined;
    return required.includes(key) || hasDefault ? [] : [requiredField(
      `${path}.items.properties[${String(key)}].default`,
      "this property is in x-kubernetes-list-map-keys, so it must have a default or be a " +
        "required property",
    )];
  });
}

/**
 * What stands inside of combinators may constrain, but not describe: pruning does not look there.
 */
function combinatorErrors(schema: JsonObject, path: string): FieldError[] {
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  return [
    ...["allOf", "anyOf", "oneOf"].flatMap((key) => {
      const list = schema[key];
      if (!Array.isArray(list)) return [];
      // The one place where a combinator may speak of types is what the extension itself means.
      if (isIntOrString && (key === "anyOf" || key === "allOf")) return [];
      return list.filter(isJsonObject)
        .flatMap((branch, index) => branchErrors(branch, `${path}.${key}[${index}]`));
    }),
    ...(isJsonObject(schema["not"]) ? branchErrors(schema["not"], `${path}.not`) : []),
  ];
}

/** Errors at and below one place inside of a combinator. */
function branchErrors(branch: JsonObject, path: string): FieldError[] {
  const errors = plainErrors(branch, path);
  for (const key of NOT_IN_COMBINATORS) {
    const value = branch[key];
    if (value === undefined || value === false || value === "") continue;
    errors.push(forbiddenField(`${path}.${key}`, "must be empty to be structural"));
  }
  for (const [name, property] of Object.entries(members(branch["properties"]))) {
    if (isJsonObject(property)) {
      errors.push(...branchErrors(property, `${path}.properties[${name}]`));
    }
  }
  if (isJsonObject(branch["items"])) errors.push(...branchErrors(branch["items"], `${path}.items`));
  return [...errors, ...combinatorErrors(branch, path)];
}

/** Defaults must be what the schema would accept and keep. */
function defaultErrors(schema: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const value = schema["default"];
  if (value !== undefined && value !== null) {
    errors.push(...defaultValueErrors(value, schema, path));
  }
  for (const [name, property] of Object.entries(members(schema["properties"]))) {
    if (isJsonObject(property)) {
      errors.push(...defaultErrors(property, `${path}.properties[${name}]`));
    }
  }
  for (const key of ["items", "additionalProperties"]) {
    const child = schema[key];
    if (isJsonObject(child)) errors.push(...defaultErrors(child, `${path}.${key}`));
  }
  return errors;
}

/** A default is judged as if it had been sent: it must survive pruning and be valid once filled. */
function defaultValueErrors(value: Json, schema: JsonObject, path: string): FieldError[] {
  const node = SchemaNode.of(schema);
  const field = `${path}.default`;
  const options = { objectMeta: OBJECT_META, isBuiltin: false };
  if (isJsonObject(value) && pruneObject(value, node, options).unknown.length > 0) {
    return [invalidField(field, value, "must not have unknown fields")];
  }
  const filled = isJsonObject(value) ? defaultObject(value, node) : value;
  return openApiErrors(filled, node, "", undefined).map((error) => ({
    ...error,
    field: error.field === "" || error.field.startsWith("<") ? field : `${field}.${error.field}`,
  }));
}

/** The members of `value`, none if it is no object: a malformed schema is judged elsewhere. */
function members(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

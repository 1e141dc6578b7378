/**
 * Values that don't fit the type of a built-in field. The server decodes built-in kinds into
 * structs and refuses such a value with 400 before validation, while custom resources are
 * validated.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { SchemaNode } from "./schema_node.ts";
import type { StructuralSchema } from "./structural_schema.ts";

/** Types with a decoder of their own, which accept more than their schema says. */
const OWN_DECODER = /\.(IntOrString|Quantity|Time|MicroTime|FieldsV1|RawExtension|JSON\w*)$/;

/** Bounds of the integer formats. */
const INTEGER_BITS: Readonly<Record<string, number>> = { int32: 32, int64: 64 };

/** Where the decoder is: the type whose field it fills, and the path from the root. */
interface Place {
  readonly struct: string;
  readonly path: string;
}

/**
 * The decoder's complaint about the first value of the wrong type; `undefined` if there is none.
 * The answer is 400: `Deployment in version "v1" cannot be handled as a Deployment: ` and this.
 *
 * Named string types (`v1.RestartPolicy`) are called `string`, since OpenAPI does not tell them.
 */
export function decodeError(object: JsonObject, schema: StructuralSchema): string | undefined {
  const root = schema.wholeObject;
  return objectError(object, root, { struct: goName(root).replace(/^.*\./, ""), path: "" });
}

/** The complaint about one value. Types with a decoder of their own are not judged. */
function valueError(value: Json, schema: SchemaNode, place: Place): string | undefined {
  const { type, refName } = schema;
  if (value === null || type === undefined || schema.isIntOrString) return undefined;
  if (refName !== undefined && OWN_DECODER.test(refName)) return undefined;
  const found = foundAs(value, schema);
  if (found !== undefined) {
    return `json: cannot unmarshal ${found} into Go struct field ${place.struct}.${place.path} of ` +
      `type ${goName(schema)}`;
  }
  if (typeof value === "string") return base64Error(value, schema);
  if (Array.isArray(value)) {
    const items = schema.items;
    return items && firstOf(value, (item) => valueError(item, items, place));
  }
  return isJsonObject(value)
    ? objectError(value, schema, { ...place, struct: structOf(schema) ?? place.struct })
    : undefined;
}

/** The first complaint about a member, in the order of the document, as the decoder meets them. */
function objectError(object: JsonObject, schema: SchemaNode, place: Place): string | undefined {
  return firstOf(Object.entries(object), ([name, value]) => {
    const property = schema.property(name);
    if (property !== undefined) {
      const path = place.path === "" ? name : `${place.path}.${name}`;
      return valueError(value, property, { struct: place.struct, path });
    }
    // The members of a map are told by the map's own path.
    const additional = schema.additional;
    return additional && valueError(value, additional, place);
  });
}

/** What the decoder calls a value that does not fit; `undefined` if it fits. */
function foundAs(value: Json, schema: SchemaNode): string | undefined {
  if (Array.isArray(value)) return schema.type === "array" ? undefined : "array";
  if (isJsonObject(value)) return schema.type === "object" ? undefined : "object";
  switch (typeof value) {
    case "string":
      return schema.type === "string" ? undefined : "string";
    case "boolean":
      return schema.type === "boolean" ? undefined : "bool";
    default:
      return numberFoundAs(Number(value), schema);
  }
}

/** A number that is no integer, or too large for its type, is shown with its value. */
function numberFoundAs(value: number, schema: SchemaNode): string | undefined {
  if (schema.type === "number") return undefined;
  if (schema.type !== "integer") return "number";
  const limit = 2 ** ((INTEGER_BITS[schema.format ?? ""] ?? 64) - 1);
  const fits = Number.isInteger(value) && value >= -limit && value < limit;
  return fits ? undefined : `number ${value}`;
}

/** Bytes are decoded on the way in, so that a bad text is no matter of validation. */
function base64Error(value: string, schema: SchemaNode): string | undefined {
  if (schema.format !== "byte") return undefined;
  const illegal = value.search(/[^A-Za-z0-9+/=\r\n]/);
  if (illegal >= 0) return `illegal base64 data at input byte ${illegal}`;
  return value.replaceAll(/[\r\n]/g, "").length % 4 === 0
    ? undefined
    : `illegal base64 data at input byte ${value.length - value.length % 4}`;
}

/** The Go type of a field. */
function goName(schema: SchemaNode): string {
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? "[]uint8" : "string";
    case "boolean":
      return "bool";
    case "integer":
      return schema.format ?? "int64";
    case "number":
      return "float64";
    case "array":
      return `[]${schema.items === undefined ? "interface {}" : goName(schema.items)}`;
    default:
      if (schema.additional !== undefined) return `map[string]${goName(schema.additional)}`;
      // `io.k8s.api.apps.v1.DeploymentSpec` is v1.DeploymentSpec in Go.
      return schema.refName?.split(".").slice(-2).join(".") ?? "map[string]interface {}";
  }
}

/** The struct whose fields come next; maps and free objects have none. */
function structOf(schema: SchemaNode): string | undefined {
  return schema.hasProperties ? schema.refName?.replace(/^.*\./, "") ?? "ObjectMeta" : undefined;
}

/** The first complaint of several. */
function firstOf<T>(
  items: readonly T[],
  look: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const found = look(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

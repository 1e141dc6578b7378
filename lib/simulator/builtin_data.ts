/**
 * The generated OpenAPI of built-in kinds, unpacked on first use and kept.
 *
 * Two parts, since simulations need the structure only and the descriptions are eight times as
 * long. Unpacking is synchronous on purpose: a stream's timing would be the machine's. The data is
 * part of the module graph and thereby of a compiled binary; nothing is read at run time.
 *
 * Regenerate with `tools/gen_builtin_schemas.ts`.
 *
 * @module
 */

import { gunzipSync } from "node:zlib";
import { isJsonObject, type Json, type JsonObject, setMember } from "../core/json.ts";
import descriptions from "./builtin_descriptions.json" with { type: "json" };
import schemas from "./builtin_schemas.json" with { type: "json" };

/** Version of the server from which the data was generated, such as `v1.36.3`. */
export const BUILTIN_SERVER_VERSION: string = schemas.serverVersion;

let structure: JsonObject | undefined;
let described: JsonObject | undefined;

/** Schemas without descriptions by their full name, e.g. `io.k8s.api.apps.v1.Deployment`. */
export function builtinStructure(): JsonObject {
  structure ??= unpacked(schemas.gzipBase64);
  return structure;
}

/** The same with descriptions, for documents that people read. */
export function builtinDescribed(): JsonObject {
  if (described === undefined) {
    const texts = unpackedJson(descriptions.gzipBase64);
    const iterator = (Array.isArray(texts) ? texts : []).values();
    described = {};
    for (const [name, schema] of Object.entries(builtinStructure())) {
      setMember(described, name, withDescriptions(schema, iterator));
    }
  }
  return described;
}

/**
 * `schema` with a description put first in each of its objects for which `texts` has one. The
 * generator writes one entry for each object, in this very order; `null` for none.
 */
export function withDescriptions(schema: Json, texts: Iterator<Json>): Json {
  if (Array.isArray(schema)) return schema.map((item) => withDescriptions(item, texts));
  if (!isJsonObject(schema)) return schema;
  const result: JsonObject = {};
  const text = texts.next();
  if (text.done !== true && typeof text.value === "string") result["description"] = text.value;
  for (const [key, value] of Object.entries(schema)) {
    setMember(result, key, withDescriptions(value, texts));
  }
  return result;
}

/**
 * The reverse of {@linkcode withDescriptions}: takes descriptions out and appends them to `texts`.
 */
export function withoutDescriptions(schema: Json, texts: Json[], isNames = false): Json {
  if (Array.isArray(schema)) return schema.map((item) => withoutDescriptions(item, texts));
  if (!isJsonObject(schema)) return schema;
  const { description } = schema;
  // Among property names, "description" is one of them and no text about them.
  const isText = !isNames && typeof description === "string";
  texts.push(isText ? description : null);
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "description" && isText) continue;
    setMember(result, key, withoutDescriptions(value, texts, key === "properties" && !isNames));
  }
  return result;
}

function unpacked(base64: string): JsonObject {
  const value = unpackedJson(base64);
  return isJsonObject(value) ? value : {};
}

function unpackedJson(base64: string): Json {
  return JSON.parse(new TextDecoder().decode(gunzipSync(Uint8Array.fromBase64(base64))));
}

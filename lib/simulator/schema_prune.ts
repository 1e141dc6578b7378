/**
 * What the API server does to a custom resource before validating it: unknown fields go, defaults
 * come. Values are not changed in place: untouched parts are shared, and may be frozen.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject, memberOf, setMember } from "../core/json.ts";
import type { SchemaNode } from "./schema_node.ts";

/** What pruning found, and what is left. */
export interface Pruned<T extends Json> {
  readonly value: T;
  /** Paths of what went, such as `spec.items[0].extra`, sorted as the server sorts its warnings. */
  readonly unknown: readonly string[];
}

/** Members that every object has whether or not its schema says so. */
const OBJECT_MEMBERS = new Set(["apiVersion", "kind", "metadata"]);

/** Options of {@linkcode pruneObject}. */
export interface PruneOptions {
  /** The schema of `metadata`. */
  readonly objectMeta: SchemaNode;
  /**
   * A built-in kind: where its schema says nothing of members, any are allowed (a struct has no
   * such place), and unknown fields are told in the order of the document.
   */
  readonly isBuiltin: boolean;
}

/** `object` without the fields that `schema` does not know. */
export function pruneObject(
  object: JsonObject,
  schema: SchemaNode,
  options: PruneOptions,
): Pruned<JsonObject> {
  const pruner = new Pruner(options);
  const value = pruner.members(object, schema, "", true);
  const [own, embedded] = [pruner.metadataPaths, pruner.embeddedMetadataPaths];
  if (options.isBuiltin) return { value, unknown: pruner.paths };
  return { value, unknown: [...own, ...pruner.paths.sort(), ...embedded] };
}

/**
 * One pass over one object. Collects the paths of what goes, by the three groups in which the
 * server reports them.
 */
class Pruner {
  readonly paths: string[] = [];
  /** The server reports these first, since it decodes metadata apart from the rest. */
  readonly metadataPaths: string[] = [];
  /** And these last. */
  readonly embeddedMetadataPaths: string[] = [];
  readonly #options: PruneOptions;

  constructor(options: PruneOptions) {
    this.#options = options;
  }

  /** `schema` is `undefined` under `additionalProperties: true`, where the server knows nothing. */
  value(value: Json, schema: SchemaNode | undefined, path: string): Json {
    if (Array.isArray(value)) {
      const items = schema?.items;
      if (schema !== undefined && items === undefined && schema.preservesUnknown) return value;
      return mapItems(value, (item, index) => this.value(item, items, `${path}[${index}]`));
    }
    if (!isJsonObject(value)) return value;
    return this.members(value, schema, path, schema?.isEmbeddedResource === true);
  }

  /** The known members of `object`. `isResource`: it has metadata, said by its schema or not. */
  members(
    object: JsonObject,
    schema: SchemaNode | undefined,
    path: string,
    isResource: boolean,
  ): JsonObject {
    return mapMembers(object, (key, value) => {
      const at = path === "" ? key : `${path}.${key}`;
      if (isResource && OBJECT_MEMBERS.has(key)) {
        return key === "metadata" ? this.#metadata(value, at) : value;
      }
      const member = schema?.member(key);
      if (member !== undefined) return this.value(value, member, at);
      if (schema?.allowsAnyAdditional === true) return this.value(value, undefined, at);
      if (schema?.preservesUnknown === true) return value;
      if (this.#options.isBuiltin && schema?.isOpaque === true) return value;
      this.paths.push(at);
      return undefined;
    });
  }

  /** Metadata is decoded into a struct: unknown fields go, known ones are not looked into. */
  #metadata(value: Json, path: string): Json {
    const isEmbedded = path !== "metadata";
    const found = this.#options.isBuiltin
      ? this.paths
      : isEmbedded
      ? this.embeddedMetadataPaths
      : this.metadataPaths;
    if (value === null && isEmbedded) return {};
    if (!isJsonObject(value)) return value;
    return mapMembers(value, (key, member) => {
      if (this.#options.objectMeta.property(key) !== undefined) return member;
      found.push(`${path}.${key}`);
      return undefined;
    });
  }
}

/** Options of {@linkcode defaultObject}. */
export interface DefaultOptions {
  /**
   * Leaves `null`s that have no default. The server drops them from what create and update send,
   * but not from the result of a server-side apply's merge, which validation then refuses.
   *
   * @default {false}
   */
  readonly keepsNulls?: boolean;
}

/** `object` with defaults, and without `null`s where `schema` has no use for them. */
export function defaultObject(
  object: JsonObject,
  schema: SchemaNode,
  { keepsNulls = false }: DefaultOptions = {},
): JsonObject {
  const value = withDefaults(object, schema, keepsNulls);
  return isJsonObject(value) ? value : object;
}

/**
 * `value` with defaults filled in, from the outside in: a default may itself lack defaulted
 * members.
 */
function withDefaults(value: Json, schema: SchemaNode, keepsNulls: boolean): Json {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return value;
    return mapItems(value, (item) => withDefaults(item, items, keepsNulls));
  }
  if (!isJsonObject(value)) return value;

  const filled = mapMembers(value, (key, member) => {
    const memberSchema = schema.member(key);
    if (memberSchema === undefined) return member;
    // A null that is no value of its own means "not set", as in a Go struct.
    if (member === null && !memberSchema.nullable) {
      return keepsNulls && memberSchema.default === undefined ? null : undefined;
    }
    return withDefaults(member, memberSchema, keepsNulls);
  });
  let result: JsonObject | undefined;
  for (const [name, property] of schema.propertiesWithDefault) {
    if (memberOf(filled, name) !== undefined) continue;
    result ??= { ...filled };
    setMember(result, name, withDefaults(property.default ?? null, property, keepsNulls));
  }
  return result ?? filled;
}

/** Maps items; the same array if none changed. */
export function mapItems(
  items: Json[],
  change: (item: Json, index: number) => Json,
): Json[] {
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? items : changed;
}

/** Maps members, `undefined` drops one; the same object if none changed. */
export function mapMembers(
  object: JsonObject,
  change: (key: string, value: Json) => Json | undefined,
): JsonObject {
  const changed: JsonObject = {};
  let isSame = true;
  for (const [key, value] of Object.entries(object)) {
    const next = change(key, value);
    if (next !== value) isSame = false;
    if (next !== undefined) setMember(changed, key, next);
  }
  return isSame ? object : changed;
}

/**
 * One place of a schema, of a CRD or of a built-in kind alike: the raw OpenAPI with its `$ref`s
 * resolved when asked for, and the few questions that pruning, validation, field ownership and
 * strategic patches put to it.
 *
 * Lazy, because built-in schemas refer to themselves (`JSONSchemaProps`) and because a run touches
 * only a fraction of them. Nodes never change; children are made once.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject, memberOf } from "../core/json.ts";

/** What `x-kubernetes-list-type` may say; `atomic` is the default. */
export type ListType = "atomic" | "set" | "map";

/** Gives the schema that a `$ref` names. */
export type ResolveRef = (ref: string) => JsonObject;

/** A place of a schema. */
export class SchemaNode {
  /** The OpenAPI at this place, without `$ref`. */
  readonly json: JsonObject;
  /** Last part of the `$ref` that led here, e.g. `io.k8s.api.apps.v1.DeploymentSpec`. */
  readonly refName: string | undefined;
  /** `object`, `array`, `string`, `integer`, `number`, `boolean`; `undefined` if it is not said. */
  readonly type: string | undefined;
  /** The `format`, such as `int32` or `date-time`. */
  readonly format: string | undefined;
  /** Names of the declared properties, in the schema's order. */
  readonly propertyNames: readonly string[];
  /** True if it declares properties, possibly none of them. */
  readonly hasProperties: boolean;
  readonly #resolve: ResolveRef;
  readonly #propertyJson: JsonObject;
  readonly #properties = new Map<string, SchemaNode>();
  #items: SchemaNode | undefined;
  #additional: SchemaNode | undefined;
  #withDefaults: readonly (readonly [string, SchemaNode])[] | undefined;

  private constructor(json: JsonObject, resolve: ResolveRef, refName: string | undefined) {
    const { type, format, properties } = json;
    this.json = json;
    this.refName = refName;
    this.type = typeof type === "string" ? type : undefined;
    this.format = typeof format === "string" ? format : undefined;
    this.hasProperties = isJsonObject(properties);
    this.#propertyJson = isJsonObject(properties) ? properties : {};
    this.propertyNames = Object.keys(this.#propertyJson);
    this.#resolve = resolve;
  }

  /** The node of `json`, or of what it refers to. */
  static of(json: JsonObject, resolve: ResolveRef = refuseRef): SchemaNode {
    const { merged, refName } = resolveRefs(json, resolve);
    return new SchemaNode(merged, resolve, refName);
  }

  /** The declared property `name`. */
  property(name: string): SchemaNode | undefined {
    const known = this.#properties.get(name);
    if (known !== undefined) return known;
    const json = memberOf(this.#propertyJson, name);
    if (!isJsonObject(json)) return undefined;
    const node = SchemaNode.of(json, this.#resolve);
    this.#properties.set(name, node);
    return node;
  }

  /** The declared properties that have a default. */
  get propertiesWithDefault(): readonly (readonly [string, SchemaNode])[] {
    this.#withDefaults ??= this.propertyNames.flatMap((name) => {
      const node = this.property(name);
      return node?.default === undefined ? [] : [[name, node] as const];
    });
    return this.#withDefaults;
  }

  /** This node with more declared properties, given as OpenAPI. */
  withProperties(properties: JsonObject): SchemaNode {
    const json = { ...this.json, properties: { ...this.#propertyJson, ...properties } };
    return new SchemaNode(json, this.#resolve, this.refName);
  }

  /** The schema of an array's items. */
  get items(): SchemaNode | undefined {
    if (this.json["items"] === undefined) return undefined;
    return this.#items ??= this.#child("items");
  }

  /** The schema of undeclared members, if it is a schema. */
  get additional(): SchemaNode | undefined {
    if (this.json["additionalProperties"] === undefined) return undefined;
    return this.#additional ??= this.#child("additionalProperties");
  }

  /** True if any undeclared member is allowed (`additionalProperties: true`). */
  get allowsAnyAdditional(): boolean {
    return this.json["additionalProperties"] === true;
  }

  /** The schema of the member `name`: declared, else that of undeclared members. */
  member(name: string): SchemaNode | undefined {
    return this.property(name) ?? this.additional;
  }

  /** Names of the required members. */
  get required(): readonly string[] {
    return strings(this.json["required"]);
  }

  /** True if `null` is a value of its own here. */
  get nullable(): boolean {
    return this.json["nullable"] === true;
  }

  /** The default, if there is one that is not `null`. */
  get default(): Json | undefined {
    return this.json["default"] ?? undefined;
  }

  /** True if unknown members are kept. */
  get preservesUnknown(): boolean {
    return this.json["x-kubernetes-preserve-unknown-fields"] === true;
  }

  /** True if the value is a whole Kubernetes object. */
  get isEmbeddedResource(): boolean {
    return this.json["x-kubernetes-embedded-resource"] === true;
  }

  /** True if both integers and strings are allowed. */
  get isIntOrString(): boolean {
    return this.json["x-kubernetes-int-or-string"] === true || this.format === "int-or-string";
  }

  /** How items are told apart. */
  get listType(): ListType {
    const type = this.json["x-kubernetes-list-type"];
    return type === "set" || type === "map" ? type : "atomic";
  }

  /** Names of the item fields that form the key of a `map` list. */
  get listMapKeys(): readonly string[] {
    return strings(this.json["x-kubernetes-list-map-keys"]);
  }

  /** True if it says nothing of what is inside: no properties, no schema of others, no items. */
  get isOpaque(): boolean {
    return !this.hasProperties && this.additional === undefined && this.items === undefined;
  }

  /** How a strategic merge patch treats this place. */
  get patchStrategies(): readonly string[] {
    return this.#text("x-kubernetes-patch-strategy")?.split(",") ?? [];
  }

  /** Name of the item field by which a strategic merge patch tells items apart. */
  get patchMergeKey(): string | undefined {
    return this.#text("x-kubernetes-patch-merge-key");
  }

  /** True if the object has one owner as a whole (`x-kubernetes-map-type: atomic`). */
  get isAtomicMap(): boolean {
    return this.json["x-kubernetes-map-type"] === "atomic";
  }

  /** True if this can only be an object. */
  get isObject(): boolean {
    return this.type === "object" || this.hasProperties;
  }

  /** True if this can only be an array. */
  get isArray(): boolean {
    return this.type === "array";
  }

  #text(key: string): string | undefined {
    const value = this.json[key];
    return typeof value === "string" ? value : undefined;
  }

  #child(key: string): SchemaNode | undefined {
    const json = this.json[key];
    return isJsonObject(json) ? SchemaNode.of(json, this.#resolve) : undefined;
  }
}

/** `{allOf: [{$ref}], default}`, as the server writes a described reference, becomes one schema. */
function resolveRefs(
  json: JsonObject,
  resolve: ResolveRef,
): { merged: JsonObject; refName: string | undefined } {
  const wrapped = json["allOf"];
  const only = Array.isArray(wrapped) && wrapped.length === 1 ? wrapped[0] : undefined;
  const reference = isJsonObject(only) && only["$ref"] !== undefined ? only["$ref"] : json["$ref"];
  if (typeof reference !== "string") return { merged: json, refName: undefined };
  const { $ref: _ref, allOf: _allOf, ...around } = json;
  return {
    merged: { ...resolve(reference), ...around },
    refName: reference.slice(reference.lastIndexOf("/") + 1),
  };
}

function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function refuseRef(ref: string): JsonObject {
  throw new SyntaxError(`Cannot follow "${ref}": a structural schema has no references`);
}

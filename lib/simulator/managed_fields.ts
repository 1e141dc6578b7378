/**
 * Field ownership: who manages which fields of an object (`metadata.managedFields`), and how it
 * moves when somebody writes without server-side apply.
 *
 * A writer owns what it added or changed; everyone else loses what was changed or removed. Entries
 * without fields are dropped. Identity (name, uid, versions, times of the server) is never owned.
 *
 * Differs from the server: an entry of another apiVersion is not converted, but taken as if it
 * spoke of this one.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { deepFreeze, type ManagedFieldsEntry } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import { FieldSet } from "./field_set.ts";
import type { SchemaNode } from "./schema_node.ts";
import type { StructuralSchema } from "./structural_schema.ts";
import { compareFields, type Comparison } from "./typed_value.ts";

/** Options of {@linkcode trackUpdate}. */
export interface TrackUpdateOptions {
  /** The stored object with its managedFields; absent on create. */
  readonly before: JsonObject | undefined;
  /** The object to be stored (defaulted, pruned), with the managedFields that the request sent. */
  readonly after: JsonObject;
  /** Name of the writer (`fieldManager`). */
  readonly manager: string;
  /** Schema of the version in which the request speaks. */
  readonly schema: StructuralSchema;
  /** `status`, `scale`, …; absent for the object itself. */
  readonly subresource?: string | undefined;
  /** True if the kind has a status subresource: then only that one owns `status`. */
  readonly hasStatus: boolean;
  /** Wall-clock milliseconds since 1970. */
  readonly nowMs: number;
}

/** One manager's fields. */
export interface Ownership {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, whole seconds; absent if no write by this manager ever changed anything. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Most `Update` entries of one object; older ones are folded into one, as the server does. */
const UPDATE_MANAGERS_MAX = 10;

/** Manager of the folded entries. */
const FOLDED_MANAGER = "ancient-changes";

/** Fields that nobody owns. */
const UNOWNED = FieldSet.parse({
  "f:apiVersion": {},
  "f:kind": {},
  "f:metadata": {
    ".": {},
    "f:name": {},
    "f:namespace": {},
    "f:creationTimestamp": {},
    "f:selfLink": {},
    "f:uid": {},
    "f:generation": {},
    "f:managedFields": {},
    "f:resourceVersion": {},
  },
});

/**
 * The managedFields to store with `after`. An object that has none yet stays without: tracking
 * starts at creation, or with the first server-side apply. `managedFields: [{}]` in `after` resets.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { StructuralSchema } from "./structural_schema.ts";
 * const schema = StructuralSchema.compile({
 *   type: "object",
 *   properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
 * });
 * const [entry] = trackUpdate({
 *   before: undefined,
 *   after: { apiVersion: "x.io/v1", kind: "X", metadata: { name: "n" }, spec: { a: "b" } },
 *   manager: "me",
 *   schema,
 *   hasStatus: true,
 *   nowMs: 0,
 * });
 * deepStrictEqual(entry?.fieldsV1, { "f:spec": { ".": {}, "f:a": {} } });
 * ```
 */
export function trackUpdate(options: TrackUpdateOptions): ManagedFieldsEntry[] {
  const { before, after } = options;
  const entries = entriesToKeep(before, after, options.subresource !== undefined);
  if (before !== undefined && entries.length === 0) return [];
  return encodeOwnership(ownershipAfterUpdate(entries, options));
}

/** The ownership after an update by `manager` that turned `before` into `after`. */
export function ownershipAfterUpdate(
  entries: readonly Ownership[],
  { before, after, manager, schema, subresource, hasStatus, nowMs }: TrackUpdateOptions,
): Ownership[] {
  const compared = ownedComparison(
    compareFields(
      withoutManagedFields(before ?? emptyObject(after, schema)),
      withoutManagedFields(after),
      schema.wholeObject,
    ),
    { subresource, hasStatus },
  );
  const changed = compared.added.union(compared.modified);
  const lost = changed.union(compared.removed);
  const kept = entries.map((entry) => ({ ...entry, fields: entry.fields.difference(lost) }));
  const gained = changed.difference(UNOWNED);
  if (gained.isEmpty) return capUpdates(kept.filter(({ fields }) => !fields.isEmpty));

  const identity = {
    manager,
    operation: "Update" as const,
    apiVersion: textAt(after, "apiVersion"),
    subresource: subresource ?? "",
  };
  const previous = kept.find((entry) => isSameManager(entry, identity));
  const mine: Ownership = {
    ...identity,
    time: timeOf(nowMs),
    fields: gained.union(previous?.fields ?? FieldSet.EMPTY),
  };
  const others = kept.filter((entry) => entry !== previous && !entry.fields.isEmpty);
  return capUpdates([...others, mine]);
}

/** What a comparison says about the fields that may be owned through this endpoint. */
export function ownedComparison(
  { added, modified, removed }: Comparison,
  scope: { readonly subresource?: string | undefined; readonly hasStatus: boolean },
): Comparison {
  return {
    added: ownedFields(added, scope),
    modified: ownedFields(modified, scope),
    removed: ownedFields(removed, scope),
  };
}

/**
 * Only the status through `/status`; never the status through the object itself, if it has both.
 */
export function ownedFields(
  fields: FieldSet,
  { subresource, hasStatus }: {
    readonly subresource?: string | undefined;
    readonly hasStatus: boolean;
  },
): FieldSet {
  if (subresource === "status") return fields.only((element) => element === "f:status");
  return hasStatus ? fields.only((element) => element !== "f:status") : fields;
}

/** `fields` without those that nobody owns. */
export function withoutIdentity(fields: FieldSet): FieldSet {
  return fields.difference(UNOWNED);
}

/** True if both are the same manager: the version counts for updates only. */
export function isSameManager(
  a: Pick<Ownership, "manager" | "operation" | "apiVersion" | "subresource">,
  b: Pick<Ownership, "manager" | "operation" | "apiVersion" | "subresource">,
): boolean {
  return a.manager === b.manager && a.operation === b.operation &&
    a.subresource === b.subresource &&
    (a.operation === "Apply" || a.apiVersion === b.apiVersion);
}

/** Reads `metadata.managedFields`. Entries that make no sense are left out. */
export function decodeOwnership(object: JsonObject | undefined): Ownership[] {
  return rawEntries(object).flatMap((entry) => {
    const operation = entry["operation"];
    if (operation !== "Apply" && operation !== "Update") return [];
    const time = textAt(entry, "time");
    return [{
      manager: textAt(entry, "manager"),
      operation,
      apiVersion: textAt(entry, "apiVersion"),
      subresource: textAt(entry, "subresource"),
      time: time === "" ? undefined : time,
      fields: FieldSet.parse(entry["fieldsV1"]),
    }];
  });
}

/** The wire form, in the server's order: applied before updated, then by time and name. */
export function encodeOwnership(entries: readonly Ownership[]): ManagedFieldsEntry[] {
  const rank = ({ operation, time, manager, apiVersion, subresource }: Ownership) => [
    operation,
    time ?? "",
    manager,
    apiVersion,
    subresource,
  ];
  return [...entries].sort((a, b) => compareTexts(rank(a), rank(b))).map((entry) => ({
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: "FieldsV1",
    fieldsV1: entry.fields.toJson(),
    ...(entry.subresource === "" ? {} : { subresource: entry.subresource }),
  }));
}

/** `object` without `metadata.managedFields`, which are never a field of their own. */
export function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = object["metadata"];
  if (!isJsonObject(metadata) || metadata["managedFields"] === undefined) return object;
  const { managedFields: _managedFields, ...rest } = metadata;
  return { ...object, metadata: rest };
}

/**
 * What a new object is compared with. The server decodes built-in kinds into structs, so that their
 * parts (`spec`, `spec.template`, …) exist from the start and belong to nobody; the schema shows
 * them by the default `{}`, and members that are always written by `required`.
 */
export function emptyObject(
  { apiVersion, kind }: JsonObject,
  schema: StructuralSchema,
): JsonObject {
  const identity: JsonObject = {};
  if (apiVersion !== undefined) identity["apiVersion"] = apiVersion;
  if (kind !== undefined) identity["kind"] = kind;
  return schema.isBuiltin ? { ...zeroObject(schema), ...identity } : identity;
}

/** Made once for each kind, since every create needs it. */
const zeroObjects = new WeakMap<StructuralSchema, JsonObject>();

/** The kept zero value of a built-in kind. */
function zeroObject(schema: StructuralSchema): JsonObject {
  let zero = zeroObjects.get(schema);
  if (zero === undefined) {
    zero = deepFreeze(zeroStruct(schema.root));
    zeroObjects.set(schema, zero);
  }
  return zero;
}

/** A struct whose fields nobody has set, as JSON. */
function zeroStruct(schema: SchemaNode): JsonObject {
  const object: JsonObject = {};
  for (const name of schema.propertyNames) {
    const member = schema.property(name);
    if (member === undefined) continue;
    const byDefault = member.default;
    if (isJsonObject(byDefault)) object[name] = zeroStruct(member);
    else if (schema.required.includes(name)) object[name] = byDefault ?? null;
  }
  return object;
}

/**
 * A request may rewrite the entries, as clients that migrate managers do; or reset them by `[{}]`.
 */
function entriesToKeep(
  before: JsonObject | undefined,
  after: JsonObject,
  isSubresource: boolean,
): Ownership[] {
  const sent = rawEntries(after);
  if (isSubresource || sent.length === 0) return decodeOwnership(before);
  const isReset = sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0;
  return isReset ? [] : decodeOwnership(after);
}

/** Folds the oldest update entries together until there are no more than the limit. */
function capUpdates(entries: Ownership[]): Ownership[] {
  const updates = entries.filter(({ operation }) => operation === "Update")
    .sort((a, b) => compareTexts([a.time ?? ""], [b.time ?? ""]));
  const over = updates.length - UPDATE_MANAGERS_MAX;
  if (over <= 0) return entries;
  const folded = updates.slice(0, over + 1);
  const newest = folded.at(-1);
  if (newest === undefined) return entries;
  return [...entries.filter((entry) => !folded.includes(entry)), {
    ...newest,
    manager: FOLDED_MANAGER,
    subresource: "",
    fields: folded.reduce((all, { fields }) => all.union(fields), FieldSet.EMPTY),
  }];
}

/** `metadata.managedFields` as they stand. */
function rawEntries(object: JsonObject | undefined): JsonObject[] {
  const metadata = object?.["metadata"];
  const entries = isJsonObject(metadata) ? metadata["managedFields"] : undefined;
  return Array.isArray(entries) ? entries.filter(isJsonObject) : [];
}

/** The string at `key`, or `""`. */
function textAt(object: JsonObject, key: string): string {
  const value: Json | undefined = object[key];
  return typeof value === "string" ? value : "";
}

/** Orders two lists of texts by their first difference. */
function compareTexts(a: readonly string[], b: readonly string[]): number {
  for (const [index, text] of a.entries()) {
    const other = b[index] ?? "";
    if (text !== other) return text < other ? -1 : 1;
  }
  return 0;
}

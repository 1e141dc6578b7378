/**
 * Server-side apply: merges what a manager wants into what there is, by field ownership.
 *
 * A manager owns exactly the fields it applied last. Fields that it no longer applies, and that
 * nobody else owns, go. A field whose value would change and that someone else owns is a conflict,
 * unless forced. Equal values are shared.
 *
 * Pure: nothing is stored here. The caller defaults (without dropping nulls), validates and stores
 * the result, or gives the refusal as the answer.
 *
 * @module
 */

import type { StatusCause } from "../core/errors.ts";
import { isJsonObject, type Json, jsonEqual, type JsonObject } from "../core/json.ts";
import { timeOf } from "../core/timestamps.ts";
import { typingErrors, typingMessage } from "./applied_check.ts";
import { FieldSet, pathText } from "./field_set.ts";
import {
  decodeOwnership,
  emptyObject,
  encodeOwnership,
  isSameManager,
  ownedComparison,
  ownedFields,
  type Ownership,
  ownershipAfterUpdate,
  withoutIdentity,
  withoutManagedFields,
} from "./managed_fields.ts";
import type { StructuralSchema } from "./structural_schema.ts";
import { compareFields, fieldsOf, mergeValues, removeFields, withParents } from "./typed_value.ts";

/** Options of {@linkcode serverSideApply}. */
export interface ApplyOptions {
  /** The stored object; absent when apply creates. */
  readonly live: JsonObject | undefined;
  /** What the request applies, with `apiVersion`, `kind` and `metadata.name`. */
  readonly applied: JsonObject;
  /** Name of the manager (`fieldManager`). */
  readonly manager: string;
  /** Take over conflicting fields. */
  readonly force: boolean;
  /** Schema of the version in which the request speaks. */
  readonly schema: StructuralSchema;
  /** `status`, or absent for the object itself. */
  readonly subresource?: string | undefined;
  /** True if the kind has a status subresource: then the main endpoint can't own `status`. */
  readonly hasStatus: boolean;
  /** Wall-clock milliseconds since 1970. */
  readonly nowMs: number;
}

/** How an apply ends. */
export type ApplyResult =
  /** `changed` false: nothing is to be written. `object` has its new managedFields. */
  | { type: "applied"; object: JsonObject; changed: boolean }
  /** Answer 409 with `message` and `causes`. */
  | { type: "conflict"; message: string; causes: StatusCause[] }
  /**
   * Answer 500 with `message` and no reason, as the API server does for what its schema refuses.
   */
  | { type: "untyped"; message: string };

/** Manager of fields that existed before anyone applied, on objects that had no entries. */
const BEFORE_FIRST_APPLY = "before-first-apply";

/** The manager for which the server makes up for objects that came by client-side apply. */
const KUBECTL = "kubectl";

/** Where client-side apply keeps what it applied last. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Merges `applied` into `live` by field ownership.
 *
 * @example A second manager shares what is equal and conflicts on what is not
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * import { StructuralSchema } from "./structural_schema.ts";
 * const schema = StructuralSchema.compile({
 *   type: "object",
 *   properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
 * });
 * const config = (a: string) => ({
 *   apiVersion: "x.io/v1", kind: "X", metadata: { name: "n" }, spec: { a },
 * });
 * const common = { schema, force: false, hasStatus: true, nowMs: 0 };
 * const first = serverSideApply({ ...common, live: undefined, applied: config("1"), manager: "m"
 * }); strictEqual(first.type, "applied"); const live = first.type === "applied" ? first.object :
 * undefined; const second = serverSideApply({ ...common, live, applied: config("2"), manager:
 * "other" }); deepStrictEqual(second, {
 *   type: "conflict",
 *   message: 'Apply failed with 1 conflict: conflict with "m": .spec.a',
 *   causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m"', field: ".spec.a" }],
 * });
 * ```
 */
export function serverSideApply(options: ApplyOptions): ApplyResult {
  const { applied, live, schema, nowMs } = options;
  const refused = typingErrors(applied, schema.wholeObject, "");
  if (refused.length > 0) {
    return {
      type: "untyped",
      message: `failed to create typed patch object (${nameOf(applied)}): ${
        typingMessage(refused)
      }`,
    };
  }

  const old = withoutManagedFields(live ?? emptyObject(applied, schema));
  const entries = ownershipBefore(options);
  const mine = ownIdentity(options);
  const config = scopedConfig(options);
  const appliedFields = fieldsOf(config, schema.wholeObject);
  const last = entries.find((entry) => isSameManager(entry, mine));
  const others = entries.filter((entry) => entry !== last);

  const merged = objectOf(mergeValues(old, config, schema.wholeObject));
  const managed = others.reduce((all, { fields }) => all.union(fields), appliedFields);
  const pruned = prune(merged, last?.fields ?? FieldSet.EMPTY, managed, schema);

  const compared = ownedComparison(compareFields(old, pruned, schema.wholeObject), options);
  const changed = compared.added.union(compared.modified);
  const conflicts = others
    .map((owner) => ({ owner, fields: owner.fields.intersection(changed) }))
    .filter(({ fields }) => !fields.isEmpty);
  if (conflicts.length > 0 && !isForced(options, conflicts)) return conflictOf(conflicts);

  const object = withLastApplied(pruned, options);
  const isSame = live !== undefined && jsonEqual(withoutManagedFields(live), object);
  const lost = changed.union(compared.removed);
  const ownership = [
    ...others.map((entry) => ({ ...entry, fields: entry.fields.difference(lost) })),
    {
      ...mine,
      time: isSame ? last?.time : timeOf(nowMs),
      fields: withoutIdentity(ownedFields(appliedFields, options)),
    },
  ].filter(({ fields }) => !fields.isEmpty);
  return finished(object, ownership, live);
}

/**
 * The answer to an apply that went through. It changed something if the object or any owner did.
 */
function finished(
  object: JsonObject,
  ownership: readonly Ownership[],
  live: JsonObject | undefined,
): ApplyResult {
  const metadata: JsonObject = { ...objectOf(object["metadata"]) };
  if (ownership.length > 0) {
    // Through text, since the entry's type and a JSON object differ only in what TypeScript sees.
    metadata["managedFields"] = JSON.parse(JSON.stringify(encodeOwnership(ownership)));
  }
  const result = { ...object, metadata };
  return { type: "applied", object: result, changed: !jsonEqual(result, live) };
}

/** The entry that this apply writes, without its fields. */
function ownIdentity({ manager, applied, subresource }: ApplyOptions): Omit<Ownership, "fields"> {
  return {
    manager,
    operation: "Apply",
    apiVersion: textOf(applied["apiVersion"]),
    subresource: subresource ?? "",
    time: undefined,
  };
}

/**
 * An object without entries belongs to a stand-in, so that taking over its fields is a conflict.
 */
function ownershipBefore(options: ApplyOptions): Ownership[] {
  const { live } = options;
  const entries = decodeOwnership(live);
  if (live === undefined || entries.length > 0) return entries;
  return ownershipAfterUpdate([], {
    ...options,
    before: undefined,
    after: live,
    manager: BEFORE_FIRST_APPLY,
  });
}

/** Only the part of the configuration that this endpoint can write. */
function scopedConfig({ applied, subresource, hasStatus }: ApplyOptions): JsonObject {
  const { status, ...rest } = applied;
  if (subresource === "status") {
    const { apiVersion, kind, metadata } = applied;
    const { name, namespace, uid, resourceVersion } = objectOf(metadata);
    return defined({
      apiVersion,
      kind,
      metadata: defined({ name, namespace, uid, resourceVersion }),
      status,
    });
  }
  return hasStatus || status === undefined ? rest : applied;
}

/**
 * `merged` without what the manager applied `last` time and nobody owns now.
 *
 * First everything of the last time goes, together with what hung on it; then what someone owns, or
 * what never belonged to the last set, comes back.
 */
function prune(
  merged: JsonObject,
  last: FieldSet,
  managed: FieldSet,
  schema: StructuralSchema,
): JsonObject {
  if (last.isEmpty) return merged;
  const root = schema.wholeObject;
  const lastAll = withParents(last, root);
  const setOf = (value: Json | undefined) => withParents(fieldsOf(value ?? {}, root), root);
  const all = setOf(merged);

  const bare = removeFields(merged, lastAll, root);
  const kept = setOf(bare).union(withParents(managed, root));
  const owned = removeFields(merged, all.difference(kept), root);
  const gone = all.difference(setOf(owned)).intersection(lastAll);
  return objectOf(removeFields(merged, gone, root));
}

/** A manager and those of its fields that would change. */
interface Conflict {
  readonly owner: Ownership;
  readonly fields: FieldSet;
}

/** True if the conflicts don't count: by force, or all over what kubectl itself applied before. */
function isForced(options: ApplyOptions, conflicts: readonly Conflict[]): boolean {
  if (options.force) return true;
  const previous = options.manager === KUBECTL ? lastApplied(options.live) : undefined;
  if (previous === undefined) return false;
  const root = options.schema.wholeObject;
  // What someone changed since is no longer what kubectl applied.
  const { added, modified, removed } = compareFields(previous, options.live ?? {}, root);
  const changed = added.union(modified).union(removed);
  const allowed = fieldsOf(previous, root).difference(changed);
  return conflicts.every(({ fields }) => fields.difference(allowed).isEmpty);
}

/** What client-side apply applied last, if it left a readable note of it. */
function lastApplied(live: JsonObject | undefined): JsonObject | undefined {
  const text = objectOf(objectOf(live?.["metadata"])["annotations"])[LAST_APPLIED];
  if (typeof text !== "string") return undefined;
  try {
    return objectOf(JSON.parse(text));
  } catch {
    // Anyone may write the annotation; one that is no JSON allows nothing.
    return undefined;
  }
}

/**
 * Keeps the annotation of an object that came by client-side apply up to date, as the server does.
 */
function withLastApplied(object: JsonObject, options: ApplyOptions): JsonObject {
  if (options.manager !== KUBECTL || lastApplied(options.live) === undefined) return object;
  const metadata = objectOf(object["metadata"]);
  const annotations = {
    ...objectOf(metadata["annotations"]),
    [LAST_APPLIED]: `${JSON.stringify(options.applied)}\n`,
  };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** The refusal, grouped by manager as the server words it. */
function conflictOf(conflicts: readonly Conflict[]): ApplyResult {
  const told = conflicts
    .flatMap(({ owner, fields }) =>
      fields.paths().map((path) => ({ who: ownerText(owner), field: pathText(path) }))
    )
    .sort((a, b) => a.who < b.who ? -1 : a.who > b.who ? 1 : 0);
  const causes = told.map(({ who, field }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${who}`,
    field,
  }));
  const head = `Apply failed with ${told.length} conflict${told.length === 1 ? "" : "s"}: `;
  const [only] = told;
  if (told.length === 1 && only !== undefined) {
    return {
      type: "conflict",
      message: `${head}conflict with ${only.who}: ${only.field}`,
      causes,
    };
  }
  const lines: string[] = [];
  for (const who of new Set(told.map((conflict) => conflict.who))) {
    lines.push(`conflicts with ${who}:`);
    lines.push(...told.filter((each) => each.who === who).map(({ field }) => `- ${field}`));
  }
  return { type: "conflict", message: head + lines.join("\n"), causes };
}

/** A manager as conflicts name it. */
function ownerText({ manager, operation, apiVersion, subresource }: Ownership): string {
  const name = JSON.stringify(manager) +
    (subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`);
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}

/** `namespace/name; apiVersion, Kind=kind`, as the server names what it can't type. */
function nameOf({ apiVersion, kind, metadata }: JsonObject): string {
  const { namespace, name } = objectOf(metadata);
  return `${textOf(namespace)}/${textOf(name)}; ${textOf(apiVersion)}, Kind=${textOf(kind)}`;
}

/** Only the members that are there. */
function defined(members: { readonly [key: string]: Json | undefined }): JsonObject {
  const object: JsonObject = {};
  for (const [key, value] of Object.entries(members)) {
    if (value !== undefined) object[key] = value;
  }
  return object;
}

/** `value`, or an empty object if it is none. */
function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** `value`, or `""` if it is no string. */
function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

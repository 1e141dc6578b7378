/**
 * What stands between a decoded object and the storage: unknown fields, defaults, validation, field
 * ownership, and the namespace it goes to.
 *
 * @module
 */

import { jsonEqual, type JsonObject, withoutMember } from "../core/json.ts";
import type { ManagedFieldsEntry } from "../core/objects.ts";
import { objectAt, objectOf, objectsAt, stringAt } from "./api_object.ts";
import { badRequest, forbidden, notFound } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import { decodeError } from "./builtin_decode.ts";
import { asTyped } from "./builtin_shape.ts";
import { duplicateFields } from "./duplicate_fields.ts";
import { type FieldError, invalid, invalidField, throwIfInvalid } from "./field_errors.ts";
import { trackUpdate } from "./managed_fields.ts";
import {
  cleanMetadata,
  metadataErrors,
  metadataUpdateErrors,
  NAME_REQUIRED,
  nameErrors,
  unknownMetadata,
} from "./metadata.ts";
import type { FieldValidation } from "./request.ts";
import { groupResourceOf, type Resource } from "./resource_type.ts";
import { StructuralSchema } from "./structural_schema.ts";

/** Names of the fields of `object` that its kind does not have. */
export function unknownFieldsOf(object: JsonObject, { version }: Resource): string[] {
  const inMetadata = unknownMetadata(objectOf(object.metadata)).map((name) => `metadata.${name}`);
  const inBody = version.schema?.unknownFields(object) ?? [];
  return [...new Set([...inMetadata, ...inBody])];
}

/**
 * Answers unknown fields as the request asked: refuses them, warns of them, or says nothing.
 *
 * @throws {StatusError} 400 if there are any and validation is strict.
 */
export function checkUnknownFields(
  object: JsonObject,
  resource: Resource,
  { fieldValidation, warnings, body = "", patch }: FieldCheck,
): void {
  if (fieldValidation === "Ignore") return;
  const found = [
    ...(body === "" ? [] : duplicateFields(body)).map((path) => `duplicate field "${path}"`),
    ...unknownFieldsOf(object, resource).map((path) => `unknown field "${path}"`),
  ];
  if (found.length === 0) return;
  if (fieldValidation === "Warn") {
    warnings.push(...found);
    return;
  }
  const why = `strict decoding error: ${found.join(", ")}`;
  if (patch !== undefined) {
    throw invalid({ group: "", kind: "" }, "", [invalidField("patch", patch, why)]);
  }
  const { kind } = resource.type;
  throw badRequest(
    `${kind} in version "${resource.version.name}" cannot be handled as a ${kind}: ${why}`,
  );
}

/** How {@linkcode checkUnknownFields} answers. */
export interface FieldCheck {
  readonly fieldValidation: FieldValidation;
  readonly warnings: string[];
  /** The JSON text that the object was read from, to find members that it says twice. */
  readonly body?: string;
  /** The patch that made the object: it is to blame, with 422. */
  readonly patch?: string;
}

/**
 * Refuses values of a wrong type in built-in kinds, as the server's decoder does.
 *
 * @throws {StatusError} 400
 */
export function checkTypes(object: JsonObject, { type, version }: Resource): void {
  if (type.isCustom || version.schema === undefined) return;
  const error = decodeError(object, version.schema);
  if (error === undefined) return;
  throw badRequest(
    `${type.kind} in version "${version.name}" cannot be handled as a ${type.kind}: ${error}`,
  );
}

/** `object` without unknown fields and null members, with defaults. */
export function normalize(
  object: JsonObject,
  { type, version }: Resource,
  options: { readonly isApplied: boolean },
): JsonObject {
  let result: JsonObject = {
    ...object,
    metadata: cleanMetadata(objectOf(object.metadata), type.kind),
  };
  if (!type.isCustom) result = asTyped(result, version.schema?.wholeObject);
  if (version.schema !== undefined) {
    result = version.schema.prune(result);
    // Built-in kinds have defaults that OpenAPI does not tell: their rules add them.
    if (type.isCustom) {
      // What apply merged keeps its nulls: they were applied as values, and are judged as such.
      result = version.schema.applyDefaults(result, { keepsNulls: options.isApplied });
    }
  }
  return type.rules.defaults === undefined ? result : type.rules.defaults(result);
}

/**
 * Throws 422 with all that is wrong with `object`.
 *
 * @param previous The stored object in the same form; absent on create.
 */
export function validate(
  object: JsonObject,
  previous: JsonObject | undefined,
  resource: Resource,
): void {
  const { type, version } = resource;
  const metadata = objectAt(object, "metadata");
  const name = stringAt(metadata, "name");
  const errors: FieldError[] = [];
  if (previous === undefined) {
    errors.push(
      ...(name === "" ? [NAME_REQUIRED] : nameErrors(name, type.rules.nameRule ?? "subdomain")),
    );
  } else errors.push(...metadataUpdateErrors(metadata, objectAt(previous, "metadata")));
  errors.push(...metadataErrors(metadata));
  if (type.isCustom) errors.push(...version.schema?.validate(object, { old: previous }) ?? []);
  errors.push(...type.rules.validate?.(object, previous) ?? []);
  throwIfInvalid(type, name, errors);
}

/**
 * Throws if an object may not be created in `namespace`: 404 if there is none, 403 while it is being
 * deleted.
 */
export function checkNamespace(
  context: Pick<ServerContext, "storage">,
  namespace: string,
  { type }: Resource,
  name: string,
): void {
  const found = context.storage.find("namespaces", namespace);
  if (found === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    groupResourceOf(type),
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [{
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    }],
  );
}

/** A schema that knows no field, for kinds without one. */
let openSchema: StructuralSchema | undefined;

/** The schema by which field ownership of `resource` is computed. */
export function ownershipSchemaOf({ version }: Resource): StructuralSchema {
  openSchema ??= StructuralSchema.compile({
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
  });
  return version.schema ?? openSchema;
}

/** `object` with the managedFields that a create or update by `manager` leaves. */
export function withManagedFields(
  object: JsonObject,
  { previous, resource, manager, subresource, nowMs }: {
    previous: JsonObject | undefined;
    resource: Resource;
    manager: string;
    subresource: string;
    nowMs: number;
  },
): JsonObject {
  const entries = trackUpdate({
    before: previous,
    after: object,
    manager,
    schema: ownershipSchemaOf(resource),
    ...(subresource === "" ? {} : { subresource }),
    hasStatus: resource.version.hasStatus,
    nowMs,
  });
  return withEntries(object, entries);
}

function withEntries(object: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  const metadata = withoutMember(objectOf(object.metadata), "managedFields");
  if (entries.length > 0) metadata.managedFields = entries.map((entry) => toJson(entry));
  return { ...object, metadata };
}

function toJson(entry: ManagedFieldsEntry): JsonObject {
  return JSON.parse(JSON.stringify(entry));
}

/**
 * True if both are the same but for resourceVersion and the times of managedFields: then nothing is
 * written and no watch is told.
 */
export function isUnchanged(object: JsonObject, previous: JsonObject): boolean {
  return jsonEqual(comparable(object), comparable(previous));
}

function comparable(object: JsonObject): JsonObject {
  const metadata = withoutMember(objectOf(object.metadata), "resourceVersion");
  const managedFields = objectsAt(metadata, "managedFields").map((entry) =>
    withoutMember(entry, "time")
  );
  return { ...object, metadata: { ...metadata, managedFields } };
}

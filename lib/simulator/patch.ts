/**
 * PATCH: the four kinds of patch brought down to one update, or to a create for server-side apply.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { PatchError } from "../core/patch_error.ts";
import { applyJsonPatch, parseJsonPatch } from "../core/patch_json.ts";
import { applyMergePatch } from "../core/patch_merge.ts";
import { applyStrategicPatch } from "../core/patch_strategic.ts";
import { ownershipSchemaOf } from "./admission.ts";
import { type ApiObject, jsonOfObject, objectOf, stringAt } from "./api_object.ts";
import {
  applyConflict,
  badRequest,
  notFound,
  rejectedPatch,
  serverError,
  unsupportedMediaType,
} from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import { mediaTypeOf, parseBody, withKind } from "./decode.ts";
import { requiredField, throwIfInvalid } from "./field_errors.ts";
import { cleanMetadata } from "./metadata.ts";
import { present } from "./present.ts";
import { type ApiRequest, isTrue } from "./request.ts";
import { groupResourceOf, type Resource } from "./resource_type.ts";
import { serverSideApply } from "./server_side_apply.ts";
import { checkName, createObject, updateObject, type UpdateRequest } from "./write.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";

/** Most operations of one JSON patch, as the server limits them. */
export const JSON_PATCH_OPERATIONS_MAX = 10_000;

/** How a PATCH ended: 201 if apply created the object. */
export interface PatchResult {
  readonly status: 200 | 201;
  readonly object: ApiObject;
}

/**
 * Patches the object called `name`.
 *
 * @param existing The stored object, if there is one; only apply may do without.
 * @throws {StatusError} As the server answers: 404, 409, 415, 400, 422.
 */
export function patchObject(
  context: ServerContext,
  request: ApiRequest,
  existing: ApiObject | undefined,
  name: string,
  update: UpdateRequest,
): PatchResult {
  const mediaType = mediaTypeOf(request.headers);
  const { resource } = update;
  const accepted = acceptedPatches(resource);
  if (!accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
  if (mediaType === APPLY_PATCH) return apply(context, request, existing, name, update);
  if (existing === undefined) throw notFound(groupResourceOf(resource.type), name);
  const current = jsonOfObject(present(existing, resource));
  const patched = patchedDocument(current, request.body, mediaType, resource);
  const object = withKind(patched, resource, request.body);
  const { object: updated } = updateObject(context, existing, object, {
    ...update,
    patch: request.body,
  });
  return { status: 200, object: updated };
}

/** Custom kinds have no merge keys, so no strategic merge patch. */
function acceptedPatches({ type }: Resource): string[] {
  return type.isCustom
    ? [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
    : [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH];
}

/**
 * `current` after the patch in `body`.
 *
 * @throws {StatusError} 400 if it is no patch of its kind, 422 if it can't be applied.
 */
export function patchedDocument(
  current: JsonObject,
  body: string,
  mediaType: string,
  resource: Resource,
): JsonObject {
  let patch: Json;
  try {
    patch = JSON.parse(body);
  } catch (error) {
    throw badRequest(
      `error decoding patch: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  let patched: Json;
  try {
    patched = applied(current, patch, mediaType, resource);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw error.code === "malformed" ? badRequest(error.message) : rejectedPatch();
  }
  if (!isJsonObject(patched)) throw badRequest("the patch does not leave an object");
  return patched;
}

/** The patched document, by the kind of patch. Throws PatchError. */
function applied(current: JsonObject, patch: Json, mediaType: string, resource: Resource): Json {
  if (mediaType === JSON_PATCH) {
    const operations = parseJsonPatch(patch);
    if (operations.length > JSON_PATCH_OPERATIONS_MAX) {
      throw badRequest(
        `The allowed maximum operations in a JSON patch is ${JSON_PATCH_OPERATIONS_MAX}, got ` +
          operations.length,
      );
    }
    return applyJsonPatch(current, operations);
  }
  if (!isJsonObject(patch)) throw badRequest("the patch is no object");
  return mediaType === MERGE_PATCH
    ? applyMergePatch(current, patch)
    : applyStrategicPatch(current, patch, resource.version.schema?.root);
}

/** Server-side apply: merges by ownership, then updates or creates. */
function apply(
  context: ServerContext,
  request: ApiRequest,
  existing: ApiObject | undefined,
  name: string,
  update: UpdateRequest,
): PatchResult {
  const { resource } = update;
  const manager = request.query.get("fieldManager") ?? "";
  if (manager === "") {
    throwIfInvalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      requiredField("fieldManager", "is required for apply patch"),
    ]);
  }
  if (existing === undefined && update.subresource !== "") {
    throw notFound(groupResourceOf(resource.type), name);
  }
  const sent = parsedApply(request, name, update);
  const result = serverSideApply({
    live: existing === undefined ? undefined : jsonOfObject(present(existing, resource)),
    applied: sent,
    manager,
    force: isTrue(request.query.get("force")),
    schema: ownershipSchemaOf(resource),
    ...(update.subresource === "" ? {} : { subresource: update.subresource }),
    hasStatus: resource.version.hasStatus,
    nowMs: context.clock.wallMs(),
  });
  if (result.type === "conflict") throw applyConflict(result.message, result.causes);
  if (result.type === "untyped") throw serverError(result.message);
  const write = { ...update, isApplied: true, isPut: false };
  if (existing !== undefined) {
    if (!result.changed) return { status: 200, object: present(existing, resource) };
    return { status: 200, object: updateObject(context, existing, result.object, write).object };
  }
  // The configuration may leave the name to the path.
  const metadata = { ...objectOf(result.object.metadata), name };
  return { status: 201, object: createObject(context, { ...result.object, metadata }, write) };
}

/** The configuration to apply: YAML, with kind and version, without managedFields. */
function parsedApply(
  request: ApiRequest,
  name: string,
  { resource }: UpdateRequest,
): JsonObject {
  let parsed: Json;
  try {
    parsed = parseBody(request.body, APPLY_PATCH);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`error decoding YAML: ${why}`);
  }
  if (!isJsonObject(parsed)) throw badRequest("error decoding YAML: the document is no object");
  for (const member of ["apiVersion", "kind"]) {
    if (stringAt(parsed, member) === "") {
      throw badRequest(`error decoding YAML: Object '${member}' is missing`);
    }
  }
  const sent = withKind(parsed, resource, request.body);
  const metadata = cleanMetadata(objectOf(sent.metadata), resource.type.kind);
  if (metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  checkName(metadata, name);
  return { ...sent, metadata };
}

/**
 * Create and update: from a decoded object to a stored one.
 *
 * Both are one synchronous step, so that no other request comes between the check of a
 * resourceVersion and the write.
 *
 * @module
 */

import { jsonEqual, type JsonObject, withoutMember } from "../core/json.ts";
import { keyOf } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import {
  checkNamespace,
  checkTypes,
  checkUnknownFields,
  isUnchanged,
  normalize,
  validate,
  withManagedFields,
} from "./admission.ts";
import {
  type ApiObject,
  jsonOfObject,
  numberAt,
  objectAt,
  objectOf,
  objectOfJson,
  stringAt,
  stringsAt,
} from "./api_object.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  MODIFIED,
  serverError,
} from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import { invalid, invalidField } from "./field_errors.ts";
import { present, toStored } from "./present.ts";
import type { WriteOptions } from "./request.ts";
import { groupResourceOf, type Resource } from "./resource_type.ts";

/** What a write needs to know besides the object. */
export interface WriteRequest extends WriteOptions {
  readonly resource: Resource;
  readonly namespace: string;
  readonly warnings: string[];
  /** The JSON text of the body, where the object is the whole of it. */
  readonly body?: string;
  /** The patch that made the object, where one did. */
  readonly patch?: string;
  /** The object's managedFields are final: server-side apply made them. */
  readonly isApplied?: boolean;
}

/** Tries for a free generated name, as the server makes them. */
const NAME_TRIES = 8;

/** Characters of generated names: no vowels and no look-alikes. */
const NAME_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";

/** A suffix for `generateName`. */
export function nameSuffix(random: () => number): string {
  let suffix = "";
  for (let at = 0; at < 5; at++) {
    suffix += NAME_CHARACTERS[Math.floor(random() * NAME_CHARACTERS.length)] ?? "";
  }
  return suffix;
}

/**
 * Creates `decoded` and returns it in the form of the request.
 *
 * @throws {StatusError} As the server answers: 404 or 403 for the namespace, 400, 409, 422.
 */
export function createObject(
  context: ServerContext,
  decoded: JsonObject,
  write: WriteRequest,
): ApiObject {
  const { resource, namespace } = write;
  const { type } = resource;
  const sent = objectOf(decoded.metadata);
  checkNamespaceOf(sent, namespace, resource);
  if (type.isTerminating === true) {
    throw forbidden(
      groupResourceOf(type),
      stringAt(sent, "name"),
      "create not allowed while custom resource definition is terminating",
    );
  }
  checkUnknownFields(decoded, resource, write);
  checkTypes(decoded, resource);
  if (stringAt(sent, "resourceVersion") !== "") {
    throw serverError("resourceVersion should not be set on objects to be created");
  }
  const name = nameFor(context, sent, write);
  if (type.isNamespaced) checkNamespace(context, namespace, resource, name);
  const isApplied = write.isApplied === true;
  let object = normalize(asNew(context, decoded, name, write), resource, { isApplied });
  object = type.rules.complete?.(object, context) ?? object;
  validate(object, undefined, resource);
  if (!isApplied) {
    object = withManagedFields(object, {
      previous: undefined,
      resource,
      manager: write.manager,
      subresource: "",
      nowMs: context.clock.wallMs(),
    });
  }
  const stored = toStored(object, resource);
  if (context.storage.find(type.table, keyOf(stored.metadata)) !== undefined) {
    throw alreadyExists(groupResourceOf(type), name);
  }
  if (write.isDryRun) return objectOfJson(object);
  return present(context.storage.add(type.table, stored), resource);
}

/** Refuses an object that names another namespace than the path. */
function checkNamespaceOf(metadata: JsonObject, namespace: string, { type }: Resource): void {
  const own = stringAt(metadata, "namespace");
  if (own === "" || own === namespace) return;
  if (!type.isNamespaced) return; // dropped later, as the server does
  throw badRequest(
    "the namespace of the provided object does not match the namespace sent on the request",
  );
}

/** The sent name, or a generated one that is free: the server tries a few times, then conflicts. */
function nameFor(
  context: ServerContext,
  metadata: JsonObject,
  { resource, namespace }: WriteRequest,
): string {
  const name = stringAt(metadata, "name");
  const prefix = stringAt(metadata, "generateName");
  if (name !== "" || prefix === "") return name;
  let generated = "";
  for (let tries = 0; tries < NAME_TRIES; tries++) {
    // Room for the suffix, as the server leaves it: 63 characters in all.
    generated = prefix.slice(0, 58) + nameSuffix(context.random);
    const key = resource.type.isNamespaced ? `${namespace}/${generated}` : generated;
    if (context.storage.find(resource.type.table, key) === undefined) break;
  }
  return generated;
}

/** `decoded` as a new object: what only the server may set is set, the rest dropped. */
function asNew(
  context: ServerContext,
  decoded: JsonObject,
  name: string,
  { resource: { type, version }, namespace }: WriteRequest,
): JsonObject {
  const metadata: JsonObject = {
    ...objectOf(decoded.metadata),
    name,
    uid: context.uuid(),
    creationTimestamp: timeOf(context.clock.wallMs()),
  };
  for (const dropped of DROPPED_ON_CREATE) delete metadata[dropped];
  if (type.isNamespaced) metadata.namespace = namespace;
  if ((type.rules.generation ?? "none") !== "none") metadata.generation = 1;
  const object: JsonObject = { ...decoded, metadata };
  if (version.hasStatus) delete object.status;
  if (type.rules.initialStatus !== undefined) object.status = type.rules.initialStatus;
  return object;
}

const DROPPED_ON_CREATE = [
  "namespace",
  "resourceVersion",
  "generation",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
];

/** How an update ended. */
export interface UpdateResult {
  /** The object in the form of the request. */
  readonly object: ApiObject;
  /** False if it was as wanted already, or in a dry run: then nothing was written. */
  readonly isWritten: boolean;
  /** The last finalizer went: the object is gone. */
  readonly isRemoved: boolean;
}

/** What distinguishes updates of one object. */
export interface UpdateRequest extends WriteRequest {
  /** `""`, `status`, or another whose rules are the main ones. */
  readonly subresource: string;
  /** True for PUT: a missing resourceVersion is refused where the kind wants one. */
  readonly isPut: boolean;
}

/**
 * Replaces `existing` (as stored) by `decoded`.
 *
 * @throws {StatusError} 409 on a stale resourceVersion or another uid, 400 or 422 on what is wrong.
 */
export function updateObject(
  context: ServerContext,
  existing: ApiObject,
  decoded: JsonObject,
  update: UpdateRequest,
): UpdateResult {
  const { resource } = update;
  const previous = jsonOfObject(present(existing, resource));
  checkIdentity(decoded, existing, update);
  checkUnknownFields(decoded, resource, update);
  checkTypes(decoded, resource);
  const isApplied = update.isApplied === true;
  let object = normalize(carriedOver(decoded, previous, update), resource, { isApplied });
  object = withGeneration(object, previous, resource);
  validate(object, previous, resource);
  if (!isApplied) {
    object = withManagedFields(object, {
      previous,
      resource,
      manager: update.manager,
      subresource: update.subresource,
      nowMs: context.clock.wallMs(),
    });
  }
  return storeUpdate(context, existing, object, previous, update);
}

/**
 * The write itself, unless nothing changed: an update that changes nothing has no version and no
 * event.
 */
function storeUpdate(
  context: ServerContext,
  existing: ApiObject,
  object: JsonObject,
  previous: JsonObject,
  { resource, isDryRun }: UpdateRequest,
): UpdateResult {
  const { storage } = context;
  const { table } = resource.type;
  const stored = toStored(object, resource);
  if (isReadyToGo(stored)) {
    // Told as a deletion only: nobody sees the version without finalizers.
    if (!isDryRun) storage.remove(table, keyOf(existing.metadata));
    return { object: objectOfJson(object), isWritten: !isDryRun, isRemoved: true };
  }
  if (isUnchanged(object, previous)) {
    return { object: present(existing, resource), isWritten: false, isRemoved: false };
  }
  if (isDryRun) return { object: objectOfJson(object), isWritten: false, isRemoved: false };
  const written = storage.replace(table, stored);
  return { object: present(written, resource), isWritten: true, isRemoved: false };
}

/** True if an object that is being deleted has nothing left to wait for. */
export function isReadyToGo(object: ApiObject): boolean {
  const { metadata } = object;
  return metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    (object.kind !== "Namespace" || stringsAt(object, "spec", "finalizers").length === 0);
}

/** Refuses another name, namespace, uid or a stale version. */
function checkIdentity(decoded: JsonObject, existing: ApiObject, update: UpdateRequest): void {
  const { resource: { type }, isPut } = update;
  const metadata = objectOf(decoded.metadata);
  const { name, uid, resourceVersion } = existing.metadata;
  checkName(metadata, name);
  checkNamespaceOf(metadata, update.namespace, update.resource);
  const sentUid = stringAt(metadata, "uid");
  if (isPut && sentUid !== "" && sentUid !== uid) {
    const place = type.isNamespaced ? `${update.namespace}/${name}` : name;
    throw conflict(
      groupResourceOf(type),
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${type.table}/${place}, ` +
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: " +
        `${sentUid}, UID in object meta: ${uid}`,
    );
  }
  const sentVersion = stringAt(metadata, "resourceVersion");
  if (sentVersion === "") {
    if (isPut && type.rules.unconditionalUpdate !== true) {
      throw invalid({ group: type.group, kind: type.plural }, name, [
        invalidField("metadata.resourceVersion", 0, "must be specified for an update"),
      ]);
    }
  } else if (sentVersion !== resourceVersion) {
    throw conflict(groupResourceOf(type), name, MODIFIED);
  }
}

/** Refuses an object of another name than the path's. A body without a name takes the path's. */
export function checkName(metadata: JsonObject, name: string): void {
  const sent = stringAt(metadata, "name");
  if (sent !== "" && sent !== name) {
    throw badRequest(
      `the name of the object (${sent}) does not match the name on the URL (${name})`,
    );
  }
}

/** `decoded` with all that this update may not change taken from `previous`. */
function carriedOver(
  decoded: JsonObject,
  previous: JsonObject,
  { resource: { type, version }, subresource }: UpdateRequest,
): JsonObject {
  const before = objectOf(previous.metadata);
  const sent = objectOf(decoded.metadata);
  const metadata: JsonObject = { ...sent };
  for (const kept of ["name", "namespace", ...KEPT_ON_UPDATE]) {
    if (before[kept] === undefined) delete metadata[kept];
    else metadata[kept] = before[kept];
  }
  // A patch may name another uid, a client a deletion of its own: validation answers that.
  for (const told of ["uid", "deletionTimestamp"]) {
    if (stringAt(sent, told) !== "") metadata[told] = stringAt(sent, told);
  }
  if (subresource === "status") {
    const kept = type.rules.statusTakesMetadata === true
      ? withPrevious(metadata, before, "labels")
      : { ...before, ...pick(metadata, "managedFields") };
    return withPrevious({ ...previous, metadata: kept }, decoded, "status");
  }
  const object: JsonObject = { ...decoded, metadata };
  const kept = version.hasStatus ? withPrevious(object, previous, "status") : object;
  return type.rules.prepareUpdate?.(kept, previous) ?? kept;
}

const KEPT_ON_UPDATE = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
];

/** `object` with `member` as it was, present or absent. */
function withPrevious(object: JsonObject, previous: JsonObject, member: string): JsonObject {
  const value = previous[member];
  return value === undefined ? withoutMember(object, member) : { ...object, [member]: value };
}

/** Only `member`, or nothing. */
function pick(object: JsonObject, member: string): JsonObject {
  const value = object[member];
  return value === undefined ? {} : { [member]: value };
}

/** Moves the generation if what it counts has changed. */
function withGeneration(
  object: JsonObject,
  previous: JsonObject,
  { type, version }: Resource,
): JsonObject {
  const rule = type.rules.generation ?? "none";
  if (rule === "none") return object;
  const isMoved = rule === "content"
    ? !jsonEqual(contentOf(object, version.hasStatus), contentOf(previous, version.hasStatus))
    : !jsonEqual(object.spec, previous.spec) ||
      (rule === "spec-and-annotations" &&
        !jsonEqual(
          objectAt(object, "metadata", "annotations"),
          objectAt(previous, "metadata", "annotations"),
        ));
  if (!isMoved) return object;
  const generation = (numberAt(previous, "metadata", "generation") ?? 0) + 1;
  return { ...object, metadata: { ...objectOf(object.metadata), generation } };
}

/**
 * What a generation of a custom kind counts: all but metadata, and but status where that is
 * apart.
 */
function contentOf(object: JsonObject, hasStatus: boolean): JsonObject {
  const content = withoutMember(object, "metadata");
  return hasStatus ? withoutMember(content, "status") : content;
}

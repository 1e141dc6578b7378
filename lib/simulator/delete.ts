/**
 * DELETE: preconditions, grace, finalizers, propagation; and deletecollection on top of it.
 *
 * @module
 */

import { isJsonObject, type Json, jsonEqual, type JsonObject } from "../core/json.ts";
import { keyOf } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import {
  type ApiObject,
  jsonOfObject,
  numberAt,
  objectOfJson,
  stringAt,
  stringsAt,
} from "./api_object.ts";
import { badRequest, conflict } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import { mediaTypeOf, parseBody } from "./decode.ts";
import { throwIfInvalid, unsupportedField } from "./field_errors.ts";
import { present } from "./present.ts";
import { type ApiRequest, integerOf, isDryRun } from "./request.ts";
import type { Resource } from "./resource_type.ts";
import { isReadyToGo } from "./write.ts";

/** What becomes of the objects that the deleted one owns. */
export type PropagationPolicy = "Background" | "Foreground" | "Orphan";

/** The options of a deletion. */
export interface DeleteOptions {
  readonly propagationPolicy?: PropagationPolicy;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly isDryRun: boolean;
}

/** Finalizer by which a deletion waits for dependents that block it. */
export const FOREGROUND_FINALIZER = "foregroundDeletion";
/** Finalizer by which a deletion waits until its dependents are let go. */
export const ORPHAN_FINALIZER = "orphan";

/** Seconds that a Pod on a node gets to end by default. */
const POD_GRACE_SECONDS = 30;

const POLICIES: ReadonlyMap<string, PropagationPolicy> = new Map([
  ["Background", "Background"],
  ["Foreground", "Foreground"],
  ["Orphan", "Orphan"],
]);

/**
 * Reads DeleteOptions from the body, or from the query where there is no body.
 *
 * @throws {StatusError} 400 or 422 if they are malformed.
 */
export function deleteOptionsOf(
  request: Pick<ApiRequest, "query" | "body" | "headers">,
): DeleteOptions {
  const body = bodyOf(request);
  const policy = (stringAt(body, "propagationPolicy") || request.query.get("propagationPolicy")) ??
    "";
  const known = POLICIES.get(policy) ?? legacyPolicyOf(body, request.query);
  if (policy !== "" && !POLICIES.has(policy)) {
    throwIfInvalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [
      unsupportedField("propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"]),
    ]);
  }
  const uid = stringAt(body, "preconditions", "uid");
  const resourceVersion = stringAt(body, "preconditions", "resourceVersion");
  const grace = numberAt(body, "gracePeriodSeconds") ??
    integerOf(request.query, "gracePeriodSeconds");
  const dryRun = [...stringsAt(body, "dryRun"), ...request.query.getAll("dryRun")];
  return {
    ...(known === undefined ? {} : { propagationPolicy: known }),
    ...(uid === "" ? {} : { uid }),
    ...(resourceVersion === "" ? {} : { resourceVersion }),
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    isDryRun: isDryRun(dryRun, "DeleteOptions"),
  };
}

/** The DeleteOptions of the body; they come as JSON or YAML, or not at all. */
function bodyOf(
  { body, headers }: Pick<ApiRequest, "body" | "headers">,
): JsonObject {
  if (body.trim() === "") return {};
  let parsed: Json;
  try {
    parsed = parseBody(body, mediaTypeOf(headers));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `couldn't get version/kind; json parse error: ${why}`,
    );
  }
  return isJsonObject(parsed) ? parsed : {};
}

/** `orphanDependents`, which older clients send in place of a policy. */
function legacyPolicyOf(body: JsonObject, query: URLSearchParams): PropagationPolicy | undefined {
  const value = body.orphanDependents ?? query.get("orphanDependents");
  if (value === true || value === "true") return "Orphan";
  if (value === false || value === "false") return "Background";
  return undefined;
}

/** How a deletion ended. */
export interface DeleteResult {
  /** The last state, or the state in which it waits; in the form of the request. */
  readonly object: ApiObject;
  /** False while it waits for its grace period or finalizers. */
  readonly isGone: boolean;
}

/**
 * Deletes `existing`, or marks it as being deleted.
 *
 * @throws {StatusError} 409 if a precondition does not hold.
 */
export function deleteObject(
  context: ServerContext,
  existing: ApiObject,
  resource: Resource,
  options: DeleteOptions,
): DeleteResult {
  checkPreconditions(existing, resource, options);
  const { storage } = context;
  const { table } = resource.type;
  const marked = markedForDeletion(context, existing, resource, options);
  if (isReadyToGo(marked)) {
    const last = options.isDryRun ? existing : removed(context, existing, marked, resource);
    return { object: present(last, resource), isGone: true };
  }
  if (options.isDryRun) return { object: present(marked, resource), isGone: false };
  if (jsonEqual(jsonOfObject(marked), jsonOfObject(existing))) {
    return { object: present(existing, resource), isGone: false };
  }
  return { object: present(storage.replace(table, marked), resource), isGone: false };
}

/** Removes it; kinds that answer with the object show it marked. */
function removed(
  context: ServerContext,
  existing: ApiObject,
  marked: ApiObject,
  { type }: Resource,
): ApiObject {
  const last = context.storage.remove(type.table, keyOf(existing.metadata));
  if (type.kind !== "Pod") return last;
  const { resourceVersion } = last.metadata;
  return { ...marked, metadata: { ...marked.metadata, resourceVersion } };
}

/** Both preconditions; the uid first, since it says that this is another object altogether. */
function checkPreconditions(
  { metadata }: ApiObject,
  { type }: Resource,
  { uid, resourceVersion }: DeleteOptions,
): void {
  // The real server names the kind here, not the resource.
  const subject = { group: type.group, resource: type.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      subject,
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). ` +
        "The object might have been deleted and then recreated",
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      subject,
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ` +
        `ResourceVersion in record (${metadata.resourceVersion}). ` +
        "The object might have been modified",
    );
  }
}

/** `existing` with deletionTimestamp, grace period and the finalizers that the policy asks for. */
function markedForDeletion(
  context: ServerContext,
  existing: ApiObject,
  { type }: Resource,
  options: DeleteOptions,
): ApiObject {
  const { metadata } = existing;
  const graceSeconds = graceSecondsOf(existing, options);
  const finalizers = finalizersFor(metadata.finalizers ?? [], options.propagationPolicy);
  const isFirst = metadata.deletionTimestamp === undefined;
  const isShorter = !isFirst && graceSeconds < (metadata.deletionGracePeriodSeconds ?? 0);
  const object: ApiObject = { ...existing, metadata: { ...metadata } };
  delete object.metadata.finalizers;
  if (finalizers.length > 0) object.metadata.finalizers = finalizers;
  if (isFirst || isShorter) {
    const atMs = context.clock.wallMs() + graceSeconds * 1000;
    object.metadata.deletionTimestamp = timeOf(atMs);
    // Namespaces and definitions have their own deletion, without grace.
    if (type.kind !== "Namespace" && type.kind !== "CustomResourceDefinition") {
      object.metadata.deletionGracePeriodSeconds = graceSeconds;
    }
  }
  if (isFirst && type.kind !== "CustomResourceDefinition") {
    if (metadata.generation !== undefined) object.metadata.generation = metadata.generation + 1;
  }
  return type.kind === "Namespace" ? terminating(object) : object;
}

/** A namespace says in its status, too, that it ends. */
function terminating(namespace: ApiObject): ApiObject {
  const json = jsonOfObject(namespace);
  return objectOfJson({ ...json, status: { phase: "Terminating" } });
}

/** Only Pods that run on a node have grace. */
function graceSecondsOf(existing: ApiObject, options: DeleteOptions): number {
  if (existing.kind !== "Pod") return 0;
  const phase = stringAt(existing, "status", "phase");
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  if (stringAt(existing, "spec", "nodeName") === "" || hasEnded) return 0;
  const own = numberAt(existing, "spec", "terminationGracePeriodSeconds") ?? POD_GRACE_SECONDS;
  return Math.max(0, options.gracePeriodSeconds ?? own);
}

/** The finalizers after a deletion with `policy`: the garbage collector acts on two of them. */
function finalizersFor(
  existing: readonly string[],
  policy: PropagationPolicy | undefined,
): string[] {
  // Without a policy, what an earlier deletion asked for stays.
  if (policy === undefined) return [...existing];
  const others = existing.filter((each) =>
    each !== FOREGROUND_FINALIZER && each !== ORPHAN_FINALIZER
  );
  switch (policy) {
    case "Foreground":
      return [...others, FOREGROUND_FINALIZER];
    case "Orphan":
      return [...others, ORPHAN_FINALIZER];
    case "Background":
      return others;
    default:
      return policy satisfies never;
  }
}

/**
 * Requests about objects: finds the kind and the object, and hands over to the verb.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { type ApiObject, jsonOfObject, objectOf, objectOfJson, stringAt } from "./api_object.ts";
import { forbidden, methodNotAllowed, notFound, unknownResource } from "./api_status.ts";
import { refusalText } from "./authorization.ts";
import type { ServerContext } from "./context.ts";
import { CRD_TABLE, deletedDefinition } from "./crds.ts";
import { decodeObject, mediaTypeOf, withKind } from "./decode.ts";
import { deleteObject, deleteOptionsOf } from "./delete.ts";
import { listPage, selectionOf, waitForRead } from "./list.ts";
import { existingObject, findObject } from "./lookup.ts";
import { checkNamespaceDeletable } from "./namespaces.ts";
import { patchObject } from "./patch.ts";
import { present } from "./present.ts";
import { negotiate, objectText, pageText } from "./representation.ts";
import { type ApiRequest, jsonReply, type Reply, type Target, writeOptionsOf } from "./request.ts";
import { ALL_VERBS, groupResourceOf, isReview, type Resource } from "./resource_type.ts";
import { reviewed, type TokenUser } from "./reviews.ts";
import { handleScale } from "./scale.ts";
import { openWatch, type WatchSet } from "./watch.ts";
import { createObject, updateObject, type UpdateRequest } from "./write.ts";

/** What requests need of the server beyond its context. */
export interface ResourceHandlers {
  readonly context: ServerContext;
  readonly watches: WatchSet;
  readonly userOfToken: TokenUser;
}

/**
 * Answers a request about objects.
 *
 * @throws {StatusError} As the server answers what it refuses.
 */
export function handleResource(
  handlers: ResourceHandlers,
  request: ApiRequest,
  target: Target,
): Promise<Reply> | Reply {
  const { context } = handlers;
  authorize(context, request, target);
  const resource = context.registry.find(target);
  if (resource === undefined) throw unknownResource();
  checkPlace(target, resource);
  const { version } = resource;
  if (version.isDeprecated === true) {
    const { group, kind } = resource.type;
    request.warnings.push(
      version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated`,
    );
  }
  if (target.subresource !== "") return handleSubresource(handlers, request, target, resource);
  if (!(resource.type.rules.verbs ?? ALL_VERBS).includes(target.verb)) throw methodNotAllowed();
  return handleVerb(handlers, request, target, resource);
}

/** Asks the authorizer before anything is looked up: a user without rights learns nothing. */
function authorize(context: ServerContext, { user }: ApiRequest, target: Target): void {
  const { verb, group, version, resource, subresource, namespace, name } = target;
  const attributes = { verb, group, version, resource, subresource, namespace, name };
  if (context.authorizer(user, attributes)) return;
  throw forbidden({ group, resource }, name, refusalText(user, attributes));
}

/** A namespaced object needs a namespace, a cluster-scoped one must have none. */
function checkPlace({ namespace, name, verb }: Target, { type }: Resource): void {
  if (!type.isNamespaced && namespace !== "") throw unknownResource();
  if (!type.isNamespaced || namespace !== "") return;
  if (name !== "") throw unknownResource();
  if (verb === "create" || verb === "deletecollection") throw methodNotAllowed();
}

/** Hands over by verb. A verb that the path has no place for is 405, as the real router answers. */
function handleVerb(
  handlers: ResourceHandlers,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Promise<Reply> | Reply {
  const { context } = handlers;
  const { namespace, name } = target;
  switch (target.verb) {
    case "get":
      return get(context, request, target, resource);
    case "list":
      return list(context, request, target, resource);
    case "watch":
      return openWatch(context, request, {
        resource,
        namespace,
        name,
        watches: handlers.watches,
      });
    case "create":
      if (name !== "") throw methodNotAllowed();
      return create(handlers, request, target, resource);
    case "update":
      if (name === "") throw methodNotAllowed();
      return update(context, request, target, resource);
    case "patch":
      if (name === "") throw methodNotAllowed();
      return patch(context, request, target, resource);
    case "delete":
      return remove(context, request, target, resource);
    case "deletecollection":
      return removeCollection(context, request, target, resource);
    default:
      return target.verb satisfies never;
  }
}

/** `/status`, `/scale`, `/finalize` of an object. */
function handleSubresource(
  { context }: ResourceHandlers,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Promise<Reply> | Reply {
  const { type, version } = resource;
  const isStatus = target.subresource === "status" && version.hasStatus;
  const isScale = target.subresource === "scale" && version.scale !== undefined;
  const isFinalize = target.subresource === "finalize" && type.kind === "Namespace" &&
    !type.isCustom;
  if (!isStatus && !isScale && !isFinalize) {
    if (type.table === "pods") refuseConnection(context, target, resource);
    // A custom kind that has the subresource in no version answers as for a missing object.
    if (type.isCustom && (target.subresource === "status" || target.subresource === "scale")) {
      throw notFound(groupResourceOf(type), target.name);
    }
    throw unknownResource();
  }
  if (isScale) return handleScale(context, request, target, resource);
  switch (target.verb) {
    case "get":
      return get(context, request, target, resource);
    case "update":
      return isFinalize
        ? finalize(context, request, target, resource)
        : update(context, request, target, resource);
    case "patch":
      return patch(context, request, target, resource);
    default:
      throw methodNotAllowed();
  }
}

/** What a kubelet would answer of a Pod that runs: here nothing does. */
const KUBELET_ANSWERS: ReadonlyMap<string, string> = new Map([
  ["log", "have no logs"],
  ["exec", "run nothing, so there is nothing to execute a command in"],
  ["attach", "run nothing, so there is nothing to attach to"],
  ["portforward", "run nothing, so no port of theirs is open"],
  ["proxy", "run nothing, so no port of theirs is open"],
  ["ephemeralcontainers", "run nothing, and can't be debugged"],
]);

/** Says why a Pod that is there can't be talked to; anything else is left to the caller. */
function refuseConnection(context: ServerContext, target: Target, resource: Resource): void {
  const why = KUBELET_ANSWERS.get(target.subresource);
  if (why === undefined) return;
  existingObject(context, target, resource);
  throw methodNotAllowed(`simulated Pods ${why}`);
}

/** An answer with one object, in the form that the request accepts. */
export function objectReply(
  context: ServerContext,
  request: ApiRequest,
  object: ApiObject,
  { status, resource }: { status: number; resource: Resource },
): Reply {
  const representation = negotiate(request.headers.get("accept"), request.query);
  const nowMs = context.clock.wallMs();
  return jsonReply(status, objectText(object, representation, { resource, nowMs }));
}

/** Reads from the newest state: a resourceVersion only says how new it must at least be. */
async function get(
  context: ServerContext,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Promise<Reply> {
  await waitForRead(context, request);
  const found = existingObject(context, target, resource);
  return objectReply(context, request, present(found, resource), { status: 200, resource });
}

/** Negotiates first: a list nobody can write need not be made. */
async function list(
  context: ServerContext,
  request: ApiRequest,
  { namespace }: Target,
  resource: Resource,
): Promise<Reply> {
  const representation = negotiate(request.headers.get("accept"), request.query);
  const selection = selectionOf(request.query, resource, namespace);
  const page = await listPage(context, request, selection);
  const nowMs = context.clock.wallMs();
  return jsonReply(200, pageText(page, representation, { resource, nowMs }));
}

/** POST. Reviews are answered on the spot, with the status 201 that the real server gives them. */
function create(
  { context, userOfToken }: ResourceHandlers,
  request: ApiRequest,
  { namespace }: Target,
  resource: Resource,
): Reply {
  const options = writeOptionsOf(request, "CreateOptions");
  const decoded = decodeObject(request, resource);
  if (isReview(resource)) {
    const answer = reviewed(context, decoded, request.user, userOfToken);
    return objectReply(context, request, objectOfJson(answer), { status: 201, resource });
  }
  const object = createObject(context, decoded, {
    ...options,
    resource,
    namespace,
    warnings: request.warnings,
    ...bodyOf(request),
  });
  return objectReply(context, request, object, { status: 201, resource });
}

/** The body's text if it is JSON, to find members that it says twice. */
function bodyOf({ body, headers }: ApiRequest): { body?: string } {
  return mediaTypeOf(headers) === "application/json" ? { body } : {};
}

/** The options of a PUT or PATCH. Their names differ in the messages about malformed ones. */
function updateRequestOf(
  request: ApiRequest,
  { namespace, subresource }: Target,
  resource: Resource,
  isPut: boolean,
): UpdateRequest {
  return {
    ...writeOptionsOf(request, isPut ? "UpdateOptions" : "PatchOptions"),
    resource,
    namespace,
    subresource,
    isPut,
    warnings: request.warnings,
    ...(isPut ? bodyOf(request) : {}),
  };
}

/** PUT. Kinds such as Lease are created by it, which lets two writers race without a POST. */
function update(
  context: ServerContext,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Reply {
  const write = updateRequestOf(request, target, resource, true);
  const decoded = decodeObject(request, resource);
  const existing = findObject(context, target, resource);
  if (existing === undefined) {
    if (resource.type.rules.updateCreates !== true || target.subresource !== "") {
      throw notFound(groupResourceOf(resource.type), target.name);
    }
    const object = createObject(context, named(decoded, target.name), write);
    return objectReply(context, request, object, { status: 201, resource });
  }
  const { object } = updateObject(context, existing, decoded, write);
  return objectReply(context, request, object, { status: 200, resource });
}

/** `decoded` under the name of the path, which a body may leave out. */
function named(decoded: JsonObject, name: string): JsonObject {
  return { ...decoded, metadata: { ...objectOf(decoded.metadata), name } };
}

/** PATCH. The object is read here and written in the same step, so no retry is ever needed. */
function patch(
  context: ServerContext,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Reply {
  const write = updateRequestOf(request, target, resource, false);
  const existing = findObject(context, target, resource);
  const result = patchObject(context, request, existing, target.name, write);
  return objectReply(context, request, result.object, { status: result.status, resource });
}

/** PUT of a namespace's finalizers, which is how its own controller lets it go. */
function finalize(
  context: ServerContext,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Reply {
  const existing = existingObject(context, target, resource);
  const decoded = withKind(decodeObject(request, resource), resource);
  const object = {
    ...jsonOfObject(existing),
    spec: objectOf(decoded.spec),
  };
  const { storage } = context;
  const isDone = existing.metadata.deletionTimestamp !== undefined &&
    stringAt(object, "spec", "finalizers") === "" &&
    (Array.isArray(object.spec.finalizers) ? object.spec.finalizers.length === 0 : true);
  const result = isDone
    ? storage.remove(resource.type.table, target.name)
    : storage.replace(resource.type.table, objectOfJson(object));
  return objectReply(context, request, present(result, resource), { status: 200, resource });
}

/** DELETE of one object. The answer tells whether it is gone: a Status if so, else the object. */
function remove(
  context: ServerContext,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Reply {
  const options = deleteOptionsOf(request);
  let existing = existingObject(context, target, resource);
  const { type } = resource;
  if (type.table === "namespaces") checkNamespaceDeletable(target.name);
  if (type.table === CRD_TABLE && existing.metadata.deletionTimestamp === undefined) {
    existing = objectOfJson(deletedDefinition(existing, context.clock.wallMs()));
  }
  const { object, isGone } = deleteObject(context, existing, resource, options);
  if (!isGone || type.rules.returnsDeleted === true) {
    return objectReply(context, request, object, { status: 200, resource });
  }
  return jsonReply(
    200,
    JSON.stringify({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: {
        name: target.name,
        ...(type.group === "" ? {} : { group: type.group }),
        kind: type.plural,
        uid: existing.metadata.uid,
      },
    }),
  );
}

/** DELETE of what a selection selects: one by one, as the real server does, not as one write. */
async function removeCollection(
  context: ServerContext,
  request: ApiRequest,
  { namespace }: Target,
  resource: Resource,
): Promise<Reply> {
  const options = deleteOptionsOf(request);
  const selection = selectionOf(request.query, resource, namespace);
  const page = await listPage(context, request, selection);
  for (const item of page.items) {
    const { name, namespace: place = "" } = item.metadata;
    const existing = findObject(context, { namespace: place, name }, resource);
    if (existing !== undefined) deleteObject(context, existing, resource, options);
  }
  const nowMs = context.clock.wallMs();
  return jsonReply(200, pageText(page, { type: "json" }, { resource, nowMs }));
}

/**
 * The scale subresource: a view of an object's replica numbers as `autoscaling/v1` Scale.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { formatLabelSelector, requirementsOf } from "../core/selectors.ts";
import {
  type ApiObject,
  jsonOfObject,
  numberAt,
  objectOf,
  objectOfJson,
  objectsAt,
  stringAt,
  stringMapAt,
  stringsAt,
  valueAt,
} from "./api_object.ts";
import { badRequest, methodNotAllowed } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import { mediaTypeOf } from "./decode.ts";
import { invalidField, throwIfInvalid } from "./field_errors.ts";
import { existingObject } from "./lookup.ts";
import { patchedDocument } from "./patch.ts";
import { present } from "./present.ts";
import { type ApiRequest, jsonReply, type Reply, type Target, writeOptionsOf } from "./request.ts";
import type { Resource, ScalePaths } from "./resource_type.ts";
import { updateObject } from "./write.ts";

/** Answers GET, PUT and PATCH of `/scale`. */
export function handleScale(
  context: ServerContext,
  request: ApiRequest,
  target: Target,
  resource: Resource,
): Reply {
  const { scale } = resource.version;
  if (scale === undefined) throw methodNotAllowed();
  const existing = existingObject(context, target, resource);
  const shown = present(existing, resource);
  const current = scaleOf(shown, scale);
  switch (target.verb) {
    case "get":
      return jsonReply(200, JSON.stringify(current));
    case "update":
    case "patch": {
      const wanted = target.verb === "update"
        ? parsed(request.body)
        : patchedDocument(current, request.body, mediaTypeOf(request.headers), resource);
      const changed = withReplicas(jsonOfObject(shown), wanted, scale, target.name);
      const { object } = updateObject(context, existing, changed, {
        ...writeOptionsOf(request, "UpdateOptions"),
        resource,
        namespace: target.namespace,
        subresource: "scale",
        isPut: false,
        warnings: request.warnings,
      });
      return jsonReply(200, JSON.stringify(scaleOf(object, scale)));
    }
    default:
      throw methodNotAllowed();
  }
}

/** The body of a PUT. */
function parsed(body: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
  if (!isJsonObject(value)) throw badRequest("the body is no Scale");
  return value;
}

/** The view of an object. Zero replicas are left out, as the real server leaves them. */
function scaleOf(object: ApiObject, paths: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = numberAt(object, ...paths.replicas);
  const selector = selectorOf(object, paths);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    },
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, ...paths.statusReplicas) ?? 0,
      ...(selector === "" ? {} : { selector }),
    },
  };
}

/** The selector as text: custom kinds hold it so, workloads as an object. */
function selectorOf(object: ApiObject, { selector }: ScalePaths): string {
  if (selector === undefined) return "";
  const value = valueAt(object, ...selector);
  if (typeof value === "string") return value;
  const requirements = requirementsOf({
    matchLabels: stringMapAt(value, "matchLabels"),
    matchExpressions: objectsAt(value, "matchExpressions").map((expression) => ({
      key: stringAt(expression, "key"),
      operator: stringAt(expression, "operator"),
      values: stringsAt(expression, "values"),
    })),
  });
  return formatLabelSelector(requirements ?? []);
}

/** `object` with the replicas of the Scale `wanted`, and its resourceVersion as a condition. */
function withReplicas(
  object: JsonObject,
  wanted: JsonObject,
  paths: ScalePaths,
  name: string,
): JsonObject {
  const replicas = numberAt(wanted, "spec", "replicas") ?? 0;
  if (replicas < 0) {
    throwIfInvalid({ group: "autoscaling", kind: "Scale" }, name, [
      invalidField("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  const metadata = { ...objectOf(object.metadata) };
  const version = stringAt(wanted, "metadata", "resourceVersion");
  if (version === "") delete metadata.resourceVersion;
  else metadata.resourceVersion = version;
  const changed = withValue({ ...object, metadata }, paths.replicas, replicas);
  return jsonOfObject(objectOfJson(changed));
}

/** A copy of `object` with the value at `path` set; the way there is made where it is missing. */
function withValue(object: JsonObject, path: readonly string[], value: Json): JsonObject {
  const [member, ...rest] = path;
  if (member === undefined) return object;
  const inner = rest.length === 0 ? value : withValue(objectOf(object[member]), rest, value);
  return { ...object, [member]: inner };
}

/**
 * The boundary at which JSON from the API server becomes lists and watch events.
 *
 * Checks the frame that the library relies on (items, versions, event types) and trusts the rest:
 * the objects themselves are what the caller's kind claims.
 *
 * @module
 */

import { ProtocolError } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { apiVersionOf, type KubeObject } from "../core/objects.ts";
import type { ListResult, WatchEvent } from "../core/watch_event.ts";
import { statusOf } from "./api_status.ts";
import type { KindDefinition } from "./kinds.ts";

/** Annotation of the bookmark that ends a streamed initial list (KEP-3157). */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/**
 * `value` as a list. Items get `apiVersion` and `kind`, which API servers leave out of them
 * (field case E4).
 *
 * @throws {ProtocolError} If it is none.
 */
export function parseList<T extends KubeObject>(
  value: unknown,
  kind: KindDefinition<T>,
): ListResult<T> {
  const { metadata, items } = isJsonObject(value) ? value : {};
  // A Go server writes an empty list as null where it has no item to make the slice for.
  if (!isJsonObject(metadata) || !(Array.isArray(items) || items === null)) {
    throw new ProtocolError(`Cannot read a list of ${kind.plural}: it has no metadata or items`);
  }
  const { resourceVersion, remainingItemCount } = metadata;
  if (typeof resourceVersion !== "string") {
    throw new ProtocolError(`Cannot read a list of ${kind.plural}: it has no resourceVersion`);
  }
  const apiVersion = apiVersionOf(kind.gvk);
  const objects = (items ?? []).map((item) => parseObject(item, kind));
  for (const object of objects) {
    object.apiVersion ??= apiVersion;
    object.kind ??= kind.gvk.kind;
  }
  const token = metadata["continue"];
  return {
    items: objects,
    resourceVersion,
    ...(typeof token === "string" && token !== "" && { continue: token }),
    ...(typeof remainingItemCount === "number" && { remainingItemCount }),
  };
}

/**
 * `value` as an object of `kind`.
 *
 * @throws {ProtocolError} If it has no metadata with a name.
 */
export function parseObject<T extends KubeObject>(value: unknown, kind: KindDefinition<T>): T {
  if (
    !isJsonObject(value) || !isJsonObject(value["metadata"]) ||
    typeof value["metadata"]["name"] !== "string"
  ) {
    throw new ProtocolError(`Cannot read one of ${kind.plural}: it has no metadata.name`);
  }
  // The boundary: that the rest is a T is what the kind claims. Over `unknown`, because JSON does
  // not overlap with every T.
  const object: unknown = value;
  return object as T;
}

/**
 * `value` as an object of a `kind` that is answered but not stored, and so has no name.
 *
 * @throws {ProtocolError} If it is not even an object.
 */
export function parseUnnamed<T extends KubeObject>(value: unknown, kind: KindDefinition<T>): T {
  if (!isJsonObject(value)) {
    throw new ProtocolError(`Cannot read one of ${kind.plural}: it is no object`);
  }
  const object: unknown = value;
  return object as T;
}

/**
 * Media types that ask for metadata alone. The plain form after it is for API servers behind the
 * aggregation layer that do not know it.
 */
export const ACCEPT_METADATA = {
  object: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
  list: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
} as const;

/** `object` with its metadata alone, named as the `kind` it is of and not as the form it came in. */
export function metadataOnly<T extends KubeObject>(object: T, { gvk }: KindDefinition<T>): T {
  const partial: KubeObject = {
    apiVersion: apiVersionOf(gvk),
    kind: gvk.kind,
    metadata: object.metadata,
  };
  // The boundary: clients of metadata are of kinds whose T is no more than this.
  return partial as T;
}

/**
 * `value`, one line of a watch, as an event.
 *
 * @throws {ProtocolError} If it is none.
 */
export function parseWatchEvent<T extends KubeObject>(
  value: unknown,
  kind: KindDefinition<T>,
): WatchEvent<T> {
  const { type, object } = isJsonObject(value) ? value : {};
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: parseObject(object, kind) };
    default:
      return parseBookmarkOrError(value, kind);
  }
}

/**
 * `value`, one line of a watch that is about no object, as an event.
 *
 * @throws {ProtocolError} If it is none.
 */
export function parseBookmarkOrError<T extends KubeObject>(
  value: unknown,
  kind: KindDefinition<T>,
): Extract<WatchEvent<T>, { type: "BOOKMARK" | "ERROR" }> {
  const { type, object } = isJsonObject(value) ? value : {};
  if (type === "BOOKMARK") return parseBookmark(object, kind);
  if (type !== "ERROR") {
    throw new ProtocolError(
      `Cannot watch ${kind.plural}: an event of unknown type came${
        typeof type === "string" ? `, "${type.slice(0, 40)}"` : ""
      }`,
    );
  }
  const status = statusOf(object);
  if (status !== undefined) return { type, status };
  throw new ProtocolError(`Cannot watch ${kind.plural}: an ERROR event came without a Status`);
}

/** A bookmark's object has a version and perhaps annotations, but no name. */
function parseBookmark<T extends KubeObject>(
  object: unknown,
  kind: KindDefinition<T>,
): Extract<WatchEvent<T>, { type: "BOOKMARK" }> {
  const metadata = isJsonObject(object) ? object["metadata"] : undefined;
  if (!isJsonObject(metadata) || typeof metadata["resourceVersion"] !== "string") {
    throw new ProtocolError(`Cannot watch ${kind.plural}: a bookmark came without a version`);
  }
  const annotations = metadata["annotations"];
  return {
    type: "BOOKMARK",
    resourceVersion: metadata["resourceVersion"],
    initialEventsEnd: isJsonObject(annotations) && annotations[INITIAL_EVENTS_END] === "true",
  };
}

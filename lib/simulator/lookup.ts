/**
 * From a path's names to the stored object.
 *
 * @module
 */

import type { ApiObject } from "./api_object.ts";
import { notFound } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import type { Target } from "./request.ts";
import { groupResourceOf, type Resource } from "./resource_type.ts";

/** The stored object that `target` names. */
export function findObject(
  { storage }: Pick<ServerContext, "storage">,
  { namespace, name }: Pick<Target, "namespace" | "name">,
  { type }: Resource,
): ApiObject | undefined {
  return storage.find(type.table, type.isNamespaced ? `${namespace}/${name}` : name);
}

/**
 * The stored object that `target` names.
 *
 * @throws {StatusError} 404 if there is none.
 */
export function existingObject(
  context: Pick<ServerContext, "storage">,
  target: Pick<Target, "namespace" | "name">,
  resource: Resource,
): ApiObject {
  const found = findObject(context, target, resource);
  if (found === undefined) throw notFound(groupResourceOf(resource.type), target.name);
  return found;
}

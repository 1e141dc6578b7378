/**
 * Paths of the API. Each part is encoded, and a part that is missing is an error: the path of one
 * object without its name is that of the whole collection, which a DELETE would empty.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { KubeObject } from "../core/objects.ts";
import type { KindDefinition } from "./kinds.ts";

/** Where in the API an object or a collection is. */
export interface ResourcePlace {
  /** Absent: all namespaces, or a cluster-scoped kind. */
  readonly namespace?: string | undefined;
  /** Absent: the collection. */
  readonly name?: string | undefined;
  /** Absent: the object itself. */
  readonly subresource?: string | undefined;
}

/**
 * The path of the collection of `kind`, in `namespace` or in all.
 *
 * @throws {AssertionError} If a cluster-scoped kind is given a namespace.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { DEPLOYMENTS } from "./kinds.ts";
 * strictEqual(collectionPath(DEPLOYMENTS, "default"),
 *   "/apis/apps/v1/namespaces/default/deployments");
 * strictEqual(collectionPath(DEPLOYMENTS), "/apis/apps/v1/deployments");
 * ```
 */
export function collectionPath<T extends KubeObject>(
  { gvk: { group, version, kind }, plural, scope }: KindDefinition<T>,
  namespace?: string,
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  // The namespace "" is Kubernetes' own way to say all of them.
  if (namespace === undefined || namespace === "") return `${root}/${plural}`;
  assert(scope === "Namespaced", `${kind} is cluster-scoped: no namespace is given for it`);
  return `${root}/namespaces/${encodePart(namespace)}/${plural}`;
}

/**
 * The path of one object of `kind`, or of its subresource.
 *
 * @throws {AssertionError} If the name is missing, or the namespace of a namespaced kind, or the
 * kind has no such subresource.
 */
export function objectPath<T extends KubeObject>(
  kind: KindDefinition<T>,
  { namespace, name, subresource }: ResourcePlace,
): string {
  assertNamespace(kind, namespace);
  assert(name !== undefined && name !== "", `A ${kind.gvk.kind} is given by its name`);
  const path = `${collectionPath(kind, namespace)}/${encodePart(name)}`;
  if (subresource === undefined) return path;
  assert(
    kind.subresources.includes(subresource),
    `${kind.gvk.kind} is defined with the subresource "${subresource}"`,
  );
  return `${path}/${subresource}`;
}

/** Throws unless `namespace` is given, if `kind` needs one. */
export function assertNamespace<T extends KubeObject>(
  { gvk, scope }: KindDefinition<T>,
  namespace: string | undefined,
): void {
  assert(
    scope === "Cluster" || (namespace !== undefined && namespace !== ""),
    `A ${gvk.kind} is given by its namespace`,
  );
}

function encodePart(part: string): string {
  // A URL parser would resolve these two, and so leave the collection.
  assert(part !== "." && part !== "..", `"${part}" is a name or a namespace`);
  return encodeURIComponent(part);
}

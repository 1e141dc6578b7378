/**
 * Kubernetes objects as they are on the wire: plain JSON, Kubernetes' own field names.
 *
 * Nothing here does I/O. Objects read from the server are {@linkcode KubeObject}s, whose identity
 * fields are always there; what we send to be created is a {@linkcode Draft}.
 *
 * @module
 */

import { assert } from "./errors.ts";

/** Group, version and kind of an object. The core group is `""`. */
export interface GroupVersionKind {
  /** API group; `""` is the core group. */
  readonly group: string;
  /** API version, as `v1alpha1`. */
  readonly version: string;
  /** Kind, as `Deployment`. */
  readonly kind: string;
}

/** Group, version and plural resource name, as they stand in a path. The core group is `""`. */
export interface GroupVersionResource {
  /** API group; `""` is the core group. */
  readonly group: string;
  /** API version, as `v1alpha1`. */
  readonly version: string;
  /** Plural resource name, as `deployments`. */
  readonly resource: string;
}

/** A reference from a dependent to its owner in the same namespace (or to a cluster-scoped one). */
export interface OwnerReference {
  /** Group and version of the owner, as `apps/v1`. */
  apiVersion: string;
  /** Kind of the owner. */
  kind: string;
  /** Name of the owner. */
  name: string;
  /** Identity of the owner: a recreated one of the same name is another. */
  uid: string;
  /** True for the one owner that manages the dependent. */
  controller?: boolean;
  /** True if the owner, deleted in the foreground, waits for the dependent. */
  blockOwnerDeletion?: boolean;
}

/** Who manages which fields; written by the server. */
export interface ManagedFieldsEntry {
  /** Who wrote the fields: the field manager or the user agent. */
  manager?: string;
  /** Whether by server-side apply or by any other write. */
  operation?: "Apply" | "Update";
  /** Version in which the fields are named. */
  apiVersion?: string;
  /** When, RFC 3339. */
  time?: string;
  /** Format of `fieldsV1`. */
  fieldsType?: "FieldsV1";
  /** The fields, as a trie. */
  fieldsV1?: Record<string, unknown>;
  /** Subresource of the write; absent for the object itself. */
  subresource?: string;
}

/** Metadata that a caller may set. */
export interface DraftMeta {
  /** Name; required unless `generateName` is given. */
  name?: string;
  /** Prefix of a name that the server completes. */
  generateName?: string;
  /** Namespace; absent for cluster-scoped kinds. */
  namespace?: string;
  /** Labels, which selectors match. */
  labels?: Record<string, string>;
  /** Annotations, which none matches. */
  annotations?: Record<string, string>;
  /** Owners, with which the object is garbage-collected. */
  ownerReferences?: OwnerReference[];
  /** What must be done before the object may go. */
  finalizers?: string[];
}

/** Metadata of an object that the server has stored. Timestamps are strings, as on the wire. */
export interface ObjectMeta extends DraftMeta {
  /** Name, unique in its namespace and kind at any one time. */
  name: string;
  /** Identity: never given to another object. */
  uid: string;
  /** Opaque, but for {@linkcode compareResourceVersions}. */
  resourceVersion: string;
  /** When the server stored it first, RFC 3339. */
  creationTimestamp: string;
  /** Counts changes of the spec; absent for kinds without one. */
  generation?: number;
  /** When deletion was asked for; the object stays until its finalizers are gone. */
  deletionTimestamp?: string;
  /** How long after that it may stay, in seconds. */
  deletionGracePeriodSeconds?: number;
  /** Who owns which fields. */
  managedFields?: ManagedFieldsEntry[];
}

/** An object as the server returned it. */
export interface KubeObject {
  /** Group and version, as `apps/v1`. */
  apiVersion: string;
  /** Kind, as `Deployment`. */
  kind: string;
  /** Identity, labels, owners. */
  metadata: ObjectMeta;
}

/** A `T` that does not exist yet: no identity, no status, `apiVersion` and `kind` optional. */
export type Draft<T extends KubeObject> =
  & Omit<T, "apiVersion" | "kind" | "metadata" | "status">
  & { apiVersion?: string; kind?: string; metadata: DraftMeta };

/** A `T`, or what a deep copy with some fields left out or changed would be. For patches. */
export type DeepPartial<T> = T extends readonly unknown[] ? T
  : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> | null }
  : T;

/** Key of an object: `namespace/name`, or `name` when cluster-scoped. Built by {@linkcode keyOf}. */
export type ObjectKey = string;

/**
 * Key of an object from its metadata.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(keyOf({ namespace: "default", name: "a" }), "default/a");
 * strictEqual(keyOf({ name: "node-1" }), "node-1");
 * ```
 */
export function keyOf(meta: { readonly name: string; readonly namespace?: string }): ObjectKey {
  return meta.namespace ? `${meta.namespace}/${meta.name}` : meta.name;
}

/** The namespace (`""` when cluster-scoped) and name that {@linkcode keyOf} joined. */
export function splitKey(key: ObjectKey): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: "", name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** `group/version`, or `version` alone for the core group. */
export function apiVersionOf(gv: { readonly group: string; readonly version: string }): string {
  return gv.group === "" ? gv.version : `${gv.group}/${gv.version}`;
}

/** The group and version that {@linkcode apiVersionOf} joined. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** The reference of `object` to its managing controller, if it has one. */
export function controllerRefOf(
  object: { readonly metadata: { readonly ownerReferences?: readonly OwnerReference[] } },
): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** True if `owner`, by uid, is the managing controller of `object`. */
export function isControlledBy(
  object: { readonly metadata: { readonly ownerReferences?: readonly OwnerReference[] } },
  owner: { readonly metadata: { readonly uid: string } },
): boolean {
  return controllerRefOf(object)?.uid === owner.metadata.uid;
}

/**
 * A controller reference to `owner`. `gvk` is given because list items carry no kind of their own
 * on every path, and because the version must be the one that we serve.
 */
export function controllerReferenceTo(
  owner: { readonly metadata: { readonly name: string; readonly uid: string } },
  gvk: GroupVersionKind,
): OwnerReference {
  return {
    apiVersion: apiVersionOf(gvk),
    kind: gvk.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * Orders two versions of the same resource: negative if `a` is older, 0 if equal, positive if newer.
 *
 * The one place where a resourceVersion is not opaque. Kubernetes promises since 1.35 (KEP-5504)
 * that versions of one resource are integers that grow, of any size.
 *
 * @throws {AssertionError} If one of them is not a non-negative integer without leading zeros.
 */
export function compareResourceVersions(a: string, b: string): number {
  assert(isOrderedVersion(a) && isOrderedVersion(b), `"${a}" and "${b}" are resource versions`);
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True if `version` has the form that {@linkcode compareResourceVersions} can order. */
export function isOrderedVersion(version: string): boolean {
  return /^(0|[1-9]\d*)$/.test(version);
}

/**
 * Freezes `value` and all that it holds, in place, and returns it. Plain JSON only: no cycles.
 * Stops at frozen parts, so freezing again costs nothing.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}

/**
 * The object without `metadata.managedFields`: itself if it has none, else a copy, since deleting the
 * field would turn `metadata` into a slow hash table.
 */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _dropped, ...metadata } = object.metadata;
  return { ...object, metadata };
}

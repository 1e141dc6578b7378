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
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Group, version and plural resource name, as they stand in a path. The core group is `""`. */
export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** A reference from a dependent to its owner in the same namespace (or to a cluster-scoped one). */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Who manages which fields; written by the server. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: "FieldsV1";
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

/** Metadata that a caller may set. */
export interface DraftMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

/** Metadata of an object that the server has stored. Timestamps are strings, as on the wire. */
export interface ObjectMeta extends DraftMeta {
  name: string;
  uid: string;
  /** Opaque, but for {@linkcode compareResourceVersions}. */
  resourceVersion: string;
  creationTimestamp: string;
  generation?: number;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  managedFields?: ManagedFieldsEntry[];
}

/** An object as the server returned it. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
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

/**
 * Whose reconcile does an object concern?
 *
 * A mapper turns an object into the keys to look at: its own, or its owners'. It is asked for the
 * old and the new state of an update, so that an object which changes hands wakes both owners.
 *
 * @module
 */

import {
  controllerRefOf,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
  parseApiVersion,
} from "../core/objects.ts";
import type { OwnerKind } from "../core/owner_references.ts";

/** The keys that a change of `object` concerns; none is fine. Pure. */
export type Mapper<T> = (object: T) => Iterable<ObjectKey>;

export type { OwnerKind };

/** The object's own key: for the kind that is reconciled. */
export function toSelf(object: KubeObject): readonly ObjectKey[] {
  return [keyOf(object.metadata)];
}

/**
 * The managing controller of the object, if it is of kind `owner`: for children that one's own
 * controller makes.
 *
 * Group and kind are compared, the version is not: references keep the version that was served when
 * they were written. The uid can't be checked here; the reconciler compares it before it acts.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const gvk = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
 * const toFoo = toController({ gvk, scope: "Namespaced" });
 * const owner = { apiVersion: "samplecontroller.k8s.io/v1", kind: "Foo", name: "a", uid: "1" };
 * deepStrictEqual(
 *   toFoo({
 *     apiVersion: "apps/v1",
 *     kind: "Deployment",
 *     metadata: {
 *       name: "web",
 *       namespace: "default",
 *       uid: "2",
 *       resourceVersion: "1",
 *       creationTimestamp: "2026-01-01T00:00:00Z",
 *       ownerReferences: [{ ...owner, controller: true }],
 *     },
 *   }),
 *   ["default/a"],
 * );
 * ```
 */
export function toController(owner: OwnerKind): (object: KubeObject) => readonly ObjectKey[] {
  return (object) => {
    const reference = controllerRefOf(object);
    return reference !== undefined && isOfKind(reference, owner)
      ? [ownerKey(reference, object, owner)]
      : [];
  };
}

/** All owners of the object that are of kind `owner`, its managing controller or not. */
export function toAnyOwner(owner: OwnerKind): (object: KubeObject) => readonly ObjectKey[] {
  return (object) =>
    (object.metadata.ownerReferences ?? [])
      .filter((reference) => isOfKind(reference, owner))
      .map((reference) => ownerKey(reference, object, owner));
}

function isOfKind(reference: OwnerReference, { gvk }: OwnerKind): boolean {
  return reference.kind === gvk.kind && parseApiVersion(reference.apiVersion).group === gvk.group;
}

/** A namespaced owner is in the namespace of what it owns; Kubernetes allows no other. */
function ownerKey(reference: OwnerReference, object: KubeObject, { scope }: OwnerKind): ObjectKey {
  const { namespace } = object.metadata;
  return scope === "Namespaced" && namespace !== undefined
    ? keyOf({ namespace, name: reference.name })
    : keyOf({ name: reference.name });
}

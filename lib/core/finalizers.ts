/**
 * Finalizers: names on an object that keep it until whoever set them has cleaned up. Pure.
 *
 * @module
 */

import type { JsonPatchOperation } from "./patch_json.ts";

/** What is needed of an object. */
export interface Finalized {
  /** Identity, version, and what says whether it may go. */
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
}

/** A merge patch of an object's metadata, with its preconditions. */
export interface FinalizersPatch {
  /** The whole new list, on the state that it was made from. */
  metadata: { uid: string; resourceVersion: string; finalizers: string[] };
}

/** True if the object is being deleted: it takes no new finalizer, and waits for those it has. */
export function isDeleting({ metadata }: Finalized): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** True if `finalizer` is on the object. */
export function hasFinalizer({ metadata }: Finalized, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * The merge patch that adds `finalizer`, or `undefined` if it is there or the object is being
 * deleted: the server refuses new ones then, and there is nothing left to guard.
 *
 * Its precondition is the version, since it replaces the list: somebody else's would be lost.
 */
export function finalizerAddition(
  object: Finalized,
  finalizer: string,
): FinalizersPatch | undefined {
  if (isDeleting(object) || hasFinalizer(object, finalizer)) return undefined;
  const { uid, resourceVersion, finalizers = [] } = object.metadata;
  return { metadata: { uid, resourceVersion, finalizers: [...finalizers, finalizer] } };
}

/**
 * The JSON patch that removes `finalizer`, or `undefined` if it is not there.
 *
 * It tests what stands at the index first. Another controller may have removed its own in between,
 * and this must not remove a third one's. The version does not matter: the rest of the object may
 * have changed, and an object that is to go should not wait for that. The uid does: a new object of
 * the name has its own finalizer.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const metadata = { uid: "u", resourceVersion: "7", finalizers: ["a", "example.com/b"] };
 * deepStrictEqual(finalizerRemoval({ metadata }, "example.com/b"), [
 *   { op: "test", path: "/metadata/uid", value: "u" },
 *   { op: "test", path: "/metadata/finalizers/1", value: "example.com/b" },
 *   { op: "remove", path: "/metadata/finalizers/1" },
 * ]);
 * ```
 */
export function finalizerRemoval(
  { metadata }: Finalized,
  finalizer: string,
): JsonPatchOperation[] | undefined {
  const index = metadata.finalizers?.indexOf(finalizer) ?? -1;
  if (index < 0) return undefined;
  const path = `/metadata/finalizers/${index}`;
  return [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ];
}

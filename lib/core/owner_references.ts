/**
 * Who owns an object, who may, and what to do about one that is there already. Pure.
 *
 * The garbage collector deletes what refers to an owner that it can't find, at some later time and
 * without a word, and a reference into another namespace is one that it can't find (field case R7).
 * So such references are never made. Owners are told apart by uid: an owner of the same name that was
 * made anew is another one.
 *
 * @module
 */

import {
  controllerReferenceTo,
  controllerRefOf,
  type GroupVersionKind,
  keyOf,
  type OwnerReference,
} from "./objects.ts";

/** The kind of an owner. A kind definition of the client fits. */
export interface OwnerKind {
  /** Group and kind are compared; the version is what references are made with. */
  readonly gvk: GroupVersionKind;
  /** Whether an owner has the namespace of what it owns. */
  readonly scope: "Namespaced" | "Cluster";
}

/** What is needed of an owner. */
export interface OwnerObject {
  /** Identity, and whether it is being deleted. */
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace?: string;
    readonly deletionTimestamp?: string;
  };
}

/** What is needed of an object that is, or is to be, owned. */
export interface Dependent {
  /** Where it is, and whose. */
  readonly metadata: {
    readonly name?: string;
    readonly generateName?: string;
    readonly namespace?: string;
    readonly ownerReferences?: readonly OwnerReference[];
  };
}

/** The object is not the owner's. Trying again can't help; a change of the object can. */
export class AlreadyOwnedError extends Error {
  /** Tells it from other errors in logs. */
  override readonly name = "AlreadyOwnedError";
  /** Who controls it; `undefined` if nobody does, and it may not be adopted. */
  readonly owner: OwnerReference | undefined;

  /** `dependent` names the object. */
  constructor(dependent: string, owner: OwnerReference | undefined) {
    const who = owner === undefined
      ? "it was there before, and nobody controls it"
      : `${owner.kind} "${owner.name}" (uid ${owner.uid}) controls it`;
    super(`Cannot own ${dependent}: ${who}`);
    this.owner = owner;
  }
}

/** The owner is in another namespace than the object, or in one while the object is in none. */
export class CrossNamespaceError extends Error {
  /** Tells it from other errors in logs. */
  override readonly name = "CrossNamespaceError";
}

/**
 * `dependent` with `owner` as its managing controller; other references are kept. `dependent` itself
 * is left as it is.
 *
 * @throws {CrossNamespaceError} If the garbage collector would not find the owner.
 * @throws {AlreadyOwnedError} If another object, also one of the same name, controls it.
 *
 * @example
 * ```ts
 * import { strictEqual, throws } from "node:assert/strict";
 * const kind = { gvk: { group: "x.io", version: "v1", kind: "Backup" }, scope: "Namespaced" } as const;
 * const owner = { metadata: { name: "a", namespace: "default", uid: "1" } };
 * const job = { metadata: { name: "a-job", namespace: "default" }, spec: {} };
 * strictEqual(withController(job, owner, kind).metadata.ownerReferences?.[0]?.uid, "1");
 * const elsewhere = { metadata: { name: "a-job", namespace: "other" } };
 * throws(() => withController(elsewhere, owner, kind), CrossNamespaceError);
 * ```
 */
export function withController<D extends Dependent>(
  dependent: D,
  owner: OwnerObject,
  kind: OwnerKind,
): D & { metadata: { ownerReferences: OwnerReference[] } } {
  assertReachable(dependent, owner, kind);
  const current = controllerRefOf(dependent);
  if (current !== undefined && current.uid !== owner.metadata.uid) {
    throw new AlreadyOwnedError(describe(dependent), current);
  }
  const { ownerReferences = [] } = dependent.metadata;
  const others = ownerReferences.filter(({ uid }) => uid !== owner.metadata.uid);
  const reference = controllerReferenceTo(owner, kind.gvk);
  const metadata = { ...dependent.metadata, ownerReferences: [...others, reference] };
  return { ...dependent, metadata };
}

/** What to do about an object that is there already and that an owner wants. */
export type AdoptionPlan =
  /** It is the owner's. */
  | { readonly type: "owned" }
  /** It is nobody's: `ownerReferences` is what it has to have to be the owner's. */
  | { readonly type: "adopt"; readonly ownerReferences: OwnerReference[] }
  /** It is somebody else's, and never touched. */
  | { readonly type: "foreign"; readonly owner: OwnerReference }
  /** It, or the owner, is being deleted: its end is waited for, and nothing is adopted. */
  | { readonly type: "wait" };

/**
 * Decides whether `owner` may take `found` over. Who adopts looks at the owner's live state first: a
 * cache may still show one that has gone.
 *
 * @throws {CrossNamespaceError} As {@linkcode withController}.
 */
export function planAdoption(
  found: Dependent & { readonly metadata: { readonly deletionTimestamp?: string } },
  owner: OwnerObject,
  kind: OwnerKind,
): AdoptionPlan {
  assertReachable(found, owner, kind);
  const current = controllerRefOf(found);
  if (current !== undefined && current.uid !== owner.metadata.uid) {
    return { type: "foreign", owner: current };
  }
  if (found.metadata.deletionTimestamp !== undefined) return { type: "wait" };
  if (current !== undefined) return { type: "owned" };
  if (owner.metadata.deletionTimestamp !== undefined) return { type: "wait" };
  const { ownerReferences } = withController(found, owner, kind).metadata;
  return { type: "adopt", ownerReferences };
}

/** A cluster-scoped owner is found from everywhere, a namespaced one from its namespace only. */
function assertReachable(
  dependent: Dependent,
  owner: OwnerObject,
  { scope, gvk }: OwnerKind,
): void {
  if (scope === "Cluster" || dependent.metadata.namespace === owner.metadata.namespace) return;
  const where = dependent.metadata.namespace ?? "no namespace";
  throw new CrossNamespaceError(
    `Cannot own ${describe(dependent)} in ${where}: ${gvk.kind} "${owner.metadata.name}" is in ${
      owner.metadata.namespace ?? "no namespace"
    }`,
  );
}

function describe({ metadata }: Dependent): string {
  const { name = `${metadata.generateName ?? ""}*`, namespace } = metadata;
  return `"${keyOf({ name, ...(namespace === undefined ? {} : { namespace }) })}"`;
}

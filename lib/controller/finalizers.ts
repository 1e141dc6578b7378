/**
 * Cleaning up before an object goes: adds, honours and removes a finalizer.
 *
 * @module
 */

import type { Patch } from "../client/patch.ts";
import { ApiError, isConflict, isObjectNotFound } from "../core/errors.ts";
import {
  finalizerAddition,
  finalizerRemoval,
  hasFinalizer,
  isDeleting,
} from "../core/finalizers.ts";
import type { KubeObject } from "../core/objects.ts";
import { type LiveReader, type Patcher, placeOf, readLive } from "./object_client.ts";
import { IgnorableError, type ReconcileResult, SETTLED } from "./reconciler.ts";

/** All that is needed of a client. */
export type FinalizerClient<T extends KubeObject> = Patcher<T> & LiveReader<T>;

/** Looks at the live object before giving up, if others keep changing its finalizers. */
const REMOVALS_MAX = 4;

/** What the helpers here need. */
export interface FinalizerOptions<T extends KubeObject> {
  /** Does the requests. */
  readonly client: FinalizerClient<T>;
  /** A qualified name: `example.com/backup`. */
  readonly finalizer: string;
  /** Ends the requests. */
  readonly signal: AbortSignal;
}

/**
 * Makes sure that `finalizer` is on `object`: to be called before anything is made that needs
 * cleaning up. An object that is being deleted gets none.
 *
 * @returns The object as it is then: `object` itself if nothing was written.
 * @throws {ApiError} With `isConflict` if the object has changed: its change leads to another look.
 *   With `isObjectNotFound` if it has gone.
 */
export async function ensureFinalizer<T extends KubeObject>(
  object: T,
  { client, finalizer, signal }: FinalizerOptions<T>,
): Promise<T> {
  const body = finalizerAddition(object, finalizer);
  if (body === undefined) return object;
  const patch: Patch<KubeObject> = { type: "merge", body };
  return await client.patch({ ...placeOf(object), patch, signal });
}

/**
 * Takes `finalizer` off `object`: to be called when everything is cleaned up. That the object has
 * gone, or was made anew, or has no such finalizer any more, is as good.
 *
 * @throws {ApiError} What the requests throw, but for a missing object; and a conflict, if others
 *   changed the finalizers again and again.
 */
export async function removeFinalizer<T extends KubeObject>(
  object: T,
  { client, finalizer, signal }: FinalizerOptions<T>,
): Promise<void> {
  const { uid } = object.metadata;
  let current = object;
  for (let attempt = 1;; attempt++) {
    const body = current.metadata.uid === uid ? finalizerRemoval(current, finalizer) : undefined;
    if (body === undefined) return;
    try {
      await client.patch({ ...placeOf(object), patch: { type: "json", body }, signal });
      return;
    } catch (error) {
      if (isObjectNotFound(error)) return;
      if (!isTestFailure(error) || attempt >= REMOVALS_MAX) throw error;
    }
    try {
      current = await readLive(client, { ...placeOf(object), signal });
    } catch (error) {
      if (isObjectNotFound(error)) return;
      throw error;
    }
  }
}

/** What `apply` is given beside the object. */
export interface FinalizerGuard {
  /**
   * To be awaited before something is made outside the cluster: resolves if the server still has the
   * object, with its finalizer and not to be deleted. From then on it can't go before `cleanUp`.
   *
   * Without it a cache that lags, after a restart say, shows an object that was cleaned up and has
   * gone, and what is made for it then nobody will ever delete. One request.
   *
   * @throws {IgnorableError} If it has gone or is to go: let it pass, and the reconcile settles. The
   *   cache is going to see why.
   */
  confirm(): Promise<void>;
}

/** What {@linkcode withFinalizer} does in the two halves of an object's life. */
export interface FinalizedLife<T extends KubeObject> extends FinalizerOptions<T> {
  /** The object wants to be: called with the finalizer on it, as far as the cache knows. */
  apply(object: T, guard: FinalizerGuard): Promise<ReconcileResult>;
  /**
   * The object is to go: cleans up. `settled` lets it go; `requeue` keeps it and looks again; what it
   * throws keeps it too. May be called again after it settled, so it must do nothing twice.
   */
  cleanUp(object: T): Promise<ReconcileResult>;
}

/**
 * One reconcile of an object with a finalizer: adds it, then applies; or cleans up, then removes it.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { SETTLED } from "./reconciler.ts";
 *
 * const metadata = { name: "a", uid: "1", resourceVersion: "7", creationTimestamp: "" };
 * const object = { apiVersion: "example.com/v1", kind: "Backup", metadata };
 * const steps: string[] = [];
 * await withFinalizer(object, {
 *   client: { // client.resource(BACKUPS)
 *     get: () => Promise.resolve(object),
 *     patch: ({ patch }) => Promise.resolve(void steps.push(patch.type)).then(() => object),
 *   },
 *   finalizer: "example.com/backup",
 *   apply: () => Promise.resolve(void steps.push("apply")).then(() => SETTLED),
 *   cleanUp: () => Promise.resolve(SETTLED),
 *   signal: new AbortController().signal,
 * });
 * deepStrictEqual(steps, ["merge", "apply"]);
 * ```
 */
export async function withFinalizer<T extends KubeObject>(
  object: T,
  life: FinalizedLife<T>,
): Promise<ReconcileResult> {
  if (!isDeleting(object)) {
    const guard = { confirm: () => confirm(object, life) };
    return await life.apply(await ensureFinalizer(object, life), guard);
  }
  if (!hasFinalizer(object, life.finalizer)) return SETTLED; // others keep it
  const result = await life.cleanUp(object);
  if (result.type === "settled") await removeFinalizer(object, life);
  return result;
}

async function confirm<T extends KubeObject>(
  object: T,
  { client, finalizer, signal }: FinalizerOptions<T>,
): Promise<void> {
  const { name, uid } = object.metadata;
  let live: T;
  try {
    live = await readLive(client, { ...placeOf(object), signal });
  } catch (error) {
    if (isObjectNotFound(error)) throw new IgnorableError(`"${name}" has gone`, { cause: error });
    throw error;
  }
  if (live.metadata.uid === uid && !isDeleting(live) && hasFinalizer(live, finalizer)) return;
  throw new IgnorableError(`"${name}" is to go, was made anew, or has lost its finalizer`);
}

/**
 * A JSON patch whose test failed is answered with 422, as is one that makes no sense; a write that
 * came between with 409.
 */
function isTestFailure(error: unknown): boolean {
  return isConflict(error) || (error instanceof ApiError && error.status === 422);
}

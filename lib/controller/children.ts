/**
 * The objects that a reconciled object is turned into: made, kept as wanted, adopted, and deleted
 * when no longer wanted.
 *
 * What these helpers promise:
 * - An object that somebody else controls is never written and never deleted (field case R6).
 * - Only what is wanted is compared and sent, and nothing is written that is there already (R1).
 * - Each write carries the uid and version that it was decided on, so a cache that lags costs a
 *   conflict and not a wrong write. That something has gone in between is as good as done.
 *
 * @module
 */

import type { KindDefinition } from "../client/kinds.ts";
import type { Patch } from "../client/patch.ts";
import { missingIn } from "../core/difference.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../core/errors.ts";
import { type DeepPartial, type Draft, isControlledBy, type KubeObject } from "../core/objects.ts";
import { AlreadyOwnedError, planAdoption, withController } from "../core/owner_references.ts";
import { type LiveReader, type Maker, type Patcher, placeOf, readLive } from "./object_client.ts";

/** All that is needed of a client. */
export type ChildClient<T extends KubeObject> = Maker<T> & Patcher<T> & LiveReader<T>;

/** Whose children, and how they are reached. */
export interface ChildOptions<T extends KubeObject> {
  /** Does the requests. */
  readonly client: ChildClient<T>;
  /** The object that is reconciled. */
  readonly owner: KubeObject;
  /** Its kind. */
  readonly ownerKind: Pick<KindDefinition<KubeObject>, "gvk" | "scope">;
  /** Ends the requests. */
  readonly signal: AbortSignal;
}

/** What {@linkcode ensureChild} needs besides. */
export interface EnsureChildOptions<T extends KubeObject> extends ChildOptions<T> {
  /** What is wanted, with its name; no more than that is compared. */
  readonly wanted: Draft<T> & { metadata: { name: string } };
  /** What the cache has under the name, if anything. */
  readonly found: T | undefined;
  /**
   * Takes over an object that nobody controls. `recheck` reads the owner live first: one that has
   * gone, or was made anew, must not adopt. @default never
   */
  readonly adopt?: { recheck(): Promise<KubeObject> };
}

/** What {@linkcode ensureChild} found or did. */
export interface EnsuredChild<T> {
  /**
   * `waits`: it, or its owner, is being deleted; its end will be told. `unchanged` is also what the
   * server made no new version of: a value that it stores in other words, as `1` for `1000m`.
   */
  readonly type: "created" | "adopted" | "changed" | "unchanged" | "waits";
  /** The child as the server, or the cache if nothing was written, has it. */
  readonly child: T;
}

/**
 * Makes the child, or changes what of it differs from what is wanted.
 *
 * @throws {AlreadyOwnedError} If an object of the name is there that is not the owner's: also one that
 *   nobody controls, unless it may be adopted. No cure for retries: its end, or a change of the
 *   owner, is what helps.
 * @throws {CrossNamespaceError} If the child is wanted in another namespace than the owner's.
 * @throws {ApiError} What the requests throw; with `isConflict` if the cache was behind.
 */
export async function ensureChild<T extends KubeObject>(
  options: EnsureChildOptions<T>,
): Promise<EnsuredChild<T>> {
  const { client, owner, ownerKind, wanted, signal } = options;
  const draft = withController(wanted, owner, ownerKind);
  if (options.found !== undefined) return await keep(options, options.found);
  try {
    return { type: "created", child: await client.create(draft, { signal }) };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // The cache does not know it: perhaps our own from a moment ago, perhaps somebody's (S6, R6).
  const { name, namespace } = wanted.metadata;
  const place = { name, ...(namespace === undefined ? {} : { namespace }) };
  const found = await readLive(client, { ...place, signal });
  return await keep(options, found);
}

/**
 * Deletes those of `found` that the owner controls and that are not wanted any more, by name.
 * Objects of others in `found` are left alone.
 *
 * @returns Names of those whose deletion was asked for.
 * @throws {ApiError} What the requests throw, but for one that has gone or changed: a change leads to
 *   another look. The others are tried first.
 */
export async function pruneChildren<T extends KubeObject>(
  { client, owner, signal, found, wanted }: Omit<ChildOptions<T>, "ownerKind"> & {
    /** The owner's children as the cache has them. */
    readonly found: Iterable<T>;
    /** Names of those that stay. */
    readonly wanted: ReadonlySet<string>;
  },
): Promise<string[]> {
  const pruned: string[] = [];
  const failures: unknown[] = [];
  for (const child of found) {
    const { name, uid, resourceVersion, deletionTimestamp } = child.metadata;
    const stays = wanted.has(name) || deletionTimestamp !== undefined;
    if (stays || !isControlledBy(child, owner)) continue;
    try {
      // With the version too: it may have been released since, and is somebody else's now.
      const preconditions = { uid, resourceVersion };
      const how = { preconditions, propagationPolicy: "Background", signal } as const;
      await client.delete({ ...placeOf(child), ...how });
      pruned.push(name);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return pruned;
}

async function keep<T extends KubeObject>(
  options: EnsureChildOptions<T>,
  found: T,
): Promise<EnsuredChild<T>> {
  const { owner, ownerKind, wanted, adopt } = options;
  const plan = planAdoption(found, owner, ownerKind);
  switch (plan.type) {
    case "foreign":
      throw new AlreadyOwnedError(`"${found.metadata.name}"`, plan.owner);
    case "wait":
      return { type: "waits", child: found };
    case "owned": {
      const difference = missingIn(found, withoutIdentity(wanted));
      if (difference === undefined) return { type: "unchanged", child: found };
      const child = await change(options, found, difference);
      const isSame = child.metadata.resourceVersion === found.metadata.resourceVersion;
      return { type: isSame ? "unchanged" : "changed", child };
    }
    case "adopt": {
      if (adopt === undefined) throw new AlreadyOwnedError(`"${found.metadata.name}"`, undefined);
      const live = await adopt.recheck();
      const isSame = live.metadata.uid === owner.metadata.uid;
      if (!isSame || live.metadata.deletionTimestamp !== undefined) {
        return { type: "waits", child: found };
      }
      const difference = missingIn(found, withoutIdentity(wanted)) ?? {};
      const { ownerReferences } = plan;
      return {
        type: "adopted",
        child: await change(options, found, difference, { ownerReferences }),
      };
    }
    default:
      return plan satisfies never;
  }
}

/** Writes `difference`, on the state that it was found in. */
async function change<T extends KubeObject>(
  { client, signal }: EnsureChildOptions<T>,
  found: T,
  difference: DeepPartial<KubeObject>,
  references: Pick<KubeObject["metadata"], "ownerReferences"> = {},
): Promise<T> {
  const { uid, resourceVersion } = found.metadata;
  const metadata = { ...difference.metadata, ...references, uid, resourceVersion };
  const patch: Patch<KubeObject> = { type: "merge", body: { ...difference, metadata } };
  return await client.patch({ ...placeOf(found), patch, signal });
}

/** What is compared: the owner's reference is judged apart, and names are the same. */
function withoutIdentity(wanted: Draft<KubeObject>): object {
  const { labels, annotations, finalizers } = wanted.metadata;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = wanted;
  return { ...rest, metadata: { labels, annotations, finalizers } };
}

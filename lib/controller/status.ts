/**
 * Writes a status where it differs, and only there (field case R2).
 *
 * @module
 */

import type { Patch } from "../client/patch.ts";
import { isJsonObject, jsonEqual, type JsonObject, memberOf, setMember } from "../core/json.ts";
import type { KubeObject } from "../core/objects.ts";
import { diffMergePatch } from "../core/patch_merge.ts";
import { type Patcher, placeOf } from "./object_client.ts";

/** An object with a status. */
export type WithStatus = KubeObject & { status?: object };

/**
 * The part of a merge patch that makes `have` say `wanted` in each field that `wanted` has, or
 * `undefined` if it does already. A field that is `undefined` in `wanted` is left alone; inside a
 * field, members that `wanted` does not have are removed. Pure.
 *
 * @throws {PatchError} If a changed field holds `null`, which a merge patch can't say.
 */
export function statusDifference(
  have: unknown,
  wanted: object,
): JsonObject | undefined {
  const before = isJsonObject(have) ? have : {};
  const patch: JsonObject = {};
  if (!isJsonObject(wanted)) return undefined;
  for (const [field, value] of Object.entries(wanted)) {
    const old = memberOf(before, field);
    if (value === undefined || jsonEqual(old, value)) continue;
    setMember(patch, field, old === undefined ? value : diffMergePatch(old, value));
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/**
 * Makes `object`'s status say `wanted`, by a merge patch of just the fields that differ. Fields that
 * `wanted` does not name belong to others and stay.
 *
 * The object's uid and version are preconditions: a status is a statement about the state that it was
 * made from. A conflict says that there is a newer one, which leads to another look.
 *
 * @returns The object with the new status; `object` itself if nothing had to be written.
 * @throws {ApiError} What the request throws.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * import type { KubeObject } from "../core/objects.ts";
 * interface Backup extends KubeObject { status?: { phase?: string; size?: number } }
 *
 * const metadata = { name: "a", uid: "1", resourceVersion: "7", creationTimestamp: "" };
 * const object: Backup = {
 *   apiVersion: "example.com/v1", kind: "Backup", metadata, status: { phase: "Done", size: 1 },
 * };
 * const bodies: unknown[] = [];
 * const client = { // client.resource(BACKUPS)
 *   patch: ({ patch }: { patch: { body: unknown } }) =>
 *     Promise.resolve(void bodies.push(patch.body)).then(() => object),
 * };
 * const { signal } = new AbortController();
 * strictEqual(await patchStatus(object, { phase: "Done" }, { client, signal }), object);
 * await patchStatus(object, { phase: "Done", size: 2 }, { client, signal });
 * deepStrictEqual(bodies, [{ metadata: { uid: "1", resourceVersion: "7" }, status: { size: 2 } }]);
 * ```
 */
export async function patchStatus<T extends WithStatus>(
  object: T,
  wanted: Readonly<Partial<NonNullable<T["status"]>>>,
  { client, signal }: { client: Patcher<T>; signal: AbortSignal },
): Promise<T> {
  const status = statusDifference(object.status, wanted);
  if (status === undefined) return object;
  const { uid, resourceVersion } = object.metadata;
  const patch: Patch<WithStatus> = {
    type: "merge",
    body: { metadata: { uid, resourceVersion }, status },
  };
  return await client.patch({ ...placeOf(object), subresource: "status", patch, signal });
}

/**
 * JSON merge patch (RFC 7386): apply and diff.
 *
 * Both are pure. The result shares the parts that did not change with its inputs, which may be
 * frozen. A merge patch can't set a member to `null` and replaces arrays whole: where that matters,
 * use a JSON patch or, for built-in kinds, a strategic merge patch.
 *
 * @module
 */

import { isJsonObject, type Json, jsonEqual, type JsonObject, setMember } from "./json.ts";
import { PatchError } from "./patch_error.ts";

/**
 * `target` with `patch` merged into it: objects merge member by member, `null` removes a member,
 * anything else replaces.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(
 *   applyMergePatch({ a: { b: 1, c: 2 }, d: [1, 2] }, { a: { c: null }, d: [3] }),
 *   { a: { b: 1 }, d: [3] },
 * );
 * ```
 */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = {};
  if (isJsonObject(target)) {
    for (const [key, value] of Object.entries(target)) {
      if (!Object.hasOwn(patch, key)) setMember(result, key, value);
      else if (patch[key] !== null && patch[key] !== undefined) {
        setMember(result, key, applyMergePatch(value, patch[key]));
      }
    }
  }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || Object.hasOwn(result, key)) continue;
    setMember(result, key, applyMergePatch(undefined, value));
  }
  return result;
}

/**
 * The smallest merge patch that turns `before` into `after`; `{}` if they are equal objects.
 *
 * @throws {PatchError} `inexpressible`, if a changed part of `after` has a member that is `null`.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(
 *   diffMergePatch({ a: 1, b: { c: 1, d: 2 } }, { b: { c: 1, d: 3 } }),
 *   { a: null, b: { d: 3 } },
 * );
 * ```
 */
export function diffMergePatch(before: Json, after: Json): Json {
  if (!isJsonObject(after)) return after;
  // Onto something that is no object, the patch merges as onto `{}`.
  return diffObjects(isJsonObject(before) ? before : {}, after, "");
}

function diffObjects(before: JsonObject, after: JsonObject, path: string): JsonObject {
  const patch: JsonObject = {};
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) setMember(patch, key, null);
  }
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (old !== undefined && jsonEqual(old, value)) continue;
    const at = `${path}/${key}`;
    if (value === null) {
      throw new PatchError("inexpressible", `Cannot make a merge patch that sets "${at}" to null`);
    }
    const change = isJsonObject(value)
      ? diffObjects(isJsonObject(old) ? old : {}, value, at)
      : value;
    setMember(patch, key, change);
  }
  return patch;
}

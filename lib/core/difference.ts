/**
 * What of a wanted state is missing in a found one, as a merge patch. Pure.
 *
 * Only what is wanted is compared. What the server defaulted, other controllers set and people added
 * is neither compared nor sent, or a controller would write for ever (field case R1).
 *
 * @module
 */

import {
  isJsonObject,
  type Json,
  jsonEqual,
  type JsonObject,
  memberOf,
  setMember,
} from "./json.ts";

/**
 * The smallest merge patch that makes `found` have all that `wanted` says, or `undefined` if it has
 * that already.
 *
 * - Members of objects: each by itself; those that `wanted` does not name are left alone, those that
 *   are `undefined` too; `null` means that there is none.
 * - Lists: equal if they have the same length and each item of `found` has all of the wanted one, as
 *   servers add defaults inside items. Else the whole wanted list is sent.
 * - Absent and empty are the same: servers drop empty maps and lists.
 *
 * It does not know that two texts may mean the same, as `1000m` and `1` of a quantity: write them as
 * the server does.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * const found = { spec: { replicas: 2, template: { image: "a", pullPolicy: "Always" } } };
 * strictEqual(missingIn(found, { spec: { template: { image: "a" } } }), undefined);
 * deepStrictEqual(missingIn(found, { spec: { replicas: 3, template: { image: "a" } } }), {
 *   spec: { replicas: 3 },
 * });
 * ```
 */
export function missingIn(found: unknown, wanted: unknown): JsonObject | undefined {
  const patch: JsonObject = {};
  const have = isJsonObject(found) ? found : {};
  if (!isJsonObject(wanted)) return undefined;
  for (const [key, value] of Object.entries(wanted)) {
    if (value === undefined) continue;
    const part = memberDifference(memberOf(have, key), value);
    if (part !== undefined) setMember(patch, key, part);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function memberDifference(found: Json | undefined, wanted: Json): Json | undefined {
  if (isEmpty(wanted)) return isEmpty(found) || isJsonObject(wanted) ? undefined : wanted;
  if (isJsonObject(wanted)) return missingIn(found, wanted);
  return hasAllOf(found, wanted) ? undefined : wanted;
}

/** True if `found` is `wanted`, perhaps with more members in its objects. */
function hasAllOf(found: Json | undefined, wanted: Json): boolean {
  if (isJsonObject(wanted)) return missingIn(found, wanted) === undefined;
  if (!Array.isArray(wanted)) return jsonEqual(found, wanted);
  return Array.isArray(found) && found.length === wanted.length &&
    wanted.every((item, index) => hasAllOf(found[index], item));
}

/** Absent, or what a server drops. */
function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

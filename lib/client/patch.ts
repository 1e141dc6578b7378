/**
 * The four kinds of patch, told apart by type, since the API server tells them apart by
 * Content-Type alone and reads the wrong one without complaint where the shapes allow it
 * (field case R10).
 *
 * @module
 */

import type { DeepPartial, KubeObject } from "../core/objects.ts";
import type { JsonPatchOperation } from "../core/patch_json.ts";

/**
 * As {@linkcode DeepPartial}, but also of the elements of lists, which a strategic merge patch
 * merges by their key.
 */
export type StrategicPartial<T> = T extends readonly (infer E)[] ? StrategicPartial<E>[]
  : T extends object ? { [K in keyof T]?: StrategicPartial<T[K]> | null }
  : T;

/** What to change of a `T`. */
export type Patch<T extends KubeObject> =
  /** RFC 7386: members replace, `null` deletes, lists are replaced whole. */
  | { readonly type: "merge"; readonly body: DeepPartial<T> }
  /** As merge, but lists are merged by their keys. Built-in kinds only. */
  | { readonly type: "strategic"; readonly body: StrategicPartial<T> }
  /** RFC 6902: operations, done all or none. */
  | { readonly type: "json"; readonly body: readonly JsonPatchOperation[] }
  /**
   * Server-side apply: all that `fieldManager` wants. `apiVersion`, `kind` and the name are filled
   * in. Creates the object if it is absent.
   */
  | {
    readonly type: "apply";
    readonly body: DeepPartial<T>;
    readonly fieldManager: string;
    /** Take fields over from other managers, instead of a Conflict. @default {false} */
    readonly force?: boolean;
  };

/** Content-Type of each kind of patch. */
export const PATCH_CONTENT_TYPES: Readonly<Record<Patch<KubeObject>["type"], string>> = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
  // JSON is YAML, and every server that has apply takes this one.
  apply: "application/apply-patch+yaml",
};

/**
 * Server-side apply. (Signatures first; bodies follow.)
 *
 * @module
 */
import type { StatusCause } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { StructuralSchema } from "./structural_schema.ts";

export interface ApplyOptions {
  /** The stored object; absent when apply creates. */
  readonly live: JsonObject | undefined;
  readonly applied: JsonObject;
  readonly manager: string;
  readonly force: boolean;
  readonly schema: StructuralSchema;
  /** `"status"`, or absent for the object itself. */
  readonly subresource?: string;
  /** True if the kind has a status subresource: then the main endpoint can't own `status`. */
  readonly hasStatus: boolean;
  readonly nowMs: number;
}
export type ApplyResult =
  /** `changed` false: nothing is to be written. `object` has its new managedFields. */
  | { type: "applied"; object: JsonObject; changed: boolean }
  /** Answer 409 with `message` and `causes`. */
  | { type: "conflict"; message: string; causes: StatusCause[] }
  /** Answer 500 with `message` and no reason, as the API server does for what its schema refuses. */
  | { type: "untyped"; message: string };
/** Merges `applied` into `live` by field ownership. Default, prune and validate the result after. */
export function serverSideApply(_options: ApplyOptions): ApplyResult {
  throw new Error("Not written yet");
}

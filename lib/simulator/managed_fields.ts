/**
 * Field ownership. (Signatures first; bodies follow.)
 *
 * @module
 */
import type { JsonObject } from "../core/json.ts";
import type { ManagedFieldsEntry } from "../core/objects.ts";
import type { StructuralSchema } from "./structural_schema.ts";

export interface TrackUpdateOptions {
  /** The stored object with its managedFields; absent on create. */
  readonly before: JsonObject | undefined;
  /** The object to be stored (defaulted, pruned), with the managedFields that the request sent. */
  readonly after: JsonObject;
  readonly manager: string;
  readonly schema: StructuralSchema;
  readonly subresource?: string;
  readonly hasStatus: boolean;
  readonly nowMs: number;
}
/** The managedFields to store with `after`. */
export function trackUpdate(_options: TrackUpdateOptions): ManagedFieldsEntry[] {
  throw new Error("Not written yet");
}

/**
 * Schemas of objects: pruning, defaulting, validation. (Signatures first; bodies follow.)
 *
 * @module
 */
import type { StatusCause } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";

/** Thrown by {@linkcode StructuralSchema.compile}; causes' `field` starts at `spec.validation.openAPIV3Schema`. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly causes: readonly StatusCause[];
  constructor(causes: readonly StatusCause[]) {
    super(causes.map((cause) => `${cause.field}: ${cause.message}`).join(", "));
    this.causes = causes;
  }
}

export interface ValidateOptions {
  /** The stored object, for transition rules; absent on create. */
  readonly old?: Json;
}

/** One version's schema of a kind (a CRD's or a built-in's). Values are whole objects. */
export class StructuralSchema {
  /** @throws {SchemaError} */
  static compile(_openAPIV3Schema: JsonObject): StructuralSchema {
    throw new Error("Not written yet");
  }
  /** A copy without unknown fields (shares unchanged parts). */
  prune(_object: JsonObject): JsonObject {
    throw new Error("Not written yet");
  }
  /** A copy with defaults (shares unchanged parts). */
  applyDefaults(_object: JsonObject): JsonObject {
    throw new Error("Not written yet");
  }
  /** What the API server would answer in `details.causes`, in its order. */
  validate(_object: JsonObject, _options?: ValidateOptions): StatusCause[] {
    throw new Error("Not written yet");
  }
  /** Paths such as `spec.foo[0].bar`, for `unknown field "…"` warnings and strict errors. */
  unknownFields(_object: JsonObject): string[] {
    throw new Error("Not written yet");
  }
}

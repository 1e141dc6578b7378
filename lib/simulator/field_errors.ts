/**
 * Validation failures, field by field, and the 422 answer made of them.
 *
 * @module
 */

import type { StatusCause } from "../core/errors.ts";
import { StatusError } from "./api_status.ts";

/** One thing wrong with one field. `message` is complete but for the field, as causes carry it. */
export interface FieldError {
  /** `FieldValueInvalid`, `FieldValueRequired`, … */
  readonly reason: string;
  /** Path such as `spec.replicas`. */
  readonly field: string;
  /** Text such as `Required value: name or generateName is required`. */
  readonly message: string;
}

/** A value as Go's `%v` or `%#v` prints it inside a field error. */
function shown(value: unknown): string {
  return typeof value === "object" && value !== null
    ? JSON.stringify(value)
    : typeof value === "string"
    ? JSON.stringify(value)
    : String(value);
}

/** The field must not be empty. */
export function requiredField(field: string, detail = ""): FieldError {
  return {
    reason: "FieldValueRequired",
    field,
    message: `Required value${detail === "" ? "" : `: ${detail}`}`,
  };
}

/** The field's value is malformed. */
export function invalidField(field: string, value: unknown, detail: string): FieldError {
  return {
    reason: "FieldValueInvalid",
    field,
    message: `Invalid value: ${shown(value)}: ${detail}`,
  };
}

/** The field's value is well-formed but must not be there, or not now. */
export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: "FieldValueForbidden", field, message: `Forbidden: ${detail}` };
}

/** The field's value is none of an enumeration. */
export function unsupportedField(
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError {
  const list = supported.map((each) => JSON.stringify(each)).join(", ");
  return {
    reason: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${shown(value)}: supported values: ${list}`,
  };
}

/** The 422 answer for `errors` about an object; see {@linkcode throwIfInvalid}. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const texts = [...new Set(errors.map((each) => `${each.field}: ${each.message}`))];
  const why = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const causes: StatusCause[] = errors.map(({ reason, message, field }) => ({
    reason,
    message,
    field,
  }));
  const qualifiedKind = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `${qualifiedKind} "${name}" is invalid: ${why}`,
    reason: "Invalid",
    details: {
      ...(name === "" ? {} : { name }),
      ...(kind.group === "" ? {} : { group: kind.group }),
      kind: kind.kind,
      causes,
    },
    code: 422,
  });
}

/** Throws the 422 answer if there is any error. */
export function throwIfInvalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): void {
  if (errors.length > 0) throw invalid(kind, name, errors);
}

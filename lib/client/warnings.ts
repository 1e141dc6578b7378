/**
 * The header `Warning`, by which API servers tell of deprecated versions and of fields that a
 * schema does not know.
 *
 * @module
 */

/**
 * The texts of a `Warning` header's warnings (RFC 7234); none for `null` or what is malformed.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(parseWarnings('299 - "unknown field \\"spec.a\\"", 299 - "old"'), [
 *   'unknown field "spec.a"',
 *   "old",
 * ]);
 * ```
 */
export function parseWarnings(header: string | null): string[] {
  if (header === null) return [];
  return [...header.matchAll(/\b\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)]
    .map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1"));
}

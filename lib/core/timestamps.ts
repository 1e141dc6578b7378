/**
 * Kubernetes' two time formats. `metav1.Time` has whole seconds, `MicroTime` exactly six digits:
 * the API server refuses Leases and Events whose MicroTime has another width (field case L1).
 *
 * @module
 */

/**
 * `wallMs` as a `metav1.Time`: RFC 3339, UTC, whole seconds.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(timeOf(Date.UTC(2026, 0, 2, 3, 4, 5, 678)), "2026-01-02T03:04:05Z");
 * ```
 */
export function timeOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/**
 * `wallMs` as a `MicroTime`: RFC 3339, UTC, six fraction digits.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(microTimeOf(Date.UTC(2026, 0, 2, 3, 4, 5, 678)), "2026-01-02T03:04:05.678000Z");
 * ```
 */
export function microTimeOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/(\.\d{3})Z$/, "$1000Z");
}

/**
 * Milliseconds since 1970 of an RFC 3339 time with any number of fraction digits.
 *
 * @throws {SyntaxError} If `text` is not such a time.
 */
export function parseTime(text: string): number {
  const ms = Date.parse(text.replace(/(\.\d{3})\d+/, "$1"));
  if (Number.isNaN(ms)) throw new SyntaxError(`Cannot parse time "${text}"`);
  return ms;
}

/**
 * Text of others on one line of ours.
 *
 * Names, messages and answers come from users and servers. Printed as they are, a line break in one
 * forges a line of a log, and a control character drives the terminal of whoever reads it.
 *
 * @module
 */

// deno-lint-ignore no-control-regex -- those are what must not reach a terminal
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/**
 * Escapes all that could end the line or drive a terminal, in the way that JSON texts take too.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(oneLine("a\nb\x1b[31m"), "a\\nb\\u001b[31m");
 * ```
 */
export function oneLine(text: string): string {
  return text.replace(
    CONTROL,
    (char) => char === "\n" ? "\\n" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

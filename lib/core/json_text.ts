/**
 * JSON to and from text without losing large integers.
 *
 * Kubernetes' `int64` fields may hold values that a JavaScript number can't: 9007199254740993 would
 * come back from a read-modify-write as …992, and so change a field that we never meant to touch
 * (field case S4). Such integers, and only they, become `bigint`s, which compare, freeze and clone
 * like any other primitive, and which {@linkcode stringifyJson} writes as they came.
 *
 * @module
 */

/**
 * Finds text that may hold an integer of 16 or more digits as a value. Numbers below 2^53 have at
 * most 16. A hit inside a string only costs time.
 */
const LARGE_INTEGER = /[:[,]\s*-?\d{16}/;

/**
 * The value of a JSON text; integers beyond ±(2^53 - 1) become `bigint`.
 *
 * @throws {SyntaxError} If `text` is not JSON. Its message may quote the text: do not show it where
 * the text may hold a secret.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const text = '{"n":9007199254740993}';
 * strictEqual(stringifyJson(parseJson(text)), text);
 * ```
 */
export function parseJson(text: string): unknown {
  return LARGE_INTEGER.test(text) ? JSON.parse(text, reviveInteger) : JSON.parse(text);
}

function reviveInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/**
 * `value` as JSON text; `bigint`s become integers.
 *
 * @throws {TypeError} If `value` has a cycle.
 */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Nearly always there is none, and a replacer makes writing several times slower.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, writeInteger);
  }
}

/** `JSON` with the part of ECMAScript's source text access that TypeScript's library lacks so far. */
const jsonWithRaw = JSON as typeof JSON & { rawJSON(text: string): unknown };

function writeInteger(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? jsonWithRaw.rawJSON(String(value)) : value;
}

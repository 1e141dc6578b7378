/**
 * Plain JSON values and the few operations on them that patches, schemas and diffs share.
 *
 * A file of its own because those callers must agree on one notion of equality and on one safe way
 * to write a key: JSON may well contain a member named `__proto__`, and an ordinary assignment
 * would then change the object's prototype instead of adding the member.
 *
 * @module
 */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  /** Any member. */
  [key: string]: Json;
}

/** True if `value` is a JSON object: neither an array nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Sets the own member `key`, also when it is named `__proto__`.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const object = {};
 * setMember(object, "__proto__", 1);
 * deepStrictEqual(Object.keys(object), ["__proto__"]);
 * ```
 */
export function setMember(object: JsonObject, key: string, value: Json): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else object[key] = value;
}

/**
 * The own member `key` of `object`, or `undefined`: inherited names such as `toString` are absent.
 */
export function memberOf(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** A copy of `object`'s top level without the member `key`. */
export function withoutMember(object: JsonObject, key: string): JsonObject {
  const copy: JsonObject = {};
  for (const [name, value] of Object.entries(object)) {
    if (name !== key) setMember(copy, name, value);
  }
  return copy;
}

/** A copy of `object`'s top level in which the member `key` is `value`. */
export function withMember(object: JsonObject, key: string, value: Json): JsonObject {
  const copy: JsonObject = {};
  for (const [name, old] of Object.entries(object)) setMember(copy, name, old);
  setMember(copy, key, value);
  return copy;
}

/**
 * True if both are the same JSON value. The order of members does not count, and a member that is
 * `undefined` counts as absent, as `JSON.stringify` treats it.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(jsonEqual({ a: 1, b: [null] }, { b: [null], a: 1 }), true);
 * strictEqual(jsonEqual({ a: 1 }, { a: "1" }), false);
 * ```
 */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length &&
      a.every((item, index) => jsonEqual(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = definedKeys(a);
  return keys.length === definedKeys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key]));
}

/** A deep copy that shares nothing with `value` and is not frozen. */
export function copyJson<T extends Json>(value: T): T;
export function copyJson(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => copyJson(item));
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setMember(copy, key, copyJson(item));
  return copy;
}

function definedKeys(object: JsonObject): string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}

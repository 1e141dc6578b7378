/**
 * Objects inside the simulated server: any JSON with Kubernetes' metadata, and the few ways to look
 * into it without trusting its shape. The only file of the simulator that changes the type of a
 * JSON value: what comes from a client is checked here once.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { AnyObject } from "../core/watch_event.ts";

/** An object of any kind. Those in the storage are deeply frozen. */
export type ApiObject = AnyObject;

/** `value` as a JSON object, or an empty one if it is none. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The object at the member path `path` of `value`, or an empty one where anything is missing. */
export function objectAt(value: unknown, ...path: string[]): JsonObject {
  let at = objectOf(value);
  for (const name of path) at = Object.hasOwn(at, name) ? objectOf(at[name]) : {};
  return at;
}

/** The value at the member path `path`, or `undefined` where anything is missing. */
export function valueAt(value: unknown, ...path: string[]): Json | undefined {
  const last = path.at(-1);
  if (last === undefined) return undefined;
  const parent = objectAt(value, ...path.slice(0, -1));
  return Object.hasOwn(parent, last) ? parent[last] : undefined;
}

/** The string at `path`, or `""`. */
export function stringAt(value: unknown, ...path: string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The number at `path`, or `undefined`. */
export function numberAt(value: unknown, ...path: string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** The objects of the array at `path`; entries that are no objects are left out. */
export function objectsAt(value: unknown, ...path: string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

/** The strings of the array at `path`; entries that are no strings are left out. */
export function stringsAt(value: unknown, ...path: string[]): string[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

/** The string members of the object at `path`, for labels and annotations. */
export function stringMapAt(value: unknown, ...path: string[]): Record<string, string> {
  const entries = Object.entries(objectAt(value, ...path));
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** `object` seen as plain JSON, for patches and schemas. Shares everything. */
export function jsonOfObject(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}

/**
 * `json` seen as an API object. The caller has checked, or is about to set, what an object must
 * have; a missing `metadata` is added here so that the rest of the server may rely on it.
 */
export function objectOfJson(json: JsonObject): ApiObject {
  const whole = isJsonObject(json.metadata) ? json : { ...json, metadata: {} };
  return whole as unknown as ApiObject;
}

const texts = new WeakMap<object, string>();

/**
 * `object` as JSON text. Kept per frozen object, since each stored version is sent to every watch
 * and list that covers it.
 */
export function textOf(object: object): string {
  if (!Object.isFrozen(object)) return JSON.stringify(object);
  let text = texts.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    texts.set(object, text);
  }
  return text;
}

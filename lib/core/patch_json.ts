/**
 * JSON patch (RFC 6902): parse, apply, diff.
 *
 * All are pure: the result shares unchanged parts with its inputs, which may be frozen. A patch is
 * applied whole or not at all. As the RFC demands, parents are never made on the way: adding
 * `/metadata/labels/a` to an object without labels fails (webhooks that forget this break on the
 * first object without labels; {@linkcode diffJsonPatch} adds the parent).
 *
 * @module
 */

import {
  isJsonObject,
  type Json,
  jsonEqual,
  type JsonObject,
  memberOf,
  withMember,
  withoutMember,
} from "./json.ts";
import { PatchError } from "./patch_error.ts";

/** One operation. `path` and `from` are JSON pointers (RFC 6901). */
export type JsonPatchOperation =
  | { op: "add" | "replace" | "test"; path: string; value: Json }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; from: string; path: string };

/**
 * One member name or index as a part of a JSON pointer: `~` and `/` are escaped.
 *
 * @example A label key in a path
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(`/metadata/labels/${escapePointer("app.kubernetes.io/name")}`,
 *   "/metadata/labels/app.kubernetes.io~1name");
 * ```
 */
export function escapePointer(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

/**
 * The parts of a JSON pointer, unescaped; none for the whole document (`""`).
 *
 * @throws {PatchError} `malformed`, if it neither is empty nor starts with `/`, or has a bare `~`.
 */
export function parsePointer(pointer: string): string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) {
    throw new PatchError("malformed", `Cannot read JSON pointer "${pointer}"`);
  }
  return pointer.slice(1).split("/").map((part) =>
    // In this order, so that "~01" becomes "~1" and not "/".
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}

/**
 * Checks that `value` is a list of operations, as it came from outside.
 *
 * @throws {PatchError} `malformed`, naming the operation at fault.
 */
export function parseJsonPatch(value: unknown): JsonPatchOperation[] {
  if (!Array.isArray(value)) {
    throw new PatchError("malformed", "Cannot read JSON patch: it is not an array");
  }
  return value.map(parseOperation);
}

/**
 * `document` after all `operations`, in order.
 *
 * @throws {PatchError} `missing`, `test-failed` or `malformed` (a bad pointer or index); the
 * message names the operation.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const pod = { metadata: { name: "a" }, containers: ["x"] };
 * deepStrictEqual(
 *   applyJsonPatch(pod, [
 *     { op: "test", path: "/metadata/name", value: "a" },
 *     { op: "add", path: "/containers/-", value: "y" },
 *   ]),
 *   { metadata: { name: "a" }, containers: ["x", "y"] },
 * );
 * ```
 */
export function applyJsonPatch(
  document: Json,
  operations: readonly JsonPatchOperation[],
): Json {
  return operations.reduce(applyOperation, document);
}

/**
 * Operations (`add`, `remove`, `replace`) that turn `before` into `after`; none if they are equal.
 *
 * Array items are compared by position after the common start and end: minimal for one insertion
 * or removal, correct for all changes.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(
 *   diffJsonPatch({ labels: { "a/b": "1" } }, { labels: { "a/b": "2" } }),
 *   [{ op: "replace", path: "/labels/a~1b", value: "2" }],
 * );
 * ```
 */
export function diffJsonPatch(before: Json, after: Json): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  diffValues(before, after, "", operations);
  return operations;
}

function parseOperation(value: unknown, index: number): JsonPatchOperation {
  const fail = (why: string) =>
    new PatchError("malformed", `Cannot read JSON patch: operation ${index} ${why}`);
  if (!isJsonObject(value)) throw fail("is not an object");
  const { op, path, from } = value;
  if (typeof path !== "string") throw fail("has no path");
  parsePointer(path);
  switch (op) {
    case "add":
    case "replace":
    case "test":
      if (value["value"] === undefined) throw fail(`is "${op}" and has no value`);
      return { op, path, value: value["value"] };
    case "remove":
      return { op, path };
    case "move":
    case "copy":
      if (typeof from !== "string") throw fail(`is "${op}" and has no from`);
      parsePointer(from);
      return { op, from, path };
    default:
      throw fail(`has the unknown op "${String(op)}"`);
  }
}

function applyOperation(document: Json, operation: JsonPatchOperation, index: number): Json {
  const where = `operation ${index} (${operation.op} "${operation.path}")`;
  const parts = parsePointer(operation.path);
  switch (operation.op) {
    case "add":
      return add(document, parts, operation.value, where);
    case "replace":
      read(document, parts, where);
      return parts.length === 0
        ? operation.value
        : change(document, parts, where, (parent, key) => put(parent, key, operation.value));
    case "remove":
      read(document, parts, where);
      return remove(document, parts, where);
    case "test":
      if (jsonEqual(read(document, parts, where), operation.value)) return document;
      throw new PatchError("test-failed", `Cannot apply ${where}: the value differs`);
    case "copy":
      return add(document, parts, read(document, parsePointer(operation.from), where), where);
    case "move": {
      const from = parsePointer(operation.from);
      if (operation.path.startsWith(`${operation.from}/`)) {
        throw new PatchError("malformed", `Cannot apply ${where}: it moves a value into itself`);
      }
      const value = read(document, from, where);
      return add(remove(document, from, where), parts, value, where);
    }
    default:
      return operation satisfies never;
  }
}

/** The value at `parts`. */
function read(document: Json, parts: readonly string[], where: string): Json {
  let value: Json | undefined = document;
  for (const part of parts) {
    value = Array.isArray(value)
      ? value[arrayIndex(part, value.length - 1, where)]
      : isJsonObject(value)
      ? memberOf(value, part)
      : undefined;
    if (value === undefined) {
      throw new PatchError("missing", `Cannot apply ${where}: there is no "${part}"`);
    }
  }
  return value;
}

function add(document: Json, parts: readonly string[], value: Json, where: string): Json {
  if (parts.length === 0) return value;
  return change(document, parts, where, (parent, key) => {
    if (!Array.isArray(parent)) return withMember(parent, key, value);
    const at = key === "-" ? parent.length : arrayIndex(key, parent.length, where);
    return parent.toSpliced(at, 0, value);
  });
}

function remove(document: Json, parts: readonly string[], where: string): Json {
  if (parts.length === 0) {
    throw new PatchError("malformed", `Cannot apply ${where}: it removes the whole document`);
  }
  return change(
    document,
    parts,
    where,
    (parent, key) =>
      Array.isArray(parent) ? parent.toSpliced(Number(key), 1) : withoutMember(parent, key),
  );
}

/** Copies the way down to the parent of the last part, and lets `edit` replace that parent. */
function change(
  document: Json,
  parts: readonly string[],
  where: string,
  edit: (parent: Json[] | JsonObject, key: string) => Json,
): Json {
  const [part, ...rest] = parts;
  if (part === undefined || !(Array.isArray(document) || isJsonObject(document))) {
    throw new PatchError("missing", `Cannot apply ${where}: there is no "${part ?? ""}"`);
  }
  if (rest.length === 0) return edit(document, part);
  const child = read(document, [part], where);
  return put(document, part, change(child, rest, where, edit));
}

function put(parent: Json | undefined, key: string, value: Json): Json {
  if (Array.isArray(parent)) return parent.with(Number(key), value);
  return withMember(isJsonObject(parent) ? parent : {}, key, value);
}

function arrayIndex(part: string, max: number, where: string): number {
  if (!/^(0|[1-9]\d*)$/.test(part)) {
    throw new PatchError("malformed", `Cannot apply ${where}: "${part}" is no array index`);
  }
  if (Number(part) > max) {
    throw new PatchError("missing", `Cannot apply ${where}: index ${part} is past the end`);
  }
  return Number(part);
}

function diffValues(before: Json, after: Json, path: string, out: JsonPatchOperation[]): void {
  if (jsonEqual(before, after)) return;
  if (isJsonObject(before) && isJsonObject(after)) diffMembers(before, after, path, out);
  else if (Array.isArray(before) && Array.isArray(after)) diffItems(before, after, path, out);
  else out.push({ op: "replace", path, value: after });
}

function diffMembers(
  before: JsonObject,
  after: JsonObject,
  path: string,
  out: JsonPatchOperation[],
): void {
  for (const [key, old] of Object.entries(before)) {
    const at = `${path}/${escapePointer(key)}`;
    const value = memberOf(after, key);
    if (value === undefined) out.push({ op: "remove", path: at });
    else diffValues(old, value, at, out);
  }
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined || Object.hasOwn(before, key)) continue;
    out.push({ op: "add", path: `${path}/${escapePointer(key)}`, value });
  }
}

function diffItems(before: Json[], after: Json[], path: string, out: JsonPatchOperation[]): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && jsonEqual(before[start], after[start])) start++;
  let tail = 0;
  while (tail < shorter - start && jsonEqual(before.at(-1 - tail), after.at(-1 - tail))) tail++;

  const changed = after.slice(start, after.length - tail);
  const old = before.slice(start, before.length - tail);
  changed.forEach((value, offset) => {
    const at = `${path}/${start + offset}`;
    const previous = old[offset];
    if (previous === undefined) out.push({ op: "add", path: at, value });
    else diffValues(previous, value, at, out);
  });
  // From the end, so that the indices of the ones still to go stay right.
  for (let offset = old.length - 1; offset >= changed.length; offset--) {
    out.push({ op: "remove", path: `${path}/${start + offset}` });
  }
}

/**
 * What the main thread and the sandboxed operator say to each other, and the reader of what comes
 * out of the sandbox.
 *
 * The operator asks for "the credential" and gets it; it can't say which file, command, argument or
 * host to use, since no message has a place for one. Whatever is not exactly one of these messages
 * is refused, down to a field too many: the reader is the border.
 *
 * @module
 */

import type { Credential } from "../client/connection.ts";
import type { LogFormat } from "../core/log_sink.ts";
import type { LogLevel } from "../core/log.ts";
import { oneLine } from "../core/one_line.ts";
import type { OperatorSettings } from "../foo/operator.ts";

/** How the operator logs; its lines come back as {@linkcode FromWorker} messages. */
export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly color: boolean;
}

/** All that an operator in a worker is told. Plain data, without a secret but a proxy's password. */
export interface OperatorStart {
  readonly settings: OperatorSettings;
  readonly log: LogSettings;
}

/** Why an operator ended, as it can cross a thread's border. */
export interface Failure {
  /** One sentence. */
  readonly message: string;
  /** It says all there is to say to a person: the configuration is at fault. */
  readonly isConfig: boolean;
  /** For whoever looks for the fault in the program. */
  readonly stack?: string;
}

/** From the main thread into the sandbox. Trusted there. */
export type ToWorker =
  /** Once, first. */
  | { readonly type: "start"; readonly start: OperatorStart }
  /** Answers `current` or `refresh` number `id`. */
  | { readonly type: "credential"; readonly id: number; readonly credential: Credential }
  /** The same, if there is no credential. */
  | { readonly type: "no-credential"; readonly id: number; readonly failure: Failure }
  /** End well: no new work, running work may end. */
  | { readonly type: "stop" }
  /** Are you there? */
  | { readonly type: "ping" };

/** Out of the sandbox. Believed only as {@linkcode readFromWorker} reads it. */
export type FromWorker =
  /** Loaded, waits for `start`. */
  | { readonly type: "ready" }
  /** The credential of now, please. */
  | { readonly type: "current"; readonly id: number }
  /** The server refused credential `generation`. */
  | { readonly type: "refresh"; readonly id: number; readonly generation: number }
  /** One line for standard error, formatted and free of secrets, newline included. */
  | { readonly type: "log"; readonly line: string }
  /** Answer to `ping`. */
  | { readonly type: "pong" }
  /** The last word. Without a failure: a clean stop. */
  | { readonly type: "ended"; readonly failure?: Failure };

/**
 * Longest line or text taken, in characters. A log line has at most 64 fields of 4096 characters,
 * and most have some hundred characters; more is no log line.
 */
export const TEXT_MAX_CHARS = 512 * 1024;

/** Fields of each message, with what they must be. A `?` at the end marks what may be absent. */
const SHAPES: Readonly<Record<FromWorker["type"], Readonly<Record<string, Check>>>> = {
  "ready": {},
  "current": { id: isCount },
  "refresh": { id: isCount, generation: isCount },
  "log": { line: isLine },
  "pong": {},
  "ended": { "failure?": isFailure },
};

type Check = (value: unknown) => boolean;

/**
 * Reads a message from the sandbox.
 *
 * @returns `undefined` if it is none of {@linkcode FromWorker}, exactly.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * deepStrictEqual(readFromWorker({ type: "current", id: 1 }), { type: "current", id: 1 });
 * strictEqual(readFromWorker({ type: "current", id: 1, path: "/etc/passwd" }), undefined);
 * strictEqual(readFromWorker({ type: "run", command: "sh" }), undefined);
 * ```
 */
export function readFromWorker(data: unknown): FromWorker | undefined {
  if (!isRecord(data) || typeof data.type !== "string") return undefined;
  const { type, ...fields } = data;
  if (!Object.hasOwn(SHAPES, type)) return undefined;
  // Boundary: the line above has checked that it is one of the types, `fits` the rest.
  const shape = SHAPES[type as FromWorker["type"]];
  return fits(fields, shape) ? data as FromWorker : undefined;
}

/** True if `fields` are those of `shape`, no more and no fewer. */
function fits(
  fields: Readonly<Record<string, unknown>>,
  shape: Readonly<Record<string, Check>>,
): boolean {
  const known = Object.keys(shape).map((name) => name.replace(/\?$/, ""));
  return Object.keys(fields).every((name) => known.includes(name)) &&
    Object.entries(shape).every(([name, check]) =>
      name.endsWith("?")
        ? fields[name.slice(0, -1)] === undefined || check(fields[name.slice(0, -1)])
        : check(fields[name])
    );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.length <= TEXT_MAX_CHARS;
}

/**
 * One line, as `log_sink.ts` writes them: a second one in it, or what drives a terminal, could pass
 * for a record of the main thread, or wipe one out.
 */
function isLine(value: unknown): boolean {
  if (typeof value !== "string" || value.length > TEXT_MAX_CHARS || !value.endsWith("\n")) {
    return false;
  }
  const text = value.slice(0, -1).replaceAll(COLOR, "");
  return oneLine(text) === text;
}

// deno-lint-ignore no-control-regex -- the one kind of control that a line may have
const COLOR = /\x1b\[[\d;]*m/g;

function isFailure(value: unknown): boolean {
  return isRecord(value) && fits(value, {
    message: isText,
    isConfig: (each) => typeof each === "boolean",
    "stack?": isText,
  });
}

/**
 * The failures that callers tell apart, each a class with data and a `cause`.
 *
 * They live in `core/` because every layer must recognise them without knowing the one that threw:
 * the reflector asks "has my version expired?", the reconciler "is it gone?".
 *
 * @module
 */

/** Reasons that the API server gives in a Status; others arrive as the string the server sent. */
export type ApiReason =
  | "AlreadyExists"
  | "BadRequest"
  | "Conflict"
  | "Expired"
  | "Forbidden"
  | "Gone"
  | "InternalError"
  | "Invalid"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "NotFound"
  | "RequestEntityTooLarge"
  | "ServerTimeout"
  | "ServiceUnavailable"
  | "Timeout"
  | "TooManyRequests"
  | "Unauthorized"
  | "UnsupportedMediaType"
  | "Unknown"
  // Keeps the completion list above while any other reason of a newer server still fits.
  | (string & Record<never, never>);

/** One reason inside a Status, usually about one field. */
export interface StatusCause {
  /** Machine-readable reason, such as `FieldValueRequired`. */
  reason?: string;
  /** For people. */
  message?: string;
  /** Path of the field at fault, as `spec.replicas`. */
  field?: string;
}

/** The body with which the API server reports a failure (`kind: Status`). */
export interface Status {
  /** Always `Status`. */
  kind: "Status";
  /** Always `v1`. */
  apiVersion: "v1";
  /** Metadata of a list: mostly empty. */
  metadata: { resourceVersion?: string; continue?: string };
  /** Whether the request had its effect. */
  status: "Success" | "Failure";
  /** For people. */
  message?: string;
  /** Machine-readable reason. */
  reason?: ApiReason;
  /** HTTP status code, again. */
  code?: number;
  /** What it is about, and for how long to stay away. */
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    retryAfterSeconds?: number;
    causes?: StatusCause[];
  };
}

/** What an {@linkcode ApiError} carries besides its message. */
export interface ApiErrorFields {
  /** HTTP status code. */
  status: number;
  /** The Status' reason. */
  reason: ApiReason;
  /** Verb of the failed request in Kubernetes' terms (`get`, `list`, `patch`, …). */
  verb?: string;
  /** Path of the failed request, without host and query. */
  path?: string;
  /** How long the server asked to wait, in milliseconds. */
  retryAfterMs?: number;
  /** What the server found wrong, field by field. */
  causes?: readonly StatusCause[];
  /** The failure below this one, if any. */
  cause?: unknown;
  /** Whether a Status says so. @default {true} */
  hasStatus?: boolean;
}

/**
 * The API server answered with a failure. Network failures are {@linkcode ConnectionError}s.
 *
 * @example Telling a missing object from a real failure
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const error = new ApiError('foos "a" not found', { status: 404, reason: "NotFound" });
 * strictEqual(isNotFound(error), true);
 * strictEqual(isConflict(error), false);
 * ```
 */
export class ApiError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "ApiError";
  /** HTTP status code. */
  readonly status: number;
  /** The Status' reason. */
  readonly reason: ApiReason;
  /** Verb of the failed request, if known. */
  readonly verb: string | undefined;
  /** Path of the failed request, if known. */
  readonly path: string | undefined;
  /** How long the server asked to wait, in milliseconds, if it did. */
  readonly retryAfterMs: number | undefined;
  /** What the server found wrong, field by field; empty if it did not say. */
  readonly causes: readonly StatusCause[];
  /**
   * True if the server said it in a Status. Else the answer is about the path, or comes from
   * something in front of the API server, such as a balancer, and tells nothing of any object.
   */
  readonly hasStatus: boolean;

  /** Stores the fields; the message says what failed and why. */
  constructor(message: string, fields: ApiErrorFields) {
    super(message, { cause: fields.cause });
    this.status = fields.status;
    this.reason = fields.reason;
    this.verb = fields.verb;
    this.path = fields.path;
    this.retryAfterMs = fields.retryAfterMs;
    this.causes = fields.causes ?? [];
    this.hasStatus = fields.hasStatus ?? true;
  }
}

/** True if `error` says that the object, or the whole resource, is absent. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/**
 * True if `error` says that the object is absent, in the API server's own words. A 404 of something
 * else, such as a balancer, or of a server that starts and does not know all paths yet, is no reason
 * to take an object for gone: who acts on its absence must ask for this and not for
 * {@linkcode isNotFound}.
 */
export function isObjectNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.hasStatus;
}

/** True if `error` says that an object of this name exists already. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ApiError && error.reason === "AlreadyExists";
}

/**
 * True if `error` says that a precondition (uid or resourceVersion) did not hold.
 *
 * An API server answers a patch of another object's uid with Invalid, not with Conflict: to it, the
 * patch changes an immutable field.
 */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.reason === "Conflict" ||
    (error.reason === "Invalid" && error.causes.some(({ field }) => field === "metadata.uid"));
}

/** True if `error` says that the asked resourceVersion or continue token is too old (410). */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError &&
    (error.status === 410 || error.reason === "Expired" || error.reason === "Gone");
}

/** True if `error` says that the object's namespace is being deleted. */
export function isNamespaceTerminating(error: unknown): boolean {
  return error instanceof ApiError &&
    error.causes.some((cause) => cause.reason === "NamespaceTerminating");
}

/** How far a request came before its connection failed; see {@linkcode ConnectionError.stage}. */
export type ConnectionStage = "connect" | "send" | "body";

/**
 * No answer, or no complete answer, came: refused, reset, TLS failure, cut body.
 *
 * The request may or may not have had its effect, unless `stage` says more.
 */
export class ConnectionError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "ConnectionError";
  /**
   * `connect`: nothing was sent, so nothing happened. `send`: no byte of an answer came; the server
   * may have acted. `body`: it acted, but not all of its answer came. Absent if not known.
   */
  readonly stage: ConnectionStage | undefined;

  /** Stores the fields; the message says what failed and why, without secrets. */
  constructor(message: string, fields: { cause?: unknown; stage?: ConnectionStage } = {}) {
    super(message, { cause: fields.cause });
    this.stage = fields.stage;
  }
}

/**
 * The server's answer came whole but makes no sense: not JSON, not the shape asked for, too long.
 *
 * Unlike a {@linkcode ConnectionError}, going on from the same place would meet it again: a watch
 * that throws this is cured by a new list, not by resuming.
 */
export class ProtocolError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "ProtocolError";
}

/** A wait of ours took longer than its limit. `limitMs` is that limit. */
export class DeadlineError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "DeadlineError";
  /** The limit that passed, in milliseconds. */
  readonly limitMs: number;

  /** `action` completes the sentence "Deadline passed: …". */
  constructor(action: string, limitMs: number) {
    super(`Deadline passed: ${action} took longer than ${limitMs} ms`);
    this.limitMs = limitMs;
  }
}

/** The configuration can't be used; the message names the value at fault and the remedy. */
export class ConfigError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "ConfigError";
}

/** The program, not its input, is wrong. Never caught to go on. */
export class AssertionError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "AssertionError";
}

/**
 * Throws if `condition` is false: the program, not its input, is wrong.
 *
 * @throws {AssertionError} If `condition` is false.
 */
export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionError(claim);
}

/**
 * The message of any thrown value, with the messages of its causes, on one line.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const error = new Error("Cannot list foos", { cause: new Error("connection refused") });
 * strictEqual(messageOf(error), "Cannot list foos: connection refused");
 * ```
 */
export function messageOf(error: unknown): string {
  const parts: string[] = [];
  // Bounded, since a cause may form a cycle.
  for (let depth = 0; depth < 8 && error !== undefined && error !== null; depth++) {
    const text = error instanceof Error ? error.message || error.name : String(error);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    error = error instanceof Error ? error.cause : undefined;
  }
  return parts.join(": ").replaceAll(/\s*[\r\n]+\s*/g, " ");
}

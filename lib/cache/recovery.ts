/**
 * What to do after a list or a watch went wrong: the reflector's decisions, apart from its I/O.
 *
 * A file of its own because this table is where other clients lose events or hammer the server
 * (field cases W7, W11, W12, W14), and because as plain functions each line of it is one test.
 *
 * @module
 */

import {
  ApiError,
  DeadlineError,
  isExpired,
  isNotFound,
  ProtocolError,
  type Status,
} from "../core/errors.ts";

/** What the reflector was doing. */
export type ReflectorVerb = "list" | "watch";

/**
 * Why the whole state is read (again):
 * - `start`: nothing was read before.
 * - `expired`: the server no longer has the history since our version (410).
 * - `ahead`: the server says that our version is still to come: it lags, or was restored.
 * - `behind`: the server answered with a list older than the one we asked for.
 * - `rejected`: the server can't make sense of our version (400).
 * - `unparsable`: a line of the watch was no event, so events may have been missed.
 * - `unserved`: the resource is not, or no longer, served (404).
 * - `periodic`: to find what no watch tells, after a long time.
 */
export type ListReason =
  | "start"
  | "expired"
  | "ahead"
  | "behind"
  | "rejected"
  | "unparsable"
  | "unserved"
  | "periodic";

/**
 * Longest `Retry-After` that is followed in full, in milliseconds. API servers ask for 1 s to some
 * tens; a proxy that asks for an hour must not leave a cache blind for so long.
 */
export const RETRY_AFTER_MAX_MS = 120_000;

/**
 * Why a list is needed after `error` ended a watch; nothing if the watch may go on where it was.
 *
 * Most failures say nothing about the version: overload (429, 503), lack of rights, a cut or refused
 * connection. To list again then would only make overload worse (W14).
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { ConnectionError, ProtocolError } from "../core/errors.ts";
 * strictEqual(listReasonOf(new ProtocolError("Line 7 is not JSON")), "unparsable");
 * strictEqual(listReasonOf(new ConnectionError("Connection reset")), undefined);
 * ```
 */
export function listReasonOf(error: unknown): ListReason | undefined {
  if (isExpired(error)) return "expired";
  if (isVersionAhead(error)) return "ahead";
  if (isNotFound(error)) return "unserved";
  if (error instanceof ApiError && error.status === 400) return "rejected";
  // The line is lost, and what it told too. `SyntaxError` is for sources that parse by themselves.
  if (error instanceof ProtocolError || error instanceof SyntaxError) return "unparsable";
  return undefined;
}

/**
 * True if a list that failed with `error` should ask for the latest state instead of one that is at
 * least as new as the last one: the server can't serve the version we know.
 */
export function needsLatest(error: unknown): boolean {
  const reason = listReasonOf(error);
  return reason === "expired" || reason === "ahead" || reason === "rejected";
}

/**
 * How to read the whole state after streaming it failed with `error` (field case W13):
 * - `never`: the server does not do this, or not for us. Pages from now on.
 * - `stalled`: it began and did not end, or fell silent. Pages; if it happens again, for good.
 * - `pages`: this time by pages, in case that what failed is the streaming.
 * - `again`: pages would meet the same refusal.
 */
export function afterStreamFailed(error: unknown): "never" | "stalled" | "pages" | "again" {
  if (error instanceof DeadlineError) return "stalled";
  if (!(error instanceof ApiError)) return "pages";
  // 403: who may list but not watch gets the objects all the same, and hears of it (W11).
  if ([400, 403, 405, 422].includes(error.status)) return "never";
  if (isExpired(error) || isVersionAhead(error)) return "again";
  return [401, 404, 429, 503].includes(error.status) ? "again" : "pages";
}

/** True if `error` will last until a person acts: rights, a missing CRD, a wrong version. */
export function needsPerson(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404, 405].includes(error.status);
}

/** How long the server asked to wait, within {@linkcode RETRY_AFTER_MAX_MS}; 0 if it did not. */
export function retryAfterOf(error: unknown): number {
  if (!(error instanceof ApiError)) return 0;
  return Math.min(error.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS);
}

/** The failure that an ERROR event of a watch carries, as the same failure of a request would be. */
export function errorOfStatus(status: Status): ApiError {
  const { message, reason = "Unknown", code = 500, details } = status;
  return new ApiError(message ?? `The server ended the watch: ${reason}`, {
    status: code,
    reason,
    verb: "watch",
    causes: details?.causes ?? [],
    ...(details?.retryAfterSeconds === undefined
      ? {}
      : { retryAfterMs: details.retryAfterSeconds * 1000 }),
  });
}

/** "Too large resource version": told by a cause, since its code is that of any timeout (504). */
function isVersionAhead(error: unknown): boolean {
  return error instanceof ApiError &&
    error.causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}

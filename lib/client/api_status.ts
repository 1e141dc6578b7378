/**
 * From an answer that is no success to the {@linkcode ApiError} that callers tell apart.
 *
 * API servers answer with a Status object, but 404s of unknown paths, overload filters, proxies
 * and load balancers in front do not: those become ApiErrors as well, with the reason that their
 * HTTP status stands for.
 *
 * @module
 */

import { ApiError, type ApiReason, type Status, type StatusCause } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { parseJson } from "../core/json_text.ts";

/** An answer that was no success, with its body read. */
export interface FailedAnswer {
  /** Kubernetes' verb. */
  readonly verb: string;
  /** HTTP method. */
  readonly method: string;
  /** Path, without host and query. */
  readonly path: string;
  /** HTTP status. */
  readonly status: number;
  /** The header `Retry-After`, if there was one. */
  readonly retryAfter: string | null;
  /** The header `Content-Type`, if there was one. */
  readonly contentType: string | null;
  /** The body. */
  readonly text: string;
}

/** What an HTTP status means where no Status says more. */
const REASONS: Readonly<Record<number, ApiReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  // 409 is either AlreadyExists or Conflict: without a Status nobody knows which.
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** The error that `answer` stands for. Text that is no Status is left out: it may hold anything. */
export function apiErrorOf(answer: FailedAnswer): ApiError {
  const { verb, method, path, status } = answer;
  const body = parseStatus(answer.text);
  const retryAfterMs = retryAfterMsOf(answer.retryAfter, body);
  const fields = {
    status,
    verb,
    path,
    hasStatus: body !== undefined,
    reason: body?.reason || (REASONS[status] ?? "Unknown"),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(body?.details?.causes && { causes: body.details.causes }),
  };
  const said = body?.message ??
    `the answer has ${answer.contentType ?? "no content type"} and is no Status`;
  const advice = adviceOf(fields, body);
  return new ApiError(
    `Cannot ${verb} ${path}: ${said} (${method} was answered with ${status} ${fields.reason}` +
      `${advice === undefined ? "" : `; ${advice}`})`,
    fields,
  );
}

/** What a person can do about it, where the server does not say. */
function adviceOf(
  { status, reason }: { status: number; reason: ApiReason },
  body: Status | undefined,
): string | undefined {
  if (status === 404 && body?.details?.name === undefined) {
    return "is the kind's CustomResourceDefinition installed, and its version served?";
  }
  return ADVICE[reason];
}

const ADVICE: Readonly<Partial<Record<ApiReason, string>>> = {
  Unauthorized: "check the credentials: none, expired, or unknown to this server",
  Forbidden: "bind a role that allows it to this user",
  Conflict: "read the object anew and repeat",
  Expired: "list anew",
  Gone: "list anew",
  Invalid: "correct the fields that are named",
  MethodNotAllowed: "this kind has no such verb",
  RequestEntityTooLarge: "make the object smaller",
  TooManyRequests: "try again later",
  ServiceUnavailable: "try again later",
  Timeout: "try again later",
  ServerTimeout: "try again later",
};

/** `value` as a Status, or `undefined` if it is none. Members of a wrong type are left out. */
export function statusOf(value: unknown): Status | undefined {
  if (!isJsonObject(value) || value["kind"] !== "Status") return undefined;
  const { message, reason, code, metadata, status } = value;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: isJsonObject(metadata) ? metadata : {},
    status: status === "Success" ? "Success" : "Failure",
    ...(typeof message === "string" && { message }),
    ...(typeof reason === "string" && { reason }),
    ...(typeof code === "number" && { code }),
    ...(isJsonObject(value["details"]) && { details: detailsOf(value["details"]) }),
  };
}

function detailsOf(value: Readonly<Record<string, unknown>>): NonNullable<Status["details"]> {
  const { name, group, kind, uid, retryAfterSeconds, causes } = value;
  return {
    ...(typeof name === "string" && { name }),
    ...(typeof group === "string" && { group }),
    ...(typeof kind === "string" && { kind }),
    ...(typeof uid === "string" && { uid }),
    ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }),
    ...(Array.isArray(causes) && { causes: causes.filter(isJsonObject).map(causeOf) }),
  };
}

function causeOf({ reason, message, field }: Readonly<Record<string, unknown>>): StatusCause {
  return {
    ...(typeof reason === "string" && { reason }),
    ...(typeof message === "string" && { message }),
    ...(typeof field === "string" && { field }),
  };
}

function parseStatus(text: string): Status | undefined {
  try {
    return statusOf(parseJson(text));
  } catch {
    return undefined; // No JSON: said by the error's message.
  }
}

/** Whole seconds only, as API servers send; a date, as proxies may, counts as not said. */
function retryAfterMsOf(header: string | null, status: Status | undefined): number | undefined {
  if (header !== null && /^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const seconds = status?.details?.retryAfterSeconds;
  return seconds !== undefined && seconds > 0 ? seconds * 1000 : undefined;
}

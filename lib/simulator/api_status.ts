/**
 * The failures that the API server answers with, as `Status` objects: reasons, codes, messages and
 * causes are those of kube-apiserver 1.36, because clients branch on them and people search for them.
 *
 * A file of its own because every handler throws them and only the server's edge turns them into
 * responses.
 *
 * @module
 */

import type { Status, StatusCause } from "../core/errors.ts";

/** A refusal on its way to the client. Thrown by handlers, caught only by the server's edge. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  /** The body of the answer. */
  readonly status: Status & { code: number };

  /** Stores the Status; its message is the error's. */
  constructor(status: Status & { code: number }) {
    super(status.message ?? "");
    this.status = status;
  }
}

/** A group and plural resource as they stand in messages: `deployments.apps`, or `pods` alone. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** `resource.group`, or `resource` alone for the core group. */
export function qualified({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** What differs between two failures. */
interface Failure {
  code: number;
  message: string;
  reason?: string;
  details?: NonNullable<Status["details"]>;
  continue?: string;
}

function failure({ code, message, reason, details, continue: token }: Failure): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: token === undefined ? {} : { continue: token },
    status: "Failure",
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });
}

function detailsOf(name: string, group: string, kind: string): NonNullable<Status["details"]> {
  return {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind,
  };
}

/** 404: no object of that name. */
export function notFound(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: `${qualified(resource)} "${name}" not found`,
    details: detailsOf(name, resource.group, resource.resource),
  });
}

/** 404: the path names no resource that is served. */
export function unknownResource(): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

/** 409: an object of that name exists. */
export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${qualified(resource)} "${name}" already exists`,
    details: detailsOf(name, resource.group, resource.resource),
  });
}

/** Why an update with a stale resourceVersion is refused. */
export const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 409: a precondition did not hold. `resource` may be a kind where the real server names one. */
export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return failure({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    details: detailsOf(name, resource.group, resource.resource),
  });
}

/** 409: server-side apply met fields of other managers. */
export function applyConflict(message: string, causes: StatusCause[]): StatusError {
  return failure({ code: 409, reason: "Conflict", message, details: { causes } });
}

/** 403: refused by authorization, admission or a rule of the resource. */
export function forbidden(
  resource: GroupResource,
  name: string,
  why: string,
  causes?: StatusCause[],
): StatusError {
  const subject = name === "" ? "" : ` "${name}"`;
  return failure({
    code: 403,
    reason: "Forbidden",
    message: `${qualified(resource)}${subject} is forbidden: ${why}`,
    details: {
      ...detailsOf(name, resource.group, resource.resource),
      ...(causes === undefined ? {} : { causes }),
    },
  });
}

/** 401: no or an unknown credential. */
export function unauthorized(): StatusError {
  return failure({ code: 401, reason: "Unauthorized", message: "Unauthorized" });
}

/** 400: the request makes no sense. */
export function badRequest(message: string): StatusError {
  return failure({ code: 400, reason: "BadRequest", message });
}

/** 405: the resource has no such verb. `message` overrides the usual text. */
export function methodNotAllowed(message?: string, details = {}): StatusError {
  return failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: message ?? "the server does not allow this method on the requested resource",
    details,
  });
}

/** 406: none of the asked representations exists. */
export function notAcceptable(offered: readonly string[]): StatusError {
  return failure({
    code: 406,
    reason: "NotAcceptable",
    message: `406: Not Acceptable\n\nAvailable representations: ${offered.join(", ")}`,
    details: {},
  });
}

/** 415: the body's media type is none that the request may have. */
export function unsupportedMediaType(accepted: readonly string[], hint = ""): StatusError {
  const message = "the body of the request was in an unknown format - accepted media types " +
    `include: ${accepted.join(", ")}`;
  return failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: hint === "" ? message : `${message}; ${hint}`,
  });
}

/** 422 without causes: a JSON patch that can't be applied. */
export function rejectedPatch(): StatusError {
  return failure({
    code: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    details: {},
  });
}

/** 410: the asked revision is compacted. */
export function expired(message: string, continueToken?: string): StatusError {
  return failure({
    code: 410,
    reason: "Expired",
    message,
    ...(continueToken === undefined ? {} : { continue: continueToken }),
  });
}

/** 410 for a watch that starts before the oldest revision kept. */
export function tooOldVersion(asked: string, oldest: string): StatusError {
  return expired(`too old resource version: ${asked} (${oldest})`);
}

/** 504: the asked revision has not come yet. */
export function tooLargeVersion(asked: string, current: string): StatusError {
  return failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
}

/** 500: what the real server, too, answers so; not for failures of the simulator itself. */
export function serverError(message: string, reason?: string): StatusError {
  return failure({ code: 500, message, ...(reason === undefined ? {} : { reason }) });
}

/**
 * From a request's body to a JSON object of the right kind, with the server's refusals for
 * everything else.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { apiVersionOf } from "../core/objects.ts";
import { parseYaml } from "../core/yaml.ts";
import { objectOf, stringAt } from "./api_object.ts";
import { badRequest, StatusError, unsupportedMediaType } from "./api_status.ts";
import { invalid, invalidField } from "./field_errors.ts";
import type { ApiRequest } from "./request.ts";
import { isReview, type Resource } from "./resource_type.ts";

/** Largest body that is read, in bytes: the real server's limit of a resource request. */
export const BODY_MAX_BYTES = 3 * 1024 * 1024;

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const BODY_TYPES = ["application/json", "application/yaml", PROTOBUF];

/** `kubectl create KIND` sends protobuf for built-in kinds; `apply` and `create -f` do not. */
const NO_PROTOBUF = "the simulated API server does not read protobuf";
const PROTOBUF_HINT = `${NO_PROTOBUF}; with kubectl, add ` +
  "--dry-run=client -o yaml and pipe the result into kubectl apply -f -";

/** The media type of the body, without parameters; JSON if the request does not say. */
export function mediaTypeOf(headers: Headers): string {
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  return type === "" ? "application/json" : type;
}

/** Throws 413 if the body is over the limit. */
export function checkBodySize(body: string): void {
  // Characters first: a body of at most a third of the limit can't be over it in UTF-8.
  if (body.length * 3 <= BODY_MAX_BYTES) return;
  if (new TextEncoder().encode(body).length <= BODY_MAX_BYTES) return;
  throw new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `Request entity too large: limit is ${BODY_MAX_BYTES}`,
    reason: "RequestEntityTooLarge",
    details: {},
    code: 413,
  });
}

/**
 * Parses `text` as its media type says: JSON, or YAML, of which JSON is a part.
 *
 * @throws {SyntaxError} If it is neither.
 */
export function parseBody(text: string, mediaType: string): Json {
  if (!mediaType.endsWith("yaml")) return JSON.parse(text);
  // Mostly it is JSON all the same, which is faster to read.
  return text.trimStart().startsWith("{") ? JSON.parse(text) : jsonOfYaml(parseYaml(text));
}

/** A YAML document as the JSON that it stands for: no dates, no undefined. */
function jsonOfYaml(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null));
}

/**
 * The object in the body of a create or update.
 *
 * @throws {StatusError} 415 for another media type, 400 for what is no object of this kind.
 */
export function decodeObject(
  request: Pick<ApiRequest, "body" | "headers">,
  resource: Resource,
): JsonObject {
  const mediaType = mediaTypeOf(request.headers);
  if (mediaType === PROTOBUF) {
    // What is asked and not stored, as by "kubectl auth can-i", can't be applied.
    const hint = isReview(resource) ? NO_PROTOBUF : PROTOBUF_HINT;
    throw unsupportedMediaType(BODY_TYPES.filter((type) => type !== PROTOBUF), hint);
  }
  if (mediaType !== "application/json" && mediaType !== "application/yaml") {
    throw unsupportedMediaType(BODY_TYPES);
  }
  const { kind } = resource.type;
  let parsed: Json;
  try {
    parsed = parseBody(request.body, mediaType);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${why}`, request.body);
  }
  if (!isJsonObject(parsed)) {
    throw unrecognized(
      kind,
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${
        Array.isArray(parsed) ? "array" : typeof parsed
      } into Go value of type struct`,
      request.body,
    );
  }
  return withKind(parsed, resource, request.body);
}

function unrecognized(kind: string, why: string, body: string): StatusError {
  const shown = body === "" ? "<empty>" : body.length > 32 ? `${body.slice(0, 32)} ...` : body;
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`,
  );
}

/**
 * `object` with the kind and version of the request. Built-in kinds may leave them out; custom ones
 * must say them.
 *
 * @throws {StatusError} 400 if they are of another kind or version.
 */
export function withKind(object: JsonObject, { type, version }: Resource, body = ""): JsonObject {
  const expected = apiVersionOf({ group: type.group, version: version.name });
  const kind = stringAt(object, "kind");
  const apiVersion = stringAt(object, "apiVersion");
  if (type.isCustom) checkCustomKind(object, { type, version }, body);
  else if ((kind !== "" && kind !== type.kind) || (apiVersion !== "" && apiVersion !== expected)) {
    const said = kind === "" ? type.kind : kind;
    const saidVersion = apiVersion === "" ? expected : apiVersion;
    throw badRequest(
      `${said} in version "${saidVersion.split("/").at(-1)}" cannot be handled as a ` +
        `${type.kind}: no kind "${said}" is registered for version "${saidVersion}" as a ` +
        `${type.kind}`,
    );
  }
  // Said first, so that people who read the answer find them where they look.
  const first = { apiVersion: expected, kind: type.kind, metadata: objectOf(object.metadata) };
  return { ...first, ...object, ...first };
}

function checkCustomKind(object: JsonObject, { type, version }: Resource, body: string): void {
  const expected = apiVersionOf({ group: type.group, version: version.name });
  const kind = stringAt(object, "kind");
  const apiVersion = stringAt(object, "apiVersion");
  if (kind === "" || apiVersion === "") {
    const member = kind === "" ? "Kind" : "apiVersion";
    throw unrecognized(type.kind, `Object '${member}' is missing in '${body}'`, body);
  }
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version ` +
        `(${expected})`,
    );
  }
  if (kind !== type.kind) {
    throw invalid({ group: type.group, kind }, stringAt(object, "metadata", "name"), [
      invalidField("kind", kind, `must be ${type.kind}`),
    ]);
  }
}

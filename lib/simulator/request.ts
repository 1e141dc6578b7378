/**
 * What a request asks for, read from its method, path, query and headers, before anything is
 * looked up.
 *
 * @module
 */

import { badRequest } from "./api_status.ts";
import { throwIfInvalid, unsupportedField } from "./field_errors.ts";

/** Verbs in Kubernetes' terms. */
export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection";

/** What a path names. */
export type Route =
  | { readonly type: "resource"; readonly target: Target }
  /** `/api`, `/apis`, `/apis/g`, `/apis/g/v`, `/api/v1`, `/openapi/…`, `/version`, probes. */
  | { readonly type: "other"; readonly parts: readonly string[] };

/** The resource that a path names. */
export interface Target {
  /** What is to be done, in the words of RBAC. */
  readonly verb: Verb;
  /** API group; `""` for the core group. */
  readonly group: string;
  /** Version within the group, such as `v1`. */
  readonly version: string;
  /** `""` for cluster-scoped objects and for lists over all namespaces. */
  readonly namespace: string;
  /** Plural name of the kind, such as `pods`. */
  readonly resource: string;
  /** Name of the object; `""` if the request is about all of them, or creates one. */
  readonly name: string;
  /** Such as `status`; `""` for the object itself. */
  readonly subresource: string;
}

/** Who asks. */
export interface UserInfo {
  /** Name, as RBAC subjects of kind User have it. */
  readonly username: string;
  /** Tells apart users that had the same name at different times. */
  readonly uid?: string;
  /** As RBAC subjects of kind Group have them. */
  readonly groups: readonly string[];
}

/** A request with all that handlers read. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: string;
  readonly signal: AbortSignal | undefined;
  readonly user: UserInfo;
  /** Texts for `Warning` headers of the answer; handlers add to it. */
  readonly warnings: string[];
}

/** An answer before it is a `Response`. */
export interface Reply {
  readonly status: number;
  readonly body: string | ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly contentType: string;
}

/** A JSON answer. */
export function jsonReply(status: number, text: string): Reply {
  return { status, body: text, contentType: "application/json" };
}

/** A plain-text answer. */
export function textReply(status: number, text: string): Reply {
  return { status, body: text, contentType: "text/plain; charset=utf-8" };
}

/** Reads method, path and the query's `watch` into a route. */
export function routeOf(method: string, path: string, query: URLSearchParams): Route {
  const parts = path.split("/").filter((part) => part !== "").map(decoded);
  const isCore = parts[0] === "api";
  const rest = isCore ? parts.slice(2) : parts.slice(3);
  if ((!isCore && parts[0] !== "apis") || rest.length === 0) return { type: "other", parts };
  const group = isCore ? "" : parts[1] ?? "";
  const version = (isCore ? parts[1] : parts[2]) ?? "";
  const place = placeOf(rest);
  const verb = verbOf(method, place.name !== "", query);
  return { type: "resource", target: { verb, group, version, ...place } };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) throw badRequest(`malformed path element ${part}`);
    throw error;
  }
}

/** Splits the path below group and version. */
function placeOf(
  rest: readonly string[],
): { namespace: string; resource: string; name: string; subresource: string } {
  // /namespaces/NAME, /namespaces/NAME/status and /finalize speak of the namespace itself.
  const speaksOfNamespace = rest[0] === "namespaces" &&
    (rest.length < 3 || (rest.length === 3 && (rest[2] === "status" || rest[2] === "finalize")));
  if (rest[0] !== "namespaces" || speaksOfNamespace) {
    const [resource = "", name = "", ...subresource] = rest;
    return { namespace: "", resource, name, subresource: subresource.join("/") };
  }
  const [, namespace = "", resource = "", name = "", ...subresource] = rest;
  return { namespace, resource, name, subresource: subresource.join("/") };
}

function verbOf(method: string, hasName: boolean, query: URLSearchParams): Verb {
  switch (method) {
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return hasName ? "delete" : "deletecollection";
    default:
      if (isTrue(query.get("watch"))) return "watch";
      return hasName ? "get" : "list";
  }
}

/** A boolean of a query as the server reads it: absent and `0` are false. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== "0" && value !== "false";
}

/** A whole number of a query; `undefined` if absent. */
export function integerOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === "") return undefined;
  if (!/^[+-]?\d+$/.test(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  }
  return Number(value);
}

/** How unknown fields are answered. */
export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The options that all writes share. */
export interface WriteOptions {
  readonly isDryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** The query's fieldManager, else what the user agent says before the first slash. */
  readonly manager: string;
}

/**
 * Reads the write options of a query.
 *
 * @param optionsKind `CreateOptions`, `UpdateOptions` or `PatchOptions`, for messages.
 */
export function writeOptionsOf(
  request: Pick<ApiRequest, "query" | "headers">,
  optionsKind: string,
): WriteOptions {
  const kind = { group: "meta.k8s.io", kind: optionsKind };
  const validation = request.query.get("fieldValidation") ?? "";
  // Warn is the API server's default since 1.27.
  const fieldValidation = validation === "" ? "Warn" : FIELD_VALIDATIONS.get(validation);
  if (fieldValidation === undefined) {
    throwIfInvalid(kind, "", [
      unsupportedField("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]),
    ]);
  }
  return {
    isDryRun: isDryRun(request.query.getAll("dryRun"), optionsKind),
    fieldValidation: fieldValidation ?? "Warn",
    manager: managerOf(request),
  };
}

const FIELD_VALIDATIONS: ReadonlyMap<string, FieldValidation> = new Map([
  ["Ignore", "Ignore"],
  ["Warn", "Warn"],
  ["Strict", "Strict"],
]);

/** True if `values`, of a query or of DeleteOptions, ask for a dry run. */
export function isDryRun(values: readonly string[], optionsKind: string): boolean {
  const asked = values.filter((value) => value !== "");
  if (asked.some((value) => value !== "All")) {
    throwIfInvalid({ group: "meta.k8s.io", kind: optionsKind }, "", [
      unsupportedField("dryRun", asked, ["All"]),
    ]);
  }
  return asked.length > 0;
}

function managerOf({ query, headers }: Pick<ApiRequest, "query" | "headers">): string {
  const explicit = query.get("fieldManager");
  if (explicit !== null && explicit !== "") return explicit;
  const agent = headers.get("user-agent") ?? "";
  return (agent.split("/")[0] ?? "").slice(0, 128) || "unknown";
}

/**
 * GET of one object and lists: selectors, pages of one revision, and the meanings of
 * resourceVersion.
 *
 * @module
 */

import { compareResourceVersions, isOrderedVersion } from "../core/objects.ts";
import {
  type FieldSelector,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../core/selectors.ts";
import { type ApiObject, valueAt } from "./api_object.ts";
import { badRequest, expired, serverError, tooLargeVersion } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import {
  type FieldError,
  forbiddenField,
  throwIfInvalid,
  unsupportedField,
} from "./field_errors.ts";
import { present } from "./present.ts";
import { type ApiRequest, integerOf, isTrue } from "./request.ts";
import type { Resource } from "./resource_type.ts";

/** Which objects of a kind are meant. */
export interface Selection {
  readonly resource: Resource;
  /** `""`: all namespaces. */
  readonly namespace: string;
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
}

/** How long a read waits for a revision that has not come, in milliseconds, as the server does. */
export const FUTURE_VERSION_WAIT_MS = 3000;

/**
 * Reads the selectors of a query.
 *
 * @throws {StatusError} 400 if one is malformed or names a field that the kind has not.
 */
export function selectionOf(
  query: URLSearchParams,
  resource: Resource,
  namespace: string,
): Selection {
  let labels: LabelSelector;
  let fields: FieldSelector;
  try {
    labels = parseLabelSelector(query.get("labelSelector") ?? "");
    fields = parseFieldSelector(query.get("fieldSelector") ?? "");
  } catch (error) {
    if (error instanceof SyntaxError) throw badRequest(error.message);
    throw error;
  }
  for (const { field } of fields) checkField(field, resource);
  return { resource, namespace, labels, fields };
}

/** Refuses a field that the kind does not offer, in the two wordings that real kinds have. */
function checkField(field: string, { type, version }: Resource): void {
  if (field === "metadata.name" || (field === "metadata.namespace" && type.isNamespaced)) return;
  if (version.selectableFields?.includes(field) === true) return;
  throw badRequest(
    type.isCustom || version.selectableFields !== undefined
      ? `field label not supported: ${field}`
      : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
  );
}

/** True if `object`, in the selection's form, is meant. */
export function isSelected(object: ApiObject, selection: Selection): boolean {
  const { namespace, labels, fields, resource } = selection;
  if (namespace !== "" && object.metadata.namespace !== namespace) return false;
  return matchesLabels(labels, object.metadata.labels) &&
    matchesFields(fields, (field) => fieldOf(object, field, resource));
}

/** The value that a field selector compares: text, and `""` for what is absent or no scalar. */
function fieldOf(object: ApiObject, field: string, { type }: Resource): string {
  const own = type.rules.fieldOf?.(object, field);
  if (own !== undefined) return own;
  const value = valueAt(object, ...field.replace(/^\./, "").split("."));
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

/** One page of a list. */
export interface Page {
  readonly items: readonly ApiObject[];
  readonly revision: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** What a continue token holds: where to go on, and in which state. */
interface Token {
  readonly revision: number;
  /** Key of the last object sent. */
  readonly after: string;
}

/**
 * One page of the selected objects, all from one revision.
 *
 * @throws {StatusError} 410 if that revision is compacted, 504 if it does not come, 400 or 422.
 */
export async function listPage(
  context: ServerContext,
  request: ApiRequest,
  selection: Selection,
): Promise<Page> {
  const { query } = request;
  checkListOptions(query);
  const limit = integerOf(query, "limit") ?? 0;
  const token = query.get("continue") ?? "";
  if (token !== "") {
    if (versionOf(query) !== "" && versionOf(query) !== "0") {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    return continued(context, tokenOf(token), { limit, selection });
  }
  const asked = checkedVersion(versionOf(query));
  await waitForVersion(context, asked, request.signal);
  const isExact = query.get("resourceVersionMatch") === "Exact" ||
    (limit > 0 && asked !== "" && asked !== "0" && query.get("resourceVersionMatch") === null);
  const { storage } = context;
  const revision = isExact ? Number(asked) : storage.revision;
  if (revision < storage.compactedRevision) {
    throw expired(
      "The resourceVersion for the provided list is too old.",
    );
  }
  return page(context, revision, "", { limit, selection });
}

/** `""` and absent mean the same. */
function versionOf(query: URLSearchParams): string {
  return query.get("resourceVersion") ?? "";
}

/** The asked resourceVersion, or 400 if it is none. */
function checkedVersion(version: string): string {
  if (version === "" || isOrderedVersion(version)) return version;
  throw badRequest(`invalid resource version: ${versionProblem(version)}`);
}

/** How the server words a resourceVersion that is no number. */
export function versionProblem(version: string): string {
  const quoted = JSON.stringify(version);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ` +
    "invalid syntax";
}

/**
 * Waits until `version` has come.
 *
 * @throws {StatusError} 504 if it does not come in {@linkcode FUTURE_VERSION_WAIT_MS}.
 */
export async function waitForVersion(
  { storage, clock }: ServerContext,
  version: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const hasCome = () =>
    version === "" || compareResourceVersions(version, String(storage.revision)) <= 0;
  if (hasCome()) return;
  // In steps, since a write may bring it while we wait.
  const stepMs = 50;
  const waiting = signal ?? new AbortController().signal;
  for (let waitedMs = 0; waitedMs < FUTURE_VERSION_WAIT_MS; waitedMs += stepMs) {
    await clock.sleep(stepMs, { signal: waiting });
    if (hasCome()) return;
  }
  throw tooLargeVersion(version, String(storage.revision));
}

/** Refuses combinations of list and watch options that mean nothing. */
export function checkListOptions(query: URLSearchParams): void {
  const version = versionOf(query);
  const match = query.get("resourceVersionMatch") ?? "";
  const isWatch = isTrue(query.get("watch"));
  const initialEvents = query.get("sendInitialEvents");
  const errors: FieldError[] = [];
  const forbid = (field: string, why: string) => errors.push(forbiddenField(field, why));
  if (isWatch && initialEvents !== null && match !== "NotOlderThan") {
    forbid(
      "resourceVersionMatch",
      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  } else if (isWatch && initialEvents === null && match !== "") {
    forbid(
      "resourceVersionMatch",
      "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    );
  } else if (!isWatch && initialEvents !== null) {
    forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  } else if (!isWatch && match !== "") {
    if (version === "") {
      forbid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden unless resourceVersion is provided",
      );
    }
    if ((query.get("continue") ?? "") !== "") {
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    }
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push(
        unsupportedField("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]),
      );
    }
    if (match === "Exact" && version === "0") {
      forbid(
        "resourceVersionMatch",
        `resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
      );
    }
  }
  throwIfInvalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

const EXPIRED_CONTINUE =
  "The provided continue parameter is too old to display a consistent list result. You can start " +
  "a new list without the continue parameter, or use the continue token in this response to " +
  "retrieve the remainder of the results. Continuing with the provided token results in an " +
  "inconsistent list - objects that were created, modified, or deleted between the time the first " +
  "chunk was returned and now may show up in the list.";

/** The next page, from the revision of the first: so all pages are one consistent list. */
function continued(
  context: ServerContext,
  token: Token,
  options: { limit: number; selection: Selection },
): Page {
  const { storage } = context;
  // A token of the inconsistent kind goes on in the state of now.
  const revision = token.revision < 0 ? storage.revision : token.revision;
  if (revision < storage.compactedRevision) {
    throw expired(EXPIRED_CONTINUE, tokenText({ revision: -1, after: token.after }));
  }
  if (revision > storage.revision) {
    throw tooLargeVersion(String(revision), String(storage.revision));
  }
  return page(context, revision, token.after, options);
}

/**
 * One page at a revision that is there. Selected first and cut then, so limits count what is
 * sent.
 */
function page(
  context: ServerContext,
  revision: number,
  after: string,
  { limit, selection }: { limit: number; selection: Selection },
): Page {
  const { resource } = selection;
  const selected: ApiObject[] = [];
  for (const stored of context.storage.allAt(resource.type.table, revision)) {
    if (after !== "" && placeOf(stored) <= after) continue;
    const object = present(stored, resource);
    if (isSelected(object, selection)) selected.push(object);
  }
  const items = limit > 0 ? selected.slice(0, limit) : selected;
  const last = items.at(-1);
  if (items.length === selected.length || last === undefined) {
    return { items, revision: String(revision) };
  }
  const isFiltered = selection.labels.length > 0 || selection.fields.length > 0;
  return {
    items,
    revision: String(revision),
    continue: tokenText({ revision, after: placeOf(last) }),
    // The server counts what is stored, so it can't count what is selected.
    ...(isFiltered ? {} : { remainingItemCount: selected.length - items.length }),
  };
}

/** An object's key in the storage's order. */
function placeOf({ metadata }: ApiObject): string {
  return metadata.namespace === undefined
    ? metadata.name
    : `${metadata.namespace}/${metadata.name}`;
}

/** A token that is opaque to clients, URL-safe, and holds all that the next page needs. */
function tokenText({ revision, after }: Token): string {
  const json = JSON.stringify({
    v: "meta.k8s.io/v1",
    rv: revision,
    start: encodeURIComponent(after),
  });
  return btoa(json).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Reads a token back; anyone may have made it up. */
function tokenOf(text: string): Token {
  let parsed: unknown;
  try {
    parsed = JSON.parse(atob(text.replaceAll("-", "+").replaceAll("_", "/")));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`invalid continue token: continue key is not valid: ${why}`);
  }
  const revision = valueAt(parsed, "rv");
  const after = valueAt(parsed, "start");
  if (typeof revision !== "number" || typeof after !== "string") {
    throw badRequest("invalid continue token: continue key is not valid: missing fields");
  }
  return { revision, after: decodeURIComponent(after) };
}

/** Checks the resourceVersion of a GET of one object, and waits for it. */
export async function waitForRead(context: ServerContext, request: ApiRequest): Promise<void> {
  const version = versionOf(request.query);
  if (version === "" || version === "0") return;
  if (!isOrderedVersion(version)) throw serverError(versionProblem(version));
  await waitForVersion(context, version, request.signal);
}

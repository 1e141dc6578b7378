/**
 * The two views of events: `v1` and `events.k8s.io/v1`. They are one kind in one table, stored in
 * the older form.
 *
 * @module
 */

import { jsonEqual, type JsonObject } from "../core/json.ts";
import { stringAt, valueAt } from "./api_object.ts";
import { badRequest } from "./api_status.ts";
import { type FieldError, invalidField, requiredField, unsupportedField } from "./field_errors.ts";

/** Members whose names differ: newer to older form. */
const RENAMED: readonly (readonly [string, string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

/** `object` with members renamed by `pairs`, of another apiVersion. */
function renamed(
  object: JsonObject,
  pairs: readonly (readonly [string, string])[],
  apiVersion: string,
): JsonObject {
  const names = new Map(pairs);
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(object)) result[names.get(key) ?? key] = value;
  return { ...result, apiVersion };
}

/** From `events.k8s.io/v1` to `v1`. */
export function toCoreEvent(object: JsonObject): JsonObject {
  return withCoreDefaults(renamed(object, RENAMED, "v1"));
}

/** From `v1` to `events.k8s.io/v1`. */
export function fromCoreEvent(object: JsonObject): JsonObject {
  const result = renamed(object, RENAMED.map(([a, b]) => [b, a] as const), "events.k8s.io/v1");
  // The newer form leaves out what is empty in the older one.
  for (const member of ["reportingController", "reportingInstance"]) {
    if (result[member] === "") delete result[member];
  }
  return result;
}

/** Members that the older form always shows. */
export function withCoreDefaults(object: JsonObject): JsonObject {
  return {
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: "",
    reportingInstance: "",
    ...object,
  };
}

const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})(Z|[+-]\d\d:\d\d)$/;

/**
 * Refuses a MicroTime at `path` that has not exactly six digits, as the server's decoder does.
 *
 * @throws {StatusError} 400
 */
export function checkMicroTime(object: JsonObject, kind: string, ...path: string[]): void {
  const value = valueAt(object, ...path);
  if (value === undefined || value === null || value === "") return;
  if (typeof value === "string" && MICRO_TIME.test(value)) return;
  const text = String(value);
  const rest = /T\d\d:\d\d:\d\d(.*)$/.exec(text)?.[1] ?? text;
  throw badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: parsing time ` +
      `${JSON.stringify(text)} as "2006-01-02T15:04:05.000000Z07:00": cannot parse ` +
      `${JSON.stringify(rest)} as ".000000"`,
  );
}

/** What is wrong with an event in the newer form. */
export function eventErrors(object: JsonObject, previous: JsonObject | undefined): FieldError[] {
  checkMicroTime(object, "Event", "eventTime");
  checkMicroTime(object, "Event", "series", "lastObservedTime");
  if (previous !== undefined) return immutableErrors(object, previous);
  if (valueAt(object, "eventTime") === undefined || object.eventTime === null) {
    return [requiredField("eventTime")];
  }
  return [...regardingErrors(object), ...partyErrors(object), ...contentErrors(object)];
}

/** Longest texts of an event, in characters, as the server limits them. */
const TEXT_MAX = { reportingInstance: 128, action: 128, reason: 128, note: 1024 };

/** Who reports: both must be said, and fit the limits. */
function partyErrors(object: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const controller = stringAt(object, "reportingController");
  if (controller === "") {
    errors.push(
      requiredField("reportingController"),
      invalidField("reportingController", controller, "name part must be non-empty"),
    );
  }
  const instance = stringAt(object, "reportingInstance");
  if (instance === "") errors.push(requiredField("reportingInstance"));
  else errors.push(...lengthErrors("reportingInstance", instance));
  return errors;
}

/** What is reported. */
function contentErrors(object: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["action", "reason"] as const) {
    const value = stringAt(object, field);
    if (value === "") errors.push(requiredField(field));
    else errors.push(...lengthErrors(field, value));
  }
  errors.push(...lengthErrors("note", stringAt(object, "note")));
  const type = stringAt(object, "type");
  if (type !== "Normal" && type !== "Warning") {
    errors.push(unsupportedField("type", type, ["Normal", "Warning"]));
  }
  return errors;
}

/** Texts over their limit, which count bytes. */
function lengthErrors(field: keyof typeof TEXT_MAX, value: string): FieldError[] {
  const max = TEXT_MAX[field];
  return new TextEncoder().encode(value).length <= max
    ? []
    : [invalidField(field, "", `can have at most ${max} characters`)];
}

/** What the server says of an event in the wrong namespace. */
function namespaceError(about: string): FieldError {
  return invalidField("involvedObject.namespace", about, "does not match event.namespace");
}

/** An event about a cluster-scoped object lives in `default`; others are not checked in this form. */
function regardingErrors(object: JsonObject): FieldError[] {
  const about = stringAt(object, "regarding", "namespace");
  const own = stringAt(object, "metadata", "namespace");
  return about !== "" || own === "default" || own === "kube-system" ? [] : [namespaceError(about)];
}

/** All but series and metadata stay as they were written. */
function immutableErrors(object: JsonObject, previous: JsonObject): FieldError[] {
  const now = renamed(object, RENAMED, "v1");
  const before = renamed(previous, RENAMED, "v1");
  return ["involvedObject", "reason", "message", "type", "eventTime", "action", ...PARTY].flatMap(
    (field) =>
      jsonEqual(now[field], before[field])
        ? []
        : [invalidField(field, now[field] ?? "", "field is immutable")],
  );
}

const PARTY = ["reportingComponent", "reportingInstance"];

/** What is wrong with an event in the older form. */
export function coreEventErrors(object: JsonObject): FieldError[] {
  checkMicroTime(object, "Event", "eventTime");
  const about = stringAt(object, "involvedObject", "namespace");
  const own = stringAt(object, "metadata", "namespace");
  return own === (about || "default") ? [] : [namespaceError(about)];
}

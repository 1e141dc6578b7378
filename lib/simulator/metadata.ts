/**
 * Checks of `metadata` that all kinds share: names, labels, annotations, finalizers, owner
 * references, and what an update may not change.
 *
 * @module
 */

import { isJsonObject, jsonEqual, type JsonObject } from "../core/json.ts";
import { isLabelKey, isLabelValue } from "../core/selectors.ts";
import { objectAt, objectsAt, stringAt, stringsAt } from "./api_object.ts";
import { badRequest } from "./api_status.ts";
import { type FieldError, forbiddenField, invalidField, requiredField } from "./field_errors.ts";
import type { NameRule } from "./resource_type.ts";

/** Bytes of all annotations of one object together, as the server limits them. */
export const ANNOTATIONS_MAX_BYTES = 256 * 1024;

const SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

const NAME_RULES: Readonly<
  Record<Exclude<NameRule, "path">, { pattern: RegExp; max: number; message: string }>
> = {
  subdomain: {
    pattern: new RegExp(`^${SUBDOMAIN}$`),
    max: 253,
    message: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " +
      "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', " +
      `regex used for validation is '${SUBDOMAIN}')`,
  },
  label: {
    pattern: new RegExp(`^${LABEL}$`),
    max: 63,
    message: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or " +
      "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or " +
      `'123-abc', regex used for validation is '${LABEL}')`,
  },
  label1035: {
    pattern: new RegExp(`^${LABEL1035}$`),
    max: 63,
    message: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start " +
      "with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  " +
      `or 'abc-123', regex used for validation is '${LABEL1035}')`,
  },
};

/** What is wrong with an object's name, if anything. */
export function nameErrors(name: string, rule: NameRule): FieldError[] {
  if (rule === "path") {
    if (name === "." || name === "..") {
      return [invalidField("metadata.name", name, `may not be '${name}'`)];
    }
    const bad = ["/", "%"].find((mark) => name.includes(mark));
    return bad === undefined
      ? []
      : [invalidField("metadata.name", name, `may not contain '${bad}'`)];
  }
  const { pattern, max, message } = NAME_RULES[rule];
  const errors: FieldError[] = [];
  if (name.length > max) {
    errors.push(invalidField("metadata.name", name, `must be no more than ${max} bytes`));
  }
  if (!pattern.test(name)) errors.push(invalidField("metadata.name", name, message));
  return errors;
}

const KNOWN = new Set([
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
]);

/** Names of members of `metadata` that no object has. */
export function unknownMetadata(metadata: JsonObject): string[] {
  return Object.keys(metadata).filter((key) => !KNOWN.has(key));
}

/**
 * `metadata` without unknown and null members and without empty maps and lists, as the server
 * would write it after decoding.
 *
 * @throws {StatusError} 400 if a member has the wrong type.
 */
export function cleanMetadata(metadata: JsonObject, kind: string): JsonObject {
  const clean: JsonObject = {};
  for (const [key, value] of Object.entries(metadata)) {
    if (!KNOWN.has(key) || value === null) continue;
    if (key === "labels" || key === "annotations") {
      if (!isJsonObject(value)) throw undecodable(kind, key, value, "map[string]string");
      for (const text of Object.values(value)) {
        if (typeof text !== "string") throw undecodable(kind, key, text, "string");
      }
      if (Object.keys(value).length === 0) continue;
    } else if (key === "ownerReferences" || key === "finalizers" || key === "managedFields") {
      if (!Array.isArray(value)) throw undecodable(kind, key, value, "[]");
      if (value.length === 0) continue;
    } else if (key === "generation" || key === "deletionGracePeriodSeconds") {
      if (typeof value !== "number") throw undecodable(kind, key, value, "int64");
    } else if (typeof value !== "string") {
      throw undecodable(kind, key, value, "string");
    } else if (value === "") continue;
    clean[key] = value;
  }
  return clean;
}

/** What the typed decoder says of a value that does not fit its struct. */
function undecodable(kind: string, field: string, value: unknown, type: string): Error {
  const found = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return badRequest(
    `${kind} cannot be handled: json: cannot unmarshal ${found} into Go struct field ` +
      `ObjectMeta.metadata.${field} of type ${type}`,
  );
}

/** What is wrong with the metadata of an object that is created or updated, but for its name. */
export function metadataErrors(metadata: JsonObject): FieldError[] {
  return [
    ...labelErrors(objectAt(metadata, "labels")),
    ...annotationErrors(objectAt(metadata, "annotations")),
    ...finalizerErrors(stringsAt(metadata, "finalizers")),
    ...ownerErrors(objectsAt(metadata, "ownerReferences")),
  ];
}

/** Keys and values of labels, each told apart. */
function labelErrors(labels: JsonObject): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const errors: FieldError[] = [];
    if (!isLabelKey(key)) {
      errors.push(invalidField(
        "metadata.labels",
        key,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " +
          "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
          "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ));
    }
    if (typeof value === "string" && !isLabelValue(value)) {
      errors.push(invalidField(
        "metadata.labels",
        value,
        value.length > 63
          ? "must be no more than 63 bytes"
          : "a valid label must be an empty string or consist of alphanumeric characters, '-', " +
            "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', " +
            " or 'my_value',  or '12345', regex used for validation is " +
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      ));
    }
    return errors;
  });
}

/** Keys of annotations, and their size all together; values may be anything. */
function annotationErrors(annotations: JsonObject): FieldError[] {
  let bytes = 0;
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(annotations)) {
    bytes += key.length + (typeof value === "string" ? new TextEncoder().encode(value).length : 0);
    if (!isLabelKey(key.toLowerCase())) {
      errors.push(invalidField(
        "metadata.annotations",
        key,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " +
          "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
          "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ));
    }
  }
  if (bytes > ANNOTATIONS_MAX_BYTES) {
    errors.push({
      reason: "FieldValueTooLong",
      field: "metadata.annotations",
      message: `Too long: may not be more than ${ANNOTATIONS_MAX_BYTES} bytes`,
    });
  }
  return errors;
}

const QUALIFIED_NAME = new RegExp(`^(${SUBDOMAIN}/)?${QUALIFIED}$`);

/** Finalizers of the API server itself, which need no domain. */
const STANDARD_FINALIZERS = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** Finalizers want a domain, so that two controllers' never collide. */
function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  return finalizers.flatMap((finalizer, index) => {
    const field = `metadata.finalizers[${index}]`;
    if (!QUALIFIED_NAME.test(finalizer)) {
      return [invalidField(
        field,
        finalizer,
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and " +
          "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " +
          `regex used for validation is '${QUALIFIED}')`,
      )];
    }
    return finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer) ? [] : [
      invalidField(
        field,
        finalizer,
        "name is neither a standard finalizer name nor is it fully qualified",
      ),
    ];
  });
}

/** Owner references: complete, and at most one of them the controller. */
function ownerErrors(owners: readonly JsonObject[]): FieldError[] {
  const errors = owners.flatMap((owner) =>
    ["apiVersion", "kind", "name", "uid"].filter((member) => stringAt(owner, member) === "").map(
      (member) =>
        invalidField(
          `metadata.ownerReferences.${member}`,
          "",
          member === "apiVersion" ? "version must not be empty" : "must not be empty",
        ),
    )
  );
  const controllers = owners.filter((owner) => owner.controller === true);
  if (controllers.length > 1) {
    const [first, second] = controllers.map((owner) =>
      `${stringAt(owner, "kind")}/${stringAt(owner, "name")}`
    );
    errors.push(invalidField(
      "metadata.ownerReferences",
      owners,
      'Only one reference can have Controller set to true. Found "true" in references for ' +
        `${first} and ${second}`,
    ));
  }
  return errors;
}

/** What an update may not change in metadata. Both sides as the server holds them. */
export function metadataUpdateErrors(metadata: JsonObject, previous: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"]) {
    if (!jsonEqual(metadata[field], previous[field])) {
      errors.push(invalidField(`metadata.${field}`, metadata[field] ?? "", "field is immutable"));
    }
  }
  if (previous.deletionTimestamp !== undefined) {
    const before = new Set(stringsAt(previous, "finalizers"));
    const added = stringsAt(metadata, "finalizers").filter((each) => !before.has(each));
    if (added.length > 0) {
      const list = added.map((each) => JSON.stringify(each)).join(", ");
      errors.push(forbiddenField(
        "metadata.finalizers",
        "no new finalizers can be added if the object is being deleted, found new finalizers " +
          `[]string{${list}}`,
      ));
    }
  }
  return errors;
}

/** The error of an object without a name. */
export const NAME_REQUIRED: FieldError = requiredField(
  "metadata.name",
  "name or generateName is required",
);

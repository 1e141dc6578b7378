/**
 * Defaults and validation of CustomResourceDefinitions. What happens once they are stored is in
 * `crds.ts`.
 *
 * @module
 */

import { isJsonObject, jsonEqual, type JsonObject } from "../core/json.ts";
import { objectAt, objectOf, objectsAt, stringAt, stringsAt } from "./api_object.ts";
import { type FieldError, invalidField, requiredField, unsupportedField } from "./field_errors.ts";
import { withDefaults } from "./pod_defaults.ts";
import { SchemaError, StructuralSchema } from "./structural_schema.ts";

/** Annotation without which the groups of the Kubernetes project are refused. */
export const APPROVED_ANNOTATION = "api-approved.kubernetes.io";

/** A definition with the server's defaults. */
export function defaultedCrd(object: JsonObject): JsonObject {
  const spec = objectOf(object.spec);
  const names = objectOf(spec.names);
  const kind = stringAt(names, "kind");
  const storage = objectsAt(spec, "versions").filter((each) => each.storage === true)
    .map((each) => stringAt(each, "name"));
  const status = withDefaults(objectOf(object.status), {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    storedVersions: [],
  });
  const stored = new Set([...stringsAt(status, "storedVersions"), ...storage]);
  return {
    ...object,
    spec: {
      ...spec,
      names: withDefaults(names, { singular: kind.toLowerCase(), listKind: `${kind}List` }),
      conversion: withDefaults(objectOf(spec.conversion), { strategy: "None" }),
    },
    status: { ...status, storedVersions: [...stored] },
  };
}

/** What is wrong with a definition. */
export function crdErrors(object: JsonObject, previous: JsonObject | undefined): FieldError[] {
  const spec = objectAt(object, "spec");
  return [
    ...identityErrors(object, spec),
    ...conversionErrors(spec),
    ...versionErrors(objectsAt(spec, "versions")),
    ...(previous === undefined ? [] : changeErrors(object, previous)),
  ];
}

/** Names, group and scope, and the approval of protected groups. */
function identityErrors(object: JsonObject, spec: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const group = stringAt(spec, "group");
  const plural = stringAt(spec, "names", "plural");
  const name = stringAt(object, "metadata", "name");
  if (name !== `${plural}.${group}`) {
    errors.push(invalidField("metadata.name", name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (group === "") errors.push(requiredField("spec.group"));
  if (stringAt(spec, "names", "kind") === "") errors.push(requiredField("spec.names.kind"));
  if (plural === "") errors.push(requiredField("spec.names.plural"));
  const scope = stringAt(spec, "scope");
  if (scope === "") errors.push(requiredField("spec.scope"));
  const isProtected = /(^|\.)(k8s|kubernetes)\.io$/.test(group);
  const annotation = stringAt(object, "metadata", "annotations", APPROVED_ANNOTATION);
  if (isProtected) errors.push(...approvalErrors(annotation));
  return errors;
}

/**
 * Conversion webhooks are not called here, so a definition that wants one is refused: serving its
 * versions unconverted would be a lie. The real server accepts it.
 */
function conversionErrors(spec: JsonObject): FieldError[] {
  const strategy = stringAt(spec, "conversion", "strategy");
  return strategy === "None"
    ? []
    : [unsupportedField("spec.conversion.strategy", strategy, ["None"])];
}

/** The annotation that groups of the Kubernetes project need: a URL, or why there is none. */
function approvalErrors(annotation: string): FieldError[] {
  const field = `metadata.annotations[${APPROVED_ANNOTATION}]`;
  if (annotation === "") {
    return [requiredField(
      field,
      `protected groups must have approval annotation "${APPROVED_ANNOTATION}", see ` +
        "https://github.com/kubernetes/enhancements/pull/1111",
    )];
  }
  const isApproved = /^https?:\/\//.test(annotation) || annotation.startsWith("unapproved");
  return isApproved ? [] : [invalidField(
    field,
    annotation,
    `protected groups must have approval annotation "${APPROVED_ANNOTATION}" with either a URL ` +
      'or a reason starting with "unapproved", see ' +
      "https://github.com/kubernetes/enhancements/pull/1111",
  )];
}

/** Schemas of all versions, and exactly one version to store. */
function versionErrors(versions: readonly JsonObject[]): FieldError[] {
  // The server names a shared schema once, as if it stood above the versions.
  const schemas = versions.map((version) => objectAt(version, "schema").openAPIV3Schema);
  const isShared = schemas.every((schema) => jsonEqual(schema, schemas[0]));
  const errors = versions.flatMap((version, index) => schemaErrors(version, index, isShared));
  if (versions.filter((version) => version.storage === true).length !== 1) {
    errors.push(invalidField(
      "spec.versions",
      versions.map((version) => stringAt(version, "name")),
      "must have exactly one version marked as storage version",
    ));
  }
  return errors;
}

/** What is wrong with the schema of version number `index`: absent, or not structural. */
function schemaErrors(version: JsonObject, index: number, isShared: boolean): FieldError[] {
  const place = `spec.versions[${index}].schema.openAPIV3Schema`;
  const schema = objectAt(version, "schema").openAPIV3Schema;
  if (!isJsonObject(schema)) return [requiredField(place)];
  try {
    StructuralSchema.compile(schema, isShared ? {} : { path: place });
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return isShared && index > 0 ? [] : [...error.causes];
  }
  return [];
}

/** Group, scope and stored versions stay once names are accepted. */
function changeErrors(object: JsonObject, previous: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  const [now, before] = [objectAt(object, "spec"), objectAt(previous, "spec")];
  for (const field of ["group", "scope"]) {
    if (!jsonEqual(now[field], before[field])) {
      errors.push(invalidField(`spec.${field}`, now[field] ?? "", "field is immutable"));
    }
  }
  for (const field of ["kind", "plural"]) {
    const [value, old] = [objectAt(now, "names")[field], objectAt(before, "names")[field]];
    if (!jsonEqual(value, old)) {
      errors.push(invalidField(`spec.names.${field}`, value ?? "", "field is immutable"));
    }
  }
  const names = new Set(objectsAt(now, "versions").map((version) => stringAt(version, "name")));
  stringsAt(object, "status", "storedVersions").forEach((stored, index) => {
    if (!names.has(stored)) {
      errors.push(invalidField(
        `status.storedVersions[${index}]`,
        stored,
        "missing from spec.versions; " +
          `${stored} was previously a storage version, and must remain in spec.versions until a ` +
          "storage migration ensures no data remains persisted in it and removes it from " +
          "status.storedVersions",
      ));
    }
  });
  return errors;
}

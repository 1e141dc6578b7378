/**
 * The CustomResourceDefinition of Foo, made from the schema literal: what `manifests crd` prints and
 * `crds/foo.yaml` holds.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { FOO_CRD_NAME, FOO_SPEC, FOO_STATUS, FOOS } from "./schema.ts";

/** Keywords that structural schemas have and we use; anything else is a mistake of ours. */
const STRUCTURAL_KEYWORDS: ReadonlySet<string> = new Set([
  "type",
  "description",
  "format",
  "enum",
  "pattern",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "required",
  "items",
  "properties",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
]);

/**
 * The definition, as the API server takes it.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(customResourceDefinition().kind, "CustomResourceDefinition");
 * ```
 */
export function customResourceDefinition(): { kind: string } & JsonObject {
  const { gvk, plural, scope } = FOOS;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: FOO_CRD_NAME,
      annotations: {
        // Without it the API server refuses any group under k8s.io.
        "api-approved.kubernetes.io":
          "unapproved, experimental-only: the group of Kubernetes' sample-controller",
      },
    },
    spec: {
      group: gvk.group,
      names: {
        kind: gvk.kind,
        listKind: `${gvk.kind}List`,
        plural,
        singular: gvk.kind.toLowerCase(),
      },
      scope,
      versions: [{
        name: gvk.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: printerColumns(),
        schema: { openAPIV3Schema: objectSchema() },
      }],
    },
  };
}

function objectSchema(): JsonObject {
  return {
    type: "object",
    description: "A Foo runs nginx in a Deployment of the name it gives.",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string", description: "Group and version of this object." },
      kind: { type: "string", description: "Kind of this object." },
      metadata: { type: "object" },
      spec: structural(FOO_SPEC),
      status: structural(FOO_STATUS),
    },
  };
}

function printerColumns(): JsonObject[] {
  return [
    { name: "Deployment", type: "string", jsonPath: ".spec.deploymentName" },
    { name: "Desired", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
}

/**
 * A schema of ours as a structural one. TypeBox marks its schemas with keys that JSON does not show;
 * what JSON shows must be known, since the API server would refuse or, worse, ignore the rest.
 *
 * @throws {AssertionError} If a keyword has no place in a structural schema.
 */
export function structural(schema: object): JsonObject {
  const plain: unknown = JSON.parse(JSON.stringify(schema));
  assert(isJsonObject(plain), "a schema is an object");
  return node(plain);
}

function node(schema: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    assert(STRUCTURAL_KEYWORDS.has(keyword), `"${keyword}" is a keyword of structural schemas`);
    copy[keyword] = keyword === "properties" || keyword === "items" ? below(keyword, value) : value;
  }
  assert("type" in copy, "each node of a structural schema has a type");
  return copy;
}

function below(keyword: "properties" | "items", value: Json): JsonObject {
  assert(isJsonObject(value), `"${keyword}" holds an object`);
  if (keyword === "items") return node(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, property]) => {
      assert(isJsonObject(property), `property "${name}" has a schema`);
      return [name, node(property)];
    }),
  );
}

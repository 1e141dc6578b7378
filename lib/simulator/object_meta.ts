/**
 * The schema of `metadata`, the same for every kind. Written out, and not taken from the generated
 * built-in schemas, so that simulations without built-in kinds need not unpack those.
 *
 * @module
 */

import { SchemaNode } from "./schema_node.ts";

const TEXT = { type: "string" };
const TIME = { type: "string", format: "date-time" };
const TEXTS_BY_NAME = { type: "object", additionalProperties: { type: "string", default: "" } };

/** The schema of `metadata`. */
export const OBJECT_META: SchemaNode = SchemaNode.of({
  type: "object",
  properties: {
    name: TEXT,
    generateName: TEXT,
    namespace: TEXT,
    selfLink: TEXT,
    uid: TEXT,
    resourceVersion: TEXT,
    generation: { type: "integer", format: "int64" },
    creationTimestamp: TIME,
    deletionTimestamp: TIME,
    deletionGracePeriodSeconds: { type: "integer", format: "int64" },
    labels: TEXTS_BY_NAME,
    annotations: TEXTS_BY_NAME,
    ownerReferences: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      items: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        properties: {
          apiVersion: TEXT,
          kind: TEXT,
          name: TEXT,
          uid: TEXT,
          controller: { type: "boolean" },
          blockOwnerDeletion: { type: "boolean" },
        },
      },
    },
    finalizers: { type: "array", "x-kubernetes-list-type": "set", items: TEXT },
    managedFields: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      items: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  },
});

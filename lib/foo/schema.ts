/**
 * What a Foo is. One literal gives the TypeScript type, the schema that the API server enforces
 * (`crd.ts`) and the check at run time, so that the three cannot drift apart.
 *
 * The check at run time is needed all the same: the definition in the cluster may be an older one,
 * or sample-controller's own, which lets more through.
 *
 * @module
 */

// By namespace, and the schema's own checker: all of the package costs 4 MB a thread.
import type { Static } from "typebox";
import * as Type from "typebox";
import { Check, Errors } from "typebox/schema";
import { defineKind, type KindDefinition } from "../client/kinds.ts";
import type { KubeObject } from "../core/objects.ts";

/** A name as Deployments may have it: lower-case letters, digits, `-` and `.`, by RFC 1123. */
const DNS_1123_SUBDOMAIN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/** Longest name of an object: a DNS name's limit. */
const NAME_MAX_CHARS = 253;

/** Largest `replicas` of a Deployment, which is an int32. */
const INT32_MAX = 2 ** 31 - 1;

/** What the user wants. */
export const FOO_SPEC = Type.Object({
  deploymentName: Type.String({
    description: "Name of the Deployment to run, in the Foo's namespace. A change makes a new " +
      "Deployment and then removes the one of the old name.",
    minLength: 1,
    maxLength: NAME_MAX_CHARS,
    pattern: DNS_1123_SUBDOMAIN,
  }),
  replicas: Type.Optional(Type.Integer({
    description: "How many Pods to run; 0 is none. Absent: not the Foo's to say, so that an " +
      "autoscaler or a person may scale the Deployment, which starts with 1.",
    format: "int32",
    minimum: 0,
    maximum: INT32_MAX,
  })),
}, { description: "What the user wants." });

/** One condition, as `metav1.Condition` has it. */
export const FOO_CONDITION = Type.Object({
  type: Type.String({
    description: "Name of the condition, unique in its list.",
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  }),
  status: Type.Enum(["True", "False", "Unknown"], {
    description: "Whether the condition holds.",
    type: "string",
  }),
  observedGeneration: Type.Optional(Type.Integer({
    description: "The metadata.generation that the condition is about.",
    format: "int64",
    minimum: 0,
  })),
  lastTransitionTime: Type.String({
    description: "When status last changed.",
    format: "date-time",
  }),
  reason: Type.String({
    description: "Why, as one word for programs.",
    minLength: 1,
    maxLength: 1024,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  }),
  message: Type.String({ description: "Why, as a sentence for people.", maxLength: 32768 }),
}, { description: "One aspect of the Foo's state." });

/** What the operator reports. */
export const FOO_STATUS = Type.Object({
  availableReplicas: Type.Optional(Type.Integer({
    description: "Pods of the Foo's Deployment that are available.",
    format: "int32",
  })),
  observedGeneration: Type.Optional(Type.Integer({
    description: "The metadata.generation that this status is about.",
    format: "int64",
  })),
  conditions: Type.Optional(Type.Array(FOO_CONDITION, {
    description: "State of the Foo. Ready is True while its Deployment has the Pods it wants.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  })),
}, { description: "What the operator reports." });

/** See {@linkcode FOO_SPEC}. */
export type FooSpec = Static<typeof FOO_SPEC>;
/** See {@linkcode FOO_CONDITION}. */
export type FooCondition = Static<typeof FOO_CONDITION>;
/** See {@linkcode FOO_STATUS}. */
export type FooStatus = Static<typeof FOO_STATUS>;

/** A Foo as the API server returns it. Its spec is checked by {@linkcode checkFooSpec} before use. */
export interface Foo extends KubeObject {
  spec: FooSpec;
  status?: FooStatus;
}

/** The kind Foo. */
export const FOOS: KindDefinition<Foo> = defineKind({
  group: "samplecontroller.k8s.io",
  version: "v1alpha1",
  kind: "Foo",
  plural: "foos",
  scope: "Namespaced",
  subresources: ["status"],
});

/** Name of the definition of the kind Foo. */
export const FOO_CRD_NAME = `${FOOS.plural}.${FOOS.gvk.group}`;

/** What {@linkcode checkFooSpec} found. */
export type FooCheck =
  | { readonly type: "valid"; readonly spec: FooSpec }
  /** `problem` is one sentence for the user, without a full stop. */
  | { readonly type: "invalid"; readonly problem: string };

/**
 * Checks the spec of something that claims to be a Foo. `null` counts as absent, as it does for
 * the API server's own kinds; unknown fields are ignored.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(checkFooSpec({ spec: { deploymentName: "web", replicas: null } }), {
 *   type: "valid",
 *   spec: { deploymentName: "web" },
 * });
 * deepStrictEqual(checkFooSpec({ spec: { deploymentName: "web", replicas: -1 } }), {
 *   type: "invalid",
 *   problem: "spec.replicas must be >= 0",
 * });
 * ```
 */
export function checkFooSpec(foo: { readonly spec?: unknown }): FooCheck {
  const given = typeof foo.spec === "object" && foo.spec !== null ? foo.spec : {};
  const spec = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  if (Check(FOO_SPEC, spec)) return { type: "valid", spec };

  const [, [error]] = Errors(FOO_SPEC, spec);
  if (error === undefined) return { type: "invalid", problem: "spec does not match its schema" };
  if (error.keyword === "required") {
    return { type: "invalid", problem: `spec.${error.params.requiredProperties[0]} must be set` };
  }
  if (error.keyword === "pattern") {
    const problem = `${fieldOf(error.instancePath)} must be a DNS-1123 subdomain: lower-case ` +
      'letters, digits, "-" and ".", beginning and ending with a letter or digit';
    return { type: "invalid", problem };
  }
  return { type: "invalid", problem: `${fieldOf(error.instancePath)} ${error.message}` };
}

/** `/replicas` as `spec.replicas`. */
function fieldOf(instancePath: string): string {
  return `spec${instancePath.replaceAll("/", ".")}`;
}

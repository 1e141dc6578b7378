import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  defineKind,
  type Deployment,
  DEPLOYMENTS,
  type Event,
  type Lease,
} from "../../lib/client/kinds.ts";
import { AssertionError } from "../../lib/core/errors.ts";

/** Compiles only if both are the same type. */
function same<A, B>(
  _claim: (<X>() => X extends A ? 1 : 2) extends (<X>() => X extends B ? 1 : 2) ? true : false,
): void {}

Deno.test("S4 Jsonified<T> has strings for dates and Kubernetes' own names", () => {
  same<Deployment["metadata"]["creationTimestamp"], string>(true);
  same<NonNullable<Lease["spec"]>["renewTime"], string | undefined>(true);
  same<Event["eventTime"], string>(true);
  type Schema = NonNullable<CustomResourceDefinition["spec"]["versions"][0]["schema"]>;
  type Props = NonNullable<Schema["openAPIV3Schema"]>;
  same<Props["x-kubernetes-preserve-unknown-fields"], boolean | undefined>(true);
  same<Props["enum"], unknown[] | undefined>(true);
  same<Props["properties"], { [key: string]: Props } | undefined>(true);
});

Deno.test("Jsonified<T> lets a literal of plain JSON be a Deployment's spec", () => {
  const spec: Deployment["spec"] = {
    selector: { matchLabels: { app: "a" } },
    template: { spec: { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] } },
    strategy: { rollingUpdate: { maxSurge: "25%" } },
  };
  strictEqual(spec.replicas, undefined);
});

Deno.test("defineKind() fills in what was not said and refuses names that would change a path", () => {
  const options = {
    group: "example.com",
    version: "v1",
    kind: "Cron",
    plural: "crons",
    scope: "Namespaced",
  } as const;
  deepStrictEqual(defineKind(options), {
    gvk: { group: "example.com", version: "v1", kind: "Cron" },
    plural: "crons",
    scope: "Namespaced",
    subresources: [],
    isBuiltIn: false,
  });
  throws(() => defineKind({ ...options, plural: "crons/../secrets" }), AssertionError);
  throws(() => defineKind({ ...options, plural: "" }), AssertionError);
  throws(() => defineKind({ ...options, group: "a/b" }), AssertionError);
  throws(() => defineKind({ ...options, kind: "cron" }), AssertionError);
});

Deno.test("built-in kinds know that they are", () => {
  strictEqual(DEPLOYMENTS.isBuiltIn, true);
  strictEqual(CUSTOM_RESOURCE_DEFINITIONS.scope, "Cluster");
});

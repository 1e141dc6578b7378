import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  BUILT_IN_KINDS,
  CORE_EVENTS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  defineKind,
  type Deployment,
  DEPLOYMENTS,
  type Event,
  EVENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  HORIZONTAL_POD_AUTOSCALERS_V1,
  type HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerV1,
  isBuiltInKind,
  type Lease,
  PODS,
  ROLES,
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
  strictEqual(isBuiltInKind({ group: "apps", kind: "Deployment" }), true);
  strictEqual(isBuiltInKind({ group: "gateway.networking.k8s.io", kind: "Gateway" }), false);
});

Deno.test("BUILT_IN_KINDS has each kind of each version once, with its scope and subresources", () => {
  const names = BUILT_IN_KINDS.map(({ gvk }) => `${gvk.group}/${gvk.version} ${gvk.kind}`);
  strictEqual(new Set(names).size, names.length);
  strictEqual(names.length > 60, true);
  strictEqual(BUILT_IN_KINDS.includes(DEPLOYMENTS), true);
  deepStrictEqual(DEPLOYMENTS.subresources, ["scale", "status"]);
  strictEqual(PODS.subresources.includes("eviction"), true);
  deepStrictEqual(ROLES.subresources, []);
});

Deno.test("two kinds of one name are two definitions with types of their own", () => {
  deepStrictEqual([EVENTS.gvk.group, CORE_EVENTS.gvk.group], ["events.k8s.io", ""]);
  const versions = [HORIZONTAL_POD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS_V1];
  deepStrictEqual(versions.map(({ gvk }) => gvk.version), ["v2", "v1"]);
  type Target = "targetCPUUtilizationPercentage";
  same<Target extends keyof NonNullable<HorizontalPodAutoscalerV1["spec"]> ? 1 : 0, 1>(true);
  same<Target extends keyof NonNullable<HorizontalPodAutoscaler["spec"]> ? 1 : 0, 0>(true);
});

import { deepStrictEqual } from "node:assert/strict";
import { toAnyOwner, toController, toSelf } from "../../lib/controller/mappers.ts";
import type { KubeObject, OwnerReference } from "../../lib/core/objects.ts";

const FOOS = {
  gvk: { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" },
  scope: "Namespaced",
} as const;
const NODES = { gvk: { group: "", version: "v1", kind: "Node" }, scope: "Cluster" } as const;

function owned(references: Partial<OwnerReference>[], namespace?: string): KubeObject {
  const ownerReferences = references.map((reference) => ({
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    name: "a",
    uid: "1",
    ...reference,
  }));
  const fixed = { name: "web", uid: "2", resourceVersion: "1", creationTimestamp: "" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...fixed, ownerReferences, ...(namespace === undefined ? {} : { namespace }) },
  };
}

Deno.test("toSelf() gives the object's own key", () => {
  deepStrictEqual(toSelf(owned([], "default")), ["default/web"]);
  deepStrictEqual(toSelf(owned([])), ["web"]);
});

Deno.test("toController() gives the managing controller, if it is of the kind asked for", () => {
  const keys = (...references: Partial<OwnerReference>[]) =>
    toController(FOOS)(owned(references, "default"));
  deepStrictEqual(keys({ name: "x" }, { name: "y", controller: true }), ["default/y"]);
  deepStrictEqual(keys({ apiVersion: "samplecontroller.k8s.io/v1", controller: true }), [
    "default/a",
  ]);
  deepStrictEqual(keys({ name: "x" }), []);
  deepStrictEqual(keys({ kind: "Bar", controller: true }), []);
  deepStrictEqual(keys({ apiVersion: "example.com/v1alpha1", controller: true }), []);
  deepStrictEqual(keys({ apiVersion: "v1alpha1", controller: true }), []);
  deepStrictEqual(keys(), []);
});

Deno.test("toAnyOwner() gives every owner of the kind asked for", () => {
  const object = owned([{ name: "x" }, { name: "y", controller: true }, { kind: "Bar" }], "ns");
  deepStrictEqual(toAnyOwner(FOOS)(object), ["ns/x", "ns/y"]);
});

Deno.test("mappers look for a cluster-scoped owner outside the namespace", () => {
  const object = owned([{ apiVersion: "v1", kind: "Node", name: "n", controller: true }], "ns");
  deepStrictEqual(toController(NODES)(object), ["n"]);
  deepStrictEqual(toAnyOwner(NODES)(object), ["n"]);
});

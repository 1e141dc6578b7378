import { ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  apiVersionOf,
  compareResourceVersions,
  controllerReferenceTo,
  controllerRefOf,
  deepFreeze,
  isControlledBy,
  keyOf,
  parseApiVersion,
  splitKey,
} from "../../lib/core/objects.ts";

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?$/);

Deno.test("splitKey() undoes keyOf() for namespaced and cluster-scoped names", () => {
  fc.assert(fc.property(name, fc.option(name, { nil: "" }), (name, namespace) => {
    const parts = splitKey(keyOf({ name, namespace }));
    strictEqual(parts.name, name);
    strictEqual(parts.namespace, namespace);
  }));
});

Deno.test("parseApiVersion() undoes apiVersionOf(), the core group included", () => {
  for (const gv of [{ group: "", version: "v1" }, { group: "apps", version: "v1" }]) {
    const parsed = parseApiVersion(apiVersionOf(gv));
    strictEqual(parsed.group, gv.group);
    strictEqual(parsed.version, gv.version);
  }
});

Deno.test("compareResourceVersions() orders integers of any size", () => {
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 200n }), fc.bigInt({ min: 0n }), (a, b) => {
    const sign = Math.sign(compareResourceVersions(String(a), String(b)));
    strictEqual(sign, a < b ? -1 : a > b ? 1 : 0);
  }));
});

for (const bad of ["", "01", "-1", "1.5", "abc", "1e3", " 1"]) {
  Deno.test(`compareResourceVersions() refuses "${bad}", which is not such a version`, () => {
    throws(() => compareResourceVersions("1", bad), { name: "AssertionError" });
    throws(() => compareResourceVersions(bad, "1"), { name: "AssertionError" });
  });
}

Deno.test("R6 isControlledBy() goes by uid: a recreated owner of the same name is another", () => {
  const gvk = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
  const reference = controllerReferenceTo({ metadata: { name: "a", uid: "1" } }, gvk);
  const child = { metadata: { ownerReferences: [{ ...reference, controller: true }] } };
  strictEqual(controllerRefOf(child)?.apiVersion, "samplecontroller.k8s.io/v1alpha1");
  ok(isControlledBy(child, { metadata: { uid: "1" } }));
  ok(!isControlledBy(child, { metadata: { uid: "2" } }));
});

Deno.test("isControlledBy() is false for an owner that is not the controller", () => {
  const reference = { apiVersion: "v1", kind: "Foo", name: "a", uid: "1" };
  ok(!isControlledBy({ metadata: { ownerReferences: [reference] } }, { metadata: { uid: "1" } }));
  ok(!isControlledBy({ metadata: {} }, { metadata: { uid: "1" } }));
});

Deno.test("S4 deepFreeze() freezes every part, so that a reader can't change a shared object", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const walk = (part: unknown): void => {
      if (typeof part !== "object" || part === null) return;
      ok(Object.isFrozen(part));
      Object.values(part).forEach(walk);
    };
    walk(deepFreeze(value));
  }));
});

import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { Type } from "typebox";
import { parseYaml, parseYamlAll } from "../../lib/core/yaml.ts";
import { customResourceDefinition, structural } from "../../lib/foo/crd.ts";
import { checkFooSpec, FOO_SPEC } from "../../lib/foo/schema.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

Deno.test("checkFooSpec() names the field at fault and what it must be", () => {
  const problem = (spec: unknown) => {
    const check = checkFooSpec({ spec });
    return check.type === "invalid" ? check.problem : undefined;
  };
  strictEqual(problem(undefined), "spec.deploymentName must be set");
  strictEqual(problem("text"), "spec.deploymentName must be set");
  strictEqual(problem({}), "spec.deploymentName must be set");
  strictEqual(problem({ deploymentName: null }), "spec.deploymentName must be set");
  ok(problem({ deploymentName: "Web" })?.startsWith("spec.deploymentName must be a DNS-1123"));
  ok(problem({ deploymentName: "" })?.startsWith("spec.deploymentName"));
  ok(problem({ deploymentName: "a".repeat(254) })?.includes("253"));
  ok(problem({ deploymentName: "a", replicas: 1.5 })?.startsWith("spec.replicas must be"));
  ok(problem({ deploymentName: "a", replicas: 2 ** 31 })?.startsWith("spec.replicas must be"));
  ok(problem({ deploymentName: "a", replicas: "3" })?.startsWith("spec.replicas must be"));
});

Deno.test("R4 checkFooSpec() tells absent from 0, and takes null for absent", () => {
  const spec = (replicas: unknown) => checkFooSpec({ spec: { deploymentName: "a", replicas } });
  deepStrictEqual(spec(null), { type: "valid", spec: { deploymentName: "a" } });
  deepStrictEqual(spec(0), { type: "valid", spec: { deploymentName: "a", replicas: 0 } });
});

Deno.test("checkFooSpec() takes the names that Kubernetes takes, and no others", () => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/);
  const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
  fc.assert(fc.property(name, (deploymentName) => {
    return checkFooSpec({ spec: { deploymentName } }).type === "valid";
  }));
  const bad = fc.tuple(name, fc.constantFrom(".", "-", "_", "A", "/", " ", "\n", "é"), fc.boolean())
    .map(([text, char, atEnd]) => atEnd ? text + char : char + text);
  fc.assert(fc.property(bad, (deploymentName) => {
    return checkFooSpec({ spec: { deploymentName } }).type === "invalid";
  }));
});

Deno.test("customResourceDefinition() is what crds/foo.yaml holds", async () => {
  // If this fails: deno task operator manifests crd > crds/foo.yaml
  deepStrictEqual(parseYaml(await read("crds/foo.yaml")), customResourceDefinition());
});

Deno.test("the example Foos are valid", async () => {
  for (const name of ["foo.yaml", "foo-autoscaled.yaml"]) {
    const [foo] = parseYamlAll(await read(`crds/examples/${name}`));
    ok(typeof foo === "object" && foo !== null && "spec" in foo && "kind" in foo);
    strictEqual(foo.kind, "Foo");
    strictEqual(checkFooSpec(foo).type, "valid", name);
  }
});

Deno.test("structural() gives plain data of what the literal says", () => {
  const { properties } = structural(FOO_SPEC);
  deepStrictEqual(Object.keys(properties ?? {}), ["deploymentName", "replicas"]);
});

Deno.test("structural() refuses what the API server would", () => {
  throws(() => structural(Type.Object({ a: Type.Union([Type.String(), Type.Integer()]) })), {
    message: /"anyOf" is a keyword/,
  });
  throws(() => structural(Type.Object({ a: Type.Enum(["x"]) })), { message: /has a type/ });
});

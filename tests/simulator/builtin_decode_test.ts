import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../../lib/core/json.ts";
import { decodeError } from "../../lib/simulator/builtin_decode.ts";
import { builtinSchema } from "../../lib/simulator/builtin_schemas.ts";
import { duplicateFields } from "../../lib/simulator/duplicate_fields.ts";

function decoded(group: string, kind: string, object: JsonObject): string | undefined {
  const schema = builtinSchema({ group, version: "v1", kind });
  ok(schema !== undefined, kind);
  return decodeError(object, schema);
}

/** The recorded server's words, after `Deployment in version "v1" cannot be handled as …: `. */
const DEPLOYMENTS: readonly [JsonObject, string | undefined][] = [
  [
    { spec: { replicas: 3, strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } } } },
    undefined,
  ],
  [
    { spec: { replicas: "a" } },
    "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
  ],
  [
    { spec: { replicas: 1.5 } },
    "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type " +
    "int32",
  ],
  [
    { spec: { replicas: 3000000000 } },
    "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of " +
    "type int32",
  ],
  [
    { spec: { paused: "x" } },
    "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool",
  ],
  [
    { metadata: { labels: ["a"] } },
    "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type " +
    "map[string]string",
  ],
  [
    { metadata: { labels: { a: 1 } } },
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
  ],
  [
    { spec: "x" },
    "json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec",
  ],
  [
    { spec: { template: { spec: { containers: { a: 1 } } } } },
    "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of " +
    "type []v1.Container",
  ],
];

Deno.test("decodeError() says what the recorded server said of a Deployment", () => {
  for (const [object, expected] of DEPLOYMENTS) {
    strictEqual(decoded("apps", "Deployment", object), expected, JSON.stringify(object));
  }
});

Deno.test("decodeError() says what the recorded server said of ConfigMaps and Secrets", () => {
  strictEqual(
    decoded("", "ConfigMap", { data: { a: "b", ok: 1 } }),
    "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
  );
  strictEqual(
    decoded("", "Secret", { data: { a: "!!" } }),
    "illegal base64 data at input byte 0",
  );
  strictEqual(decoded("", "Secret", { data: { a: "Yw==" }, stringData: { b: "!!" } }), undefined);
});

Deno.test("decodeError() lets types with their own decoder be", () => {
  const container = {
    name: "c",
    resources: { limits: { cpu: 1, memory: "1Gi" } },
    readinessProbe: { httpGet: { port: "http" } },
  };
  strictEqual(decoded("", "Pod", { spec: { containers: [container] } }), undefined);
});

Deno.test("duplicateFields() finds what JSON.parse() hides, and nothing else", () => {
  const text = '{"metadata":{"name":"a","q":1,"name":"a"},"spec":{"must":"a","must":"b",' +
    '"fmts":{"a":"\\"}","a":"c"},"l":[{"x":1},{"x":1,"x":[ ],"x":{}}]}}';
  deepStrictEqual(duplicateFields(text), [
    "metadata.name",
    "spec.must",
    "spec.fmts.a",
    "spec.l[1].x",
  ]);
  fc.assert(fc.property(fc.json(), fc.constantFrom(0, 2), (json, indent) => {
    deepStrictEqual(duplicateFields(JSON.stringify(JSON.parse(json), null, indent)), []);
  }));
});

Deno.test("duplicateFields() compares names after unescaping them", () => {
  deepStrictEqual(duplicateFields('{"a":1,"\\u0061":2}'), ["a"]);
});

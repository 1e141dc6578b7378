import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import { isJsonObject, type Json, type JsonObject } from "../../lib/core/json.ts";
import { deepFreeze } from "../../lib/core/objects.ts";
import { PatchError } from "../../lib/core/patch_error.ts";
import { applyStrategicPatch } from "../../lib/core/patch_strategic.ts";
import {
  builtinDescribed,
  builtinStructure,
  withDescriptions,
  withoutDescriptions,
} from "../../lib/simulator/builtin_data.ts";
import { defaultedDeployment } from "../../lib/simulator/builtin_rules.ts";
import { builtinSchema } from "../../lib/simulator/builtin_schemas.ts";
import { openApiDocument, openApiIndex } from "../../lib/simulator/openapi.ts";
import strategic from "./recorded/strategic.json" with { type: "json" };

const DEPLOYMENTS = builtinSchema({ group: "apps", version: "v1", kind: "Deployment" });
const DOCUMENT: JsonObject = deepFreeze(JSON.parse(JSON.stringify(strategic.document)));

interface Case {
  readonly name: string;
  readonly patch: JsonObject;
  readonly answer: JsonObject;
}

const CASES: readonly Case[] = JSON.parse(JSON.stringify(strategic.cases));

for (const { name, patch, answer } of CASES) {
  // What the server finds wrong with the patched object is not the patch's business.
  if (name === "patchtop") continue;
  Deno.test(`applyStrategicPatch() on a Deployment gives what the server gave: ${name}`, () => {
    let found: Json;
    try {
      found = defaultedDeployment(applyStrategicPatch(DOCUMENT, patch, DEPLOYMENTS?.root));
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      notStrictEqual(answer["code"], undefined, error.message);
      return;
    }
    deepStrictEqual(withoutEmptySelector(found), answer);
  });
}

/** Writing a built-in object, the server leaves empty maps out; that is not the patch's doing. */
function withoutEmptySelector(object: Json): Json {
  return JSON.parse(JSON.stringify(object).replace('"nodeSelector":{},', ""));
}

Deno.test("builtinSchema() knows merge keys, list types and unknown fields at any depth", () => {
  ok(DEPLOYMENTS !== undefined);
  const containers = DEPLOYMENTS.root.property("spec")?.property("template")?.property("spec")
    ?.property("containers");
  strictEqual(containers?.patchMergeKey, "name");
  strictEqual(containers?.listType, "map");
  deepStrictEqual(containers?.items?.property("ports")?.listMapKeys, ["containerPort", "protocol"]);
  deepStrictEqual(
    DEPLOYMENTS.unknownFields({
      metadata: { name: "a", junk: 1 },
      spec: { template: { spec: { containers: [{ name: "c", img: "x" }] } } },
      bar: 1,
    }),
    ["metadata.junk", "spec.template.spec.containers[0].img", "bar"],
  );
  strictEqual(builtinSchema({ group: "apps", version: "v1", kind: "Nope" }), undefined);
});

Deno.test("StructuralSchema of a built-in kind keeps what its schema leaves open", () => {
  const definitions = builtinSchema({
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
  });
  const object = deepFreeze({
    metadata: { name: "a" },
    spec: {
      versions: [{
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { a: { type: "object", default: { b: { c: 1 } }, enum: [{ d: 1 }] } },
            additionalProperties: false,
          },
        },
      }],
    },
  });
  strictEqual(definitions?.prune(object), object);
  strictEqual(definitions?.applyDefaults(object), object);
  deepStrictEqual(definitions?.validate({ spec: 1 }), []);
});

Deno.test("withDescriptions() undoes withoutDescriptions(), also for fields of that name", () => {
  const schema = {
    description: "an object",
    properties: { description: { type: "string", description: "a text" }, a: { allOf: [{}] } },
  };
  const texts: Json[] = [];
  const bare = withoutDescriptions(schema, texts);
  deepStrictEqual(bare, {
    properties: { description: { type: "string" }, a: { allOf: [{}] } },
  });
  deepStrictEqual(withDescriptions(bare, texts.values()), schema);
});

Deno.test("builtinDescribed() has the structure's schemas, with words", () => {
  const described = builtinDescribed();
  deepStrictEqual(Object.keys(described), Object.keys(builtinStructure()));
  const deployment = described["io.k8s.api.apps.v1.Deployment"];
  ok(isJsonObject(deployment));
  strictEqual(
    deployment["description"],
    "Deployment enables declarative updates for Pods and ReplicaSets.",
  );
});

Deno.test("openApiDocument() refers to nothing that it does not contain", () => {
  const versions = [
    {
      group: "apps",
      version: "v1",
      kinds: [{
        kind: "Deployment",
        plural: "deployments",
        isNamespaced: true,
        subresources: ["status", "scale"],
      }],
    },
    {
      group: "x.io",
      version: "v1",
      kinds: [{
        kind: "Foo",
        plural: "foos",
        isNamespaced: false,
        subresources: [],
        schema: { type: "object", properties: { spec: { type: "object" } } },
      }],
    },
  ];
  for (const version of versions) {
    const document = openApiDocument(version);
    const { components, paths } = document;
    ok(isJsonObject(components) && isJsonObject(components["schemas"]) && isJsonObject(paths));
    const refs = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
    const missing = [...refs].map((match) => match[1] ?? "")
      .filter((name) => isJsonObject(components["schemas"]) && !(name in components["schemas"]));
    deepStrictEqual(missing, []);
  }
  const { paths } = openApiDocument(versions[1] ?? { group: "", version: "", kinds: [] });
  ok(isJsonObject(paths));
  deepStrictEqual(Object.keys(paths), ["/apis/x.io/v1/foos", "/apis/x.io/v1/foos/{name}"]);
  const index = openApiIndex(versions)["paths"];
  ok(isJsonObject(index));
  deepStrictEqual(Object.keys(index), ["apis/apps/v1", "apis/x.io/v1"]);
});

Deno.test("openApiIndex() gives another address when a document changes", () => {
  const address = (description: string) =>
    JSON.stringify(openApiIndex([{
      group: "x.io",
      version: "v1",
      kinds: [{
        kind: "Foo",
        plural: "foos",
        isNamespaced: true,
        subresources: [],
        schema: { type: "object", description },
      }],
    }]));
  notStrictEqual(address("a"), address("b"));
  strictEqual(address("a"), address("a"));
});

import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { isJsonObject, type Json, type JsonObject } from "../../lib/core/json.ts";
import { applyMergePatch } from "../../lib/core/patch_merge.ts";
import { deepFreeze } from "../../lib/core/objects.ts";
import type { FieldError } from "../../lib/simulator/field_errors.ts";
import { SchemaError, StructuralSchema } from "../../lib/simulator/structural_schema.ts";
import { comparableCauses } from "../support/recorded.ts";
import definitions from "./recorded/definitions.json" with { type: "json" };
import rules from "./recorded/rules.json" with { type: "json" };
import recorded from "./recorded/validation.json" with { type: "json" };

function objectOf(value: Json): JsonObject {
  ok(isJsonObject(value));
  return value;
}

function widget(spec: Json): JsonObject {
  return { apiVersion: "test.io/v1", kind: "Widget", metadata: { name: "w" }, spec };
}

const WIDGETS = StructuralSchema.compile(recorded.schema);

for (const { name, spec, answer } of recorded.cases) {
  Deno.test(`StructuralSchema answers as the recorded server: ${name}`, () => {
    const object = deepFreeze(widget(spec as Json));
    const unknown = WIDGETS.unknownFields(object).map((path) => `unknown field "${path}"`);
    const prepared = WIDGETS.applyDefaults(WIDGETS.prune(object));
    const errors = WIDGETS.validate(prepared);
    deepStrictEqual(comparableCauses(errors), comparableCauses(answer.causes ?? []));
    if (answer.causes === undefined) {
      deepStrictEqual(prepared["spec"], answer.spec);
      deepStrictEqual(unknown, answer.warnings);
    }
  });
}

for (const { name, patch, answer } of recorded.updates) {
  Deno.test(`StructuralSchema judges an update as the recorded server: ${name}`, () => {
    const old = deepFreeze(WIDGETS.applyDefaults(widget(recorded.base)));
    const patched = applyMergePatch(old, { spec: patch as Json });
    const object = WIDGETS.applyDefaults(WIDGETS.prune(objectOf(patched)));
    deepStrictEqual(
      comparableCauses(WIDGETS.validate(object, { old })),
      comparableCauses(answer.causes ?? []),
    );
  });
}

for (const { name, schema, causes } of definitions) {
  Deno.test(`StructuralSchema.compile() judges a definition as the recorded server: ${name}`, () => {
    let found: readonly FieldError[] = [];
    try {
      StructuralSchema.compile(schema as JsonObject);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      found = error.causes;
    }
    deepStrictEqual(comparableCauses(found), comparableCauses(causes));
  });
}

Deno.test("StructuralSchema.validate() runs rules as the recorded server", () => {
  const schema = StructuralSchema.compile(rules.schema);
  for (const { spec, causes } of rules.cases) {
    const found = schema.validate(deepFreeze(widget(spec)));
    deepStrictEqual(comparableCauses(found), comparableCauses(causes), JSON.stringify(spec));
  }
});

Deno.test("StructuralSchema.compile() refuses a rule with a function it lacks", () => {
  const schema = (rule: string): JsonObject => ({
    type: "object",
    properties: { a: { type: "string", "x-kubernetes-validations": [{ rule }] } },
  });
  for (const rule of ["cidr(self).prefixLength() == 8", "ip(self).family() == 4"]) {
    throws(() => StructuralSchema.compile(schema(rule)), SchemaError);
  }
});

Deno.test("StructuralSchema.prune() and applyDefaults() share what they do not change", () => {
  const object = deepFreeze(widget({ must: "x", def: "d", nuldef: null, objdef2: { a: "b" } }));
  strictEqual(WIDGETS.prune(object), object);
  strictEqual(WIDGETS.applyDefaults(object), object);
});

Deno.test("StructuralSchema.validate() lets stored values be that a stricter schema refuses", () => {
  const schema = StructuralSchema.compile({
    type: "object",
    properties: {
      spec: {
        type: "object",
        required: ["late"],
        properties: {
          a: { type: "string", maxLength: 1 },
          late: { type: "string" },
          byKey: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            items: {
              type: "object",
              required: ["k"],
              properties: { k: { type: "string" }, v: { type: "string", maxLength: 1 } },
            },
          },
          atomic: { type: "array", items: { type: "string", maxLength: 1 } },
        },
      },
    },
  });
  const byKey = [{ k: "1", v: "aa" }, { k: "2", v: "bb" }];
  const old: JsonObject = { spec: { a: "xx", byKey, atomic: ["aa"] } };
  const fields = (object: JsonObject) => schema.validate(object, { old }).map((e) => e.field);
  deepStrictEqual(fields({ ...old, metadata: { name: "w" } }), []);
  deepStrictEqual(
    fields({ spec: { a: "xx", byKey: [byKey[0] ?? {}, { k: "2", v: "cc" }], late: "y" } }),
    ["spec.byKey[1].v"],
  );
  deepStrictEqual(fields({ spec: { a: "xx", atomic: ["aa", "b"] } }), [
    "spec.atomic[0]",
    "spec.late",
  ]);
});

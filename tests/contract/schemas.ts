/**
 * Contract cases: what a custom kind's schema does to objects, and what a definition's schema must
 * be. Most replay recorded requests, so that each message of the recording is checked on both
 * servers.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { comparableCauses, inGroup } from "../support/recorded.ts";
import type { Json } from "../support/kube.ts";
import definitions from "../simulator/recorded/definitions.json" with { type: "json" };
import rules from "../simulator/recorded/rules.json" with { type: "json" };
import recorded from "../simulator/recorded/validation.json" with { type: "json" };
import { type Answer, type Api, type ContractCase, CRDS, MERGE } from "./backend.ts";

/** A version with `schema`, with and without the status subresource. */
function versionOf(openAPIV3Schema: Json, subresources: Json = { status: {} }): Json[] {
  return [{
    name: "v1",
    served: true,
    storage: true,
    subresources,
    schema: { openAPIV3Schema },
  }];
}

/** Texts of the answer's warnings. */
function warningsOf({ headers }: Answer): string[] {
  const text = headers.get("warning") ?? "";
  return [...text.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, quoted]) =>
    JSON.parse(`"${quoted}"`)
  );
}

/** Requires that `answer` is what was recorded. */
function same(answer: Answer, expected: Json, what: string): void {
  const { body, status } = answer;
  strictEqual(status, expected.code, `${what}: ${answer.text}`);
  deepStrictEqual(
    comparableCauses(body.details?.causes),
    comparableCauses(expected.causes),
    what,
  );
  if (expected.spec === undefined) return;
  deepStrictEqual(body.spec, expected.spec, what);
  deepStrictEqual(warningsOf(answer), expected.warnings, what);
}

/** One definition with `schema`, tried and not stored. */
function tryDefinition(api: Api, schema: Json): Promise<Answer> {
  return api.send("POST", `${CRDS}?dryRun=All`, {
    body: {
      metadata: { name: `widgets.${api.group}` },
      spec: {
        group: api.group,
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: versionOf(schema, {}),
      },
    },
  });
}

const STRING = { type: "string", maxLength: 20 };

export const SCHEMA_CASES: readonly ContractCase[] = [
  {
    name: "schema: values are pruned, defaulted and judged as recorded",
    async run(api) {
      await api.define({ versions: versionOf(recorded.schema) });
      for (const { name, spec, answer } of recorded.cases) {
        const found = await api.send("POST", `${api.widgets()}?dryRun=All`, {
          body: api.widget("w", spec),
        });
        same(found, inGroup(answer, api.group), name);
      }
    },
  },
  {
    name: "schema: updates are judged by what they change, as recorded",
    async run(api) {
      await api.define({ versions: versionOf(recorded.schema) });
      await api.create(api.widgets(), api.widget("u", recorded.base));
      for (const { name, patch, answer } of recorded.updates) {
        const found = await api.send("PATCH", `${api.widgets("u")}?dryRun=All`, {
          body: { spec: patch },
          type: MERGE,
        });
        same(found, inGroup(answer, api.group), name);
      }
    },
  },
  {
    name: "schema: definitions are refused for the recorded causes",
    async run(api) {
      for (const { name, schema, causes } of definitions) {
        const { status, body } = await tryDefinition(api, schema);
        ok(status === 201 || status === 422, `${name}: ${JSON.stringify(body)}`);
        // The simulator does not estimate the cost of rules, which the server limits.
        const found = (body.details?.causes ?? [])
          .filter(({ message }: Json) => !message.includes("cost"));
        deepStrictEqual(comparableCauses(found), comparableCauses(causes), name);
      }
    },
  },
  {
    name: "schema: rules judge values as recorded",
    async run(api) {
      await api.define({ versions: versionOf(rules.schema) });
      for (const { spec, code, causes } of rules.cases) {
        const found = await api.send("POST", `${api.widgets()}?dryRun=All`, {
          body: api.widget("w", spec),
        });
        same(found, { code, causes }, JSON.stringify(spec));
      }
    },
  },
  {
    name: "schema: stored values that a stricter schema refuses may stay, not change",
    async run(api) {
      const schema = (maxLength: number) => ({
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              text: { type: "string", maxLength },
              list: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                items: {
                  type: "object",
                  required: ["k"],
                  properties: { k: { type: "string" }, v: { type: "string", maxLength } },
                },
              },
            },
          },
        },
      });
      await api.define({ versions: versionOf(schema(5)) });
      const list = [{ k: "1", v: "aaa" }, { k: "2", v: "bbb" }];
      await api.create(api.widgets(), api.widget("w", { text: "xxx", list }));
      await api.merge(`${CRDS}/widgets.${api.group}`, { spec: { versions: versionOf(schema(1)) } });
      await api.eventually(async () => {
        const { status } = await api.send("POST", `${api.widgets()}?dryRun=All`, {
          body: api.widget("x", { text: "xx" }),
        });
        return status === 422 ? true : undefined;
      }, "the stricter schema holds");

      await api.merge(api.widgets("w"), { metadata: { labels: { a: "b" } } });
      await api.refused(
        api.send("PATCH", api.widgets("w"), {
          body: { spec: { list: [{ k: "1", v: "aaa" }, { k: "2", v: "ccc" }] } },
          type: MERGE,
        }),
        { code: 422, reason: "Invalid", causes: [["FieldValueTooLong", "spec.list[1].v"]] },
      );
      await api.merge(api.widgets("w"), { spec: { list: [{ k: "2", v: "bbb" }] } });
    },
  },
  {
    name: "schema: transition rules judge updates only, and correlate list items by key",
    async run(api) {
      const immutable = { "x-kubernetes-validations": [{ rule: "self == oldSelf" }] };
      await api.define({
        versions: versionOf({
          type: "object",
          properties: {
            spec: {
              type: "object",
              properties: {
                text: { ...STRING, ...immutable },
                object: { type: "object", properties: { a: STRING }, ...immutable },
                list: {
                  type: "array",
                  maxItems: 4,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["k"],
                  items: {
                    type: "object",
                    required: ["k"],
                    properties: { k: STRING, v: STRING },
                    "x-kubernetes-validations": [{ rule: "self.v == oldSelf.v" }],
                  },
                },
              },
            },
          },
        }),
      });
      await api.create(
        api.widgets(),
        api.widget("w", {
          text: "a",
          object: { a: "a" },
          list: [{ k: "1", v: "1" }, { k: "2", v: "2" }],
        }),
      );
      const change = {
        spec: {
          text: "b",
          object: { a: "b" },
          list: [{ k: "3", v: "1" }, { k: "2", v: "3" }],
        },
      };
      const answer = await api.send("PATCH", api.widgets("w"), { body: change, type: MERGE });
      strictEqual(answer.status, 422, answer.text);
      deepStrictEqual(comparableCauses(answer.body.details.causes), [
        "FieldValueInvalid spec.list[1] Invalid value: failed rule: self.v == oldSelf.v",
        "FieldValueInvalid spec.object Invalid value: failed rule: self == oldSelf",
        'FieldValueInvalid spec.text Invalid value: "b": failed rule: self == oldSelf',
      ]);
      // What goes can't be compared any more.
      await api.merge(api.widgets("w"), { spec: { text: null, object: null, list: null } });
    },
  },
  {
    name: "schema: strict field validation refuses unknown and duplicate fields of a custom kind",
    async run(api) {
      await api.define();
      const body = `{"apiVersion":"${api.group}/v1","kind":"Widget",` +
        '"metadata":{"name":"w","junk":1,"name":"w"},' +
        '"spec":{"replicas":1,"replicas":2,"zz":1},"extra":1}';
      await api.refused(
        api.send("POST", `${api.widgets()}?fieldValidation=Strict`, { body }),
        {
          code: 400,
          reason: "BadRequest",
          message: 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: ' +
            'duplicate field "metadata.name", duplicate field "spec.replicas", ' +
            'unknown field "metadata.junk", unknown field "extra", unknown field "spec.zz"',
        },
      );
      const taken = await api.send("POST", `${api.widgets()}?dryRun=All`, { body });
      strictEqual(taken.status, 201, taken.text);
      deepStrictEqual(taken.body.spec, { mode: "plain", replicas: 2 });
      strictEqual(warningsOf(taken).length, 5);
    },
  },
  {
    name: "schema: a built-in field of the wrong type is refused when decoded",
    async run(api) {
      const path = `${api.path("deployments", "apps/v1")}?dryRun=All`;
      const deployment = (spec: Json) => ({ metadata: { name: "d" }, spec });
      const complaint = 'Deployment in version "v1" cannot be handled as a Deployment: ';
      for (
        const [spec, message] of [
          [
            { replicas: "a" },
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of " +
            "type int32",
          ],
          [
            { template: { spec: { containers: { a: 1 } } } },
            "json: cannot unmarshal object into Go struct field " +
            "PodSpec.spec.template.spec.containers of type []v1.Container",
          ],
        ] as const
      ) {
        await api.refused(api.send("POST", path, { body: deployment(spec) }), {
          code: 400,
          reason: "BadRequest",
          message: complaint + message,
        });
      }
    },
  },
  {
    name:
      "schema: strict field validation refuses unknown fields of a built-in kind, in their order",
    async run(api) {
      const spec = {
        foo: 1,
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { containers: [{ name: "c", image: "i", img: "x" }] },
        },
      };
      const answer = await api.send(
        "POST",
        `${api.path("deployments", "apps/v1")}?fieldValidation=Strict`,
        { body: { metadata: { name: "d", junk: 1 }, spec, bar: 2 } },
      );
      strictEqual(answer.status, 400, answer.text);
      ok(
        answer.body.message.endsWith(
          'strict decoding error: unknown field "metadata.junk", unknown field "spec.foo", ' +
            'unknown field "spec.template.spec.containers[0].img", unknown field "bar"',
        ),
        answer.body.message,
      );
    },
  },
];

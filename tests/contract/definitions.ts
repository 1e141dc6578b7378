/**
 * Contract cases: CustomResourceDefinitions and the kinds they define.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import { type ContractCase, CRDS, WIDGET_VERSION } from "./backend.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/** Conditions by type, without times. */
function conditionsOf(definition: Json): Record<string, unknown> {
  return Object.fromEntries(
    definition.status.conditions.map(({ type, status, reason, message }: Json) => [
      type,
      { status, reason, message },
    ]),
  );
}

export const DEFINITION_CASES: readonly ContractCase[] = [
  {
    name: "definition: gets its defaults, is accepted and established",
    async run(api) {
      await api.define({ names: { shortNames: ["wd"] } });
      const definition = await api.get(`${CRDS}/widgets.${api.group}`);
      strictEqual(definition.spec.names.singular, "widget");
      strictEqual(definition.spec.names.listKind, "WidgetList");
      deepStrictEqual(definition.spec.conversion, { strategy: "None" });
      deepStrictEqual(conditionsOf(definition), {
        NamesAccepted: {
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
        },
        Established: {
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        },
      });
      deepStrictEqual(definition.status.acceptedNames, definition.spec.names);
      deepStrictEqual(definition.status.storedVersions, ["v1"]);
    },
  },
  {
    name: "definition: a group of the project wants the approval annotation",
    async run(api) {
      const definition = (annotations: object) => ({
        metadata: { name: `gadgets.${api.namespace}.k8s.io`, annotations },
        spec: {
          group: `${api.namespace}.k8s.io`,
          names: { plural: "gadgets", kind: "Gadget" },
          scope: "Namespaced",
          versions: [WIDGET_VERSION],
        },
      });
      await api.refused(api.send("POST", CRDS, { body: definition({}) }), {
        code: 422,
        reason: "Invalid",
        message: new RegExp(
          `^CustomResourceDefinition\\.apiextensions\\.k8s\\.io "gadgets\\.${api.namespace}` +
            '\\.k8s\\.io" is invalid: metadata\\.annotations\\[api-approved\\.kubernetes\\.io\\]: ' +
            "Required value: protected groups must have approval annotation",
        ),
        causes: [["FieldValueRequired", "metadata.annotations[api-approved.kubernetes.io]"]],
      });
      const { status } = await api.send("POST", `${CRDS}?dryRun=All`, {
        body: definition({ "api-approved.kubernetes.io": "unapproved, experimental" }),
      });
      strictEqual(status, 201);
    },
  },
  {
    name: "definition: what is wrong with it is told field by field",
    async run(api) {
      const { status, body } = await api.send("POST", CRDS, {
        body: {
          metadata: { name: "bad" },
          spec: {
            group: "x.example.com",
            names: { plural: "foos", kind: "Foo" },
            scope: "Namespaced",
            versions: [{ name: "v1", served: true, storage: false }],
          },
        },
      });
      strictEqual(status, 422);
      const fields = body.details.causes.map((cause: Json) => cause.field);
      for (
        const field of [
          "metadata.name",
          "spec.versions[0].schema.openAPIV3Schema",
          "spec.versions",
        ]
      ) ok(fields.includes(field), `${field} in ${fields}`);
    },
  },
  {
    name: "custom: unknown fields are pruned, defaults added",
    async run(api) {
      await api.define();
      const created = await api.create(api.widgets(), api.widget("w", { replicas: 1, extra: 2 }));
      deepStrictEqual(created.spec, { replicas: 1, mode: "plain" });
    },
  },
  {
    name: "custom: unknown fields are refused when asked to",
    async run(api) {
      await api.define();
      await api.refused(
        api.send("POST", `${api.widgets()}?fieldValidation=Strict`, {
          body: api.widget("w", { extra: 1 }),
        }),
        {
          code: 400,
          reason: "BadRequest",
          message: 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: ' +
            'unknown field "spec.extra"',
        },
      );
    },
  },
  {
    name: "custom: values are validated against the schema",
    async run(api) {
      await api.define();
      await api.refused(
        api.send("POST", api.widgets(), { body: api.widget("w", { mode: 3 }) }),
        {
          code: 422,
          reason: "Invalid",
          message: `Widget.${api.group} "w" is invalid: spec.mode: Invalid value: "integer": ` +
            'spec.mode in body must be of type string: "integer"',
          causes: [["FieldValueTypeInvalid", "spec.mode"]],
        },
      );
    },
  },
  {
    name: "custom: the body must say kind and version, and the right ones",
    async run(api) {
      await api.define();
      const send = (body: Json) => api.send("POST", api.widgets(), { body });
      await api.refused(send({ metadata: { name: "w" } }), {
        code: 400,
        reason: "BadRequest",
        message:
          /^the object provided is unrecognized \(must be of type Widget\): Object 'Kind' is missing/,
      });
      await api.refused(send({ ...api.widget("w"), apiVersion: `${api.group}/v2` }), {
        code: 400,
        reason: "BadRequest",
        message: `the API version in the data (${api.group}/v2) does not match the expected API ` +
          `version (${api.group}/v1)`,
      });
      await api.refused(send({ ...api.widget("w"), kind: "Gadget" }), {
        code: 422,
        reason: "Invalid",
        message:
          `Gadget.${api.group} "w" is invalid: kind: Invalid value: "Gadget": must be Widget`,
      });
    },
  },
  {
    name: "custom: two versions show one object",
    async run(api) {
      const open = {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
      };
      await api.define({
        versions: [WIDGET_VERSION, {
          name: "v2",
          served: true,
          storage: false,
          schema: { openAPIV3Schema: open },
        }],
      });
      await api.create(api.widgets(), api.widget("w", { replicas: 1 }));
      const other = await api.eventually(async () => {
        const { status, body } = await api.send("GET", api.widgets("w", "v2"));
        return status === 200 ? body : undefined;
      }, "the second version is served");
      strictEqual(other.apiVersion, `${api.group}/v2`);
      deepStrictEqual(other.spec, { replicas: 1, mode: "plain" });
      const group = await api.get(`/apis/${api.group}`);
      deepStrictEqual(
        group.versions.map((each: Json) => each.version),
        ["v2", "v1"],
      );
      strictEqual(group.preferredVersion.version, "v2");
    },
  },
  {
    name: "custom: a cluster-scoped kind has no namespace",
    async run(api) {
      await api.define({ scope: "Cluster" });
      const path = `/apis/${api.group}/v1/widgets`;
      const created = await api.create(path, api.widget("w"));
      strictEqual(created.metadata.namespace, undefined);
      strictEqual((await api.send("GET", api.widgets("w"))).status, 404);
    },
  },
  {
    name: "custom: a new version of the definition changes what is served",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w", { replicas: 1 }));
      const definition = await api.get(`${CRDS}/widgets.${api.group}`);
      const { schema } = definition.spec.versions[0];
      schema.openAPIV3Schema.properties.spec.properties.color = {
        type: "string",
        default: "blue",
      };
      const updated = await api.done("PUT", `${CRDS}/widgets.${api.group}`, { body: definition });
      strictEqual(updated.metadata.generation, 2);
      // The default shows on objects that were stored before it was there.
      await api.eventually(async () => {
        const { spec } = await api.get(api.widgets("w"));
        return spec.color === "blue" ? true : undefined;
      }, "the new default is served");
    },
  },
  {
    name: "definition: its deletion takes the objects and the kind away",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w"));
      const marked = await api.done("DELETE", `${CRDS}/widgets.${api.group}`);
      deepStrictEqual(marked.metadata.finalizers, [
        "customresourcecleanup.apiextensions.k8s.io",
      ]);
      await api.gone(`${CRDS}/widgets.${api.group}`);
      await api.eventually(async () => {
        const { status } = await api.send("GET", api.widgets());
        return status === 404 ? true : undefined;
      }, "the kind is served no longer");
    },
  },
  {
    name: "definition: waits for objects with finalizers, and creates nothing meanwhile",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), {
        ...api.widget("w"),
        metadata: { name: "w", finalizers: ["x.io/f"] },
      });
      await api.done("DELETE", `${CRDS}/widgets.${api.group}`);
      let tries = 0;
      const refusal = await api.eventually(async () => {
        const { status, body } = await api.send("POST", api.widgets(), {
          body: api.widget(`late-${tries++}`),
        });
        return status === 403 ? body : undefined;
      }, "creating is refused");
      strictEqual(
        refusal.message,
        `widgets.${api.group} "late-${tries - 1}" is forbidden: create not allowed while custom ` +
          "resource definition is terminating",
      );
      await api.get(api.widgets("w"));
      await api.merge(api.widgets("w"), { metadata: { finalizers: null } });
      await api.gone(`${CRDS}/widgets.${api.group}`);
    },
  },
  {
    name: "tables: a custom kind shows its printer columns",
    async run(api) {
      await api.define({
        versions: [{
          ...WIDGET_VERSION,
          additionalPrinterColumns: [
            { name: "Size", type: "integer", jsonPath: ".spec.replicas" },
            { name: "Mode", type: "string", jsonPath: ".spec.mode", priority: 1 },
            { name: "Gone", type: "string", jsonPath: ".spec.nothing" },
          ],
        }],
      });
      await api.create(api.widgets(), api.widget("w", { replicas: 3 }));
      const { body } = await api.send("GET", api.widgets(), { accept: TABLE });
      strictEqual(body.kind, "Table");
      deepStrictEqual(
        body.columnDefinitions.map(({ name, type, priority }: Json) => [name, type, priority]),
        [
          ["Name", "string", 0],
          ["Size", "integer", 0],
          ["Mode", "string", 1],
          ["Gone", "string", 0],
        ],
      );
      deepStrictEqual(body.rows[0].cells, ["w", 3, "plain", null]);
      strictEqual(body.rows[0].object.kind, "PartialObjectMetadata");
    },
  },
  {
    name: "tables: a watch sends rows, the columns only once",
    async run(api) {
      await api.define();
      const watch = await api.watch(`${api.widgets()}?watch=1&timeoutSeconds=60`, TABLE);
      await api.create(api.widgets(), api.widget("a"));
      await api.create(api.widgets(), api.widget("b"));
      const events = [await watch.next(), await watch.next()];
      deepStrictEqual(events.map(({ object }) => object.rows[0].cells[0]), ["a", "b"]);
      ok(events[0].object.columnDefinitions.length > 0);
      strictEqual(events[1].object.columnDefinitions?.length ?? 0, 0);
    },
  },
];

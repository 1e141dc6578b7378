/**
 * Contract cases: server-side apply, field ownership and strategic merge patches, as recorded
 * sequences of requests, and the OpenAPI documents that kubectl works by.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import { comparableStep, inGroup } from "../support/recorded.ts";
import sequences from "../simulator/recorded/apply.json" with { type: "json" };
import strategic from "../simulator/recorded/strategic.json" with { type: "json" };
import validation from "../simulator/recorded/validation.json" with { type: "json" };
import { type Answer, type Api, APPLY, type ContractCase, MERGE, STRATEGIC } from "./backend.ts";

/** The recorded kind, as one version of the case's own. */
const VERSIONS: Json = [{
  name: "v1",
  served: true,
  storage: true,
  subresources: { status: {} },
  schema: { openAPIV3Schema: validation.schema },
}];

/** Where a sequence plays: the collection, and what identifies its object. */
interface Stage {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
}

function send(api: Api, stage: Stage, step: Json): Promise<Answer> {
  const { op, manager, force = false, sub = "", metadata = {}, body } = step;
  const named = `${stage.path}/s${sub === "" ? "" : `/${sub}`}?fieldManager=${manager}`;
  const object = {
    apiVersion: stage.apiVersion,
    kind: stage.kind,
    metadata: { name: "s", ...metadata },
    ...body,
  };
  switch (op) {
    case "apply":
      return api.send("PATCH", force ? `${named}&force=true` : named, {
        body: object,
        type: APPLY,
      });
    case "create":
      return api.send("POST", `${stage.path}?fieldManager=${manager}`, { body: object });
    case "merge":
      return api.send("PATCH", named, { body, type: MERGE });
    default:
      return reset(api, named);
  }
}

async function reset(api: Api, named: string): Promise<Answer> {
  const object = await api.get(named);
  object.metadata.managedFields = [{}];
  return await api.send("PUT", named, { body: object });
}

async function replay(api: Api, steps: readonly Json[], stage: Stage): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const { status: code, body } = await send(api, stage, step);
    const found = body.kind === "Status"
      ? { code, message: body.message, causes: body.details?.causes }
      : { code, spec: body.spec, ...body.metadata };
    const what = `step ${index}: ${step.op} by ${step.manager}`;
    deepStrictEqual(comparableStep(found), comparableStep(step.answer), what);
  }
}

function widgetStage(api: Api): Stage {
  return { path: api.widgets(), apiVersion: `${api.group}/v1`, kind: "Widget" };
}

/** What the recording kept of a Deployment. */
function slim({ metadata, spec }: Json): Json {
  const { name, labels, finalizers } = metadata;
  return { metadata: JSON.parse(JSON.stringify({ name, labels, finalizers })), spec };
}

export const OWNERSHIP_CASES: readonly ContractCase[] = [
  {
    name: "apply: a recorded sequence of managers on a custom kind gives the recorded answers",
    async run(api) {
      await api.define({ versions: VERSIONS });
      await replay(api, inGroup(sequences.widgets, api.group), widgetStage(api));
    },
  },
  {
    name: "managedFields: recorded writes without apply give the recorded owners",
    async run(api) {
      await api.define({ versions: VERSIONS });
      await replay(api, inGroup(sequences.created, api.group), widgetStage(api));
    },
  },
  {
    name: "apply: a recorded sequence of managers on a Deployment gives the recorded answers",
    async run(api) {
      await replay(api, sequences.deployments, {
        path: api.path("deployments", "apps/v1"),
        apiVersion: "apps/v1",
        kind: "Deployment",
      });
    },
  },
  {
    name: "apply: of the same again writes nothing",
    async run(api) {
      await api.define();
      const path = `${api.widgets("w")}?fieldManager=m`;
      const body = api.widget("w", { replicas: 1 });
      const first = await api.done("PATCH", path, { body, type: APPLY });
      await api.backend.pass(1100);
      const again = await api.done("PATCH", path, { body, type: APPLY });
      deepStrictEqual(again, first);
    },
  },
  {
    name: "apply: null is a value, and is judged as one",
    async run(api) {
      const text = { type: "string" };
      const properties = { a: text, b: { ...text, default: "x" }, c: { ...text, nullable: true } };
      const schema = { type: "object", properties: { spec: { type: "object", properties } } };
      await api.define({ versions: [{ ...VERSIONS[0], schema: { openAPIV3Schema: schema } }] });
      const path = `${api.widgets("w")}?fieldManager=m`;
      await api.refused(
        api.send("PATCH", path, { body: api.widget("w", { a: null }), type: APPLY }),
        { code: 422, reason: "Invalid", causes: [["FieldValueTypeInvalid", "spec.a"]] },
      );
      const { spec } = await api.done("PATCH", path, {
        body: api.widget("w", { b: null, c: null }),
        type: APPLY,
      });
      deepStrictEqual(spec, { b: "x", c: null });
    },
  },
  {
    name: "apply: kubectl takes over what it applied client-side, and nobody else does",
    async run(api) {
      await api.define();
      const annotation = "kubectl.kubernetes.io/last-applied-configuration";
      const applied = api.widget("w", { replicas: 1 });
      await api.done("POST", `${api.widgets()}?fieldManager=kubectl-client-side-apply`, {
        body: {
          ...applied,
          metadata: { name: "w", annotations: { [annotation]: JSON.stringify(applied) } },
        },
      });
      const body = api.widget("w", { replicas: 2 });
      await api.refused(
        api.send("PATCH", `${api.widgets("w")}?fieldManager=other`, { body, type: APPLY }),
        { code: 409, reason: "Conflict", causes: [["FieldManagerConflict", ".spec.replicas"]] },
      );
      const { spec, metadata } = await api.done(
        "PATCH",
        `${api.widgets("w")}?fieldManager=kubectl`,
        { body, type: APPLY },
      );
      strictEqual(spec.replicas, 2);
      strictEqual(JSON.parse(metadata.annotations[annotation]).spec.replicas, 2);
      // What client-side apply did not apply is in nobody's way but its owner's.
      await api.done("PATCH", `${api.widgets("w")}?fieldManager=third`, {
        body: { spec: { mode: "x" } },
        type: MERGE,
      });
      await api.refused(
        api.send("PATCH", `${api.widgets("w")}?fieldManager=kubectl`, {
          body: api.widget("w", { replicas: 2, mode: "y" }),
          type: APPLY,
        }),
        { code: 409, reason: "Conflict", causes: [["FieldManagerConflict", ".spec.mode"]] },
      );
    },
  },
  {
    name: "patch: recorded strategic merge patches of a Deployment give the recorded objects",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      const { metadata, spec } = strategic.document;
      await api.create(path, { metadata, spec });
      try {
        for (const { name, patch, answer } of strategic.cases) {
          // These have codes of their own, which depend on who finds the fault first.
          if ("code" in answer) continue;
          const { status, body, text } = await api.send("PATCH", `${path}/st?dryRun=All`, {
            body: patch,
            type: STRATEGIC,
          });
          strictEqual(status, 200, `${name}: ${text}`);
          deepStrictEqual(slim(body), answer, name);
        }
      } finally {
        await api.merge(`${path}/st`, { metadata: { finalizers: null } });
      }
    },
  },
  {
    name: "openapi: documents of built-in and custom kinds are indexed and have what kubectl reads",
    async run(api) {
      await api.define();
      const key = `apis/${api.group}/v1`;
      const index = await api.eventually(async () => {
        const { paths } = await api.get("/openapi/v3");
        return paths[key] === undefined ? undefined : paths;
      }, "the custom kind is in the index");
      const custom = await api.get(index[key].serverRelativeURL);
      const name = [...api.group.split(".").reverse(), "v1", "Widget"].join(".");
      const schema = custom.components.schemas[name];
      deepStrictEqual(schema["x-kubernetes-group-version-kind"], [
        { group: api.group, kind: "Widget", version: "v1" },
      ]);
      strictEqual(schema.properties.spec.properties.mode.default, "plain");
      const named = custom.paths[`/${key}/namespaces/{namespace}/widgets/{name}`];
      const parameters = named.patch.parameters.map((each: Json) => each.name);
      ok(parameters.includes("fieldValidation"));
      deepStrictEqual(named.patch["x-kubernetes-group-version-kind"], {
        group: api.group,
        kind: "Widget",
        version: "v1",
      });

      const apps = await api.get(index["apis/apps/v1"].serverRelativeURL);
      const podSpec = apps.components.schemas["io.k8s.api.core.v1.PodSpec"];
      strictEqual(podSpec.properties.containers["x-kubernetes-patch-merge-key"], "name");
      ok(podSpec.description.startsWith("PodSpec is a description of a pod"));
      ok(apps.paths["/apis/apps/v1/namespaces/{namespace}/deployments"].get !== undefined);
    },
  },
];

/**
 * Contract cases: what a client can't set, what is dropped, and validation of patches.
 *
 * @module
 */

import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import { APPLY, type ContractCase, JSON_PATCH, MERGE, STRATEGIC } from "./backend.ts";
import { deployment } from "./update.ts";

export const METADATA_CASES: readonly ContractCase[] = [
  {
    name: "metadata: what only the server sets is ignored on create",
    async run(api) {
      const sent = {
        uid: "11111111-1111-4111-8111-111111111111",
        creationTimestamp: "2020-01-01T00:00:00Z",
        deletionTimestamp: "2020-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 5,
        generation: 77,
      };
      await api.define();
      const created = await api.create(api.widgets(), {
        ...api.widget("w"),
        metadata: { name: "w", ...sent },
      });
      notStrictEqual(created.metadata.uid, sent.uid);
      notStrictEqual(created.metadata.creationTimestamp, sent.creationTimestamp);
      strictEqual(created.metadata.deletionTimestamp, undefined);
      strictEqual(created.metadata.deletionGracePeriodSeconds, undefined);
      strictEqual(created.metadata.generation, 1);
    },
  },
  {
    name: "metadata: what only the server sets is kept on update",
    async run(api) {
      await api.define();
      const created = await api.create(api.widgets(), api.widget("w"));
      const { uid: _, ...metadata } = created.metadata;
      const put = (changes: object) =>
        api.send("PUT", api.widgets("w"), {
          body: { ...created, metadata: { ...metadata, labels: { a: "b" }, ...changes } },
        });
      await api.refused(put({ deletionTimestamp: "2020-01-01T00:00:00Z" }), {
        code: 422,
        reason: "Invalid",
        message: `Widget.${api.group} "w" is invalid: metadata.deletionTimestamp: Invalid value: ` +
          '"2020-01-01T00:00:00Z": field is immutable',
        causes: [["FieldValueInvalid", "metadata.deletionTimestamp"]],
      });
      const { body: updated } = await put({
        generation: 9,
        creationTimestamp: "2020-01-01T00:00:00Z",
      });
      deepStrictEqual(updated.metadata.labels, { a: "b" });
      strictEqual(updated.metadata.uid, created.metadata.uid);
      strictEqual(updated.metadata.generation, 1);
      strictEqual(updated.metadata.creationTimestamp, created.metadata.creationTimestamp);
      strictEqual(updated.metadata.deletionTimestamp, undefined);
    },
  },
  {
    name: "metadata: nulls and empty maps of built-in kinds are dropped",
    async run(api) {
      const created = await api.configMap("a", {
        metadata: { labels: {}, annotations: null, finalizers: [] },
        data: {},
        binaryData: null,
      });
      strictEqual(created.data, undefined);
      strictEqual(created.binaryData, undefined);
      strictEqual(created.metadata.labels, undefined);
      strictEqual(created.metadata.finalizers, undefined);
    },
  },
  {
    name: "metadata: two controllers are refused",
    async run(api) {
      const owner = await api.configMap("owner");
      const { name, uid } = owner.metadata;
      const reference = (kind: string) => ({ apiVersion: "v1", kind, name, uid, controller: true });
      const { status, body } = await api.send("POST", api.path("configmaps"), {
        body: {
          metadata: {
            name: "a",
            ownerReferences: [reference("ConfigMap"), { ...reference("Secret"), uid: `${uid}x` }],
          },
        },
      });
      strictEqual(status, 422);
      match(body.message, /Only one reference can have Controller set to true/);
    },
  },
  {
    name: "metadata: a value of the wrong type in a built-in kind gets 400",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), {
          body: { metadata: { name: "a" }, data: { k: 1 } },
        }),
        {
          code: 400,
          reason: "BadRequest",
          message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot ' +
            "unmarshal number into Go struct field ConfigMap.data of type string",
        },
      );
    },
  },
  {
    name: "status: a stale PUT gets 409",
    async run(api) {
      await api.define();
      const created = await api.create(api.widgets(), api.widget("w"));
      await api.merge(api.widgets("w/status"), { status: { replicas: 1 } });
      await api.refused(
        api.send("PUT", api.widgets("w/status"), { body: { ...created, status: { replicas: 2 } } }),
        { code: 409, reason: "Conflict" },
      );
    },
  },
  {
    name: "status: of a kind without the subresource moves the generation",
    async run(api) {
      const { subresources: _, ...version } = {
        name: "v1",
        served: true,
        storage: true,
        subresources: {},
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      };
      await api.define({ versions: [version] });
      const created = await api.create(
        api.widgets(),
        api.widget("w", {}, { status: { replicas: 1 } }),
      );
      deepStrictEqual(created.status, { replicas: 1 });
      const changed = await api.merge(api.widgets("w"), { status: { replicas: 2 } });
      strictEqual(changed.metadata.generation, 2);
      await api.refused(
        api.send("PATCH", api.widgets("w/status"), { type: MERGE, body: { status: {} } }),
        { code: 404, reason: "NotFound" },
      );
    },
  },
  {
    name: "patch: unknown fields are refused under strict validation, else warned of",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 0));
      const body = { spec: { minReadySeconds: 2, bogus: 1 } };
      for (const type of [MERGE, STRATEGIC]) {
        await api.refused(api.send("PATCH", `${path}/d?fieldValidation=Strict`, { type, body }), {
          code: 422,
          reason: "Invalid",
          message: /strict decoding error: unknown field "spec\.bogus"$/,
          causes: [["FieldValueInvalid", "patch"]],
        });
      }
      const operations = [{ op: "add", path: "/spec/bogus", value: 1 }];
      await api.refused(
        api.send("PATCH", `${path}/d?fieldValidation=Strict`, {
          type: JSON_PATCH,
          body: operations,
        }),
        { code: 422, reason: "Invalid", causes: [["FieldValueInvalid", "patch"]] },
      );
      const warned = await api.send("PATCH", `${path}/d`, { type: MERGE, body });
      strictEqual(warned.status, 200);
      strictEqual(warned.headers.get("warning"), '299 - "unknown field \\"spec.bogus\\""');
      strictEqual(warned.body.spec.bogus, undefined);
    },
  },
  {
    name: "create: members said twice are refused under strict validation, else warned of",
    async run(api) {
      const body = '{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}';
      const path = `${api.path("configmaps")}?dryRun=All`;
      await api.refused(api.send("POST", `${path}&fieldValidation=Strict`, { body }), {
        code: 400,
        reason: "BadRequest",
        message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
          'error: duplicate field "data.k"',
      });
      const warned = await api.send("POST", path, { body });
      strictEqual(warned.headers.get("warning"), '299 - "duplicate field \\"data.k\\""');
      deepStrictEqual(warned.body.data, { k: "2" });
    },
  },
  {
    name: "apply: an undeclared field gets 500 without reason",
    async run(api) {
      await api.refused(
        api.send("PATCH", `${api.path("deployments", "apps/v1")}/d?fieldManager=m`, {
          type: APPLY,
          body: deployment("d", 0, { bogus: 1 }),
        }),
        { code: 500, reason: undefined, message: /\.spec\.bogus: field not declared in schema$/ },
      );
    },
  },
  {
    name: "apply: a dry run stores nothing",
    async run(api) {
      await api.define();
      const { status, body } = await api.send(
        "PATCH",
        `${api.widgets("w")}?fieldManager=m&dryRun=All`,
        { type: APPLY, body: api.widget("w", { replicas: 1 }) },
      );
      strictEqual(status, 201);
      strictEqual(body.spec.replicas, 1);
      strictEqual((await api.send("GET", api.widgets("w"))).status, 404);
    },
  },
  {
    name: "apply: a YAML document is taken",
    async run(api) {
      await api.define();
      const { status, body } = await api.send("PATCH", `${api.widgets("w")}?fieldManager=m`, {
        type: APPLY,
        body:
          `apiVersion: ${api.group}/v1\nkind: Widget\nmetadata:\n  name: w\nspec:\n  replicas: 3\n`,
      });
      strictEqual(status, 201);
      strictEqual(body.spec.replicas, 3);
    },
  },
  {
    name: "apply: another name than the path's gets 400",
    async run(api) {
      await api.define();
      await api.refused(
        api.send("PATCH", `${api.widgets("w")}?fieldManager=m`, {
          type: APPLY,
          body: api.widget("other"),
        }),
        { code: 400, reason: "BadRequest" },
      );
    },
  },
  {
    name: "list: events by what they are about, as kubectl describe asks",
    async run(api) {
      for (const name of ["one", "two"]) {
        await api.create(api.path("events"), {
          metadata: { name },
          involvedObject: { kind: "Pod", namespace: api.namespace, name, uid: `uid-${name}` },
          reason: "R",
          type: "Normal",
          source: { component: "contract" },
        });
      }
      const found = async (selector: string, groupVersion = "v1") => {
        const query = `fieldSelector=${encodeURIComponent(selector)}`;
        const { items } = await api.get(`${api.path("events", groupVersion)}?${query}`);
        return items.map((item: Json) => item.metadata.name);
      };
      deepStrictEqual(await found("involvedObject.name=one,involvedObject.kind=Pod"), ["one"]);
      deepStrictEqual(await found("involvedObject.uid=uid-two"), ["two"]);
      deepStrictEqual(await found("source=contract,type=Normal"), ["one", "two"]);
      deepStrictEqual(await found("regarding.name=two", "events.k8s.io/v1"), ["two"]);
    },
  },
  {
    name: "list: pods by phase and node",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 1));
      await api.eventually(async () => {
        const { items } = await api.get(api.path("pods"));
        return items.length === 1 ? true : undefined;
      }, "one Pod");
      const count = async (selector: string) =>
        (await api.get(`${api.path("pods")}?fieldSelector=${encodeURIComponent(selector)}`))
          .items.length;
      strictEqual(await count("status.phase=Pending"), 1);
      strictEqual(await count("status.phase!=Pending"), 0);
      strictEqual(await count("spec.nodeName="), 1);
    },
  },
  {
    name: "watch: only metadata, as PartialObjectMetadata",
    async run(api) {
      const { metadata } = await api.create(api.path("secrets"), { metadata: { name: "a" } });
      const watch = await api.watch(
        `${api.path("secrets")}?watch=1&timeoutSeconds=60&resourceVersion=` +
          metadata.resourceVersion,
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      );
      await api.create(api.path("secrets"), { metadata: { name: "b" } });
      const { object } = await watch.next();
      strictEqual(object.kind, "PartialObjectMetadata");
      strictEqual(object.apiVersion, "meta.k8s.io/v1");
      strictEqual(object.metadata.name, "b");
      strictEqual(object.type, undefined);
      ok(object.metadata.uid);
    },
  },
];

/**
 * Contract cases: JSON, merge and strategic patches, and server-side apply.
 *
 * @module
 */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { APPLY, type ContractCase, JSON_PATCH, MERGE, STRATEGIC } from "./backend.ts";
import { deployment } from "./update.ts";

export const PATCH_CASES: readonly ContractCase[] = [
  {
    name: "patch: merge changes what it names and removes what is null",
    async run(api) {
      await api.configMap("a", { data: { keep: "1", drop: "2" } });
      const patched = await api.merge(api.path("configmaps/a"), {
        data: { drop: null, added: "3" },
      });
      deepStrictEqual(patched.data, { keep: "1", added: "3" });
    },
  },
  {
    name: "patch: JSON patch tests, adds and removes",
    async run(api) {
      await api.configMap("a", { data: { k: "v" } });
      const patched = await api.done("PATCH", api.path("configmaps/a"), {
        type: JSON_PATCH,
        body: [
          { op: "test", path: "/data/k", value: "v" },
          { op: "add", path: "/metadata/annotations", value: {} },
          { op: "add", path: "/metadata/annotations/x.io~1a", value: "y" },
          { op: "remove", path: "/data/k" },
        ],
      });
      strictEqual(patched.data, undefined);
      deepStrictEqual(patched.metadata.annotations, { "x.io/a": "y" });
    },
  },
  {
    name: "patch: a JSON patch that can't be applied gets 422 without causes",
    async run(api) {
      await api.configMap("a", { data: { k: "v" } });
      const patches = [
        { op: "test", path: "/data/k", value: "no" },
        { op: "remove", path: "/data/none" },
      ];
      for (const operation of patches) {
        const status = await api.refused(
          api.send("PATCH", api.path("configmaps/a"), { type: JSON_PATCH, body: [operation] }),
          {
            code: 422,
            reason: "Invalid",
            message: "the server rejected our request due to an error in our request",
          },
        );
        deepStrictEqual(status.details, {});
      }
    },
  },
  {
    name: "patch: a stale resourceVersion in the patch gets 409",
    async run(api) {
      const created = await api.configMap("a");
      await api.merge(api.path("configmaps/a"), { data: { k: "v" } });
      await api.refused(
        api.send("PATCH", api.path("configmaps/a"), {
          type: MERGE,
          body: { metadata: { resourceVersion: created.metadata.resourceVersion } },
        }),
        { code: 409, reason: "Conflict" },
      );
    },
  },
  {
    name: "patch: another uid gets 422, another name 400",
    async run(api) {
      await api.configMap("a");
      await api.refused(
        api.send("PATCH", api.path("configmaps/a"), {
          type: MERGE,
          body: { metadata: { uid: "other" } },
        }),
        {
          code: 422,
          reason: "Invalid",
          message:
            'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
          causes: [["FieldValueInvalid", "metadata.uid"]],
        },
      );
      await api.refused(
        api.send("PATCH", api.path("configmaps/a"), {
          type: MERGE,
          body: { metadata: { name: "other" } },
        }),
        { code: 400, reason: "BadRequest" },
      );
    },
  },
  {
    name: "patch: uid and resourceVersion as preconditions; a stale version is told before the uid",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 0));
      const patch = (metadata: object) =>
        api.send("PATCH", `${path}/d`, {
          type: STRATEGIC,
          body: { metadata, spec: { minReadySeconds: 3 } },
        });
      await api.refused(patch({ uid: "other" }), {
        code: 422,
        reason: "Invalid",
        causes: [["FieldValueInvalid", "metadata.uid"]],
      });
      await api.refused(patch({ uid: "other", resourceVersion: "1" }), {
        code: 409,
        reason: "Conflict",
      });
    },
  },
  {
    name: "patch: a missing object gets 404",
    async run(api) {
      await api.refused(
        api.send("PATCH", api.path("configmaps/zz"), { type: MERGE, body: {} }),
        { code: 404, reason: "NotFound", message: 'configmaps "zz" not found' },
      );
    },
  },
  {
    name: "patch: a body that is no JSON gets 400",
    async run(api) {
      await api.configMap("a");
      await api.refused(
        api.send("PATCH", api.path("configmaps/a"), { type: MERGE, body: "nope" }),
        { code: 400, reason: "BadRequest", message: /^error decoding patch: / },
      );
    },
  },
  {
    name: "patch: media types that the kind has not get 415",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w"));
      await api.refused(
        api.send("PATCH", api.widgets("w"), { type: STRATEGIC, body: { spec: {} } }),
        {
          code: 415,
          reason: "UnsupportedMediaType",
          message:
            "the body of the request was in an unknown format - accepted media types include: " +
            "application/json-patch+json, application/merge-patch+json, " +
            "application/apply-patch+yaml",
        },
      );
      await api.configMap("a");
      await api.refused(
        api.send("PATCH", api.path("configmaps/a"), { type: "application/json", body: {} }),
        { code: 415, reason: "UnsupportedMediaType" },
      );
    },
  },
  {
    name: "patch: PATCH of a collection gets 405",
    async run(api) {
      await api.refused(api.send("PATCH", api.path("configmaps"), { type: MERGE, body: {} }), {
        code: 405,
        reason: "MethodNotAllowed",
      });
    },
  },
  {
    name: "patch: strategic merge joins containers by name and deletes by directive",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 0));
      const added = await api.done("PATCH", `${path}/d`, {
        type: STRATEGIC,
        body: {
          spec: {
            template: { spec: { containers: [{ name: "side", image: "busybox:1" }] } },
          },
        },
      });
      deepStrictEqual(
        added.spec.template.spec.containers.map((each: { name: string }) => each.name),
        ["side", "nginx"],
      );
      const removed = await api.done("PATCH", `${path}/d`, {
        type: STRATEGIC,
        body: {
          spec: { template: { spec: { containers: [{ name: "side", $patch: "delete" }] } } },
        },
      });
      strictEqual(removed.spec.template.spec.containers.length, 1);
    },
  },
  {
    name: "apply: creates with 201, then answers 200",
    async run(api) {
      await api.define();
      const apply = () =>
        api.send("PATCH", `${api.widgets("w")}?fieldManager=m`, {
          type: APPLY,
          body: api.widget("w", { replicas: 1 }),
        });
      const created = await apply();
      strictEqual(created.status, 201);
      deepStrictEqual(
        created.body.metadata.managedFields.map((
          { manager, operation, fieldsV1 }: Record<string, unknown>,
        ) => ({ manager, operation, fieldsV1 })),
        [{
          manager: "m",
          operation: "Apply",
          fieldsV1: { "f:spec": { "f:replicas": {} } },
        }],
      );
      const again = await apply();
      strictEqual(again.status, 200);
      strictEqual(again.body.metadata.resourceVersion, created.body.metadata.resourceVersion);
    },
  },
  {
    name: "apply: wants a fieldManager",
    async run(api) {
      await api.define();
      await api.refused(
        api.send("PATCH", api.widgets("w"), { type: APPLY, body: api.widget("w") }),
        {
          code: 422,
          reason: "Invalid",
          message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is ' +
            "required for apply patch",
          causes: [["FieldValueRequired", "fieldManager"]],
        },
      );
    },
  },
  {
    name: "apply: another manager's field is a conflict, which force overrides",
    async run(api) {
      await api.define();
      const apply = (manager: string, replicas: number, force = "") =>
        api.send("PATCH", `${api.widgets("w")}?fieldManager=${manager}${force}`, {
          type: APPLY,
          body: api.widget("w", { replicas }),
        });
      await apply("one", 1);
      const status = await api.refused(apply("two", 2), {
        code: 409,
        reason: "Conflict",
        message: 'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
      });
      deepStrictEqual(status.details.causes, [{
        reason: "FieldManagerConflict",
        message: 'conflict with "one"',
        field: ".spec.replicas",
      }]);
      const forced = await apply("two", 2, "&force=true");
      strictEqual(forced.body.spec.replicas, 2);
      deepStrictEqual(
        forced.body.metadata.managedFields.map(({ manager }: { manager: string }) => manager),
        ["two"],
      );
    },
  },
  {
    name: "apply: what a manager no longer applies is removed",
    async run(api) {
      await api.define();
      const apply = (spec: object) =>
        api.done("PATCH", `${api.widgets("w")}?fieldManager=m`, {
          type: APPLY,
          body: api.widget("w", spec),
        });
      await apply({ replicas: 1, mode: "fast" });
      const dropped = await apply({ mode: "fast" });
      deepStrictEqual(dropped.spec, { mode: "fast" });
    },
  },
  {
    name: "apply: to the status of a custom kind",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w"));
      const applied = await api.done("PATCH", `${api.widgets("w/status")}?fieldManager=m`, {
        type: APPLY,
        body: {
          apiVersion: `${api.group}/v1`,
          kind: "Widget",
          metadata: { name: "w" },
          status: { replicas: 4 },
        },
      });
      deepStrictEqual(applied.status, { replicas: 4 });
    },
  },
  {
    name: "apply: a Deployment whose applied replicas go falls back to the default",
    async run(api) {
      const path = `${api.path("deployments", "apps/v1")}/d?fieldManager=m`;
      const apply = (replicas: number | undefined) =>
        api.done("PATCH", path, {
          type: APPLY,
          body: deployment("d", replicas, { paused: true }),
        });
      strictEqual((await apply(3)).spec.replicas, 3);
      strictEqual((await apply(undefined)).spec.replicas, 1);
    },
  },
  {
    name: "apply: kubectl takes over what it applied from its side, but not what changed since",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      const wanted = (replicas: number) => deployment("d", replicas, { paused: true });
      const annotation = "kubectl.kubernetes.io/last-applied-configuration";
      const annotated = {
        ...wanted(2),
        metadata: { name: "d", annotations: { [annotation]: JSON.stringify(wanted(2)) } },
      };
      await api.done("POST", `${path}?fieldManager=kubectl-client-side-apply`, {
        body: annotated,
      });
      const apply = (replicas: number) =>
        api.send("PATCH", `${path}/d?fieldManager=kubectl`, {
          type: APPLY,
          body: wanted(replicas),
        });
      strictEqual((await apply(3)).status, 200);
      await api.done("PATCH", `${path}/d?fieldManager=other`, {
        type: MERGE,
        body: { spec: { replicas: 5 } },
      });
      await api.refused(apply(3), {
        code: 409,
        reason: "Conflict",
        message:
          'Apply failed with 1 conflict: conflict with "other" using apps/v1: .spec.replicas',
      });
    },
  },
  {
    name: "managedFields: the scale subresource owns the replicas that it set",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      const apply = () =>
        api.send("PATCH", `${path}/d?fieldManager=one`, {
          type: APPLY,
          body: deployment("d", 2, { paused: true }),
        });
      strictEqual((await apply()).status, 201);
      await api.done("PATCH", `${path}/d/scale?fieldManager=two`, {
        type: MERGE,
        body: { spec: { replicas: 4 } },
      });
      const { metadata } = await api.get(`${path}/d`);
      const scaled = metadata.managedFields.find((
        { subresource }: { subresource: string },
      ) => subresource === "scale");
      strictEqual(scaled.manager, "two");
      strictEqual(scaled.operation, "Update");
      deepStrictEqual(scaled.fieldsV1, { "f:spec": { "f:replicas": {} } });
      await api.refused(apply(), {
        code: 409,
        reason: "Conflict",
        message: /^Apply failed with 1 conflict: conflict with "two" with subresource "scale"/,
      });
    },
  },
  {
    name: "managedFields: a second writer gets an entry for what it changed",
    async run(api) {
      await api.configMap("a", { data: { one: "1", two: "2" } });
      const changed = await api.done("PATCH", `${api.path("configmaps/a")}?fieldManager=second`, {
        type: MERGE,
        body: { data: { two: "changed" } },
      });
      const fields = new Map(
        changed.metadata.managedFields.map((
          { manager, fieldsV1 }: { manager: string; fieldsV1: unknown },
        ) => [manager, fieldsV1]),
      );
      deepStrictEqual(fields.get("second"), { "f:data": { "f:two": {} } });
      deepStrictEqual(fields.get("contract"), { "f:data": { ".": {}, "f:one": {} } });
    },
  },
];

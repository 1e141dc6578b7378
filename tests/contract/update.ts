/**
 * Contract cases: PUT, status, generation and finalizers.
 *
 * @module
 */

import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import type { ContractCase } from "./backend.ts";

const MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

export const UPDATE_CASES: readonly ContractCase[] = [
  {
    name: "update: replaces the object and moves its resourceVersion",
    async run(api) {
      const created = await api.configMap("a", { data: { k: "v" } });
      const updated = await api.done("PUT", api.path("configmaps/a"), {
        body: { ...created, data: { k: "w" } },
      });
      deepStrictEqual(updated.data, { k: "w" });
      notStrictEqual(updated.metadata.resourceVersion, created.metadata.resourceVersion);
      strictEqual(updated.metadata.uid, created.metadata.uid);
    },
  },
  {
    name: "update: a stale resourceVersion gets 409 Conflict",
    async run(api) {
      const created = await api.configMap("a", { data: { k: "v" } });
      await api.merge(api.path("configmaps/a"), { data: { k: "other" } });
      const status = await api.refused(
        api.send("PUT", api.path("configmaps/a"), { body: { ...created, data: { k: "w" } } }),
        {
          code: 409,
          reason: "Conflict",
          message: `Operation cannot be fulfilled on configmaps "a": ${MODIFIED}`,
        },
      );
      deepStrictEqual(status.details, { name: "a", kind: "configmaps" });
    },
  },
  {
    name: "update: another uid gets 409 Conflict",
    async run(api) {
      const created = await api.configMap("a");
      await api.refused(
        api.send("PUT", api.path("configmaps/a"), {
          body: { metadata: { name: "a", uid: "bogus" } },
        }),
        {
          code: 409,
          reason: "Conflict",
          message: new RegExp(
            "Precondition failed: UID in precondition: bogus, UID in object meta: " +
              `${created.metadata.uid}$`,
          ),
        },
      );
    },
  },
  {
    name: "update: another name gets 400",
    async run(api) {
      await api.configMap("a");
      await api.refused(
        api.send("PUT", api.path("configmaps/a"), { body: { metadata: { name: "b" } } }),
        {
          code: 400,
          reason: "BadRequest",
          message: "the name of the object (b) does not match the name on the URL (a)",
        },
      );
    },
  },
  {
    name: "update: a missing object gets 404; Leases, Events and Roles are created",
    async run(api) {
      await api.refused(
        api.send("PUT", api.path("configmaps/zz"), { body: { metadata: { name: "zz" } } }),
        { code: 404, reason: "NotFound", message: 'configmaps "zz" not found' },
      );
      const paths = [
        api.path("leases/made", "coordination.k8s.io/v1"),
        api.path("roles/made", "rbac.authorization.k8s.io/v1"),
      ];
      for (const path of paths) {
        const { status } = await api.send("PUT", path, { body: { metadata: { name: "made" } } });
        strictEqual(status, 201, path);
      }
    },
  },
  {
    name: "update: without resourceVersion is taken for built-ins, refused for Leases",
    async run(api) {
      await api.configMap("a");
      await api.done("PUT", api.path("configmaps/a"), {
        body: { metadata: { name: "a" }, data: { k: "v" } },
      });
      const leases = api.path("leases", "coordination.k8s.io/v1");
      await api.create(leases, { metadata: { name: "l" }, spec: {} });
      await api.refused(
        api.send("PUT", `${leases}/l`, { body: { metadata: { name: "l" }, spec: {} } }),
        {
          code: 422,
          reason: "Invalid",
          message: 'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid ' +
            "value: 0: must be specified for an update",
          causes: [["FieldValueInvalid", "metadata.resourceVersion"]],
        },
      );
    },
  },
  {
    name: "update: nothing changed means no new resourceVersion and no event",
    async run(api) {
      const created = await api.configMap("a", { data: { k: "v" } });
      const same = await api.done("PUT", api.path("configmaps/a"), { body: created });
      strictEqual(same.metadata.resourceVersion, created.metadata.resourceVersion);
      const patched = await api.merge(api.path("configmaps/a"), { data: { k: "v" } });
      strictEqual(patched.metadata.resourceVersion, created.metadata.resourceVersion);
    },
  },
  {
    name: "update: a dry run answers the result and stores nothing",
    async run(api) {
      const created = await api.configMap("a", { data: { k: "v" } });
      const dry = await api.done("PATCH", `${api.path("configmaps/a")}?dryRun=All`, {
        body: { data: { k: "w" } },
        type: "application/merge-patch+json",
      });
      deepStrictEqual(dry.data, { k: "w" });
      deepStrictEqual((await api.get(api.path("configmaps/a"))).data, created.data);
    },
  },
  {
    name: "update: generation of a custom kind moves with its content only",
    async run(api) {
      await api.define();
      const created = await api.create(api.widgets(), api.widget("w", { replicas: 1 }));
      strictEqual(created.metadata.generation, 1);
      const labelled = await api.merge(api.widgets("w"), { metadata: { labels: { a: "b" } } });
      strictEqual(labelled.metadata.generation, 1);
      const changed = await api.merge(api.widgets("w"), { spec: { replicas: 2 } });
      strictEqual(changed.metadata.generation, 2);
      const reported = await api.merge(api.widgets("w/status"), { status: { replicas: 2 } });
      strictEqual(reported.metadata.generation, 2);
    },
  },
  {
    name: "update: a custom kind wants a resourceVersion in PUT",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w"));
      await api.refused(
        api.send("PUT", api.widgets("w"), { body: api.widget("w", { replicas: 3 }) }),
        {
          code: 422,
          reason: "Invalid",
          message:
            `widgets.${api.group} "w" is invalid: metadata.resourceVersion: Invalid value: ` +
            "0: must be specified for an update",
          causes: [["FieldValueInvalid", "metadata.resourceVersion"]],
        },
      );
    },
  },
  {
    name: "status: of a custom kind is dropped on create and kept apart on update",
    async run(api) {
      await api.define();
      const created = await api.create(
        api.widgets(),
        api.widget("w", { replicas: 1 }, { status: { replicas: 9 } }),
      );
      strictEqual(created.status, undefined);
      const reported = await api.merge(api.widgets("w/status"), {
        metadata: { labels: { x: "y" } },
        spec: { replicas: 100 },
        status: { replicas: 3 },
      });
      deepStrictEqual(reported.status, { replicas: 3 });
      strictEqual(reported.spec.replicas, 1);
      strictEqual(reported.metadata.labels, undefined);
      const changed = await api.merge(api.widgets("w"), {
        spec: { replicas: 2 },
        status: { replicas: 77 },
      });
      deepStrictEqual(changed.status, { replicas: 3 });
    },
  },
  {
    name: "status: of a Deployment takes annotations but neither labels nor spec",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 0));
      const reported = await api.merge(`${path}/d/status`, {
        metadata: { labels: { x: "y" }, annotations: { x: "y" } },
        spec: { paused: true },
        status: { collisionCount: 4 },
      });
      strictEqual(reported.status.collisionCount, 4);
      strictEqual(reported.metadata.annotations.x, "y");
      strictEqual(reported.metadata.labels, undefined);
      strictEqual(reported.spec.paused, undefined);
    },
  },
  {
    name: "status: a kind without the subresource answers 404",
    async run(api) {
      await api.configMap("a");
      await api.refused(api.send("GET", api.path("configmaps/a/status")), {
        code: 404,
        reason: "NotFound",
        message: "the server could not find the requested resource",
      });
    },
  },
  {
    name: "update: generation of a Deployment moves with spec and annotations, not labels",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      const created = await api.create(path, { ...deployment("d", 0, { paused: true }) });
      strictEqual(created.metadata.generation, 1);
      const labelled = await api.merge(`${path}/d`, { metadata: { labels: { a: "b" } } });
      const base = labelled.metadata.generation;
      const annotated = await api.merge(`${path}/d`, { metadata: { annotations: { a: "b" } } });
      strictEqual(annotated.metadata.generation, base + 1);
      const scaled = await api.merge(`${path}/d`, { spec: { minReadySeconds: 1 } });
      strictEqual(scaled.metadata.generation, base + 2);
    },
  },
  {
    name: "scale: reads and writes the numbers of a custom kind and of a Deployment",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w", { replicas: 2 }));
      const scale = await api.get(api.widgets("w/scale"));
      strictEqual(scale.kind, "Scale");
      strictEqual(scale.apiVersion, "autoscaling/v1");
      deepStrictEqual(scale.spec, { replicas: 2 });
      deepStrictEqual(scale.status, { replicas: 0 });
      const set = await api.done("PUT", api.widgets("w/scale"), {
        body: { ...scale, spec: { replicas: 5 } },
      });
      deepStrictEqual(set.spec, { replicas: 5 });
      strictEqual((await api.get(api.widgets("w"))).spec.replicas, 5);
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 1));
      const patched = await api.merge(`${path}/d/scale`, { spec: { replicas: 0 } });
      deepStrictEqual(patched.spec, {});
      strictEqual((await api.get(`${path}/d`)).spec.replicas, 0);
      strictEqual((await api.get(`${path}/d/scale`)).status.selector, "app=d");
    },
  },
  {
    name: "scale: a stale resourceVersion gets 409",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w", { replicas: 2 }));
      const scale = await api.get(api.widgets("w/scale"));
      await api.merge(api.widgets("w"), { spec: { replicas: 3 } });
      await api.refused(
        api.send("PUT", api.widgets("w/scale"), { body: { ...scale, spec: { replicas: 5 } } }),
        { code: 409, reason: "Conflict" },
      );
    },
  },
  {
    name: "update: without resourceVersion a PUT to /status of a custom kind is refused",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w"));
      await api.refused(
        api.send("PUT", api.widgets("w/status"), {
          body: api.widget("w", {}, { status: { replicas: 1 } }),
        }),
        { code: 422, reason: "Invalid" },
      );
    },
  },
];

/** A Deployment of one container. */
export function deployment(name: string, replicas: number | undefined, spec: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "nginx", image: "nginx:latest" }] },
      },
      ...spec,
    },
  };
}

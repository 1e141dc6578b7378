/**
 * Contract cases: deletion, preconditions, finalizers, owners, namespaces.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { Api, ContractCase } from "./backend.ts";

/** A reference to the ConfigMap `owner`. */
function ownedBy(owner: Json, extra: object = {}): Json {
  const { name, uid } = owner.metadata;
  return {
    metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name, uid, ...extra }] },
  };
}

async function remove(api: Api, name: string, options: Json = {}): Promise<Json> {
  return await api.done("DELETE", api.path(`configmaps/${name}`), { body: options });
}

export const DELETE_CASES: readonly ContractCase[] = [
  {
    name: "delete: answers a Status with the object's uid",
    async run(api) {
      const created = await api.configMap("a");
      const status = await remove(api, "a");
      strictEqual(status.kind, "Status");
      strictEqual(status.status, "Success");
      deepStrictEqual(status.details, {
        name: "a",
        kind: "configmaps",
        uid: created.metadata.uid,
      });
      await api.refused(api.send("DELETE", api.path("configmaps/a")), {
        code: 404,
        reason: "NotFound",
        message: 'configmaps "a" not found',
      });
    },
  },
  {
    name: "delete: Pods, Services and ServiceAccounts answer the object",
    async run(api) {
      await api.create(api.path("serviceaccounts"), { metadata: { name: "a" } });
      await api.create(api.path("services"), {
        metadata: { name: "a" },
        spec: { ports: [{ port: 80 }] },
      });
      for (
        const [resource, kind] of [["serviceaccounts", "ServiceAccount"], ["services", "Service"]]
      ) {
        const answer = await api.done("DELETE", api.path(`${resource}/a`));
        strictEqual(answer.kind, kind);
      }
    },
  },
  {
    name: "delete: preconditions of uid and resourceVersion that do not hold get 409",
    async run(api) {
      const { metadata } = await api.configMap("a");
      const send = (preconditions: object) =>
        api.send("DELETE", api.path("configmaps/a"), { body: { preconditions } });
      await api.refused(send({ uid: "nope" }), {
        code: 409,
        reason: "Conflict",
        message: 'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition ' +
          `(nope) does not match the UID in record (${metadata.uid}). The object might have been ` +
          "deleted and then recreated",
      });
      await api.refused(send({ resourceVersion: "1" }), {
        code: 409,
        reason: "Conflict",
        message: 'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the ' +
          "precondition (1) does not match the ResourceVersion in record " +
          `(${metadata.resourceVersion}). The object might have been modified`,
      });
      strictEqual(
        (await send({ uid: metadata.uid, resourceVersion: metadata.resourceVersion })).status,
        200,
      );
    },
  },
  {
    name: "delete: an unknown propagationPolicy gets 422",
    async run(api) {
      await api.configMap("a");
      await api.refused(
        api.send("DELETE", `${api.path("configmaps/a")}?propagationPolicy=Bogus`),
        {
          code: 422,
          reason: "Invalid",
          message:
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: ' +
            '"Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
          causes: [["FieldValueNotSupported", "propagationPolicy"]],
        },
      );
    },
  },
  {
    name: "delete: a dry run deletes nothing",
    async run(api) {
      await api.configMap("a");
      strictEqual((await api.send("DELETE", `${api.path("configmaps/a")}?dryRun=All`)).status, 200);
      await api.get(api.path("configmaps/a"));
    },
  },
  {
    name: "delete: waits for finalizers, and goes with the last one",
    async run(api) {
      const created = await api.configMap("a", { metadata: { finalizers: ["x.io/f"] } });
      const marked = await remove(api, "a");
      strictEqual(marked.kind, "ConfigMap");
      match(marked.metadata.deletionTimestamp, /^\d{4}-/);
      strictEqual(marked.metadata.deletionGracePeriodSeconds, 0);
      const again = await remove(api, "a");
      strictEqual(again.metadata.resourceVersion, marked.metadata.resourceVersion);
      const freed = await api.merge(api.path("configmaps/a"), { metadata: { finalizers: null } });
      strictEqual(freed.metadata.uid, created.metadata.uid);
      strictEqual((await api.send("GET", api.path("configmaps/a"))).status, 404);
    },
  },
  {
    name: "delete: no finalizer can be added to an object that is being deleted",
    async run(api) {
      await api.configMap("a", { metadata: { finalizers: ["x.io/f"] } });
      await remove(api, "a");
      await api.refused(
        api.send("PATCH", api.path("configmaps/a"), {
          type: "application/merge-patch+json",
          body: { metadata: { finalizers: ["x.io/f", "x.io/g"] } },
        }),
        {
          code: 422,
          reason: "Invalid",
          message: 'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers ' +
            "can be added if the object is being deleted, found new finalizers " +
            '[]string{"x.io/g"}',
          causes: [["FieldValueForbidden", "metadata.finalizers"]],
        },
      );
      await api.merge(api.path("configmaps/a"), { metadata: { finalizers: null } });
    },
  },
  {
    name: "delete: an object that is being deleted can still be changed",
    async run(api) {
      await api.configMap("a", { metadata: { finalizers: ["x.io/f"] } });
      await remove(api, "a");
      const changed = await api.merge(api.path("configmaps/a"), { data: { k: "v" } });
      deepStrictEqual(changed.data, { k: "v" });
      await api.merge(api.path("configmaps/a"), { metadata: { finalizers: null } });
    },
  },
  {
    name: "delete: marking moves the generation of a kind that has one",
    async run(api) {
      await api.define();
      await api.create(
        api.widgets(),
        { ...api.widget("w"), metadata: { name: "w", finalizers: ["x.io/f"] } },
      );
      const marked = await api.done("DELETE", api.widgets("w"));
      strictEqual(marked.metadata.generation, 2);
      await api.merge(api.widgets("w"), { metadata: { finalizers: null } });
    },
  },
  {
    name: "garbage collection: dependents go with their last owner",
    async run(api) {
      const one = await api.configMap("one");
      const two = await api.configMap("two");
      await api.configMap("child", ownedBy(one));
      const refs = [one, two].map((owner) => ownedBy(owner).metadata.ownerReferences[0]);
      await api.configMap("shared", { metadata: { ownerReferences: refs } });
      await remove(api, "one");
      await api.gone(api.path("configmaps/child"));
      await api.eventually(async () => {
        const shared = await api.get(api.path("configmaps/shared"));
        return shared.metadata.ownerReferences.length === 1 ? true : undefined;
      }, "the lost owner is dropped");
      await remove(api, "two");
      await api.gone(api.path("configmaps/shared"));
    },
  },
  {
    name: "garbage collection: a dependent of an owner that never was goes",
    async run(api) {
      const owner = await api.configMap("owner");
      await remove(api, "owner");
      await api.configMap("child", ownedBy(owner));
      await api.gone(api.path("configmaps/child"));
    },
  },
  {
    name: "garbage collection: Orphan leaves dependents without the reference",
    async run(api) {
      const owner = await api.configMap("owner");
      await api.configMap("child", ownedBy(owner));
      const marked = await remove(api, "owner", { propagationPolicy: "Orphan" });
      deepStrictEqual(marked.metadata.finalizers, ["orphan"]);
      await api.gone(api.path("configmaps/owner"));
      const child = await api.get(api.path("configmaps/child"));
      strictEqual(child.metadata.ownerReferences, undefined);
    },
  },
  {
    name: "garbage collection: Foreground waits for blocking dependents",
    async run(api) {
      const owner = await api.configMap("owner");
      const { metadata } = ownedBy(owner, { blockOwnerDeletion: true });
      await api.configMap("child", { metadata: { ...metadata, finalizers: ["x.io/f"] } });
      const marked = await remove(api, "owner", { propagationPolicy: "Foreground" });
      deepStrictEqual(marked.metadata.finalizers, ["foregroundDeletion"]);
      await api.eventually(async () => {
        const child = await api.get(api.path("configmaps/child"));
        return child.metadata.deletionTimestamp === undefined ? undefined : true;
      }, "the child is being deleted");
      await api.get(api.path("configmaps/owner"));
      await api.merge(api.path("configmaps/child"), { metadata: { finalizers: null } });
      await api.gone(api.path("configmaps/owner"));
    },
  },
  {
    name: "garbage collection: Background answers at once, dependents follow",
    async run(api) {
      const owner = await api.configMap("owner");
      await api.configMap("child", ownedBy(owner));
      const status = await remove(api, "owner", { propagationPolicy: "Background" });
      strictEqual(status.kind, "Status");
      await api.gone(api.path("configmaps/child"));
    },
  },
  {
    name: "garbage collection: goes by the owner's uid, not by its name",
    async run(api) {
      const first = await api.configMap("owner");
      await remove(api, "owner");
      await api.configMap("owner");
      await api.configMap("child", ownedBy(first));
      await api.gone(api.path("configmaps/child"));
      await api.get(api.path("configmaps/owner"));
    },
  },
  {
    name: "deletecollection: deletes what the selector selects and answers the list",
    async run(api) {
      await api.configMap("a", { metadata: { labels: { go: "yes" } } });
      await api.configMap("b", { metadata: { labels: { go: "yes" } } });
      await api.configMap("c");
      const list = await api.done("DELETE", `${api.path("configmaps")}?labelSelector=go=yes`);
      strictEqual(list.kind, "ConfigMapList");
      deepStrictEqual(list.items.map((item: Json) => item.metadata.name), ["a", "b"]);
      const rest = await api.get(api.path("configmaps"));
      const names = rest.items.map((item: Json) => item.metadata.name);
      ok(names.includes("c") && !names.includes("a") && !names.includes("b"), names.join());
    },
  },
  {
    name: "namespace: has its finalizer, phase and name label",
    async run(api) {
      const namespace = await api.get(`/api/v1/namespaces/${api.namespace}`);
      deepStrictEqual(namespace.spec, { finalizers: ["kubernetes"] });
      deepStrictEqual(namespace.status, { phase: "Active" });
      strictEqual(namespace.metadata.labels["kubernetes.io/metadata.name"], api.namespace);
    },
  },
  {
    name: "namespace: while it ends nothing can be created in it, then it is gone with its content",
    async run(api) {
      const path = `/api/v1/namespaces/${api.namespace}`;
      await api.configMap("held", { metadata: { finalizers: ["x.io/f"] } });
      await api.configMap("free");
      const marked = await api.done("DELETE", path);
      strictEqual(marked.status.phase, "Terminating");
      match(marked.metadata.deletionTimestamp, /^\d{4}-/);
      const status = await api.refused(
        api.send("POST", api.path("configmaps"), { body: { metadata: { name: "late" } } }),
        {
          code: 403,
          reason: "Forbidden",
          message: `configmaps "late" is forbidden: unable to create new content in namespace ` +
            `${api.namespace} because it is being terminated`,
        },
      );
      deepStrictEqual(status.details, {
        name: "late",
        kind: "configmaps",
        causes: [{
          reason: "NamespaceTerminating",
          message: `namespace ${api.namespace} is being terminated`,
          field: "metadata.namespace",
        }],
      });
      await api.gone(api.path("configmaps/free"));
      await api.get(path);
      await api.merge(api.path("configmaps/held"), { metadata: { finalizers: null } });
      await api.gone(path);
      await api.refused(
        api.send("POST", api.path("configmaps"), { body: { metadata: { name: "late" } } }),
        { code: 404, reason: "NotFound" },
      );
    },
  },
  {
    name: "namespace: a new one gets the default service account",
    async run(api) {
      await api.eventually(async () => {
        const { status } = await api.send("GET", api.path("serviceaccounts/default"));
        return status === 200 ? true : undefined;
      }, "the default service account is there");
    },
  },
  {
    name: "namespace: default may not be deleted",
    async run(api) {
      await api.refused(api.send("DELETE", "/api/v1/namespaces/default"), {
        code: 403,
        reason: "Forbidden",
        message: 'namespaces "default" is forbidden: this namespace may not be deleted',
      });
    },
  },
];

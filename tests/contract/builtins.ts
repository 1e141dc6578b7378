/**
 * Contract cases: what is particular to built-in kinds, discovery and probes.
 *
 * @module
 */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { ContractCase } from "./backend.ts";
import { deployment } from "./update.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export const BUILTIN_CASES: readonly ContractCase[] = [
  {
    name: "deployment: gets the server's defaults",
    async run(api) {
      const created = await api.create(
        api.path("deployments", "apps/v1"),
        deployment("d", undefined, { paused: true }),
      );
      deepStrictEqual(created.spec, {
        replicas: 1,
        selector: { matchLabels: { app: "d" } },
        template: {
          metadata: { labels: { app: "d" } },
          spec: {
            containers: [{
              name: "nginx",
              image: "nginx:latest",
              resources: {},
              terminationMessagePath: "/dev/termination-log",
              terminationMessagePolicy: "File",
              imagePullPolicy: "Always",
            }],
            restartPolicy: "Always",
            terminationGracePeriodSeconds: 30,
            dnsPolicy: "ClusterFirst",
            securityContext: {},
            schedulerName: "default-scheduler",
          },
        },
        strategy: {
          type: "RollingUpdate",
          rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" },
        },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        paused: true,
      });
      deepStrictEqual(created.status, {});
    },
  },
  {
    name: "deployment: selector, template and replicas are validated",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.refused(
        api.send("POST", path, { body: { metadata: { name: "d" }, spec: {} } }),
        {
          code: 422,
          reason: "Invalid",
          message: /^Deployment\.apps "d" is invalid: \[spec\.selector: Required value, /,
          causes: [
            ["FieldValueRequired", "spec.selector"],
            ["FieldValueInvalid", "spec.template.metadata.labels"],
            ["FieldValueRequired", "spec.template.spec.containers"],
          ],
        },
      );
      await api.create(path, deployment("d", 0));
      await api.refused(
        api.send("PATCH", `${path}/d`, {
          type: "application/merge-patch+json",
          body: { spec: { replicas: -1 } },
        }),
        {
          code: 422,
          reason: "Invalid",
          message: 'Deployment.apps "d" is invalid: spec.replicas: Invalid value: -1: must be ' +
            "greater than or equal to 0",
        },
      );
      await api.refused(
        api.send("PATCH", `${path}/d`, {
          type: "application/merge-patch+json",
          body: {
            spec: {
              selector: { matchLabels: { app: "z" } },
              template: { metadata: { labels: { app: "z" } } },
            },
          },
        }),
        {
          code: 422,
          reason: "Invalid",
          message:
            /^Deployment\.apps "d" is invalid: spec\.selector: Invalid value: .*: field is immutable$/,
          causes: [["FieldValueInvalid", "spec.selector"]],
        },
      );
    },
  },
  {
    name: "deployment: replicas removed by a patch fall back to 1",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 3, { paused: true }));
      const patched = await api.merge(`${path}/d`, { spec: { replicas: null } });
      strictEqual(patched.spec.replicas, 1);
    },
  },
  {
    name: "deployment: its controller makes a ReplicaSet and Pods, and reports them",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      const { metadata } = await api.create(path, deployment("d", 2));
      const pods = await api.eventually(async () => {
        const { items } = await api.get(api.path("pods"));
        return items.length === 2 ? items : undefined;
      }, "two Pods");
      strictEqual(pods[0].status.phase, "Pending");
      const { items: [set] } = await api.get(api.path("replicasets", "apps/v1"));
      strictEqual(set.metadata.ownerReferences[0].uid, metadata.uid);
      strictEqual(pods[0].metadata.ownerReferences[0].uid, set.metadata.uid);
      match(pods[0].metadata.name, new RegExp(`^${set.metadata.name}-[a-z0-9]{5}$`));
      const status = await api.eventually(async () => {
        const { status } = await api.get(`${path}/d`);
        return status.updatedReplicas === 2 ? status : undefined;
      }, "the status is reported");
      strictEqual(status.observedGeneration, 1);
      strictEqual(status.replicas, 2);
      strictEqual(status.updatedReplicas, 2);
      deepStrictEqual(
        status.conditions.map((each: Json) => `${each.type} ${each.status} ${each.reason}`),
        ["Available False MinimumReplicasUnavailable", "Progressing True ReplicaSetUpdated"],
      );
    },
  },
  {
    name: "deployment: its deletion takes ReplicaSet and Pods away",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 1));
      await api.eventually(async () => {
        const { items } = await api.get(api.path("pods"));
        return items.length === 1 ? true : undefined;
      }, "one Pod");
      await api.done("DELETE", `${path}/d`, { body: { propagationPolicy: "Background" } });
      await api.eventually(async () => {
        const { items } = await api.get(api.path("pods"));
        const sets = await api.get(api.path("replicasets", "apps/v1"));
        return items.length + sets.items.length === 0 ? true : undefined;
      }, "all are gone");
    },
  },
  {
    name: "deployment: a status of zeros is as the controller writes it",
    async run(api) {
      const path = api.path("deployments", "apps/v1");
      await api.create(path, deployment("d", 0));
      const status = await api.eventually(async () => {
        const { status } = await api.get(`${path}/d`);
        return status.conditions?.length === 2 ? status : undefined;
      }, "the status is reported");
      strictEqual(status.replicas, undefined);
      strictEqual(status.availableReplicas, undefined);
      strictEqual(status.observedGeneration, 1);
    },
  },
  {
    name: "pod: gets the server's defaults and is Pending",
    async run(api) {
      await api.eventually(async () => {
        const { status } = await api.send("GET", api.path("serviceaccounts/default"));
        return status === 200 ? true : undefined;
      }, "the default service account is there");
      const { metadata, spec, status } = await api.create(api.path("pods"), {
        metadata: { name: "p" },
        spec: { automountServiceAccountToken: false, containers: [{ name: "a", image: "x:1" }] },
      });
      strictEqual(metadata.generation, 1);
      deepStrictEqual(status, { phase: "Pending", qosClass: "BestEffort" });
      strictEqual(spec.serviceAccountName, "default");
      strictEqual(spec.enableServiceLinks, true);
      strictEqual(spec.preemptionPolicy, "PreemptLowerPriority");
      strictEqual(spec.priority, 0);
      strictEqual(spec.containers[0].imagePullPolicy, "IfNotPresent");
      strictEqual(spec.tolerations.length, 2);
      const deleted = await api.done("DELETE", api.path("pods/p"));
      strictEqual(deleted.kind, "Pod");
      strictEqual(deleted.metadata.deletionGracePeriodSeconds, 0);
      strictEqual((await api.send("GET", api.path("pods/p"))).status, 404);
    },
  },
  {
    name: "secret: stringData becomes data, type is Opaque",
    async run(api) {
      const secret = await api.create(api.path("secrets"), {
        metadata: { name: "s" },
        stringData: { a: "b" },
      });
      deepStrictEqual(secret.data, { a: "Yg==" });
      strictEqual(secret.stringData, undefined);
      strictEqual(secret.type, "Opaque");
    },
  },
  {
    name: "service: gets defaults and a cluster IP that updates keep",
    async run(api) {
      const { spec } = await api.create(api.path("services"), {
        metadata: { name: "s" },
        spec: { selector: { a: "b" }, ports: [{ port: 80 }] },
      });
      match(spec.clusterIP, /^10\.0\.0\.\d+$/);
      deepStrictEqual(spec, {
        selector: { a: "b" },
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
        type: "ClusterIP",
        sessionAffinity: "None",
        clusterIP: spec.clusterIP,
        clusterIPs: [spec.clusterIP],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        internalTrafficPolicy: "Cluster",
      });
      const updated = await api.done("PUT", api.path("services/s"), {
        body: { metadata: { name: "s" }, spec: { ports: [{ port: 81 }] } },
      });
      strictEqual(updated.spec.clusterIP, spec.clusterIP);
    },
  },
  {
    name: "tables: of built-in kinds have the columns that people know",
    async run(api) {
      await api.create(api.path("deployments", "apps/v1"), deployment("d", 0, { paused: true }));
      await api.configMap("a", { data: { k: "v" } });
      const columns = async (path: string) => {
        const { body } = await api.send("GET", path, { accept: TABLE });
        strictEqual(body.kind, "Table");
        return body.columnDefinitions.map((each: Json) => each.name).join();
      };
      strictEqual(
        await columns(api.path("deployments", "apps/v1")),
        "Name,Ready,Up-to-date,Available,Age,Containers,Images,Selector",
      );
      strictEqual(await columns(api.path("configmaps")), "Name,Data,Age");
      strictEqual(
        await columns(api.path("pods")),
        "Name,Ready,Status,Restarts,Age,IP,Node,Nominated Node,Readiness Gates",
      );
      strictEqual(
        await columns(api.path("replicasets", "apps/v1")),
        "Name,Desired,Current,Ready,Age,Containers,Images,Selector",
      );
      strictEqual(await columns("/api/v1/namespaces"), "Name,Status,Age");
      strictEqual(await columns(api.path("secrets")), "Name,Type,Data,Age");
      strictEqual(
        await columns(api.path("services")),
        "Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector",
      );
      strictEqual(
        await columns(api.path("leases", "coordination.k8s.io/v1")),
        "Name,Holder,Age",
      );
    },
  },
];

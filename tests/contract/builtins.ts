/**
 * Contract cases: what is particular to built-in kinds, discovery and probes.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { ContractCase } from "./backend.ts";
import { deployment } from "./update.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/** An event as operators write it. */
function event(namespace: string, name: string, rest: object = {}): Json {
  return {
    metadata: { name },
    eventTime: "2026-01-02T03:04:05.678000Z",
    reportingController: "example.com/contract",
    reportingInstance: "contract-0",
    action: "Test",
    reason: "Tested",
    type: "Normal",
    note: "hello",
    regarding: { kind: "Pod", namespace, name: "p" },
    ...rest,
  };
}

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
    name: "lease: times want exactly six digits",
    async run(api) {
      const path = api.path("leases", "coordination.k8s.io/v1");
      const lease = await api.create(path, {
        metadata: { name: "l" },
        spec: { holderIdentity: "me", renewTime: "2026-01-02T03:04:05.678000Z" },
      });
      strictEqual(lease.spec.renewTime, "2026-01-02T03:04:05.678000Z");
      for (
        const [renewTime, rest] of [["2026-01-02T03:04:05Z", "Z"], [
          "2026-01-02T03:04:05.678Z",
          ".678Z",
        ]]
      ) {
        await api.refused(
          api.send("POST", path, { body: { metadata: { name: "m" }, spec: { renewTime } } }),
          {
            code: 400,
            reason: "BadRequest",
            message:
              `Lease in version "v1" cannot be handled as a Lease: parsing time "${renewTime}"` +
              ` as "2006-01-02T15:04:05.000000Z07:00": cannot parse "${rest}" as ".000000"`,
          },
        );
      }
      await api.refused(
        api.send("POST", path, {
          body: { metadata: { name: "m" }, spec: { leaseDurationSeconds: 0 } },
        }),
        {
          code: 422,
          reason: "Invalid",
          causes: [["FieldValueInvalid", "spec.leaseDurationSeconds"]],
        },
      );
    },
  },
  {
    name: "event: one object in both groups",
    async run(api) {
      await api.create(api.path("events", "events.k8s.io/v1"), event(api.namespace, "e"));
      const core = await api.get(api.path("events/e"));
      strictEqual(core.apiVersion, "v1");
      strictEqual(core.message, "hello");
      deepStrictEqual(core.involvedObject, { kind: "Pod", namespace: api.namespace, name: "p" });
      strictEqual(core.reportingComponent, "example.com/contract");
      deepStrictEqual(core.source, {});
      strictEqual(core.firstTimestamp, null);
      await api.create(api.path("events"), {
        metadata: { name: "old" },
        involvedObject: { kind: "Pod", namespace: api.namespace, name: "p" },
        reason: "R",
        message: "m",
        source: { component: "c" },
        type: "Normal",
        count: 1,
        firstTimestamp: "2026-01-02T03:04:05Z",
        lastTimestamp: "2026-01-02T03:04:05Z",
      });
      const { metadata: _, ...rest } = await api.get(api.path("events/old", "events.k8s.io/v1"));
      deepStrictEqual(rest, {
        kind: "Event",
        apiVersion: "events.k8s.io/v1",
        eventTime: null,
        reason: "R",
        regarding: { kind: "Pod", namespace: api.namespace, name: "p" },
        note: "m",
        type: "Normal",
        deprecatedSource: { component: "c" },
        deprecatedFirstTimestamp: "2026-01-02T03:04:05Z",
        deprecatedLastTimestamp: "2026-01-02T03:04:05Z",
        deprecatedCount: 1,
      });
    },
  },
  {
    name: "event: only its series can be changed",
    async run(api) {
      const path = api.path("events", "events.k8s.io/v1");
      await api.create(path, event(api.namespace, "e"));
      const patched = await api.merge(`${path}/e`, {
        series: { count: 2, lastObservedTime: "2026-01-02T03:04:06.678000Z" },
      });
      strictEqual(patched.series.count, 2);
      await api.refused(
        api.send("PATCH", `${path}/e`, {
          type: "application/merge-patch+json",
          body: { note: "changed" },
        }),
        { code: 422, reason: "Invalid", message: /field is immutable$/ },
      );
    },
  },
  {
    name: "event: missing and malformed fields are refused",
    async run(api) {
      const path = api.path("events", "events.k8s.io/v1");
      const cases: [object, number, RegExp][] = [
        [{ eventTime: undefined }, 422, /eventTime: Required value$/],
        [{ eventTime: "2026-01-02T03:04:05.678Z" }, 400, /cannot parse "\.678Z" as "\.000000"$/],
        [{ reportingController: "" }, 422, /reportingController: Required value/],
        [{ reportingInstance: "i".repeat(129) }, 422, /can have at most 128 characters/],
        [{ action: "" }, 422, /action: Required value$/],
        [{ note: "n".repeat(1025) }, 422, /can have at most 1024 characters/],
        [{ type: "Odd" }, 422, /type: /],
        [
          { regarding: { kind: "Node", name: "n" } },
          422,
          /does not match event\.namespace/,
        ],
      ];
      for (const [change, code, message] of cases) {
        await api.refused(
          api.send("POST", path, { body: event(api.namespace, "e", change) }),
          { code, reason: code === 400 ? "BadRequest" : "Invalid", message },
        );
      }
    },
  },
  {
    name: "event: its namespace is that of what it is about, default for cluster-scoped objects",
    async run(api) {
      const core = (namespace: string | undefined) => ({
        metadata: { name: "e" },
        involvedObject: { kind: "Node", name: "n", namespace },
      });
      for (const namespace of [undefined, "other"]) {
        await api.refused(api.send("POST", api.path("events"), { body: core(namespace) }), {
          code: 422,
          reason: "Invalid",
          message: `Event "e" is invalid: involvedObject.namespace: Invalid value: ` +
            `"${namespace ?? ""}": does not match event.namespace`,
        });
      }
      const path = "/apis/events.k8s.io/v1/namespaces/default/events";
      const about = event("default", api.namespace, { regarding: { kind: "Node", name: "n" } });
      await api.create(path, about);
      await api.done("DELETE", `${path}/${api.namespace}`);
    },
  },
  {
    name: "role binding: role and subjects get their group",
    async run(api) {
      const binding = await api.create(api.path("rolebindings", "rbac.authorization.k8s.io/v1"), {
        metadata: { name: "b" },
        subjects: [{ kind: "User", name: "u" }],
        roleRef: { kind: "Role", name: "r" },
      });
      const apiGroup = "rbac.authorization.k8s.io";
      deepStrictEqual(binding.subjects, [{ kind: "User", apiGroup, name: "u" }]);
      deepStrictEqual(binding.roleRef, { apiGroup, kind: "Role", name: "r" });
    },
  },
  {
    name: "webhook configuration: gets defaults and a generation",
    async run(api) {
      const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
      const created = await api.create(path, {
        metadata: { name: api.namespace },
        webhooks: [{
          name: "a.example.com",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          clientConfig: { url: "https://127.0.0.1:1/x" },
          rules: [{
            apiGroups: ["none.example.com"],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["nothings"],
          }],
        }],
      });
      await api.done("DELETE", `${path}/${api.namespace}`);
      strictEqual(created.metadata.generation, 1);
      const [webhook] = created.webhooks;
      strictEqual(webhook.failurePolicy, "Fail");
      strictEqual(webhook.matchPolicy, "Equivalent");
      strictEqual(webhook.timeoutSeconds, 10);
      strictEqual(webhook.rules[0].scope, "*");
    },
  },
  {
    name: "access reviews: answer for oneself",
    async run(api) {
      const review = await api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        spec: { resourceAttributes: { verb: "get", resource: "pods", namespace: api.namespace } },
      });
      strictEqual(review.kind, "SelfSubjectAccessReview");
      strictEqual(review.status.allowed, true);
      const rules = await api.create("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        spec: { namespace: api.namespace },
      });
      ok(rules.status.resourceRules.length > 0);
      strictEqual(rules.status.incomplete, false);
    },
  },
  {
    name: "token review: an unknown token is not authenticated",
    async run(api) {
      const { status } = await api.create("/apis/authentication.k8s.io/v1/tokenreviews", {
        spec: { token: "no-such-token" },
      });
      deepStrictEqual(status, { user: {}, error: "invalid bearer token" });
    },
  },
  {
    name: "discovery: legacy lists name groups, versions, resources and subresources",
    async run(api) {
      deepStrictEqual((await api.get("/api")).versions, ["v1"]);
      const { groups } = await api.get("/apis");
      const apps = groups.find((group: Json) => group.name === "apps");
      deepStrictEqual(apps, {
        name: "apps",
        versions: [{ groupVersion: "apps/v1", version: "v1" }],
        preferredVersion: { groupVersion: "apps/v1", version: "v1" },
      });
      const { resources } = await api.get("/apis/apps/v1");
      const found = (name: string) => resources.find((each: Json) => each.name === name);
      const { storageVersionHash: _, ...deployments } = found("deployments");
      deepStrictEqual(deployments, {
        name: "deployments",
        singularName: "deployment",
        namespaced: true,
        kind: "Deployment",
        verbs: [
          "create",
          "delete",
          "deletecollection",
          "get",
          "list",
          "patch",
          "update",
          "watch",
        ],
        shortNames: ["deploy"],
        categories: ["all"],
      });
      deepStrictEqual(found("deployments/scale"), {
        name: "deployments/scale",
        singularName: "",
        namespaced: true,
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: ["get", "patch", "update"],
      });
      strictEqual(found("deployments/status").kind, "Deployment");
    },
  },
  {
    name: "discovery: the aggregated form holds the same",
    async run(api) {
      await api.define();
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
        "application/json";
      const { body, headers } = await api.send("GET", "/apis", { accept });
      match(headers.get("content-type") ?? "", /as=APIGroupDiscoveryList/);
      strictEqual(body.kind, "APIGroupDiscoveryList");
      strictEqual(body.apiVersion, "apidiscovery.k8s.io/v2");
      const group = body.items.find((item: Json) => item.metadata.name === api.group);
      const [version] = group.versions;
      strictEqual(version.version, "v1");
      strictEqual(version.freshness, "Current");
      const [widgets] = version.resources;
      deepStrictEqual(widgets.responseKind, { group: api.group, version: "v1", kind: "Widget" });
      strictEqual(widgets.scope, "Namespaced");
      deepStrictEqual(
        widgets.subresources.map((each: Json) => each.subresource).sort(),
        ["scale", "status"],
      );
      const core = await api.send("GET", "/api", { accept });
      strictEqual(core.body.items[0].versions[0].version, "v1");
    },
  },
  {
    name: "discovery: probes and version",
    async run(api) {
      for (const path of ["/readyz", "/healthz", "/livez"]) {
        const { status, text } = await api.send("GET", path);
        strictEqual(status, 200);
        strictEqual(text, "ok");
      }
      const { major, minor } = await api.get("/version");
      strictEqual(`${major}.${minor}`, "1.36");
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

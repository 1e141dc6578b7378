/**
 * Contract cases: discovery and probes, access control and webhook configurations.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { ContractCase } from "./backend.ts";

export const DISCOVERY_CASES: readonly ContractCase[] = [
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
];

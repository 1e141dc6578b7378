import { strictEqual } from "node:assert/strict";
import { type Json, Kube } from "./kube.ts";
import { Kubelet } from "./kubelet.ts";
import { realSuite } from "./real_suite.ts";

const suite = realSuite({ controllerManager: true });

const labels = { app: "web" };

function deployment(name: string, replicas: number): Json {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "web", image: "nginx:latest" }] },
      },
    },
  };
}

suite.test("Kubelet makes a Deployment available, in its namespaces alone", async (plane) => {
  const access = { server: plane.server, caPem: plane.caPem, token: plane.adminToken };
  using kube = new Kube(access);
  const [chosen, other] = [await kube.namespace(), await kube.namespace()];
  const path = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`;
  await kube.post(path(other), deployment("a", 1));
  await kube.post(path(chosen), deployment("before", 2));
  await using _kubelet = Kubelet.start({ ...access, namespaces: [chosen] });
  await kube.post(path(chosen), deployment("after", 1));
  const available = (count: number) => (each: Json) => each?.status?.availableReplicas === count;
  await kube.until(path(chosen), "before", available(2), "2 available");
  await kube.until(path(chosen), "after", available(1), "1 available");
  await kube.merge(`${path(chosen)}/before`, { spec: { replicas: 0 } });
  await kube.until(path(chosen), "before", (each) => !each.status.availableReplicas);
  strictEqual((await kube.get(`${path(other)}/a`)).status.availableReplicas, undefined);
});

suite.outageTest("Kubelet goes on after a restart of the API server", async (plane) => {
  const access = { server: plane.server, caPem: plane.caPem, token: plane.adminToken };
  using kube = new Kube(access);
  const namespace = await kube.namespace();
  await using _kubelet = Kubelet.start({ ...access, namespaces: [namespace] });
  await plane.killApiServer();
  await plane.startApiServer();
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  // The service account of a new namespace may still be on its way.
  await kube.until(
    `/api/v1/namespaces/${namespace}/serviceaccounts`,
    "default",
    (account) => account !== undefined,
  );
  await kube.post(pods, {
    metadata: { name: "late" },
    spec: { containers: [{ name: "web", image: "nginx" }] },
  });
  await kube.until(pods, "late", (pod) => pod.status.phase === "Running");
});

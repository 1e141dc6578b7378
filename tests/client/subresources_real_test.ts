/** Subresources, eviction and logs, on a real API server; the logs come from a kubelet of the test's own. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { Client } from "../../lib/client/client.ts";
import {
  type Deployment,
  DEPLOYMENTS,
  NAMESPACES,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  SELF_SUBJECT_ACCESS_REVIEWS,
  SERVICE_ACCOUNTS,
} from "../../lib/client/kinds.ts";
import { evictPod, podLog, podLogLines } from "../../lib/client/pods.ts";
import type { TokenRequest } from "../../lib/client/subresource_client.ts";
import { isConflict, isNotFound } from "../../lib/core/errors.ts";
import type { Draft } from "../../lib/core/objects.ts";
import { realClient } from "../support/real_client.ts";
import { realSuite } from "../support/real_suite.ts";
import { startTlsServer } from "../support/tls_server.ts";

const suite = realSuite();
const { signal } = new AbortController();

async function namespaceOf(client: Client): Promise<string> {
  const draft = { metadata: { generateName: "calls-" } };
  return (await client.resource(NAMESPACES).create(draft, { signal })).metadata.name;
}

function deploymentDraft(namespace: string): Draft<Deployment> {
  const labels = { app: "a" };
  return {
    metadata: { name: "a", namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "a", image: "a" }, { name: "b", image: "b" }] },
      },
    },
  };
}

/** A Pod on a node, and what the API server wants to be there before. */
async function createPod(client: Client, namespace: string, nodeName: string): Promise<void> {
  const account = { metadata: { name: "default", namespace } };
  await client.resource(SERVICE_ACCOUNTS).create(account, { signal });
  const labels = { app: "a" };
  await client.resource(PODS).create({
    metadata: { name: "a", namespace, labels },
    spec: { nodeName, containers: [{ name: "c", image: "c" }] },
  }, { signal });
}

/** A node whose kubelet listens on `port` of this machine. */
async function createNode(client: Client, port: number): Promise<string> {
  const nodes = client.resource(NODES);
  const node = await nodes.create({ metadata: { generateName: "node-" } }, { signal });
  await nodes.updateStatus({
    ...node,
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  }, { signal });
  return node.metadata.name;
}

suite.test("subresources: scale by every verb, tokens; kinds that are asked and not stored", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const { client } = real;
  await client.resource(DEPLOYMENTS).create(deploymentDraft(namespace), { signal });
  const place = { name: "a", namespace, signal };
  const sizes = client.scale(DEPLOYMENTS);
  const read = await sizes.get(place);
  strictEqual(read.status?.selector, "app=a");
  const updated = await sizes.update({ ...read, spec: { replicas: 3 } }, { signal });
  strictEqual(updated.spec?.replicas, 3);
  await rejects(sizes.update({ ...read, spec: { replicas: 4 } }, { signal }), isConflict);
  const merge = { type: "merge", body: { spec: { replicas: 5 } } } as const;
  strictEqual((await sizes.patch({ ...place, patch: merge })).spec?.replicas, 5);
  const body = { apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas: 6 } };
  const patch = { type: "apply", body, fieldManager: "autoscaler", force: true } as const;
  strictEqual((await sizes.patch({ ...place, patch })).spec?.replicas, 6);

  const account = { metadata: { name: "a", namespace } };
  await client.resource(SERVICE_ACCOUNTS).create(account, { signal });
  const tokens = client.subresource<TokenRequest>(SERVICE_ACCOUNTS, "token");
  const token = await tokens.create({ spec: { expirationSeconds: 600 } }, place);
  strictEqual(token.status?.token?.split(".").length, 3);

  const review = { metadata: {}, spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
  const asked = await client.resource(SELF_SUBJECT_ACCESS_REVIEWS).create(review, { signal });
  strictEqual(asked.status?.allowed, true);
  using nobody = realClient(plane, { token: plane.nobodyToken });
  const reviews = nobody.client.resource(SELF_SUBJECT_ACCESS_REVIEWS);
  strictEqual((await reviews.create(review, { signal })).status?.allowed, false);
});

suite.test("podLog: bytes, lines and following, through the API server from a kubelet", async (plane) => {
  const urls: string[] = [];
  const following = Promise.withResolvers<ServerResponse>();
  await using kubelet = await startTlsServer(plane.pki, ({ url }, response) => {
    urls.push(url);
    response.writeHead(200, { "content-type": "text/plain" });
    if (url.includes("follow=true")) {
      response.write("one\ntw");
      following.resolve(response);
    } else response.end("one\nzwei: ä\n\nlast");
  }, { protocols: ["http/1.1"] });
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const { client, rest } = real;
  const node = await createNode(client, Number(new URL(kubelet.url).port));
  await createPod(client, namespace, node);
  const place = { name: "a", namespace, signal };

  const options = { ...place, container: "c", tailLines: 10, timestamps: true };
  deepStrictEqual(await Array.fromAsync(podLogLines(rest, options)), [
    "one",
    "zwei: ä",
    "",
    "last",
  ]);
  const asked = new URL(urls[0] ?? "", kubelet.url);
  strictEqual(asked.pathname, `/containerLogs/${namespace}/a/c`);
  deepStrictEqual(Object.fromEntries(asked.searchParams), { tailLines: "10", timestamps: "true" });

  const chunks = await Array.fromAsync(podLog(rest, place));
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  strictEqual(bytes, new TextEncoder().encode("one\nzwei: ä\n\nlast").length);

  const lines = podLogLines(rest, { ...place, follow: true });
  strictEqual((await lines.next()).value, "one");
  const container = await following.promise;
  container.write("o\n");
  strictEqual((await lines.next()).value, "two");
  const ended = new Promise<void>((resolve) => container.on("close", resolve));
  await lines.return();
  await ended; // leaving the loop reached the kubelet

  await rejects(Array.fromAsync(podLog(rest, { ...place, name: "none" })), isNotFound);
  await rejects(Array.fromAsync(podLog(rest, { ...place, container: "none" })), {
    reason: "BadRequest",
  });
});

suite.test("evictPod: dry, forbidden by a budget, and then done, guarded", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const { client, rest } = real;
  await createPod(client, namespace, "nowhere");
  const pods = client.resource(PODS);
  const place = { name: "a", namespace, signal };
  await evictPod(rest, { ...place, dryRun: true });

  const budgets = client.resource(POD_DISRUPTION_BUDGETS);
  const budget = await budgets.create({
    metadata: { name: "a", namespace },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "a" } } },
  }, { signal });
  // A running Pod that is all there is; the budget's controller would say so.
  const pod = await pods.get(place);
  const ready = [{ type: "Ready", status: "True" }];
  await pods.updateStatus({ ...pod, status: { phase: "Running", conditions: ready } }, { signal });
  const counted = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  const { generation = 1 } = budget.metadata;
  await budgets.updateStatus(
    { ...budget, status: { ...counted, observedGeneration: generation } },
    { signal },
  );
  await rejects(evictPod(rest, place), { status: 429, reason: "TooManyRequests" });
  strictEqual((await pods.get(place)).metadata.deletionTimestamp, undefined);

  await budgets.delete(place);
  const { uid } = pod.metadata;
  await evictPod(rest, { ...place, gracePeriodSeconds: 0, preconditions: { uid } });
  await rejects(pods.get(place), isNotFound);
});

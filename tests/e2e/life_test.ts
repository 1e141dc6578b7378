/**
 * The whole life of a Foo on a real API server with the real Deployment and garbage-collection
 * controllers, seen from outside.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import {
  condition,
  deployments,
  eventsAbout,
  foo,
  foos,
  foreignDeployment,
  isObserved,
} from "./foo_objects.ts";
import { operatorSuite, type World } from "./world.ts";

const realTest = operatorSuite({});

const eventsOf = (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;

/** Creates a Foo and waits until its Deployment exists and its status says so. */
async function converged(
  { kube }: World,
  namespace: string,
  name: string,
  spec: { deploymentName: string; replicas?: number },
): Promise<{ foo: Json; deployment: Json }> {
  await kube.post(foos(namespace), foo(name, spec));
  const deployment = await kube.until(
    deployments(namespace),
    spec.deploymentName,
    (object) => object !== undefined,
  );
  const observed = await kube.until(foos(namespace), name, isObserved);
  return { foo: observed, deployment };
}

realTest(
  "life: a new Foo gets its Deployment, status, conditions and one Synced event",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    const made = await converged(world, ns, "example", { deploymentName: "web", replicas: 2 });

    const { metadata, spec } = made.deployment;
    deepStrictEqual(metadata.ownerReferences, [{
      apiVersion: "samplecontroller.k8s.io/v1alpha1",
      kind: "Foo",
      name: "example",
      uid: made.foo.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    }]);
    strictEqual(metadata.labels["app.kubernetes.io/managed-by"], "foo-operator");
    strictEqual(spec.replicas, 2);
    deepStrictEqual(spec.selector, { matchLabels: { app: "nginx", controller: "example" } });
    deepStrictEqual(spec.template.metadata.labels, { app: "nginx", controller: "example" });
    strictEqual(spec.template.spec.containers.length, 1);
    strictEqual(spec.template.spec.containers[0].name, "nginx");
    strictEqual(spec.template.spec.containers[0].image, "nginx:latest");

    strictEqual(made.foo.status.availableReplicas, 0);
    ok(condition(made.foo, "Ready") !== undefined, "there is a Ready condition");

    world.kubelet(ns);
    await kube.until(foos(ns), "example", (object) => object.status.availableReplicas === 2);
    const synced = eventsAbout(await kube.get(eventsOf(ns)), made.foo.metadata.uid);
    strictEqual(synced.length, 1);
    strictEqual(synced[0].reason, "Synced");
    strictEqual(synced[0].type, "Normal");
    strictEqual(synced[0].note, "Foo synced successfully");
    strictEqual(synced[0].series, undefined);
  },
);

realTest("life: availableReplicas follows as Pods become ready and go", async (world) => {
  const { kube } = world;
  const ns = await kube.namespace("life");
  world.kubelet(ns);
  await converged(world, ns, "a", { deploymentName: "a", replicas: 1 });
  await kube.until(foos(ns), "a", (object) => object.status.availableReplicas === 1);
  await kube.merge(`${foos(ns)}/a`, { spec: { replicas: 3 } });
  await kube.until(foos(ns), "a", (object) => object.status.availableReplicas === 3);
  await kube.merge(`${foos(ns)}/a`, { spec: { replicas: 0 } });
  await kube.until(foos(ns), "a", (object) => object.status.availableReplicas === 0);
  strictEqual((await kube.get(`${deployments(ns)}/a`)).spec.replicas, 0);
});

realTest(
  "R4 life: replicas absent leaves the scale to others, also after a later correction",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    await converged(world, ns, "a", { deploymentName: "a", replicas: 3 });
    await kube.merge(`${foos(ns)}/a`, { spec: { replicas: null } });
    const observed = await kube.until(foos(ns), "a", isObserved);
    strictEqual(observed.spec.replicas, undefined);
    strictEqual((await kube.get(`${deployments(ns)}/a`)).spec.replicas, 3);

    await kube.merge(`${deployments(ns)}/a`, { spec: { replicas: 4 } });
    // A correction of another field, after which the autoscaler's number must still stand.
    await kube.merge(`${deployments(ns)}/a`, {
      metadata: { labels: { "app.kubernetes.io/managed-by": "someone" } },
    });
    const corrected = await kube.until(
      deployments(ns),
      "a",
      (object) => object.metadata.labels["app.kubernetes.io/managed-by"] === "foo-operator",
    );
    strictEqual(corrected.spec.replicas, 4);
  },
);

realTest("R4 life: replicas set is enforced against a change by hand", async (world) => {
  const { kube } = world;
  const ns = await kube.namespace("life");
  await converged(world, ns, "a", { deploymentName: "a", replicas: 2 });
  await kube.merge(`${deployments(ns)}/a`, { spec: { replicas: 4 } });
  await kube.until(
    deployments(ns),
    "a",
    (object) => object.spec.replicas === 2 && object.metadata.generation === 3,
  );
});

realTest("life: a Deployment deleted by hand is created again", async (world) => {
  const { kube } = world;
  const ns = await kube.namespace("life");
  const { deployment } = await converged(world, ns, "a", { deploymentName: "a", replicas: 1 });
  await kube.delete(`${deployments(ns)}/a`);
  await kube.until(
    deployments(ns),
    "a",
    (object) => object !== undefined && object.metadata.uid !== deployment.metadata.uid,
  );
});

realTest(
  "R1 life: an edit of a field that is ours is corrected, any other is left alone",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    await converged(world, ns, "a", { deploymentName: "a", replicas: 1 });
    await kube.send("PATCH", `${deployments(ns)}/a`, {
      metadata: { annotations: { "example.com/by": "hand" } },
      spec: {
        minReadySeconds: 7,
        template: {
          metadata: { annotations: { "example.com/by": "hand" } },
          spec: {
            containers: [
              { name: "nginx", image: "busybox", env: [{ name: "A", value: "1" }] },
              { name: "sidecar", image: "sidecar:1" },
            ],
          },
        },
      },
    }, "application/strategic-merge-patch+json");
    const corrected = await kube.until(
      deployments(ns),
      "a",
      (object) =>
        object.spec.template.spec.containers.find((each: Json) => each.name === "nginx").image ===
          "nginx:latest",
    );
    strictEqual(corrected.spec.minReadySeconds, 7);
    strictEqual(corrected.metadata.annotations["example.com/by"], "hand");
    strictEqual(corrected.spec.template.metadata.annotations["example.com/by"], "hand");
    const names = corrected.spec.template.spec.containers.map((each: Json) => each.name).sort();
    deepStrictEqual(names, ["nginx", "sidecar"]);
    const nginx = corrected.spec.template.spec.containers.find((each: Json) =>
      each.name === "nginx"
    );
    deepStrictEqual(nginx.env, [{ name: "A", value: "1" }]);
  },
);

realTest("life: deleting a Foo garbage-collects its Deployment", async (world) => {
  const { kube } = world;
  const ns = await kube.namespace("life");
  await converged(world, ns, "a", { deploymentName: "a", replicas: 1 });
  await kube.delete(`${foos(ns)}/a`);
  await kube.until(deployments(ns), "a", (object) => object === undefined);
});

realTest(
  "life: a changed deploymentName makes the new Deployment and removes the old one",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    await converged(world, ns, "a", { deploymentName: "old", replicas: 1 });
    await kube.merge(`${foos(ns)}/a`, { spec: { deploymentName: "new" } });
    await kube.until(deployments(ns), "new", (object) => object !== undefined);
    await kube.until(
      deployments(ns),
      "old",
      (object) => object === undefined || object.metadata.deletionTimestamp !== undefined,
    );
  },
);

realTest(
  "life: with a foreign Deployment under the new name the old one stays until it goes",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    await converged(world, ns, "a", { deploymentName: "old", replicas: 1 });
    await kube.post(deployments(ns), foreignDeployment("new"));
    await kube.merge(`${foos(ns)}/a`, { spec: { deploymentName: "new" } });
    await kube.until(
      foos(ns),
      "a",
      (object) => isObserved(object) && condition(object, "Ready")?.status === "False",
    );
    ok(await kube.find(`${deployments(ns)}/old`) !== undefined, "the old Deployment stays");
    await kube.delete(`${deployments(ns)}/new`);
    await kube.until(
      deployments(ns),
      "new",
      (object) => object?.metadata.ownerReferences?.[0]?.name === "a",
    );
    await kube.until(deployments(ns), "old", (object) => object === undefined);
  },
);

realTest(
  "R6 life: a foreign Deployment is untouched, told once, and the Foo heals when it goes",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    const foreign = await kube.post(deployments(ns), foreignDeployment("web"));
    const settled = await kube.until(
      deployments(ns),
      "web",
      (object) => object.status.observedGeneration === 1 && object.status.conditions?.length > 0,
    );
    const made = await kube.post(foos(ns), foo("a", { deploymentName: "web", replicas: 3 }));
    const refused = await kube.until(
      foos(ns),
      "a",
      (object) => condition(object, "Ready")?.status === "False",
    );
    strictEqual(condition(refused, "Ready").reason, "ErrResourceExists");
    const told = await world.eventually(async () =>
      eventsAbout(await kube.get(eventsOf(ns)), made.metadata.uid)[0]
    );
    strictEqual(told.type, "Warning");
    strictEqual(told.reason, "ErrResourceExists");
    strictEqual(told.note, 'Resource "web" already exists and is not managed by Foo');
    deepStrictEqual(await kube.get(`${deployments(ns)}/web`), settled);
    strictEqual(settled.metadata.uid, foreign.metadata.uid);
    await kube.delete(`${deployments(ns)}/web`);
    await kube.until(deployments(ns), "web", (object) => object?.spec.replicas === 3);
    await kube.until(
      foos(ns),
      "a",
      (object) => condition(object, "Ready")?.reason !== "ErrResourceExists",
    );
  },
);

realTest(
  "life: a foreign Deployment with exactly our template stays byte-identical",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    const { deployment } = await converged(world, ns, "a", { deploymentName: "a", replicas: 1 });
    const { name: _, ...labels } = { name: "", ...deployment.metadata.labels };
    const twin = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "b", labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "nginx", controller: "b" } },
        template: {
          metadata: { labels: { app: "nginx", controller: "b" } },
          spec: { containers: [{ name: "nginx", image: "nginx:latest" }] },
        },
      },
    };
    await kube.post(deployments(ns), twin);
    const settled = await kube.until(
      deployments(ns),
      "b",
      // Nothing of it changes any more: its Pods wait for a kubelet that never comes.
      (object) =>
        object.status.updatedReplicas === 1 &&
        object.status.conditions.some((each: Json) => each.reason === "ReplicaSetUpdated"),
    );
    await kube.post(foos(ns), foo("b", { deploymentName: "b", replicas: 1 }));
    await kube.until(foos(ns), "b", (object) => condition(object, "Ready")?.status === "False");
    deepStrictEqual(await kube.get(`${deployments(ns)}/b`), settled);
  },
);

realTest(
  "R6 life: of two Foos that want one Deployment the first has it, the second is told",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("life");
    await converged(world, ns, "first", { deploymentName: "shared", replicas: 1 });
    await kube.post(foos(ns), foo("second", { deploymentName: "shared", replicas: 5 }));
    const refused = await kube.until(
      foos(ns),
      "second",
      (object) => condition(object, "Ready")?.status === "False",
    );
    strictEqual(condition(refused, "Ready").reason, "ErrResourceExists");
    const shared = await kube.get(`${deployments(ns)}/shared`);
    strictEqual(shared.metadata.ownerReferences[0].name, "first");
    strictEqual(shared.spec.replicas, 1);
    await kube.delete(`${foos(ns)}/first`);
    await kube.until(
      deployments(ns),
      "shared",
      (object) =>
        object?.metadata.ownerReferences[0].name === "second" && object.spec.replicas === 5,
    );
  },
);

realTest("life: a Foo's name of over 63 characters still makes valid labels", async (world) => {
  const ns = await world.kube.namespace("life");
  const name = "n".repeat(100);
  const { deployment } = await converged(world, ns, name, { deploymentName: "long", replicas: 1 });
  const label = deployment.spec.selector.matchLabels.controller;
  ok(/^n{54}-[0-9a-f]{8}$/.test(label), label);
});

/**
 * A drop-in for sample-controller: the cases of its own controller test, under its own CRD, whose
 * schema prunes the status fields that we add.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import { deployments, eventsAbout, foo, foos, foreignDeployment } from "./foo_objects.ts";
import { operatorSuite } from "./world.ts";

/** sample-controller's own definition, status subresource included, as users of it have it. */
const SAMPLE_CONTROLLER_CRD: Json = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "foos.samplecontroller.k8s.io",
    annotations: { "api-approved.kubernetes.io": "unapproved, experimental-only" },
  },
  spec: {
    group: "samplecontroller.k8s.io",
    scope: "Namespaced",
    names: { kind: "Foo", plural: "foos" },
    versions: [{
      name: "v1alpha1",
      served: true,
      storage: true,
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: {
              type: "object",
              properties: {
                deploymentName: { type: "string" },
                replicas: { type: "integer", minimum: 1, maximum: 10 },
              },
            },
            status: {
              type: "object",
              properties: { availableReplicas: { type: "integer" } },
            },
          },
        },
      },
    }],
  },
};

const realTest = operatorSuite({
  crd: SAMPLE_CONTROLLER_CRD,
  audit: true,
  args: ["--resync", "2s"],
});

realTest("sample-controller: creates the Deployment and says so, once", async (world) => {
  const { kube } = world;
  const ns = await kube.namespace("sample");
  const made = await kube.post(foos(ns), foo("test", { deploymentName: "test-dep", replicas: 1 }));
  await kube.until(deployments(ns), "test-dep", (object) => object?.spec.replicas === 1);
  const stored = await kube.until(
    foos(ns),
    "test",
    (object) => object.status?.availableReplicas === 0,
  );
  deepStrictEqual(Object.keys(stored.status), ["availableReplicas"]);
  const event = await world.eventually(async () =>
    eventsAbout(
      await kube.get(`/apis/events.k8s.io/v1/namespaces/${ns}/events`),
      made.metadata.uid,
    )[0]
  );
  strictEqual(event.note, "Foo synced successfully");
});

realTest(
  "sample-controller: does nothing for a Foo in step, also across resyncs and a restart",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("sample");
    await kube.post(foos(ns), foo("test", { deploymentName: "test-dep", replicas: 1 }));
    await kube.until(foos(ns), "test", (object) => object.status?.availableReplicas === 0);
    await world.quiet();
    const before = await world.writes();
    await world.resyncs(3);
    await world.restartOperator();
    await world.resyncs(3);
    deepStrictEqual((await world.writes()).slice(before.length), []);
  },
);

realTest("sample-controller: updates the Deployment's replicas", async (world) => {
  const { kube } = world;
  const ns = await kube.namespace("sample");
  await kube.post(foos(ns), foo("test", { deploymentName: "test-dep", replicas: 1 }));
  await kube.until(deployments(ns), "test-dep", (object) => object?.spec.replicas === 1);
  await kube.merge(`${foos(ns)}/test`, { spec: { replicas: 2 } });
  await kube.until(deployments(ns), "test-dep", (object) => object.spec.replicas === 2);
});

realTest(
  "sample-controller: leaves a Deployment that it does not control, and warns",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("sample");
    await kube.post(deployments(ns), foreignDeployment("test-dep"));
    const made = await kube.post(
      foos(ns),
      foo("test", { deploymentName: "test-dep", replicas: 1 }),
    );
    const event = await world.eventually(async () =>
      eventsAbout(
        await kube.get(`/apis/events.k8s.io/v1/namespaces/${ns}/events`),
        made.metadata.uid,
      )[0]
    );
    strictEqual(event.reason, "ErrResourceExists");
    const foreign = await kube.get(`${deployments(ns)}/test-dep`);
    ok(foreign.metadata.ownerReferences === undefined, "no owner was set");
    strictEqual(foreign.spec.replicas, 0);
  },
);

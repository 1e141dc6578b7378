import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { readyConditionOf } from "../../lib/foo/status.ts";
import { SimWorld } from "../support/sim_operator.ts";

Deno.test("runOperator() brings a new Foo about with one create, one status write, one event", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 2 });
  await world.clock.advance(1000);
  deepStrictEqual(world.writes(), [
    "POST deployments 201",
    "PATCH foos/a/status 200",
    "POST events 201",
  ]);
  const foo = await world.foo("a");
  strictEqual(foo.status?.observedGeneration, 1);
  strictEqual(foo.status?.availableReplicas, 0);
  strictEqual(readyConditionOf(foo)?.status, "False");
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully"]);
  strictEqual((await world.deployment("web")).spec?.replicas, 2);
});

Deno.test("runOperator() follows availability with one status write a change, flipping Ready once", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 2 });
  await world.clock.advance(5000);
  const before = readyConditionOf(await world.foo("a"));
  const mark = world.mark();

  await world.setAvailable("web", 1);
  await world.clock.advance(5000);
  const half = await world.foo("a");
  strictEqual(half.status?.availableReplicas, 1);
  strictEqual(readyConditionOf(half)?.lastTransitionTime, before?.lastTransitionTime);

  await world.setAvailable("web", 2);
  await world.clock.advance(5000);
  const whole = await world.foo("a");
  strictEqual(whole.status?.availableReplicas, 2);
  strictEqual(readyConditionOf(whole)?.status, "True");
  ok(readyConditionOf(whole)?.lastTransitionTime !== before?.lastTransitionTime, "it flipped");
  deepStrictEqual(world.writes(mark), ["PATCH foos/a/status 200", "PATCH foos/a/status 200"]);
});

Deno.test("R1 R2 runOperator() writes nothing for converged Foos, across resyncs and a restart", async () => {
  await using world = await SimWorld.start({ resyncMs: 5000 });
  await world.createFoo("a", { deploymentName: "a", replicas: 1 });
  await world.createFoo("b", { deploymentName: "b" });
  await world.createFoo("rival", { deploymentName: "a" });
  await world.clock.advance(10_000);
  const mark = world.mark();
  await world.clock.advance(600_000);
  await world.stopOperator();
  world.startOperator({ resyncMs: 5000 });
  await world.clock.advance(600_000);
  deepStrictEqual(world.writes(mark), []);
  const lists = world.requests.slice(mark).filter(({ method, isWatch }) => {
    return method === "GET" && !isWatch;
  });
  ok(lists.length <= 8, "no list but those of the start");
});

Deno.test("R4 runOperator() leaves the scale to others while replicas is absent", async () => {
  await using world = await SimWorld.start({ resyncMs: 5000 });
  await world.createFoo("a", { deploymentName: "web", replicas: 3 });
  await world.clock.advance(1000);
  await world.editFoo("a", { replicas: null });
  await world.clock.advance(1000);
  strictEqual((await world.deployment("web")).spec?.replicas, 3);

  const patch = {
    spec: { replicas: 4 },
    metadata: { labels: { "app.kubernetes.io/managed-by": "x" } },
  };
  await world.deployments.patch({
    name: "web",
    namespace: "default",
    patch: { type: "merge", body: patch },
    signal: world.signal,
  });
  await world.clock.advance(10_000);
  const corrected = await world.deployment("web");
  strictEqual(corrected.metadata.labels?.["app.kubernetes.io/managed-by"], "foo-operator");
  strictEqual(corrected.spec?.replicas, 4);
});

Deno.test("R4 runOperator() enforces replicas that are given, 0 included", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("none", { deploymentName: "none", replicas: 0 });
  await world.createFoo("two", { deploymentName: "two", replicas: 2 });
  await world.clock.advance(1000);
  strictEqual((await world.deployment("none")).spec?.replicas, 0);
  strictEqual(readyConditionOf(await world.foo("none"))?.status, "True");

  await world.deployments.patch({
    name: "two",
    namespace: "default",
    patch: { type: "merge", body: { spec: { replicas: 4 } } },
    signal: world.signal,
  });
  await world.clock.advance(1000);
  strictEqual((await world.deployment("two")).spec?.replicas, 2);
});

Deno.test("R1 runOperator() corrects what is ours and leaves the rest of a Deployment alone", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const mark = world.mark();
  await world.deployments.patch({
    name: "web",
    namespace: "default",
    patch: {
      type: "strategic",
      body: {
        metadata: { annotations: { by: "hand" } },
        spec: {
          minReadySeconds: 7,
          template: {
            metadata: { labels: { more: "theirs" } },
            spec: {
              containers: [{ name: "nginx", image: "busybox" }],
            },
          },
        },
      },
    },
    signal: world.signal,
  });
  await world.clock.advance(5000);
  deepStrictEqual(world.writes(mark), ["PATCH deployments/web 200"]);
  const { metadata, spec } = await world.deployment("web");
  strictEqual(metadata.annotations?.["by"], "hand");
  strictEqual(spec?.minReadySeconds, 7);
  strictEqual(spec?.template.metadata?.labels?.["more"], "theirs");
  strictEqual(spec?.template.spec?.containers[0]?.image, "nginx:latest");
});

Deno.test("runOperator() makes a deleted Deployment anew", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const { uid } = (await world.deployment("web")).metadata;
  await world.deployments.delete({ name: "web", namespace: "default", signal: world.signal });
  await world.clock.advance(1000);
  ok((await world.deployment("web")).metadata.uid !== uid);
});

Deno.test("R7 runOperator() leaves the Deployment of a deleted Foo to the garbage collector", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const mark = world.mark();
  await world.foos.delete({ name: "a", namespace: "default", signal: world.signal });
  await world.clock.advance(5000);
  deepStrictEqual(await world.deploymentsByName(), {});
  deepStrictEqual(world.writes(mark), []);
});

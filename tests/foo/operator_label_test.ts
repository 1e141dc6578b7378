/**
 * The cache holds the Deployments that bear our label: what others have costs nothing, and what has
 * no label is met all the same.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { OBSTACLE_POLL_MS } from "../../lib/foo/obstacles.ts";
import { MANAGED_BY, MANAGED_BY_LABEL } from "../../lib/foo/plan.ts";
import { readyConditionOf } from "../../lib/foo/status.ts";
import { SimWorld } from "../support/sim_operator.ts";

const isDeployments = ({ path }: { path: string }) => path.includes("/deployments");

/** Takes our label from a Deployment: it looks as one of sample-controller's then. */
async function unlabel(world: SimWorld, name: string): Promise<void> {
  await world.deployments.patch({
    name,
    namespace: "default",
    patch: { type: "json", body: [{ op: "remove", path: "/metadata/labels" }] },
    signal: world.signal,
  });
}

Deno.test("runOperator() knows nothing of the cluster's other Deployments, and does nothing for them", async () => {
  await using world = await SimWorld.start({ resyncMs: 60_000 });
  await world.createFoo("a", { deploymentName: "a", replicas: 1 });
  await world.clock.advance(1000);
  const mark = world.mark();
  let lines = 0;
  world.intercept = async (_, url) => {
    if (!url.pathname.endsWith("/deployments") || url.searchParams.get("watch") !== "true") {
      return undefined;
    }
    strictEqual(url.searchParams.get("labelSelector"), `${MANAGED_BY_LABEL}=${MANAGED_BY}`);
    const response = await world.server.fetch(url.href);
    const counted = response.body?.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          if (!new TextDecoder().decode(chunk).includes("BOOKMARK")) lines += 1;
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(counted ?? null, { status: response.status });
  };
  await world.clock.advance(5 * 60_000); // a watch that is counted has begun
  for (let at = 0; at < 500; at++) await world.createForeign(`theirs-${at}`);
  for (let at = 0; at < 500; at++) await world.setAvailable(`theirs-${at}`, 1);
  await world.clock.advance(5 * 60_000);
  strictEqual(lines, 0);
  deepStrictEqual(world.writes(mark), []);
  deepStrictEqual(
    world.requests.slice(mark).filter((request) => isDeployments(request) && !request.isWatch),
    [],
  );
});

Deno.test("runOperator() takes over a Deployment of sample-controller by its controller, and labels it", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  await world.stopOperator();
  await unlabel(world, "web");
  const before = await world.deployment("web");
  const mark = world.mark();
  world.startOperator();
  await world.clock.advance(5000);
  const after = await world.deployment("web");
  strictEqual(after.metadata.uid, before.metadata.uid);
  strictEqual(after.metadata.labels?.[MANAGED_BY_LABEL], MANAGED_BY);
  strictEqual(after.metadata.generation, before.metadata.generation);
  deepStrictEqual(world.writes(mark).slice(0, 2), [
    "POST deployments 409",
    "PATCH deployments/web 200",
  ]);

  // From now on it is known: nothing at a restart, and its changes are seen.
  await world.clock.advance(60_000);
  const settled = world.mark();
  await world.stopOperator();
  world.startOperator();
  await world.clock.advance(60_000);
  deepStrictEqual(world.writes(settled), []);
  await world.setAvailable("web", 1);
  await world.clock.advance(1000);
  strictEqual((await world.foo("a")).status?.availableReplicas, 1);
});

Deno.test("runOperator() gives a Deployment its label back that someone took", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const { metadata } = await world.deployment("web");
  await unlabel(world, "web");
  await world.clock.advance(5000);
  const healed = await world.deployment("web");
  strictEqual(healed.metadata.uid, metadata.uid);
  strictEqual(healed.metadata.labels?.[MANAGED_BY_LABEL], MANAGED_BY);
  strictEqual(readyConditionOf(await world.foo("a"))?.reason === "ErrResourceExists", false);
});

Deno.test("R6 runOperator() asks about an obstacle every 30 s, whatever else happens, and heals within that", async () => {
  await using world = await SimWorld.start({ resyncMs: 1000 });
  await world.createForeign("web");
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const mark = world.mark();
  for (let replicas = 2; replicas <= 10; replicas++) {
    await world.editFoo("a", { replicas });
    await world.clock.advance(60_000);
  }
  const looks = world.requests.slice(mark)
    .filter((request) => isDeployments(request) && !request.isWatch);
  ok(looks.length >= 17 && looks.length <= 19, `${looks.length} looks in 9 min`);
  ok(looks.every(({ method, path }) => method === "GET" && path.endsWith("/web")));
  ok(looks.slice(1).every(({ atMs }, at) => atMs - (looks[at]?.atMs ?? 0) >= OBSTACLE_POLL_MS));

  await world.deployments.delete({ name: "web", namespace: "default", signal: world.signal });
  await world.clock.advance(OBSTACLE_POLL_MS);
  strictEqual((await world.deployment("web")).spec?.replicas, 10);
  const healed = world.mark();
  await world.clock.advance(5 * 60_000);
  deepStrictEqual(world.writes(healed), []);
  deepStrictEqual(world.requests.slice(healed).filter((request) => !request.isWatch), []);
});

Deno.test("R6 runOperator() asks no more about an obstacle that its Foo has left behind", async () => {
  await using world = await SimWorld.start();
  await world.createForeign("web");
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.createFoo("b", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  await world.editFoo("a", { deploymentName: "free" });
  await world.foos.delete({ name: "b", namespace: "default", signal: world.signal });
  await world.clock.advance(1000);
  strictEqual((await world.deployment("free")).spec?.replicas, 1);
  const mark = world.mark();
  await world.clock.advance(5 * 60_000);
  deepStrictEqual(world.requests.slice(mark).filter((request) => !request.isWatch), []);
});

Deno.test("runOperator() waits for the end of an own Deployment that no cache shows, and makes it anew", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  await world.stopOperator();
  await world.deployments.patch({
    name: "web",
    namespace: "default",
    patch: { type: "merge", body: { metadata: { finalizers: ["example.com/hold"] } } },
    signal: world.signal,
  });
  await unlabel(world, "web");
  await world.deployments.delete({ name: "web", namespace: "default", signal: world.signal });
  world.startOperator();
  await world.clock.advance(60_000);
  ok((await world.deployment("web")).metadata.deletionTimestamp !== undefined);
  strictEqual((await world.eventsOf("a")).some((event) => event.includes("Warning")), false);
  await world.deployments.patch({
    name: "web",
    namespace: "default",
    patch: { type: "merge", body: { metadata: { finalizers: null } } },
    signal: world.signal,
  });
  await world.clock.advance(OBSTACLE_POLL_MS);
  strictEqual((await world.deployment("web")).metadata.deletionTimestamp, undefined);
});

/**
 * Which Deployment is whose: changed names, foreign Deployments, rivals.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { OBSTACLE_POLL_MS } from "../../lib/foo/obstacles.ts";
import { readyConditionOf } from "../../lib/foo/status.ts";
import { definition, SimWorld } from "../support/sim_operator.ts";

/** Our definition without what it demands of a spec. */
function looseDefinition() {
  return definition((crd) => {
    const schema = crd.spec.versions[0]?.schema?.openAPIV3Schema;
    const name = schema?.properties?.["spec"]?.properties?.["deploymentName"];
    if (name !== undefined) delete name.pattern;
  });
}

const TOLD = 'Warning ErrResourceExists: Resource "web" already exists and is not managed by Foo';

Deno.test("runOperator() makes the Deployment of a new name, then deletes the old one", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "old", replicas: 1 });
  await world.clock.advance(1000);
  const mark = world.mark();
  await world.editFoo("a", { deploymentName: "new" });
  await world.clock.advance(5000);
  deepStrictEqual(Object.keys(await world.deploymentsByName()), ["new"]);
  deepStrictEqual(world.writes(mark), [
    "POST deployments 201",
    "DELETE deployments/old 200",
    "PATCH foos/a/status 200",
  ]);
});

Deno.test("S6 runOperator() makes a Deployment anew whose name is taken back while the cache lags", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "one", replicas: 1 });
  await world.clock.advance(1000);
  await world.editFoo("a", { deploymentName: "two" });
  await world.clock.advance(1);
  world.watchDelayMs.set("deployments", 2000);
  await world.editFoo("a", { deploymentName: "one" });
  await world.clock.advance(30_000);
  deepStrictEqual(Object.keys(await world.deploymentsByName()), ["one"]);
  strictEqual((await world.foo("a")).status?.observedGeneration, 3);
});

Deno.test("runOperator() keeps the old Deployment while the new name is someone else's", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "old", replicas: 1 });
  await world.clock.advance(1000);
  await world.setAvailable("old", 1);
  await world.createForeign("web");
  await world.editFoo("a", { deploymentName: "web" });
  await world.clock.advance(5000);
  const refused = await world.foo("a");
  strictEqual(readyConditionOf(refused)?.reason, "ErrResourceExists");
  strictEqual(refused.status?.observedGeneration, 2);
  strictEqual(refused.status?.availableReplicas, 1, "of the old one, which goes on");
  deepStrictEqual(Object.keys(await world.deploymentsByName()).sort(), ["old", "web"]);

  await world.deployments.delete({ name: "web", namespace: "default", signal: world.signal });
  await world.clock.advance(OBSTACLE_POLL_MS);
  deepStrictEqual(Object.keys(await world.deploymentsByName()), ["web"]);
  ok(readyConditionOf(await world.foo("a"))?.reason !== "ErrResourceExists");
});

Deno.test("R6 runOperator() leaves a foreign Deployment untouched, says so once, heals when it goes", async () => {
  await using world = await SimWorld.start({ resyncMs: 5000 });
  const foreign = await world.createForeign("web");
  await world.createFoo("a", { deploymentName: "web", replicas: 2 });
  await world.clock.advance(60_000);
  const told = ["POST deployments 409", "PATCH foos/a/status 200", "POST events 201"];
  deepStrictEqual(world.writes(), told);
  deepStrictEqual(await world.eventsOf("a"), [TOLD]);
  strictEqual(
    (await world.deployment("web")).metadata.resourceVersion,
    foreign.metadata.resourceVersion,
  );

  await world.stopOperator();
  world.startOperator();
  await world.clock.advance(5000);
  deepStrictEqual(await world.eventsOf("a"), [TOLD], "not again after a restart");
  deepStrictEqual(world.writes(), told, "nor tried again");

  await world.deployments.delete({ name: "web", namespace: "default", signal: world.signal });
  await world.clock.advance(OBSTACLE_POLL_MS);
  strictEqual((await world.deployment("web")).spec?.replicas, 2);
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully", TOLD]);
});

Deno.test("R6 runOperator() takes a Deployment of an earlier Foo of the same name for foreign", async () => {
  // The garbage collector would take it at once, since its owner is gone; here it is slow.
  await using world = await SimWorld.start({}, { controllerDelayMs: 60_000 });
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const stale = await world.deployment("web");
  await world.foos.delete({ name: "a", namespace: "default", signal: world.signal });
  await world.clock.advance(1000);
  await world.createFoo("a", { deploymentName: "web", replicas: 2 });
  await world.clock.advance(10_000);
  deepStrictEqual(await world.deployment("web"), stale);
  strictEqual(readyConditionOf(await world.foo("a"))?.reason, "ErrResourceExists");

  await world.clock.advance(60_000);
  await world.setAvailable("web", 0); // any request lets the collector work
  await world.clock.advance(5000);
  strictEqual((await world.deployment("web")).spec?.replicas, 2);
});

Deno.test("R6 runOperator() gives a Deployment to the first of two Foos, and to the second after it", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("first", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  await world.createFoo("second", { deploymentName: "web", replicas: 5 });
  await world.clock.advance(60_000);
  deepStrictEqual(await world.eventsOf("second"), [TOLD]);
  strictEqual((await world.deployment("web")).spec?.replicas, 1);

  await world.editFoo("first", { deploymentName: "elsewhere" });
  await world.clock.advance(5000);
  const taken = await world.deployment("web");
  strictEqual(taken.metadata.ownerReferences?.[0]?.name, "second");
  strictEqual(taken.spec?.replicas, 5);
});

Deno.test("runOperator() leaves a foreign Deployment with exactly our template alone, unknown to the cache", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "a", replicas: 1 });
  await world.clock.advance(1000);
  world.watchDelayMs.set("deployments", 5000); // the cache does not have the twin yet
  const model = await world.deployment("a");
  const twin = await world.deployments.create({
    metadata: { name: "web", namespace: "default", labels: { ...model.metadata.labels } },
    ...(model.spec === undefined ? {} : { spec: model.spec }),
  }, { signal: world.signal });
  await world.createFoo("b", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(20_000);
  deepStrictEqual(await world.deployment("web"), twin);
  deepStrictEqual(await world.eventsOf("b"), [TOLD]);
});

Deno.test("runOperator() reports a spec that it can't use and waits for another", async () => {
  // As under a definition that checks less than ours.
  await using world = await SimWorld.start({ resyncMs: 5000 }, { crd: looseDefinition() });
  await world.createFoo("a", { deploymentName: "Not A Name" });
  await world.clock.advance(60_000);
  deepStrictEqual(world.writes(), ["PATCH foos/a/status 200", "POST events 201"]);
  strictEqual(readyConditionOf(await world.foo("a"))?.reason, "InvalidSpec");

  await world.editFoo("a", { deploymentName: "web" });
  await world.clock.advance(5000);
  deepStrictEqual(Object.keys(await world.deploymentsByName()), ["web"]);
});

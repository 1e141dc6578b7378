/**
 * What happens between a write and its echo, and when others write at the same time.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { draftDeployment } from "../../lib/foo/plan.ts";
import { SimWorld } from "../support/sim_operator.ts";

Deno.test("S6 runOperator() creates once and accuses nobody while the Deployment cache lags", async () => {
  await using world = await SimWorld.start();
  world.watchDelayMs.set("deployments", 3000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  for (let replicas = 2; replicas <= 6; replicas++) {
    await world.clock.advance(200);
    await world.editFoo("a", { replicas });
  }
  await world.clock.advance(30_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 6);
  strictEqual((await world.foo("a")).status?.observedGeneration, 6);
  const creates = world.writes().filter((write) => write.startsWith("POST deployments"));
  deepStrictEqual(creates, ["POST deployments 201"]);
  ok(!(await world.eventsOf("a")).some((event) => event.includes("ErrResourceExists")));
});

Deno.test("S6 runOperator() makes a Deployment anew that was deleted before its cache knew it", async () => {
  await using world = await SimWorld.start();
  world.watchDelayMs.set("deployments", 3000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(500);
  await world.deployments.delete({ name: "web", namespace: "default", signal: world.signal });
  await world.clock.advance(30_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 1);
  const creates = world.writes().filter((write) => write.startsWith("POST deployments"));
  deepStrictEqual(creates, ["POST deployments 201", "POST deployments 201"]);
});

Deno.test("S6 runOperator() does not fight the garbage collector over a Foo that its cache still has", async () => {
  await using world = await SimWorld.start();
  world.watchDelayMs.set("foos", 20_000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(60_000);
  const mark = world.mark();
  await world.foos.delete({ name: "a", namespace: "default", signal: world.signal });
  await world.clock.advance(60_000);
  deepStrictEqual(world.writes(mark), []);
  deepStrictEqual(await world.deploymentsByName(), {});
});

Deno.test("S6 runOperator() does not wait for a cache that stands still", async () => {
  await using world = await SimWorld.start();
  world.watchDelayMs.set("deployments", 3_600_000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(500);
  await world.editFoo("a", { replicas: 2 });
  await world.clock.advance(30_000);
  // The create finds the name taken, the live read tells that it is ours.
  strictEqual((await world.deployment("web")).spec?.replicas, 2);
  strictEqual((await world.foo("a")).status?.observedGeneration, 2);
});

Deno.test("Q2 runOperator() does not lose a change of the spec that comes in during a reconcile", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  world.intercept = async (method) => {
    if (method !== "POST") return undefined;
    world.intercept = undefined;
    // The create takes a second, in which the user scales up.
    await world.clock.sleep(500, { signal: world.signal });
    await world.editFoo("a", { replicas: 3 });
    await world.clock.sleep(500, { signal: world.signal });
    return undefined;
  };
  await world.clock.advance(20_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 3);
  strictEqual((await world.foo("a")).status?.observedGeneration, 2);
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully"]);
});

Deno.test("Q2 runOperator() sees a change of the spec that comes together with its own status write", async () => {
  await using world = await SimWorld.start();
  world.watchDelayMs.set("foos", 2000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(2100);
  await world.editFoo("a", { replicas: 3 });
  await world.clock.advance(30_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 3);
  strictEqual((await world.foo("a")).status?.observedGeneration, 2);
});

Deno.test("runOperator() goes on after a create whose answer was lost", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  world.intercept = async (method, url) => {
    if (method !== "POST" || !url.pathname.endsWith("/deployments")) return undefined;
    world.intercept = undefined;
    const spec = { deploymentName: "web", replicas: 1 };
    const draft = draftDeployment(await world.foo("a"), spec);
    await world.deployments.create(draft, { signal: world.signal });
    return Response.json({ kind: "Status", status: "Failure", code: 500, message: "lost" }, {
      status: 500,
    });
  };
  await world.clock.advance(20_000);
  strictEqual((await world.foo("a")).status?.observedGeneration, 1);
  ok(!(await world.eventsOf("a")).some((event) => event.includes("ErrResourceExists")));
});

Deno.test("runOperator() keeps trying what the server forbids, and does not report it as the Foo's fault", async () => {
  await using world = await SimWorld.start();
  world.intercept = (method, url) => {
    const isCreate = method === "POST" && url.pathname.endsWith("/deployments");
    return Promise.resolve(
      isCreate
        ? Response.json({ kind: "Status", status: "Failure", code: 403, reason: "Forbidden" }, {
          status: 403,
        })
        : undefined,
    );
  };
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(5000);
  strictEqual((await world.foo("a")).status, undefined);
  ok(world.said("error").includes("Reconcile failed"));
  world.intercept = undefined;
  await world.clock.advance(20_000);
  strictEqual((await world.foo("a")).status?.observedGeneration, 1);
});

Deno.test("runOperator() reports a Deployment that the server refuses, and waits for another spec", async () => {
  await using world = await SimWorld.start({ resyncMs: 5000 });
  const message = 'Deployment.apps "web" is invalid: spec: Invalid value: by policy';
  world.intercept = (method, url) =>
    Promise.resolve(
      method === "POST" && url.pathname.endsWith("/deployments")
        ? Response.json(
          { kind: "Status", status: "Failure", code: 422, reason: "Invalid", message },
          { status: 422 },
        )
        : undefined,
    );
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(60_000);
  const conditions = (await world.foo("a")).status?.conditions;
  strictEqual(conditions?.[0]?.reason, "DeploymentRefused");
  ok(conditions?.[0]?.message.includes("by policy"));
  const refused = ["POST deployments 422", "PATCH foos/a/status 200", "POST events 201"];
  deepStrictEqual(world.writes(), refused);

  world.intercept = undefined;
  await world.editFoo("a", { replicas: 2 });
  await world.clock.advance(5000);
  strictEqual((await world.deployment("web")).spec?.replicas, 2);
});

Deno.test("runOperator() lets a running reconcile end when it is stopped, and sends its event", async () => {
  await using world = await SimWorld.start();
  world.intercept = async (method) => {
    if (method === "POST") {
      world.intercept = undefined;
      await world.clock.sleep(5000, { signal: world.signal });
    }
    return undefined;
  };
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  await world.stopOperator();
  deepStrictEqual(world.writes().slice(0, 2), ["POST deployments 201", "PATCH foos/a/status 200"]);
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully"]);
});

Deno.test("runOperator() does not blame the Foo for what something before the server refuses", async () => {
  await using world = await SimWorld.start();
  let strays = 2;
  world.intercept = (method) =>
    Promise.resolve(
      method === "POST" && strays-- > 0
        ? new Response("<html>blocked", { status: 400 })
        : undefined,
    );
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(30_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 1);
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully"]);
});

Deno.test("runOperator() deletes a Deployment of an old name though a balancer's 404 comes first", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "old", replicas: 1 });
  await world.clock.advance(5000);
  let strays = 2;
  world.intercept = (method) =>
    Promise.resolve(
      method === "DELETE" && strays-- > 0 ? new Response("no backend", { status: 404 }) : undefined,
    );
  await world.editFoo("a", { deploymentName: "new" });
  await world.clock.advance(30_000);
  deepStrictEqual(Object.keys(await world.deploymentsByName()), ["new"]);
});

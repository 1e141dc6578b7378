/**
 * Under definitions of Foo that are not ours, or not there.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { CustomResourceDefinition } from "../../lib/client/kinds.ts";
import { readyConditionOf } from "../../lib/foo/status.ts";
import { definition, SimWorld } from "../support/sim_operator.ts";

/** sample-controller's own definition, with or without the status subresource. */
function sampleDefinition({ hasStatus }: { hasStatus: boolean }) {
  return definition((crd: CustomResourceDefinition) => {
    crd.spec.versions = [{
      name: "v1alpha1",
      served: true,
      storage: true,
      ...(hasStatus ? { subresources: { status: {} } } : {}),
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
            status: { type: "object", properties: { availableReplicas: { type: "integer" } } },
          },
        },
      },
    }];
  });
}

Deno.test("R1 runOperator() writes only what sample-controller's definition keeps, and only once", async () => {
  await using world = await SimWorld.start({ resyncMs: 5000 }, {
    crd: sampleDefinition({ hasStatus: true }),
  });
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.createFoo("rival", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(5000);
  deepStrictEqual((await world.foo("a")).status, { availableReplicas: 0 });
  const mark = world.mark();
  await world.clock.advance(120_000);
  deepStrictEqual(world.writes(mark), []);
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully"]);
  strictEqual((await world.eventsOf("rival")).length, 1);
  const told = world.records.filter(({ message }) => message.startsWith("The served schema"));
  deepStrictEqual(told.map(({ fields }) => fields["missing"]), [
    ["observedGeneration", "conditions"],
  ]);
});

Deno.test("runOperator() writes nothing for sample-controller's definition after a restart", async () => {
  await using world = await SimWorld.start({}, { crd: sampleDefinition({ hasStatus: true }) });
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(5000);
  await world.stopOperator();
  const mark = world.mark();
  world.startOperator();
  await world.clock.advance(60_000);
  deepStrictEqual(world.writes(mark), []);
});

Deno.test("runOperator() writes fields that the definition comes to serve", async () => {
  await using world = await SimWorld.start({}, { crd: sampleDefinition({ hasStatus: true }) });
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(5000);
  await world.definitions.patch({
    name: "foos.samplecontroller.k8s.io",
    patch: { type: "merge", body: { spec: { versions: definition().spec.versions } } },
    signal: world.signal,
  });
  await world.clock.advance(10_000);
  const foo = await world.foo("a");
  strictEqual(foo.status?.observedGeneration, 1);
  ok(readyConditionOf(foo) !== undefined);
});

Deno.test("R9 runOperator() reconciles Deployments without a status subresource, and says so once", async () => {
  await using world = await SimWorld.start({ resyncMs: 5000 }, {
    crd: sampleDefinition({ hasStatus: false }),
  });
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(30_000);
  await world.editFoo("a", { replicas: 3 });
  await world.clock.advance(30_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 3);
  strictEqual((await world.foo("a")).status, undefined);
  ok(!world.writes().some((write) => write.includes("foos")), "no write to the Foo at all");
  const told = world.records.filter(({ fields }) => fields["missing"] === "foos/status");
  deepStrictEqual(told.map(({ level }) => level), ["error"]);
});

function notFound(): Response {
  const status = { kind: "Status", status: "Failure", code: 404, reason: "NotFound" };
  return Response.json(status, { status: 404 });
}

Deno.test("R9 runOperator() goes on writing the status after answers of servers that don't know its place yet", async () => {
  await using world = await SimWorld.start();
  const strays = [
    () => new Response("404 page not found\n", { status: 404 }),
    notFound,
    () => new Response("<html>default backend</html>", { status: 404 }),
  ];
  world.intercept = (method, url) => {
    const isStatus = method === "PATCH" && url.pathname.endsWith("/foos/a/status");
    return Promise.resolve(isStatus ? strays.shift()?.() : undefined);
  };
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(30_000);
  strictEqual(strays.length, 0);
  strictEqual((await world.foo("a")).status?.observedGeneration, 1);
});

Deno.test("R9 runOperator() does not take a Foo that was replaced for a missing status subresource", async () => {
  await using world = await SimWorld.start();
  world.intercept = async (method, url) => {
    if (method !== "PATCH" || !url.pathname.endsWith("/foos/a/status")) return undefined;
    world.intercept = undefined;
    // Gone when the write arrives, there again before anybody looks.
    await world.foos.delete({ name: "a", namespace: "default", signal: world.signal });
    await world.createFoo("a", { deploymentName: "second", replicas: 2 });
    return notFound();
  };
  await world.createFoo("a", { deploymentName: "first", replicas: 1 });
  await world.clock.advance(30_000);
  await world.createFoo("b", { deploymentName: "b", replicas: 1 });
  await world.clock.advance(30_000);
  for (const name of ["a", "b"]) {
    strictEqual((await world.foo(name)).status?.observedGeneration, 1, name);
  }
  ok(!world.said("error").some((message) => message.includes("no status subresource")));
});

Deno.test("W12 runOperator() waits for the definition, says so once, and goes on when it comes", async () => {
  await using world = new SimWorld();
  world.startOperator();
  await world.clock.advance(60_000);
  ok(world.requests.length <= 8, `${world.requests.length} requests in a minute`);
  const told = world.said("warn").filter((message) => message.startsWith("Waiting for the Custom"));
  strictEqual(told.length, 1);

  await world.definitions.create(definition(), { signal: world.signal });
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(5000);
  strictEqual((await world.foo("a")).status?.observedGeneration, 1);
});

Deno.test("W12 runOperator() survives the definition's deletion and goes on when it comes again", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(5000);
  const mark = world.mark();
  await world.definitions.delete({ name: "foos.samplecontroller.k8s.io", signal: world.signal });
  await world.clock.advance(60_000);
  ok(world.requests.slice(mark).length <= 8, "not asked for all the time");

  await world.definitions.create(definition(), { signal: world.signal });
  await world.createFoo("b", { deploymentName: "b", replicas: 2 });
  await world.clock.advance(60_000);
  strictEqual((await world.deployment("b")).spec?.replicas, 2);
});

/** Answers that the definition may not be read. */
function hideDefinition(_method: string, url: URL): Promise<Response | undefined> {
  const status = { kind: "Status", status: "Failure", code: 403, reason: "Forbidden" };
  return Promise.resolve(
    url.pathname.includes("customresourcedefinitions")
      ? Response.json(status, { status: 403 })
      : undefined,
  );
}

Deno.test("runOperator() learns from answers which fields are kept, if it may not read the definition", async () => {
  await using world = new SimWorld();
  await world.definitions.create(sampleDefinition({ hasStatus: true }), { signal: world.signal });
  world.intercept = hideDefinition;
  world.startOperator({ resyncMs: 5000 });
  await world.clock.advance(1000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(60_000);
  deepStrictEqual(world.writes(), [
    "POST deployments 201",
    "PATCH foos/a/status 200",
    "POST events 201",
  ]);
});

Deno.test("runOperator() works without the right to read the definition, and learns that status is missing", async () => {
  await using world = new SimWorld();
  await world.definitions.create(sampleDefinition({ hasStatus: false }), { signal: world.signal });
  world.intercept = hideDefinition;
  world.startOperator({ namespaces: ["default"] });
  await world.clock.advance(1000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(30_000);
  strictEqual((await world.deployment("web")).spec?.replicas, 1);
  const told = world.records.filter(({ fields }) => fields["missing"] === "foos/status");
  strictEqual(told.length, 1);
});

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { readyConditionOf } from "../../lib/foo/status.ts";
import { nameTaken } from "../../lib/foo/wording.ts";
import { SimWorld } from "../support/sim_operator.ts";

Deno.test("correctedFields() tells in the log what was put right, from what to what", async () => {
  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const body = {
    spec: {
      replicas: 5,
      template: { spec: { containers: [{ name: "nginx", image: "nginx:1.0" }] } },
    },
  };
  await world.deployments.patch({
    name: "web",
    namespace: "default",
    patch: { type: "strategic", body },
    signal: world.signal,
  });
  await world.clock.advance(5000);
  const told = world.records.filter(({ message }) => message === "Corrected Deployment");
  deepStrictEqual(told.map(({ fields }) => fields["fields"]), [[
    "spec.replicas: 5 → 1",
    "container nginx image: nginx:1.0 → nginx:latest",
  ]]);
});

Deno.test("nameTaken() names the owner in condition and log, and leaves the event as it is", async () => {
  const note = 'Resource "web" already exists and is not managed by Foo';
  deepStrictEqual(nameTaken({ name: "web", owner: undefined }), { message: note, note });

  await using world = await SimWorld.start();
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  await world.createFoo("rival", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(1000);
  const message =
    'Resource "web" already exists and is not managed by this Foo: its controller is Foo/a';
  strictEqual(readyConditionOf(await world.foo("rival"))?.message, message);
  ok(world.records.some(({ fields }) => fields["problem"] === message));
  const mark = world.mark();
  await world.clock.advance(120_000);
  await world.stopOperator();
  world.startOperator();
  await world.clock.advance(120_000);
  deepStrictEqual(world.writes(mark), [], "neither again, nor after a restart");
  deepStrictEqual(await world.eventsOf("rival"), [`Warning ErrResourceExists: ${note}`]);
});

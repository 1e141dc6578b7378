/**
 * The API server goes away, connections are cut: nothing is missed, doubled or relisted.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { deployments, foo, foos, isObserved } from "./foo_objects.ts";
import { operatorSuite } from "./world.ts";

const realTest = operatorSuite({ audit: true, relay: true, args: ["--workers", "4"] });

realTest(
  "W6 outage: the API server is killed for 10 s in the middle of 100 creations",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("outage");
    for (let i = 0; i < 100; i++) {
      if (i === 50) {
        await world.plane.killApiServer();
        await world.passes(10_000);
        await world.plane.startApiServer();
      }
      await world.eventually(() =>
        kube.post(foos(ns), foo(`foo-${i}`, { deploymentName: `dep-${i}`, replicas: 1 }))
      );
    }
    await world.eventually(async () => {
      const list = await kube.get(foos(ns));
      return list.items.length === 100 && list.items.every(isObserved) ? true : undefined;
    });
    const made = (await kube.get(deployments(ns))).items;
    strictEqual(made.length, 100);
    ok(!world.operator.isEnded, "the process stayed up");
    const creates = (await world.writes()).filter((request) =>
      request.verb === "create" && request.resource === "deployments" && request.namespace === ns &&
      request.code === 201
    );
    const names = creates.map((request) => request.name);
    strictEqual(new Set(names).size, names.length, "no Deployment was created twice");
  },
);

realTest(
  "W1 outage: watches cut 20 times are resumed without a relist and miss nothing",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("outage");
    await kube.post(foos(ns), foo("first", { deploymentName: "first", replicas: 1 }));
    await kube.until(foos(ns), "first", (object) => isObserved(object));
    const before = (await world.requests()).filter((request) => request.verb === "list");
    for (let i = 0; i < 20; i++) {
      world.relay.cut();
      await kube.post(foos(ns), foo(`foo-${i}`, { deploymentName: `dep-${i}`, replicas: 1 }));
      await kube.until(deployments(ns), `dep-${i}`, (object) => object !== undefined);
    }
    const after = (await world.requests()).filter((request) => request.verb === "list");
    deepStrictEqual(after.slice(before.length), [], "no list request");
  },
);

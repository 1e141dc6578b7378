/**
 * The API server goes away and comes back: nothing is missed or doubled.
 */

import { ok, strictEqual } from "node:assert/strict";
import { deployments, foo, foos, isObserved } from "./foo_objects.ts";
import { operatorSuite } from "./world.ts";

const realTest = operatorSuite({ audit: true, args: ["--workers", "4"] });

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

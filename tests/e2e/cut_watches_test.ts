/**
 * Connections are cut while the API server stays: watches are resumed, nothing is listed or missed.
 *
 * A file of its own, with a control plane of its own: a restarted API server has forgotten the
 * versions before its start, and lists that this causes may come seconds later.
 */

import { deepStrictEqual } from "node:assert/strict";
import { deployments, foo, foos, isObserved } from "./foo_objects.ts";
import { operatorSuite } from "./world.ts";

const realTest = operatorSuite({ audit: true, relay: true, args: ["--workers", "4"] });

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

/**
 * What the operator costs the API server, counted by the API server itself (audit log).
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import { foo, foos, isObserved } from "./foo_objects.ts";
import { operatorSuite, type World } from "./world.ts";

const FOOS = 200;

const realTest = operatorSuite({ audit: true, args: ["--resync", "5s", "--workers", "8"] });

/** Waits until every Foo of `namespace` satisfies `claim`. */
async function allFoos(world: World, namespace: string, claim: (foo: Json) => boolean) {
  await world.eventually(async () => {
    const list = await world.kube.get(foos(namespace));
    return list.items.length === FOOS && list.items.every(claim) ? true : undefined;
  });
}

realTest(
  "R1 R2 economy: 3.1 writes a new Foo, none once converged, one per change of availability",
  async (world) => {
    const ns = await world.kube.namespace("economy");
    for (let i = 0; i < FOOS; i++) {
      await world.kube.post(foos(ns), foo(`foo-${i}`, { deploymentName: `dep-${i}`, replicas: 1 }));
    }
    await allFoos(world, ns, isObserved);
    await world.quiet();
    const converging = await world.writes();
    ok(
      converging.length <= FOOS * 3.1,
      `${converging.length} writes for ${FOOS} Foos: ${JSON.stringify(tally(converging))}`,
    );

    await world.passes(60_000);
    deepStrictEqual(tally((await world.writes()).slice(converging.length)), {}, "60 s of resyncs");
    await world.restartOperator();
    await world.resyncs(3);
    deepStrictEqual(tally((await world.writes()).slice(converging.length)), {}, "a restart");

    world.kubelet(ns);
    await allFoos(world, ns, (each) => each.status.availableReplicas === 1);
    await world.quiet();
    const following = tally((await world.writes()).slice(converging.length));
    strictEqual(Object.keys(following).join(), "patch foos/status");
    ok((following["patch foos/status"] ?? 0) <= FOOS, JSON.stringify(following));
  },
);

/** Counts of requests by verb and resource. */
function tally(requests: readonly { verb: string; resource: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verb, resource } of requests) {
    counts[`${verb} ${resource}`] = (counts[`${verb} ${resource}`] ?? 0) + 1;
  }
  return counts;
}

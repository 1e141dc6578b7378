/**
 * The workload stand-ins under numbers that no demo has: they stay bounded, and let others work.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { realClock } from "../../lib/core/clock.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import type { PodsMaxEvent, WorkloadOptions } from "../../lib/simulator/workloads.ts";
import type { Json } from "../support/kube.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

/** A server with stand-ins on a simulated clock. */
class Stage implements AsyncDisposable {
  readonly clock = new SimClock();
  readonly server: ApiServer;

  constructor(workloads: WorkloadOptions) {
    this.server = new ApiServer({ clock: this.clock, random: seededRandom(1), workloads });
  }

  async send(method: string, path: string, body?: Json): Promise<Json> {
    const response = await this.server.fetch(`http://cluster${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: Json = await response.json();
    ok(response.ok, JSON.stringify(answer));
    return answer;
  }

  put(replicas: number): Promise<Json> {
    return this.send("PUT", `${DEPLOYMENTS}/d`, deployment(replicas));
  }

  get pods(): number {
    return this.server.storage.size("pods");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

function deployment(replicas: number): Json {
  return {
    metadata: { name: "d" },
    spec: {
      replicas,
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i" }] },
      },
    },
  };
}

const conditionOf = ({ status }: Json, type: string) =>
  status.conditions?.find((each: Json) => each.type === type);

Deno.test("Workloads make at most podsMax Pods, and say so as a quota would", async () => {
  const told: PodsMaxEvent[] = [];
  await using stage = new Stage({
    readyAfterMs: 100,
    podsMax: 150,
    onPodsMax: (event) => void told.push(event),
  });
  await stage.send("POST", DEPLOYMENTS, deployment(2_000_000_000));
  await stage.clock.advance(5000);
  strictEqual(stage.pods, 150);
  const [set] = (await stage.send("GET", "/apis/apps/v1/replicasets")).items;
  strictEqual(set.status.readyReplicas, 150);
  strictEqual(conditionOf(set, "ReplicaFailure").reason, "FailedCreate");
  const found = await stage.send("GET", `${DEPLOYMENTS}/d`);
  strictEqual(found.status.availableReplicas, 150);
  strictEqual(found.status.unavailableReplicas, 2_000_000_000 - 150);
  const failure = conditionOf(found, "ReplicaFailure");
  deepStrictEqual([failure.status, failure.reason], ["True", "FailedCreate"]);
  match(failure.message, /exceeded quota: .*used: pods=150, limited: pods=150/);
  deepStrictEqual(told, [
    {
      namespace: "default",
      replicaSet: set.metadata.name,
      replicas: 2_000_000_000,
      podsMax: 150,
    },
  ]);

  // At rest nothing is written, and what is granted again is a failure no more.
  const { revision } = stage.server.storage;
  await stage.clock.advance(60_000);
  strictEqual(stage.server.storage.revision, revision);
  await stage.put(150);
  await stage.clock.advance(5000);
  const granted = await stage.send("GET", `${DEPLOYMENTS}/d`);
  strictEqual(conditionOf(granted, "ReplicaFailure"), undefined);
  strictEqual(conditionOf(granted, "Available").status, "True");
  strictEqual(stage.pods, 150);
});

Deno.test("Workloads make and remove many Pods in slices, and requests come between", async () => {
  await using stage = new Stage({ readyAfterMs: 100 });
  await stage.send("POST", DEPLOYMENTS, deployment(1000));
  const counts = [stage.pods];
  while (stage.pods < 1000) {
    await stage.clock.advance(1);
    if (stage.pods !== counts.at(-1)) counts.push(stage.pods);
    ok(counts.length < 50);
  }
  ok(counts.length >= 8, counts.join());
  await stage.clock.advance(5000);
  strictEqual((await stage.send("GET", `${DEPLOYMENTS}/d`)).status.availableReplicas, 1000);
  await stage.put(0);
  ok(stage.pods >= 800, `${stage.pods} left`);
  await stage.clock.advance(5000);
  strictEqual(stage.pods, 0);
  strictEqual((await stage.send("GET", `${DEPLOYMENTS}/d`)).status.replicas, undefined);
});

Deno.test("Workloads write in proportion to their Pods", async () => {
  const writes = async (replicas: number) => {
    await using stage = new Stage({ readyAfterMs: 100 });
    const before = stage.server.storage.revision;
    await stage.send("POST", DEPLOYMENTS, deployment(replicas));
    await stage.clock.advance(10_000);
    strictEqual((await stage.send("GET", `${DEPLOYMENTS}/d`)).status.readyReplicas, replicas);
    return stage.server.storage.revision - before;
  };
  // Each Pod is made, and runs; all else is by the slice.
  const count = await writes(2000);
  ok(count <= 2000 * 2.2, `${count} writes`);
});

Deno.test("Workloads go with a Deployment that is deleted in the foreground, the Pods first", async () => {
  await using stage = new Stage({ readyAfterMs: 100 });
  await stage.send("POST", DEPLOYMENTS, deployment(1500));
  await stage.clock.advance(5000);
  strictEqual(stage.pods, 1500);
  const { storage } = stage.server;
  let reads = 0;
  const find = storage.find.bind(storage);
  storage.find = (table, key) => {
    reads++;
    return find(table, key);
  };
  await stage.send("DELETE", `${DEPLOYMENTS}/d`, { propagationPolicy: "Foreground" });
  strictEqual(storage.size("apps/deployments"), 1);
  await stage.clock.advance(5000);
  deepStrictEqual([stage.pods, storage.size("apps/deployments")], [0, 0]);
  ok(reads < 1500 * 50, `${reads} reads`);
});

Deno.test("Workloads leave the event loop its turns on a real clock", async () => {
  const { signal } = new AbortController();
  await using server = new ApiServer({
    clock: realClock,
    random: seededRandom(1),
    workloads: { readyAfterMs: 50, podsMax: 500 },
  });
  const ask = async (method: string, path: string, body?: Json) => {
    const response = await server.fetch(`http://cluster${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return await response.json();
  };
  await ask("POST", DEPLOYMENTS, deployment(2_000_000_000));
  let turns = 0;
  while ((await ask("GET", `${DEPLOYMENTS}/d`)).status?.readyReplicas !== 500) {
    await realClock.sleep(1, { signal });
    turns++;
  }
  ok(turns >= 3, `${turns} turns`);
});

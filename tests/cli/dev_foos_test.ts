/**
 * When a person is told that a Foo is ready.
 *
 * @module
 */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { followFoos, READY_FOR_MS } from "../../lib/cli/dev_foos.ts";
import { ensureDefinition } from "../../lib/cli/dev_objects.ts";
import { Client } from "../../lib/client/client.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { FOOS, type FooStatus } from "../../lib/foo/schema.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";

/** A followed cluster in which a test plays the operator. */
class Stage implements AsyncDisposable {
  readonly clock = new SimClock();
  readonly #server = new ApiServer({ clock: this.clock, random: seededRandom(1) });
  readonly #stop = new AbortController();
  readonly told: string[] = [];
  readonly #client = new Client(
    new RestClient({
      transport: (url, init) => this.#server.fetch(url, init),
      connection: { server: "http://cluster", userAgent: "test" },
      clock: this.clock,
    }),
  );
  #following: Promise<void> | undefined;

  async start(): Promise<void> {
    const { clock } = this;
    const means = { clock, random: seededRandom(2), signal: this.#stop.signal };
    await ensureDefinition(this.#client, means);
    this.#following = followFoos({
      ...means,
      client: this.#client,
      onReady: ({ metadata, spec }) => void this.told.push(`${metadata.name} ${spec.replicas}`),
    });
    await clock.advance(1000);
  }

  async create(name: string, replicas: number): Promise<void> {
    await this.#client.resource(FOOS).create({
      apiVersion: "samplecontroller.k8s.io/v1alpha1",
      kind: "Foo",
      metadata: { name },
      spec: { deploymentName: name, replicas },
    }, { namespace: "default", signal: this.#stop.signal });
    await this.clock.advance(1);
  }

  async report(name: string, status: FooStatus, ready: "True" | "False" = "True"): Promise<void> {
    const conditions = [{
      type: "Ready",
      status: ready,
      reason: "Test",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    }];
    await this.#client.resource(FOOS).patch({
      name,
      namespace: "default",
      subresource: "status",
      patch: { type: "merge", body: { status: { ...status, conditions } } },
      signal: this.#stop.signal,
    });
    await this.clock.advance(1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("stop"));
    await this.#following;
    await this.#server[Symbol.asyncDispose]();
    strictEqual(this.clock.pendingTimers, 0);
  }
}

Deno.test("followFoos() tells of a Foo without Pods only when it was observed, and a moment later", async () => {
  await using stage = new Stage();
  await stage.start();
  await stage.create("zero", 0);
  await stage.report("zero", { availableReplicas: 0 });
  await stage.clock.advance(1000);
  deepStrictEqual(stage.told, [], "not observed");
  await stage.report("zero", { availableReplicas: 0, observedGeneration: 1 });
  await stage.clock.advance(READY_FOR_MS - 10);
  deepStrictEqual(stage.told, [], "what the operator did may still be on its way to the screen");
  await stage.clock.advance(10);
  deepStrictEqual(stage.told, ["zero 0"]);
  await stage.clock.advance(10_000);
  deepStrictEqual(stage.told, ["zero 0"]);
});

Deno.test("followFoos() tells of Foos in order, and of none that is ready for a moment only", async () => {
  await using stage = new Stage();
  await stage.start();
  for (const name of ["a", "b", "c"]) await stage.create(name, 2);
  const ready = { availableReplicas: 2, observedGeneration: 1 };
  for (const name of ["c", "a", "b"]) await stage.report(name, ready);
  await stage.report("a", { availableReplicas: 1, observedGeneration: 1 }, "False");
  await stage.clock.advance(READY_FOR_MS);
  deepStrictEqual(stage.told, ["c 2", "b 2"]);
  await stage.report("a", ready);
  await stage.clock.advance(READY_FOR_MS);
  deepStrictEqual(stage.told, ["c 2", "b 2", "a 2"]);
});

/** What a description becomes: names, limits, shared caches, laggards and what fails. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { InformerSet } from "../../lib/cache/informer_set.ts";
import { Client } from "../../lib/client/client.ts";
import { CONFIG_MAPS, defineKind, type KindDefinition, SECRETS } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import {
  buildController,
  type ControllerDescription,
  type ControllerParts,
  owns,
  watches,
} from "../../lib/controller/builder.ts";
import { CachedClient } from "../../lib/controller/cached_client.ts";
import { cachesPart } from "../../lib/controller/caches_part.ts";
import { Manager } from "../../lib/controller/manager.ts";
import { SETTLED } from "../../lib/controller/reconciler.ts";
import { messageOf } from "../../lib/core/errors.ts";
import type { DraftMeta, KubeObject } from "../../lib/core/objects.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

/** A cluster with `objects`, where kinds that are not among them are forbidden. */
async function world(objects: Objects) {
  const clock = new SimClock();
  const random = () => 0;
  const { log, records } = recordingLogger();
  const server = new ApiServer({
    clock,
    random: seededRandom(1),
    controllerDelayMs: 3_600_000, // the owners here don't exist: the garbage collector is to wait
    authorizer: (_user, { verb, resource }) => verb === "create" || resource in objects,
  });
  const transport = (url: string, init: RequestInit) => server.fetch(url, init);
  const connection = { server: "https://sim:6443", userAgent: "test/1" };
  const client = new Client(new RestClient({ transport, connection, clock }));
  const { signal } = new AbortController();
  for (
    const { kind, drafts } of [
      { kind: CONFIG_MAPS, drafts: objects.configmaps },
      { kind: SECRETS, drafts: objects.secrets },
      { kind: SERVICE_ACCOUNTS, drafts: objects.serviceaccounts },
    ]
  ) {
    for (const draft of drafts ?? []) {
      const metadata = { namespace: "default", ...draft };
      await client.resource<KubeObject>(kind).create({ metadata }, { signal });
    }
  }
  const informers = new InformerSet({ clock, random, log });
  const caches = new CachedClient({ client, caches: informers, clock });
  const parts: ControllerParts = { caches, clock, random, uuid: () => "id", log };
  const stop = new AbortController();
  const manager = new Manager({ clock, random, log });
  return { clock, records, informers, parts, stop, manager, server };
}

/** Metadata of the objects that are there. */
interface Objects {
  readonly configmaps?: readonly DraftMeta[];
  readonly secrets?: readonly DraftMeta[];
  readonly serviceaccounts?: readonly DraftMeta[];
}

const SERVICE_ACCOUNTS: KindDefinition<KubeObject> = defineKind({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  scope: "Namespaced",
  isBuiltIn: true,
});

const meta = (name: string, more: DraftMeta = {}): DraftMeta => ({ name, ...more });

const ownedBy = (name: string, controller: boolean) => ({
  ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name, uid: "1", controller }],
});

/** Runs `description` until all that the first lists ask for is done; gives the keys, sorted. */
async function keysOf(
  objects: Objects,
  description: Omit<ControllerDescription<KubeObject>, "for" | "reconcile">,
) {
  const { clock, parts, informers, manager, stop, server } = await world(objects);
  const keys: string[] = [];
  const controller = buildController<KubeObject>({
    ...description,
    for: CONFIG_MAPS,
    reconcile({ namespace, name }, { reasons }) {
      keys.push(`${namespace}/${name} ${reasons.map(({ source }) => source)}`);
      return Promise.resolve(SETTLED);
    },
  }, parts);
  const running = manager.add("caches", cachesPart(informers)).add("elected", controller).run(stop);
  await clock.advance(1000);
  stop.abort();
  await clock.advance(30_000);
  await running;
  await server[Symbol.asyncDispose]();
  strictEqual(clock.pendingTimers, 0);
  return keys.sort();
}

Deno.test("buildController() wakes an object for itself, for what it controls, owns, and what a mapper says", async () => {
  const objects = {
    configmaps: [meta("self")],
    serviceaccounts: [meta("a1", ownedBy("boss", true)), meta("a2", ownedBy("uncle", false))],
    secrets: [meta("s1", ownedBy("aunt", false))],
  };
  const mapper = ({ metadata }: KubeObject) => [`default/by-${metadata.name}`];
  deepStrictEqual(
    await keysOf(objects, {
      name: "web",
      watches: [owns(SERVICE_ACCOUNTS), owns(SECRETS, { by: "any" }), watches(SECRETS, { mapper })],
    }),
    [
      "default/aunt web/secrets",
      "default/boss web/serviceaccounts",
      "default/by-s1 web/secrets",
      "default/self web/configmaps",
    ],
  );
});

Deno.test("buildController() asks predicates, and goes on when one throws", async () => {
  const objects = { configmaps: [meta("a"), meta("b")], secrets: [meta("s1"), meta("s2")] };
  const keys = await keysOf(objects, {
    predicate: (change) => change.type === "added" && change.object.metadata.name === "b",
    watches: [watches(SECRETS, {
      mapper: ({ metadata }) => [`default/${metadata.name}`],
      predicate(change) {
        if (change.type === "added" && change.object.metadata.name === "s2") return false;
        throw new Error("broken");
      },
    })],
  });
  deepStrictEqual(keys, ["default/b configmaps/configmaps", "default/s1 configmaps/secrets"]);
});

Deno.test("buildController() works with the workers, the delays and the deadline that it is given", async () => {
  const { clock, parts, informers, stop } = await world({ configmaps: [meta("a"), meta("b")] });
  const starts: string[] = [];
  const failures: unknown[] = [];
  const controller = buildController({
    for: CONFIG_MAPS,
    reconcile({ name }, { signal }) {
      starts.push(`${name} ${clock.monotonicMs()}`);
      return clock.sleep(Infinity, { signal }).then(() => SETTLED);
    },
    workers: 2,
    deadlineMs: 1000,
    rateLimiter: { next: () => 5000, forget() {}, failures: () => 0 },
  }, {
    ...parts,
    observer: {
      started() {},
      reconcileStarted() {},
      reconcileEnded: ({ outcome }) => void failures.push(outcome.type),
    },
  });
  const running = Promise.all([informers.run(stop), controller.run(stop)]);
  await clock.advance(6500);
  deepStrictEqual(starts, ["a 0", "b 0", "a 6000", "b 6000"]);
  deepStrictEqual(failures, ["failed", "failed"]);
  stop.abort();
  await clock.advance(30_000);
  await running;
});

Deno.test("Manager: caches that don't fill in time stop it, with the names of those that lag", async () => {
  const { clock, parts, informers, manager, stop } = await world({ configmaps: [] });
  let reconciles = 0;
  const reconcile = () => Promise.resolve(SETTLED).finally(() => reconciles += 1);
  const controller = buildController(
    { for: CONFIG_MAPS, watches: [owns(SECRETS)], reconcile },
    parts,
  );
  const running = manager.add("caches", cachesPart(informers)).add("elected", controller).run(stop);
  const failed = rejects(running, (error) => {
    const message = messageOf(error);
    ok(message.includes("filling the caches (secrets: cannot "), message);
    ok(message.includes('cannot list resource "secrets"'), message);
    return true;
  });
  await clock.advance(60_000);
  const { isReady, parts: health } = manager.health();
  strictEqual(isReady, false);
  deepStrictEqual(health.caches?.details, { configmaps: 0, secrets: "not synced" });
  ok(health.caches?.message?.includes('resource "secrets"'));
  await clock.advance(60_000);
  await failed;
  strictEqual(reconciles, 0);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("P6 built controller: it can be run again after its caches lagged, and loses no key", async () => {
  const { clock, parts, informers, stop } = await world({ configmaps: [meta("a")] });
  const keys: string[] = [];
  const controller = buildController({
    for: CONFIG_MAPS,
    reconcile: ({ name }) => Promise.resolve(SETTLED).finally(() => keys.push(name)),
    syncDeadlineMs: 1000,
  }, parts);
  // Nobody runs the caches yet.
  const first = rejects(controller.run(stop), (error) => {
    ok(messageOf(error).includes("waiting for caches (configmaps/configmaps)"));
    return true;
  });
  await clock.advance(1000);
  await first;
  const running = Promise.all([informers.run(stop), controller.run(stop)]);
  await clock.advance(1000);
  deepStrictEqual(keys, ["a"]);
  stop.abort();
  await clock.advance(30_000);
  await running;
});

Deno.test("P6 built controller: an external source that breaks is started again, and stops no worker", async () => {
  const { clock, parts, informers, stop, records } = await world({ configmaps: [] });
  let runs = 0;
  const keys: string[] = [];
  const controller = buildController({
    for: CONFIG_MAPS,
    external: [{
      name: "queue",
      run(queue) {
        queue.add(`default/${++runs}`);
        return Promise.reject(new Error("no connection"));
      },
    }],
    reconcile: ({ name }) => Promise.resolve(SETTLED).finally(() => keys.push(name)),
  }, parts);
  const running = Promise.all([informers.run(stop), controller.run(stop)]);
  await clock.advance(3000);
  deepStrictEqual(keys, ["1", "2", "3"]);
  const line = records.find(({ level }) => level === "error");
  deepStrictEqual(line?.fields, {
    part: "source queue",
    error: "no connection",
    restartAfterMs: 1000,
  });
  stop.abort();
  await clock.advance(30_000);
  await running;
});

Deno.test("cachesPart() is not healthy once a cache has ended by a defect", () => {
  const report = {
    name: "pods",
    hasSynced: true,
    silentMs: 5,
    failure: "defect",
    isDead: true,
    objects: 3,
    bytes: undefined,
    isOverBudget: false,
  };
  const part = cachesPart({
    run: () => Promise.resolve(),
    synced: () => Promise.resolve(),
    report: () => [report, { ...report, name: "nodes", failure: undefined, isDead: false }],
  });
  deepStrictEqual(part.health?.(), {
    isHealthy: false,
    message: "pods: defect",
    details: { pods: 3, nodes: 3 },
  });
});

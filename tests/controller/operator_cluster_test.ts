/** Two kinds that are not Foo, run by one manager, on the simulated and on the real server. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { CONFIG_MAPS } from "../../lib/client/kinds.ts";
import { isNotFound } from "../../lib/core/errors.ts";
import { controllerRefOf } from "../../lib/core/objects.ts";
import type { EventInput } from "../../lib/services/event_recorder.ts";
import {
  type Backup,
  backupOperator,
  type BackupOperatorOptions,
  BACKUPS,
  BackupStorage,
  definitionOf,
  SITES,
} from "../support/backup_operator.ts";
import { type Cluster, install, onBothClusters } from "../support/cluster.ts";
import { realSuite } from "../support/real_suite.ts";
import { recordingLogger } from "../support/recording_logger.ts";

const suite = realSuite();

/** The operator in a cluster with its kinds; leaving the scope stops it. */
async function start(cluster: Cluster, options: Partial<BackupOperatorOptions> = {}) {
  await install(cluster, definitionOf(BACKUPS), BACKUPS);
  await install(cluster, definitionOf(SITES), SITES);
  const { log, records } = recordingLogger();
  const storage = new BackupStorage();
  const stop = new AbortController();
  const operator = backupOperator({ ...cluster, log, storage, ...options });
  const running = operator.manager.run(stop);
  await cluster.until("the operator is ready", () => operator.manager.health().isReady);
  const { namespace, signal, wait, client } = cluster;
  const place = (name: string) => ({ name, namespace, signal });
  const backups = client.resource(BACKUPS);
  return {
    ...operator,
    storage,
    records,
    key: (name: string) => `${namespace}/${name}`,
    create: (name: string, spec: Backup["spec"] = { source: `site-${cluster.id}` }) =>
      wait(backups.create({ metadata: { name, namespace }, spec }, { signal })),
    delete: (name: string) => wait(backups.delete(place(name))),
    setSpec: (name: string, spec: Partial<Backup["spec"]>) =>
      wait(backups.patch({ ...place(name), patch: { type: "merge", body: { spec } } })),
    get: async (name: string): Promise<Backup | undefined> => {
      try {
        return await backups.get(place(name));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    isReady: async (name: string) => {
      const status = (await backups.get(place(name))).status;
      return status?.conditions?.[0]?.status === "True";
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await wait(running);
    },
  };
}

onBothClusters(
  suite,
  "Manager: two kinds converge, share caches, and cost no write after that",
  async (cluster) => {
    await using world = await start(cluster);
    const { client, signal, namespace, wait } = cluster;
    const site = `site-${cluster.id}`;
    await wait(client.resource(SITES).create({ metadata: { name: site } }, { signal }));
    await world.create("a");
    await world.create("b");
    await world.create("c", { source: "elsewhere" });
    await cluster.until(
      "all are copied",
      async () => await world.isReady("a") && await world.isReady("b") && await world.isReady("c"),
    );
    const siteIs = (n: number) => async () =>
      (await client.resource(SITES).get({ name: site, signal })).status?.backups === n;
    await cluster.until("the site counts its backups", siteIs(2));
    const map = await wait(
      client.resource(CONFIG_MAPS).get({ name: "a-plan", namespace, signal }),
    );
    strictEqual(controllerRefOf(map)?.uid, (await wait(world.get("a")))?.metadata.uid);

    // Backups are cached once, though two controllers watch them.
    deepStrictEqual(world.informers.report().map(({ name }) => name).sort(), [
      `backups.${BACKUPS.gvk.group}/${namespace}`,
      `configmaps/${namespace}`,
      `sites.${SITES.gvk.group}`,
    ]);
    await cluster.until("nothing is left to do", () => isIdle(world));
    const writes = cluster.writes.length;
    for (const name of ["a", "b", "c"]) world.backups.queue.add(world.key(name));
    world.sites.queue.add(site);
    await cluster.until("nothing is left to do", () => isIdle(world));
    deepStrictEqual(cluster.writes.slice(writes), []);

    await world.delete("b");
    await cluster.until("the site counts less", siteIs(1));
  },
);

onBothClusters(
  suite,
  "Backup: its copy goes before it does, and its old child when it wants another",
  async (cluster) => {
    await using world = await start(cluster);
    const { client, signal, namespace } = cluster;
    await world.create("a");
    await cluster.until("it is copied", () => world.isReady("a"));
    strictEqual(world.storage.copies.size, 1);
    await world.setSpec("a", { plan: "other" });
    await cluster.until("only the new child is there", async () => {
      const { items } = await client.resource(CONFIG_MAPS).list({
        namespace,
        labelSelector: "app=backup",
        signal,
      });
      return items.map(({ metadata }) => metadata.name).join() === "a-other";
    });
    await world.delete("a");
    await cluster.until("it has gone", async () => await world.get("a") === undefined);
    strictEqual(world.storage.copies.size, 0);
  },
);

onBothClusters(
  suite,
  "P6 external source: what the outside tells is reconciled, also after it was away",
  async (cluster) => {
    await using world = await start(cluster);
    await world.create("a");
    await cluster.until("it is copied", () => world.isReady("a"));
    const bytesAre = (bytes: number) => async () => (await world.get("a"))?.status?.bytes === bytes;
    world.storage.grow(world.key("a"), 1000);
    await cluster.until("its size is told", bytesAre(1000));
    world.storage.isAway = true;
    world.storage.grow(world.key("a"), 2000); // ends the stream, which tells of it when it is back
    await cluster.until(
      "the stream has failed",
      () => world.records.some(({ message }) => message.startsWith("External source ended")),
    );
    world.storage.isAway = false;
    world.storage.grow(world.key("a"), 3000);
    await cluster.until("its size is told", bytesAre(3000));
  },
);

onBothClusters(
  suite,
  "Q4 controller: a changed spec is tried at once and from the first delay, after many failures",
  async (cluster) => {
    const fails: number[] = [];
    await using world = await start(cluster, {
      edit: ({ reconcile, ...description }) => ({
        ...description,
        reconcile: (request, context) => {
          if (world.backups.lister.find(world.key("a"))?.spec.plan !== "bad") {
            return reconcile(request, context);
          }
          fails.push(world.backups.queue.failures(world.key("a")));
          return Promise.reject(new Error("quota exceeded"));
        },
      }),
    });
    await world.create("a", { source: "x", plan: "bad" });
    await cluster.until("it failed nine times", () => fails.length >= 9);
    await world.setSpec("a", { source: "y" }); // still bad, but another spec
    await cluster.until("the failures are counted anew", () => fails.slice(9).includes(0));
    await world.setSpec("a", { plan: "good" });
    await cluster.until("it is copied", () => world.isReady("a"));
    strictEqual(world.backups.queue.failures(world.key("a")), 0);
  },
);

onBothClusters(
  suite,
  "Q2 controller: a spec that changes while it is reconciled is reconciled",
  async (cluster) => {
    const seen: (string | undefined)[] = [];
    await using world = await start(cluster, {
      edit: ({ reconcile, ...description }) => ({
        ...description,
        reconcile: async (request, context) => {
          seen.push(world.backups.lister.find(world.key("a"))?.spec.plan);
          if (seen.length === 1) await cluster.clock.sleep(500, context);
          return await reconcile(request, context);
        },
      }),
    });
    await world.create("a", { source: "x", plan: "one" });
    await cluster.until("it is in work", () => seen.length === 1);
    const { metadata } = await world.setSpec("a", { plan: "two" });
    await cluster.until(
      "the change is observed",
      async () => (await world.get("a"))?.status?.observedGeneration === metadata.generation,
    );
    ok(seen.includes("two"));
  },
);

onBothClusters(
  suite,
  "R2 hot loop: a reconciler that writes at each look is slowed, and told of on its object, once",
  async (cluster) => {
    const events: EventInput[] = [];
    let looks = 0;
    await using world = await start(cluster, {
      recorder: { record: (event) => void events.push(event) },
      edit: (description) => ({
        ...description,
        predicate: () => true, // wakes itself
        reconcile: async (_request, { signal }) => {
          const found = world.backups.lister.find(world.key("a"));
          if (found === undefined) return { type: "settled" };
          const body = { status: { bytes: looks++ } };
          const { namespace } = cluster;
          await cluster.client.resource(BACKUPS).patch({
            name: "a",
            namespace,
            subresource: "status",
            patch: { type: "merge", body },
            signal,
          });
          return { type: "settled" };
        },
      }),
    });
    await world.create("a");
    await cluster.until("it is told of", () => events.length > 0);
    const before = looks;
    ok(before < 80, `${before} looks`);
    await cluster.pass(2000);
    ok(looks - before <= 1, "it is slowed");
    deepStrictEqual(
      events.map(({ type, reason, regarding }) => [type, reason, regarding.metadata.name]),
      [["Warning", "HotLoop", "a"]],
    );
    strictEqual(world.backups.health?.().details?.["slowedKeys"], 1);
  },
);

function isIdle(
  { backups, sites }: Pick<Awaited<ReturnType<typeof start>>, "backups" | "sites">,
): boolean {
  return [backups, sites].every(({ queue }) =>
    queue.depth + queue.delayed + queue.running().length === 0
  );
}

/**
 * The operator of Backups in seeded weather: crashes, cut watches, lost answers, conflicts, outages.
 * Whatever happens, it converges once the storm is over, and then writes nothing for an hour.
 */
import { ok } from "node:assert/strict";
import { Client } from "../../lib/client/client.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { messageOf } from "../../lib/core/errors.ts";
import type { JsonObject } from "../../lib/core/json.ts";
import { type Action, type ApiObject, simulate, type World } from "../../lib/simulator/mod.ts";
import {
  backupOperator,
  BACKUPS,
  BackupStorage,
  definitionOf,
  SITES,
} from "../support/backup_operator.ts";

const NAMESPACE = "default";
const BACKUPS_PATH = `/apis/backup.example.com/v1/namespaces/${NAMESPACE}/backups`;
const MAPS_PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

/**
 * The seeds of each run. In the last one the cache of a restarted operator shows an object that was
 * cleaned up and has gone: what is made for it then would be left for ever.
 */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 190];

function pick<T>({ random }: World, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

const name = (world: World) => pick(world, ["a", "b", "c", "d"]);
const spec = (world: World) => ({
  source: pick(world, ["north", "south"]),
  plan: pick(world, ["p", "q"]),
});

/** What users and others do. */
function actionsOn(storage: BackupStorage): Record<string, Action> {
  return {
    create: async (world) => {
      const body = {
        apiVersion: "backup.example.com/v1",
        kind: "Backup",
        metadata: { name: name(world) },
        spec: spec(world),
      };
      await world.request("POST", BACKUPS_PATH, body);
    },
    remove: async (world) => {
      await world.request("DELETE", `${BACKUPS_PATH}/${name(world)}`);
    },
    edit: async (world) => {
      await world.request("PATCH", `${BACKUPS_PATH}/${name(world)}`, { spec: spec(world) });
    },
    spoil: async (world) => {
      const path = `${MAPS_PATH}/${name(world)}-${pick(world, ["p", "q"])}`;
      await world.request("PATCH", path, { data: { source: "nowhere", more: "mine" } });
    },
    steal: async (world) => {
      await world.request("DELETE", `${MAPS_PATH}/${name(world)}-${pick(world, ["p", "q"])}`);
    },
    grow(world) {
      const key = `${NAMESPACE}/${name(world)}`;
      if (storage.copies.has(key)) storage.grow(key, Math.ceil(world.random() * 1e6));
    },
    site: async (world) => {
      const body = {
        apiVersion: "backup.example.com/v1",
        kind: "Site",
        metadata: { name: spec(world).source },
      };
      await world.request("POST", "/apis/backup.example.com/v1/sites", body);
    },
  };
}

/** The member at `path` of something that is only known to be JSON. */
function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, name) =>
      typeof found === "object" && found !== null
        ? Object.getOwnPropertyDescriptor(found, name)?.value
        : undefined,
    value,
  );
}

/** What is not as it should be. */
function missing({ server }: World, storage: BackupStorage): string[] {
  const problems: string[] = [];
  const backups = server.storage.all("backup.example.com/backups");
  const maps = server.storage.all("configmaps").filter(({ metadata }) =>
    metadata.labels?.["app"] === "backup"
  );
  for (const backup of backups) problems.push(...missingOf(backup, { maps, storage }));
  const uids = new Set(backups.map(({ metadata }) => metadata.uid));
  for (const { metadata } of maps) {
    if (!uids.has(metadata.ownerReferences?.[0]?.uid ?? "")) {
      problems.push(`${metadata.name} is left`);
    }
  }
  for (const key of storage.copies.keys()) {
    const isKnown = backups.some(({ metadata }) => key === `${NAMESPACE}/${metadata.name}`);
    if (!isKnown) problems.push(`the copy of ${key} is left`);
  }
  for (const site of server.storage.all("backup.example.com/sites")) {
    const count = backups.filter((each) =>
      at(each, "spec", "source") === site.metadata.name
    ).length;
    if (at(site, "status", "backups") !== count) problems.push(`${site.metadata.name} miscounts`);
  }
  return problems;
}

function missingOf(
  backup: ApiObject,
  { maps, storage }: { maps: readonly ApiObject[]; storage: BackupStorage },
): string[] {
  const { name, uid, generation, deletionTimestamp, finalizers = [] } = backup.metadata;
  const own = maps.filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === uid);
  const plan = `${name}-${at(backup, "spec", "plan")}`;
  const claims = {
    "is not deleted": deletionTimestamp === undefined,
    "has its finalizer once": finalizers.length === 1,
    "has its one child": own.map(({ metadata }) => metadata.name).join() === plan,
    "has its child's data": at(own[0], "data", "source") === at(backup, "spec", "source"),
    "is observed": at(backup, "status", "observedGeneration") === generation,
    "is ready": at(backup, "status", "conditions", "0", "status") === "True",
    "tells its size": at(backup, "status", "bytes") === storage.copies.get(`${NAMESPACE}/${name}`),
  };
  return Object.entries(claims).flatMap(([claim, holds]) =>
    holds ? [] : [`not so: ${name} ${claim}`]
  );
}

/** A definition as plain JSON. */
function plain(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

Deno.test("S6 Q1 Q2 R2 two kinds in a storm converge, and rest after it", async () => {
  let writes = 0;
  for (const seed of SEEDS) {
    const storage = new BackupStorage();
    const report = await simulate({
      seed,
      actions: actionsOn(storage),
      async prepare(world) {
        for (const kind of [BACKUPS, SITES]) {
          const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
          await world.request("POST", path, plain(definitionOf(kind)));
        }
      },
      async program({ transport, clock, signal, ...parts }) {
        const connection = { server: "https://sim:6443", userAgent: "backups/1" };
        const client = new Client(new RestClient({ transport, connection, clock }));
        const operator = backupOperator({
          ...parts,
          client,
          clock,
          namespace: NAMESPACE,
          storage,
        });
        await operator.manager.run({ signal });
      },
      // Caches that can't be filled for two minutes end the process, which is then started again.
      mayFail: (error) => messageOf(error).startsWith("Cannot start caches"),
      missing: (world) => missing(world, storage),
    });
    writes += report.writes; // of one seed there may be none: users may have done nothing
  }
  ok(writes > 10 * SEEDS.length, `${writes} writes`);
});

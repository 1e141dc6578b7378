/**
 * An operator for two kinds that are not Foo, to test what the library promises to every kind:
 * `Backup`, in namespaces, with a finalizer, a child and a source outside the cluster; and `Site`,
 * cluster-scoped, which counts Backups.
 *
 * @module
 */

import { InformerSet } from "../../lib/cache/informer_set.ts";
import type { CacheScope } from "../../lib/cache/scope.ts";
import type { Client } from "../../lib/client/client.ts";
import {
  CONFIG_MAPS,
  type CustomResourceDefinition,
  defineKind,
  type KindDefinition,
} from "../../lib/client/kinds.ts";
import {
  buildController,
  type ControllerDescription,
  type ControllerParts,
  owns,
  watches,
} from "../../lib/controller/builder.ts";
import { CachedClient } from "../../lib/controller/cached_client.ts";
import { cachesPart } from "../../lib/controller/caches_part.ts";
import { ensureChild, pruneChildren } from "../../lib/controller/children.ts";
import {
  everyInterval,
  type ExternalSource,
  fromStream,
} from "../../lib/controller/external_source.ts";
import { withFinalizer } from "../../lib/controller/finalizers.ts";
import { Manager } from "../../lib/controller/manager.ts";
import { generationChanged } from "../../lib/controller/predicates.ts";
import { type Reconciler, SETTLED, TerminalError } from "../../lib/controller/reconciler.ts";
import { patchStatus } from "../../lib/controller/status.ts";
import type { Clock, Random } from "../../lib/core/clock.ts";
import { type Condition, withCondition } from "../../lib/core/conditions.ts";
import type { Logger } from "../../lib/core/log.ts";
import {
  controllerRefOf,
  type Draft,
  keyOf,
  type KubeObject,
  type ObjectKey,
} from "../../lib/core/objects.ts";
import { timeOf } from "../../lib/core/timestamps.ts";
import type { EventInput } from "../../lib/services/event_recorder.ts";

/** A copy of something, kept in a {@linkcode BackupStorage}. */
export interface Backup extends KubeObject {
  spec: { source: string; plan?: string };
  status?: { bytes?: number; observedGeneration?: number; conditions?: Condition[] };
}

/** A place that counts the Backups of all namespaces which name it as their source. */
export interface Site extends KubeObject {
  spec?: Record<string, never>;
  status?: { backups?: number };
}

const GROUP = "backup.example.com";

export const BACKUPS: KindDefinition<Backup> = defineKind({
  group: GROUP,
  version: "v1",
  kind: "Backup",
  plural: "backups",
  scope: "Namespaced",
  subresources: ["status"],
});

export const SITES: KindDefinition<Site> = defineKind({
  group: GROUP,
  version: "v1",
  kind: "Site",
  plural: "sites",
  scope: "Cluster",
  subresources: ["status"],
});

/** The definition that serves `kind`, with any fields. */
export function definitionOf(
  { gvk, plural, scope }: KindDefinition<KubeObject>,
): Draft<CustomResourceDefinition> {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    metadata: { name: `${plural}.${gvk.group}` },
    spec: {
      group: gvk.group,
      scope,
      names: { kind: gvk.kind, plural },
      versions: [{
        name: gvk.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } },
        },
      }],
    },
  };
}

/** Where copies are kept: outside the cluster. Tells of those that changed by themselves. */
export class BackupStorage {
  readonly copies = new Map<ObjectKey, number>();
  /** Makes the stream of news fail when it is opened or read. */
  isAway = false;
  #wake = Promise.withResolvers<void>();
  #news: ObjectKey[] = [];

  /** A copy grew, without anybody in the cluster knowing. */
  grow(key: ObjectKey, bytes: number): void {
    this.copies.set(key, bytes);
    this.#news.push(key);
    this.#wake.resolve();
  }

  /** Keys of copies that grew. */
  async *news(): AsyncGenerator<ObjectKey, void, void> {
    for (;;) {
      if (this.isAway) throw new Error("storage is away");
      for (const key of this.#news.splice(0)) yield key;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }
}

/** What the operator is made of. */
export interface BackupOperatorOptions {
  readonly client: Client;
  /** Where it works. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
  readonly log: Logger;
  readonly storage: BackupStorage;
  readonly recorder?: { record(event: EventInput): void };
  /** Changes the description of the controller of Backups. */
  readonly edit?: (description: ControllerDescription<Backup>) => ControllerDescription<Backup>;
}

/** The operator, ready to run. */
export function backupOperator(options: BackupOperatorOptions) {
  const { client, clock, random, log, storage, edit = (same) => same } = options;
  const parts = { clock, random, log };
  const informers = new InformerSet(parts);
  const caches = new CachedClient({ client, caches: informers, clock });
  const ours: CacheScope = { namespaces: [options.namespace] };
  const maps: CacheScope = { ...ours, labelSelector: "app=backup" };
  caches.declare(CONFIG_MAPS, {
    scope: maps,
    indexers: { owner: (map) => [controllerRefOf(map)?.uid ?? ""] },
  });
  const common: ControllerParts = { ...options, caches };
  const external: ExternalSource[] = [
    fromStream({ ...parts, name: "storage", open: () => storage.news(), mapper: (key) => [key] }),
    everyInterval({
      ...parts,
      name: "audit",
      everyMs: 10 * 60_000,
      keys: () => storage.copies.keys(),
    }),
  ];
  const backups = buildController(
    edit({
      for: BACKUPS,
      scope: ours,
      predicate: generationChanged, // not its own status writes
      watches: [owns(CONFIG_MAPS, { scope: maps })],
      external,
      reconcile: reconcileBackup(options, caches),
      workers: 2,
    }),
    common,
  );
  const sites = buildController({
    for: SITES,
    predicate: generationChanged,
    watches: [watches(BACKUPS, { scope: ours, mapper: ({ spec }) => [spec.source] })],
    reconcile: async ({ name }, { signal }) => {
      const client = caches.resource(SITES);
      const site = await client.find({ name, signal });
      if (site === undefined) return SETTLED;
      const all = await caches.resource(BACKUPS).all({ signal });
      const count = all.filter(({ spec }) => spec.source === name).length;
      await patchStatus(site, { backups: count }, { client, signal });
      return SETTLED;
    },
  }, common);
  const manager = new Manager(parts)
    .add("caches", cachesPart(informers))
    .add("elected", backups)
    .add("elected", sites);
  return { manager, informers, backups, sites };
}

/** One look at a Backup. */
function reconcileBackup(
  { clock, storage }: BackupOperatorOptions,
  caches: CachedClient,
): Reconciler {
  return async ({ namespace, name }, { signal }) => {
    const backups = caches.resource(BACKUPS);
    const maps = caches.resource(CONFIG_MAPS);
    const key = keyOf({ namespace, name });
    const found = await backups.find({ namespace, name, signal });
    if (found === undefined) return SETTLED;
    return await withFinalizer(found, {
      client: backups,
      finalizer: `${GROUP}/copy`,
      signal,
      async apply(backup, { confirm }) {
        if (backup.spec.source === "") throw new TerminalError("Cannot back up nothing");
        if (!storage.copies.has(key)) {
          await confirm();
          storage.copies.set(key, 1);
        }
        const plan = `${name}-${backup.spec.plan ?? "plan"}`;
        const about = { client: maps, owner: backup, ownerKind: BACKUPS, signal };
        await ensureChild({
          ...about,
          wanted: {
            metadata: { name: plan, namespace, labels: { app: "backup" } },
            data: { source: backup.spec.source },
          },
          found: await maps.find({ namespace, name: plan, signal }),
        });
        const owned = await maps.byIndex({ index: "owner", value: backup.metadata.uid, signal });
        await pruneChildren({ ...about, found: owned, wanted: new Set([plan]) });
        const { generation = 0 } = backup.metadata;
        const claim = { type: "Ready", status: "True", reason: "Copied", message: "" } as const;
        const now = timeOf(clock.wallMs());
        await patchStatus(backup, {
          bytes: storage.copies.get(key) ?? 0,
          observedGeneration: generation,
          conditions: withCondition(backup.status?.conditions, claim, { now, generation }),
        }, { client: backups, signal });
        return SETTLED;
      },
      cleanUp() {
        storage.copies.delete(key);
        return Promise.resolve(SETTLED);
      },
    });
  };
}

/**
 * What an informer set does with a server, as cases that run on the simulated and on a real one.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { InformerSet } from "../../lib/cache/informer_set.ts";
import { needsLatest } from "../../lib/cache/recovery.ts";
import { CONFIG_MAPS } from "../../lib/client/kinds.ts";
import type { KubeObject } from "../../lib/core/objects.ts";
import {
  type CacheWorld,
  configMapsIn,
  defineWidgets,
  namespaceIn,
  undefineWidgets,
  widgetIn,
  WIDGETS,
} from "../support/cache_world.ts";

export interface SetCase {
  readonly name: string;
  run(world: CacheWorld): Promise<void>;
}

/** Runs a set for the length of `body`. */
export async function running(
  world: CacheWorld,
  body: (caches: InformerSet) => Promise<void>,
): Promise<void> {
  const caches = new InformerSet(world);
  const stop = new AbortController();
  const run = caches.run(stop);
  try {
    await body(caches);
  } finally {
    stop.abort("the test is over");
    await run;
  }
}

const configMaps = (world: CacheWorld) => (selection: object) =>
  world.client.resource(CONFIG_MAPS).listWatch(selection);

async function scopesCase(world: CacheWorld): Promise<void> {
  const [a, b] = [await namespaceIn(world, "scope-a"), await namespaceIn(world, "scope-b")];
  await configMapsIn(world, a, "one", "two");
  await configMapsIn(world, b, "one", "three");
  await running(world, async (caches) => {
    const source = configMaps(world);
    using both = caches.declare({ kind: CONFIG_MAPS, scope: { namespaces: [a, b] }, source });
    using others = caches.declare({
      kind: CONFIG_MAPS,
      scope: { namespaces: { allBut: [a] }, labelSelector: "app" },
      source,
    });
    using ones = caches.declare({ kind: CONFIG_MAPS, scope: { labelSelector: "app=one" }, source });
    using named = caches.declare({
      kind: CONFIG_MAPS,
      scope: { namespaces: [b], fieldSelector: "metadata.name=three" },
      source,
    });
    await world.until(() => caches.hasSynced, "all caches are filled");
    const keys = (handle: { lister: { keys(): readonly string[] } }) =>
      [...handle.lister.keys()].filter((key) => !key.endsWith("kube-root-ca.crt")).sort();
    deepStrictEqual(keys(both), [`${a}/one`, `${a}/two`, `${b}/one`, `${b}/three`]);
    deepStrictEqual(keys(others), [`${b}/one`, `${b}/three`]);
    deepStrictEqual(keys(ones), [`${a}/one`, `${b}/one`]);
    deepStrictEqual(keys(named), [`${b}/three`]);

    await configMapsIn(world, a, "four");
    await configMapsIn(world, b, "five");
    await world.until(
      () => keys(both).length === 6 && keys(others).length === 3,
      "new objects come in where they belong",
    );
    deepStrictEqual(keys(others).at(0), `${b}/five`);
    strictEqual(keys(ones).length, 2);
  });
}

async function metadataCase(world: CacheWorld): Promise<void> {
  const namespace = await namespaceIn(world, "metadata-only");
  await configMapsIn(world, namespace, "one");
  await running(world, async (caches) => {
    for (const initialList of ["pages", "stream"] as const) {
      using handle = caches.declare<KubeObject>({
        kind: { gvk: CONFIG_MAPS.gvk, plural: CONFIG_MAPS.plural },
        scope: { namespaces: [namespace], labelSelector: "app", metadataOnly: true },
        source: (selection) => world.client.metadata(CONFIG_MAPS).listWatch(selection),
        initialList,
      });
      await world.until(() => handle.hasSynced, "the cache is filled");
      const one = handle.lister.find(`${namespace}/one`);
      deepStrictEqual(one?.metadata.labels, { app: "one" });
      deepStrictEqual([one?.kind, one?.apiVersion], ["ConfigMap", "v1"]);
      ok(one !== undefined && !("data" in one));
    }
  });
}

async function streamCase(world: CacheWorld): Promise<void> {
  const namespace = await namespaceIn(world, "streamed");
  await configMapsIn(world, namespace, "one", "two");
  const lists: string[] = [];
  const caches = new InformerSet({
    ...world,
    observerOf: () => ({ listed: ({ by, items }) => void lists.push(`${by} ${items}`) }),
  });
  using handle = caches.declare({
    kind: CONFIG_MAPS,
    scope: { namespaces: [namespace], labelSelector: "app" },
    source: configMaps(world),
    initialList: "stream",
  });
  const stop = new AbortController();
  const run = caches.run(stop);
  await world.until(() => handle.hasSynced, "the cache is filled");
  const before = world.requests.length;
  await configMapsIn(world, namespace, "three");
  await world.until(() => handle.lister.size === 3, "the same watch goes on");
  deepStrictEqual(lists, ["stream 2"]);
  deepStrictEqual(world.requests.slice(before).map((request) => request.split(" ")[0]), ["POST"]);
  stop.abort();
  await run;
}

async function tooLargeCase(world: CacheWorld): Promise<void> {
  const resource = world.client.resource(CONFIG_MAPS);
  let failure: unknown;
  resource.list({ ...world, namespace: "default", resourceVersion: "99999999" })
    .catch((error) => failure = error);
  await world.until(() => failure !== undefined, "the server gives up");
  strictEqual(needsLatest(failure), true, String(failure));
}

async function definitionCase(world: CacheWorld): Promise<void> {
  await defineWidgets(world);
  await widgetIn(world, "first");
  await running(world, async (caches) => {
    const source = (selection: object) => world.client.resource(WIDGETS).listWatch(selection);
    using handle = caches.declare({ kind: WIDGETS, source });
    const told: string[] = [];
    handle.addHandler({
      onChange: (change) => {
        const { metadata } = change.type === "deleted" ? change.last : change.object;
        told.push(`${change.type} ${metadata.name}`);
      },
    }, { name: "test" });
    await world.until(() => handle.hasSynced, "the cache is filled");

    await undefineWidgets(world);
    await world.until(() => handle.lister.size === 0, "objects go with their definition");
    let isServed = true;
    while (isServed) {
      const probe = world.client.resource(WIDGETS).list(world).then(() => true, () => false);
      isServed = await probe;
      await pass(world, 100);
    }
    await defineWidgets(world);
    await widgetIn(world, "second");
    await world.until(() => handle.lister.size === 1, "objects of the new definition come in");
    deepStrictEqual(told, ["added first", "deleted first", "added second"]);
  });
}

async function pass(world: CacheWorld, ms: number): Promise<void> {
  let isOver = false;
  const over = world.clock.sleep(ms, world).then(() => isOver = true);
  await world.until(() => isOver, `${ms} ms`);
  await over;
}

export const SET_CASES: readonly SetCase[] = [
  { name: "InformerSet caches what each scope selects, and nothing else", run: scopesCase },
  { name: "InformerSet caches metadata alone", run: metadataCase },
  { name: "InformerSet streams a list and goes on with its watch", run: streamCase },
  { name: "W7 a server tells that a version is still to come", run: tooLargeCase },
  {
    name: "W12 InformerSet survives that a definition goes and comes back",
    run: definitionCase,
  },
];

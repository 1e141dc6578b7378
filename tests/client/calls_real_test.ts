/** Every verb and form of the client, on a real API server. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { Client } from "../../lib/client/client.ts";
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  defineKind,
  type Deployment,
  DEPLOYMENTS,
  NAMESPACES,
  SECRETS,
} from "../../lib/client/kinds.ts";
import { apply, createOrPatch, createOrUpdate } from "../../lib/client/read_modify_write.ts";
import { labelIn, labelsAre } from "../../lib/client/selectors.ts";
import { realClock, realRandom } from "../../lib/core/clock.ts";
import { isConflict, isNotFound } from "../../lib/core/errors.ts";
import type { Draft, KubeObject } from "../../lib/core/objects.ts";
import { realClient } from "../support/real_client.ts";
import { realSuite } from "../support/real_suite.ts";

const suite = realSuite();
const { signal } = new AbortController();

async function namespaceOf(client: Client): Promise<string> {
  const draft = { metadata: { generateName: "calls-" } };
  return (await client.resource(NAMESPACES).create(draft, { signal })).metadata.name;
}

function deploymentDraft(namespace: string): Draft<Deployment> {
  const labels = { app: "a" };
  return {
    metadata: { name: "a", namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "a", image: "a" }, { name: "b", image: "b" }] },
      },
    },
  };
}

suite.test("ResourceClient: create, get, update, each patch and delete do what they say", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const deployments = real.client.resource(DEPLOYMENTS);
  const place = { name: "a", namespace, signal };
  const created = await deployments.create(deploymentDraft(namespace), { signal });
  strictEqual(created.spec?.replicas, 1);
  ok(created.spec);

  const updated = await deployments.update(
    { ...created, spec: { ...created.spec, replicas: 2 } },
    { fieldManager: "m", signal },
  );
  strictEqual(updated.metadata.managedFields?.some(({ manager }) => manager === "m"), true);
  await rejects(deployments.update(created, { signal }), isConflict);

  const merged = await deployments.patch({
    ...place,
    patch: { type: "merge", body: { metadata: { labels: { x: "y" } } } },
  });
  deepStrictEqual(merged.metadata.labels, { x: "y" });
  const containers = [{ name: "b", image: "new" }];
  const strategic = await deployments.patch({
    ...place,
    patch: { type: "strategic", body: { spec: { template: { spec: { containers } } } } },
  });
  const images = strategic.spec?.template.spec?.containers.map(({ image }) => image);
  deepStrictEqual(images?.toSorted(), ["a", "new"]);
  const json = await deployments.patch({
    ...place,
    patch: { type: "json", body: [{ op: "replace", path: "/spec/replicas", value: 5 }] },
  });
  strictEqual(json.spec?.replicas, 5);
  const uid = "00000000-0000-4000-8000-000000000000";
  const other = { type: "merge", body: { metadata: { uid } } } as const;
  await rejects(deployments.patch({ ...place, patch: other }), isConflict);

  const status = { ...json, status: { ...json.status, observedGeneration: 7 } };
  strictEqual((await deployments.updateStatus(status, { signal })).status?.observedGeneration, 7);
  strictEqual((await deployments.get(place)).spec?.replicas, 5);

  await deployments.delete({ ...place, dryRun: true });
  await rejects(deployments.delete({ ...place, preconditions: { uid } }), isConflict);
  await deployments.delete({ ...place, propagationPolicy: "Background" });
  await rejects(deployments.get(place), isNotFound);
});

suite.test("dryRun stores nothing, and fieldValidation warns or refuses", async (plane) => {
  const warnings: string[] = [];
  using real = realClient(plane, { onWarning: ({ text }) => warnings.push(text) });
  const namespace = await namespaceOf(real.client);
  const configMaps = real.client.resource(CONFIG_MAPS);
  const draft = { metadata: { name: "a", namespace }, data: { key: "1" }, unknown: 1 };
  const dry = await configMaps.create(draft, { dryRun: true, signal });
  strictEqual(dry.data?.["key"], "1");
  deepStrictEqual(warnings, ['unknown field "unknown"']);
  await rejects(configMaps.create(draft, { fieldValidation: "Strict", signal }), {
    reason: "BadRequest",
  });
  await configMaps.create(draft, { dryRun: true, fieldValidation: "Ignore", signal });
  strictEqual(warnings.length, 1);
  await rejects(configMaps.get({ name: "a", namespace, signal }), isNotFound);
});

suite.test("lists: pages of one version, match modes, selections", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const configMaps = real.client.resource(CONFIG_MAPS);
  for (const name of ["a", "b", "c", "d", "e"]) {
    const labels = { letter: name, vowel: String("ae".includes(name)) };
    await configMaps.create({ metadata: { name, namespace, labels } }, { signal });
  }
  const pages = configMaps.pages({ namespace, pageSize: 2, signal });
  const first = (await pages.next()).value;
  strictEqual(first?.remainingItemCount, 3);
  await configMaps.delete({ name: "e", namespace, signal });
  const rest = await Array.fromAsync(pages);
  const names = [first, ...rest].flatMap((page) => page?.items ?? [])
    .map(({ metadata }) => metadata.name);
  deepStrictEqual(names, ["a", "b", "c", "d", "e"]);
  strictEqual(new Set([first, ...rest].map((page) => page?.resourceVersion)).size, 1);

  const selected = await configMaps.list({
    namespace,
    labelSelector: [...labelsAre({ vowel: "false" }), ...labelIn("letter", ["a", "b", "c"])],
    fieldSelector: "metadata.name!=b",
    signal,
  });
  deepStrictEqual(selected.items.map(({ metadata }) => metadata.name), ["c"]);
  strictEqual(selected.items[0]?.kind, "ConfigMap");

  const exact = await configMaps.list({
    namespace,
    resourceVersion: first?.resourceVersion ?? "",
    resourceVersionMatch: "Exact",
    signal,
  });
  strictEqual(exact.items.length, 5);
  strictEqual(exact.resourceVersion, first?.resourceVersion);
  const cached = await configMaps.list({ namespace, resourceVersion: "0", signal });
  ok(cached.items.length >= 4);
});

suite.test("watch: initial events, changes, bookmarks; metadata alone the same", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const secrets = real.client.resource(SECRETS);
  await secrets.create({ metadata: { name: "a", namespace }, stringData: { k: "v" } }, { signal });
  const stop = new AbortController();
  const options = {
    namespace,
    resourceVersion: "",
    sendInitialEvents: true,
    signal: stop.signal,
  };
  const partial = real.client.metadata(SECRETS);
  const whole = secrets.watch(options);
  const slim = partial.watch(options);
  for (const events of [whole, slim]) {
    const added = (await events.next()).value;
    strictEqual(added?.type === "ADDED" && added.object.metadata.name, "a");
    const bookmark = (await events.next()).value;
    strictEqual(bookmark?.type === "BOOKMARK" && bookmark.initialEventsEnd, true);
  }
  const merge = { type: "merge", body: { metadata: { labels: { x: "y" } } } } as const;
  const patched = await partial.patch({ name: "a", namespace, patch: merge, signal });
  const keys = ["apiVersion", "kind", "metadata"];
  deepStrictEqual(Object.keys(patched), keys);
  strictEqual(patched.kind, "Secret");
  const [full, meta] = [(await whole.next()).value, (await slim.next()).value];
  strictEqual(full?.type === "MODIFIED" && full.object.data?.["k"], "dg==");
  ok(meta?.type === "MODIFIED");
  deepStrictEqual(Object.keys(meta.object), keys);
  deepStrictEqual(meta.object.metadata.labels, { x: "y" });
  const list = await partial.list({ namespace, signal });
  deepStrictEqual(list.items.map(Object.keys), [keys]);
  stop.abort(new Error("stop"));
  await rejects(whole.next(), { message: "stop" });
  await rejects(slim.next(), { message: "stop" });
});

suite.test("tables: what kubectl shows, page by page and in a watch", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const configMaps = real.client.resource(CONFIG_MAPS);
  for (const name of ["a", "b"]) {
    await configMaps.create({ metadata: { name, namespace }, data: { k: "v" } }, { signal });
  }
  const tables = real.client.table(CONFIG_MAPS);
  const page = await tables.list({ namespace, pageSize: 1, signal });
  deepStrictEqual(page.columns.map(({ name }) => name), ["Name", "Data", "Age"]);
  deepStrictEqual(page.rows[0]?.cells.slice(0, 2), ["a", 1]);
  const { continue: token = "" } = page;
  const next = await tables.list({ namespace, pageSize: 1, continue: token, signal });
  strictEqual(next.rows[0]?.object?.metadata.name, "b");
  const one = await tables.get({ name: "a", namespace, includeObject: "None", signal });
  strictEqual(one.rows[0]?.object, undefined);
  const watch = tables.watch({ namespace, resourceVersion: "", sendInitialEvents: true, signal });
  const types: string[] = [];
  for await (const event of watch) {
    types.push(event.type);
    if (event.type === "BOOKMARK" && event.initialEventsEnd) break;
  }
  deepStrictEqual(types, ["ADDED", "ADDED", "BOOKMARK"]);
});

suite.test("deleteCollection: by selection, guarded, dry, and then all", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const configMaps = real.client.resource(CONFIG_MAPS);
  for (const name of ["a", "b", "c"]) {
    await configMaps.create({ metadata: { name, namespace, labels: { name } } }, { signal });
  }
  const left = async () => (await configMaps.list({ namespace, signal })).items.length;
  const one = { namespace, labelSelector: labelsAre({ name: "a" }), signal };
  await rejects(configMaps.deleteCollection({ ...one, preconditions: { uid: "u" } }), isConflict);
  await configMaps.deleteCollection({ ...one, dryRun: true });
  strictEqual(await left(), 3);
  await configMaps.deleteCollection(one);
  strictEqual(await left(), 2);
  await configMaps.deleteCollection({ namespace, propagationPolicy: "Foreground", signal });
  const { items } = await configMaps.list({ namespace, signal });
  // Without a garbage collector here, what was deleted in the foreground waits for it.
  strictEqual(items.every(({ metadata }) => metadata.deletionTimestamp !== undefined), true);
});

interface Counter extends KubeObject {
  spec: { count: bigint | number };
}

const COUNTERS = defineKind<Counter>({
  group: "example.com",
  version: "v1",
  kind: "Counter",
  plural: "counters",
  scope: "Namespaced",
});

suite.test("S4 a read-modify-write keeps large integers, by every helper", async (plane) => {
  using real = realClient(plane);
  const namespace = await namespaceOf(real.client);
  const { client } = real;
  const count = { type: "integer", format: "int64" };
  const spec = { type: "object", properties: { count } };
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).create({
    metadata: { name: "counters.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "counters", kind: "Counter" },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      }],
    },
  }, { signal });
  const counters = client.resource(COUNTERS);
  while (true) {
    try {
      await counters.list({ namespace, signal });
      break;
    } catch (error) {
      if (!isNotFound(error)) throw error; // not served yet
    }
  }
  const large = 9007199254740993n;
  await apply(counters, { metadata: { name: "a", namespace }, spec: { count: large } }, {
    fieldManager: "ours",
    signal,
  });
  const want = (label: string) => (present: Counter | undefined) => {
    ok(present);
    strictEqual(present.spec.count, large);
    return { ...present, metadata: { ...present.metadata, labels: { label } } };
  };
  const place = { name: "a", namespace, clock: realClock, random: realRandom, signal };
  strictEqual((await createOrUpdate(counters, { ...place, want: want("1") })).type, "updated");
  strictEqual((await createOrPatch(counters, { ...place, want: want("2") })).type, "updated");
  const read = await counters.get({ name: "a", namespace, signal });
  deepStrictEqual([read.spec.count, read.metadata.labels], [large, { label: "2" }]);
});

/** Own writes that follow each other before the cache has heard of the first. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { KindCache } from "../../lib/cache/kind_cache.ts";
import { CONFIG_MAPS, type ConfigMap } from "../../lib/client/kinds.ts";
import { DeadlineError } from "../../lib/core/errors.ts";
import { keyOf } from "../../lib/core/objects.ts";
import { LAG_MAX_MS, WriteLog } from "../../lib/controller/write_log.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { after, at, type CachedWorld, withCache } from "./cached_world.ts";

const PLACE = { name: "a", namespace: "default" };

/** What a read finds in the end. */
async function found({ world, configMaps }: CachedWorld) {
  const finding = configMaps.find({ ...PLACE, signal: world.signal });
  const outcome = await after(world, 5000, finding);
  ok(outcome !== "waits" && outcome.error === undefined);
  return outcome.value;
}

Deno.test("S6 CachedResource does not find what it made and deleted before the cache saw either", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    fixture.lagMs = 1000;
    await configMaps.create(at("a"), { signal });
    await configMaps.delete({ ...PLACE, signal });
    const listing = configMaps.all({ namespace: "default", signal });
    strictEqual(await found(fixture), undefined);
    deepStrictEqual((await listing).filter(({ metadata }) => metadata.name === "a"), []);
    strictEqual(await found(fixture), undefined);
  });
});

Deno.test("S6 CachedResource finds the new object if it made, deleted and made one before the cache saw any", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    fixture.lagMs = 1000;
    await configMaps.create(at("a"), { signal });
    await configMaps.delete({ ...PLACE, signal });
    const { metadata: { uid } } = await configMaps.create(at("a"), { signal });
    strictEqual((await found(fixture))?.metadata.uid, uid);
  });
});

Deno.test("S6 CachedResource does not find what it made and took out of the selection before the cache saw either", async () => {
  await withCache({ scope: { labelSelector: "mine=yes" } }, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    fixture.lagMs = 1000;
    const metadata = { ...PLACE, labels: { mine: "yes" } };
    await configMaps.create({ metadata }, { signal });
    await world.clock.advance(500);
    const body = { metadata: { labels: { mine: "no" } } };
    await configMaps.patch({ ...PLACE, patch: { type: "merge", body }, signal });
    strictEqual(await found(fixture), undefined);
  });
});

Deno.test("S6 CachedResource does not find what went with the finalizer that it took off", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    const metadata = { ...PLACE, finalizers: ["example.com/hold"] };
    await configMaps.create({ metadata }, { signal });
    await configMaps.delete({ ...PLACE, signal });
    await world.clock.settle();
    ok(await found(fixture));
    fixture.lagMs = 1000;
    const body = { metadata: { finalizers: [] } };
    await configMaps.patch({ ...PLACE, patch: { type: "merge", body }, signal });
    strictEqual(await found(fixture), undefined);
  });
});

Deno.test("S6 WriteLog waits for a part that was written of an object which the cache is yet to see", async () => {
  await withCache({}, async (fixture) => {
    const { world, cached } = fixture;
    const { signal } = world;
    using handle = cached.declare(CONFIG_MAPS);
    const log = new WriteLog(handle.cache, world);
    fixture.lagMs = 1000;
    const live = world.client.resource(CONFIG_MAPS);
    log.wrote(await live.create(at("a"), { signal }));
    await world.clock.advance(500);
    const patch = { type: "merge", body: { data: { part: "1" } } } as const;
    const { metadata } = await live.patch({ ...PLACE, patch, signal });
    log.wrotePart(keyOf(PLACE), metadata.resourceVersion);
    const caughtUp = log.caughtUp({}, { signal }).then(() => handle.lister.find(keyOf(PLACE)));
    const outcome = await after(world, 5000, caughtUp);
    ok(outcome !== "waits");
    deepStrictEqual(outcome.value?.data, { part: "1" });
  });
});

Deno.test("WriteLog waits for no version from before the server was restored, once the lag is over", async () => {
  const clock = new SimClock();
  let version = "998";
  const cache = new KindCache<ConfigMap>({
    kind: CONFIG_MAPS,
    relistMs: 60_000,
    source: () => ({
      list: () => Promise.resolve({ items: [], resourceVersion: version }),
      async *watch({ timeoutSeconds, signal }) {
        await clock.sleep(timeoutSeconds * 1000, { signal });
        yield* [];
      },
    }),
  }, { clock, random: () => 0, log: recordingLogger().log });
  const stop = new AbortController();
  const running = cache.run(stop);
  await clock.settle();
  const log = new WriteLog(cache, { clock });
  const metadata = { ...PLACE, uid: "u1", resourceVersion: "999", creationTimestamp: "" };
  log.wrote({ apiVersion: "v1", kind: "ConfigMap", metadata });
  await clock.advance(LAG_MAX_MS);
  await rejects(log.caughtUp({}, stop), DeadlineError);
  version = "500";
  await clock.advance(5 * 60_000);
  strictEqual(cache.lister.resourceVersion, "500");
  await log.caughtUp({}, stop);
  strictEqual(log.size, 0);
  stop.abort("the test is over");
  await running;
});

Deno.test("S6 CachedResource waits for no end of what goes in its own time, as a namespace does", async () => {
  await withCache({}, async (fixture) => {
    const { world, cached } = fixture;
    using handle = cached.declare(CONFIG_MAPS);
    const log = new WriteLog(handle.cache, world);
    const live = world.client.resource(CONFIG_MAPS);
    const made = await live.create(at("a"), { signal: world.signal });
    // It has no finalizers among its metadata, and no grace period that is over.
    const metadata = { ...made.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    log.wrote({ ...made, metadata });
    const outcome = await after(world, 5000, log.caughtUp({}, world));
    ok(outcome !== "waits" && outcome.error === undefined);
  });
});

import { deepStrictEqual, match, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { CONFIG_MAPS, SECRETS } from "../../lib/client/kinds.ts";
import { LAG_MAX_MS, WriteLog } from "../../lib/controller/write_log.ts";
import { AssertionError, DeadlineError } from "../../lib/core/errors.ts";
import { namespaceIn } from "../support/cache_world.ts";
import { after, at, withCache } from "./cached_world.ts";

Deno.test("S6 CachedResource.find() waits for the cache to have an own write, without a request", async () => {
  await withCache({}, async ({ world, configMaps, reads }) => {
    const { signal } = world;
    const place = { name: "a", namespace: "default", signal };
    strictEqual(await configMaps.find(place), undefined);
    await configMaps.create(at("a"), { signal });
    const found = await after(world, 1000, configMaps.find(place));
    ok(found !== "waits");
    strictEqual(found.value?.metadata.name, "a");
    ok(Object.isFrozen(found.value));
    deepStrictEqual(reads(), []);
  });
});

Deno.test("S6 CachedResource reads wait as long as the watch lags, and no longer", async () => {
  await withCache({ indexers: { name: ({ metadata }) => [metadata.name] } }, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    fixture.lagMs = 3000;
    await configMaps.create(at("a"), { signal });
    const reads = () => [
      configMaps.find({ name: "a", namespace: "default", signal }),
      configMaps.all({ signal }).then((all) => all.find(({ metadata }) => metadata.name === "a")),
      configMaps.all({ namespace: "default", signal }).then(([first]) => first),
      configMaps.byIndex({ index: "name", value: "a", signal }).then(([first]) => first),
    ];
    const waiting = reads();
    // What has nothing to do with the write waits for nothing.
    strictEqual(await configMaps.find({ name: "b", namespace: "default", signal }), undefined);
    deepStrictEqual(await configMaps.all({ namespace: "kube-system", signal }), []);
    for (const read of waiting) strictEqual(await after(world, 0, read), "waits");
    await world.clock.advance(2999);
    for (const read of waiting) strictEqual(await after(world, 0, read), "waits");
    await world.clock.advance(1);
    for (const read of waiting) strictEqual((await read)?.metadata.name, "a");
    // And now it has the write for good.
    for (const read of reads()) strictEqual((await read)?.metadata.name, "a");
  });
});

Deno.test("S6 CachedResource.find() sees the last of several writes, through each verb", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    fixture.lagMs = 500;
    const place = { name: "a", namespace: "default" };
    const seen = async () => {
      const outcome = await after(world, 5000, configMaps.find({ ...place, signal }));
      ok(outcome !== "waits");
      return outcome.value?.data?.["step"];
    };
    const created = await configMaps.create({ ...at("a"), data: { step: "1" } }, { signal });
    const updated = await configMaps.update({ ...created, data: { step: "2" } }, { signal });
    strictEqual(await seen(), "2");
    strictEqual(updated.data?.["step"], "2");
    const patch = { type: "merge", body: { data: { step: "3" } } } as const;
    await configMaps.patch({ ...place, patch, dryRun: true, signal });
    strictEqual(await seen(), "2");
    await configMaps.patch({ ...place, patch, signal });
    strictEqual(await seen(), "3");
    await configMaps.delete({ ...place, signal });
    strictEqual(await seen(), undefined);
    await configMaps.create({ ...at("a"), data: { step: "4" } }, { signal });
    strictEqual(await seen(), "4");
  });
});

Deno.test("S6 CachedResource.find() sees a deletion that finalizers hold up as begun", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps } = fixture;
    const { signal } = world;
    const metadata = { ...at("a").metadata, finalizers: ["example.com/hold"] };
    await configMaps.create({ metadata }, { signal });
    await world.clock.settle();
    fixture.lagMs = 500;
    const place = { name: "a", namespace: "default", signal };
    await configMaps.delete(place);
    const outcome = await after(world, 500, configMaps.find(place));
    ok(outcome !== "waits");
    ok(outcome.value?.metadata.deletionTimestamp !== undefined);
  });
});

Deno.test("S6 CachedResource asks the server, or fails, once the cache has lagged for too long", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps, reads } = fixture;
    const { signal } = world;
    await configMaps.create({ ...at("a"), data: { step: "1" } }, { signal });
    await world.clock.settle();
    fixture.lagMs = Infinity;
    const place = { name: "a", namespace: "default" };
    const patch = { type: "merge", body: { data: { step: "2" } } } as const;
    await configMaps.patch({ ...place, patch, signal });
    const finding = configMaps.find({ ...place, signal });
    const listing = configMaps.all({ signal });
    strictEqual(await after(world, LAG_MAX_MS - 1, finding), "waits");
    await Promise.all([
      rejects(listing, (error) => {
        ok(error instanceof DeadlineError);
        match(error.message, /configmaps.*own write of default\/a/);
        return true;
      }),
      world.clock.advance(1),
    ]);
    const found = await finding;
    strictEqual(found?.data?.["step"], "2");
    ok(Object.isFrozen(found));
    strictEqual(reads().length, 1);
    // Known to lag: nobody waits again, and nobody is told old news.
    strictEqual((await configMaps.find({ ...place, signal }))?.data?.["step"], "2");
    await rejects(configMaps.all({ signal }), DeadlineError);
    await configMaps.delete({ ...place, signal });
    strictEqual(await configMaps.find({ ...place, name: "b", signal }), undefined);
  });
});

Deno.test("CachedResource waits for no write that the cache does not select", async () => {
  await withCache({ scope: { labelSelector: "mine=yes" } }, async (fixture) => {
    const { world, configMaps, reads } = fixture;
    const { signal } = world;
    fixture.lagMs = 500;
    const place = { name: "a", namespace: "default" };
    await configMaps.create(at("a"), { signal });
    strictEqual(await configMaps.find({ ...place, signal }), undefined);
    // It comes in by its label, and goes by it: both are waited for.
    for (const value of ["yes", "no"]) {
      const body = { metadata: { labels: { mine: value } } };
      await configMaps.patch({ ...place, patch: { type: "merge", body }, signal });
      const outcome = await after(world, 500, configMaps.find({ ...place, signal }));
      ok(outcome !== "waits");
      strictEqual(outcome.value !== undefined, value === "yes");
    }
    deepStrictEqual(reads(), []);
    strictEqual((await configMaps.live.get({ ...place, signal })).metadata.name, "a");
    strictEqual(reads().length, 1);
  });
});

Deno.test("Q2 CachedClient keeps no foreign change from handlers, however close to an own write", async () => {
  await withCache({}, async (fixture) => {
    const { world, configMaps, told } = fixture;
    const { signal } = world;
    const place = { name: "a", namespace: "default" };
    await configMaps.create({ ...at("a"), data: { own: "1" } }, { signal });
    await world.clock.settle();
    fixture.lagMs = 1000;
    const patch = (data: Record<string, string>) =>
      ({ ...place, patch: { type: "merge", body: { data } }, signal }) as const;
    await configMaps.live.patch(patch({ foreign: "1" })); // before ours
    await configMaps.patch(patch({ own: "2" }));
    await configMaps.live.patch(patch({ foreign: "2" })); // after ours
    const outcome = await after(world, 10_000, configMaps.find({ ...place, signal }));
    ok(outcome !== "waits");
    deepStrictEqual(told.slice(1), [
      "updated a foreign,1 own,1",
      "updated a foreign,1 own,2",
      "updated a foreign,2 own,2",
    ]);
    deepStrictEqual((await configMaps.find({ ...place, signal }))?.data, {
      own: "2",
      foreign: "2",
    });
  });
});

Deno.test("CachedClient says what to declare for kinds and namespaces that no cache has", async () => {
  await withCache({ scope: { namespaces: ["default"] } }, async ({ world, cached, configMaps }) => {
    const { signal } = world;
    throws(() => cached.resource(SECRETS), /Nobody declared a cache of secrets/);
    await namespaceIn(world, "other");
    const refusal = (error: unknown) => {
      ok(error instanceof AssertionError);
      match(error.message, /namespace "other".*declare one that has it, or read live/);
      return true;
    };
    await rejects(configMaps.find({ name: "a", namespace: "other", signal }), refusal);
    await rejects(configMaps.all({ namespace: "other", signal }), refusal);
    await rejects(
      configMaps.byIndex({ index: "x", value: "y", namespace: "default", signal }),
      /Index "x" was not declared/,
    );
    using metadata = cached.declareMetadata(SECRETS);
    throws(() => cached.resource(SECRETS), /has whole objects/);
    await world.until(() => metadata.hasSynced, "a cache that is declared later runs at once");
  });
});

Deno.test("CachedClient.resource() shares what was written among all who ask for it", async () => {
  await withCache({}, async (fixture) => {
    const { world, cached } = fixture;
    const { signal } = world;
    fixture.lagMs = 1000;
    await cached.resource(CONFIG_MAPS).create(at("a"), { signal });
    const other = cached.resource(CONFIG_MAPS);
    const outcome = await after(
      world,
      1000,
      other.find({ name: "a", namespace: "default", signal }),
    );
    ok(outcome !== "waits" && outcome.value !== undefined);
  });
});

Deno.test("WriteLog forgets what the cache has, also if nobody reads it", async () => {
  await withCache({}, async ({ world, cached }) => {
    const { signal } = world;
    using handle = cached.declare(CONFIG_MAPS);
    const log = new WriteLog(handle.cache, world);
    for (let written = 0; written < 1000; written++) {
      const made = await world.client.resource(CONFIG_MAPS).create(at(`m${written}`), { signal });
      log.wrote(made);
      if (written % 50 === 0) await world.clock.settle();
    }
    ok(log.size <= 300, `${log.size} entries`);
  });
});

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ConnectionError, DeadlineError, ProtocolError } from "../../lib/core/errors.ts";
import { create, drive, follow, NAMESPACE, one, PATH, worldOf } from "../support/weather_world.ts";

Deno.test("Weather ends watches cleanly or by a broken connection", async () => {
  const ends = new Set<string>();
  for (let seed = 1; seed <= 10; seed++) {
    await using cluster = worldOf({ cutWatches: 1 }, seed);
    const watch = follow(cluster);
    const end = await drive(cluster, watch.ended);
    ok(cluster.clock.monotonicMs() <= 60_000);
    if (end === "failed") ok(watch.error() instanceof ConnectionError);
    ends.add(end);
  }
  deepStrictEqual([...ends].sort(), ["ended", "failed"]);
});

Deno.test("Weather silences watches, which only the reader's own limit ends", async () => {
  await using cluster = worldOf({ silentWatches: 1 });
  const watch = follow(cluster);
  await cluster.clock.advance(60_000);
  await create(cluster, "a");
  strictEqual(await drive(cluster, watch.ended), "failed");
  deepStrictEqual(watch.told, []);
  ok(watch.error() instanceof DeadlineError);
});

Deno.test("Weather tears watches inside a character of several bytes", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    await using cluster = worldOf({ tornWatches: 1 }, seed);
    const watch = follow(cluster);
    await cluster.clock.advance(60_000);
    await create(cluster, "a", { text: "größe" });
    strictEqual(await drive(cluster, watch.ended), "failed", `seed ${seed}`);
    const error = watch.error();
    ok(error instanceof ConnectionError || error instanceof ProtocolError, String(error));
    deepStrictEqual(watch.told, []);
  }
});

Deno.test("Weather delays what watches tell, in order", async () => {
  await using cluster = worldOf({ lateWatches: 1, brokenLines: 1 });
  const watch = follow(cluster);
  await cluster.clock.advance(0);
  for (const name of ["a", "b", "c"]) await create(cluster, name, { text: "größe" });
  await cluster.clock.advance(0);
  deepStrictEqual(watch.told, []);
  await cluster.clock.advance(5000);
  deepStrictEqual(watch.told, ["ADDED a", "ADDED b", "ADDED c"]);
});

Deno.test("Weather repeats old states of what is still there, and never brings back what is gone", async () => {
  const repeated = new Set<string>();
  for (let seed = 1; seed <= 20; seed++) {
    await using cluster = worldOf({ repeatingWatches: 1 }, seed);
    const { user, signal } = cluster;
    await create(cluster, "a");
    await create(cluster, "gone");
    await user.patch({ ...one, patch: { type: "merge", body: { data: { x: "1" } } }, signal });
    await user.delete({ name: "gone", namespace: NAMESPACE, signal });
    const watch = follow(cluster);
    await cluster.clock.advance(0);
    for (const line of watch.told) repeated.add(line);
  }
  deepStrictEqual([...repeated].sort(), ["ADDED a", "MODIFIED a"]);
});

Deno.test("Weather brings nothing back that a watch selects no more", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    await using cluster = worldOf({ repeatingWatches: 1 }, seed);
    const { user, client, server, signal } = cluster;
    const labels = { x: "y" };
    await user.create({ metadata: { ...one, labels } }, { signal });
    const unlabelled = { metadata: { labels: { x: null } } };
    await server.fetch(`http://x${PATH}/a`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify(unlabelled),
    });
    const resourceVersion = String(server.storage.revision);
    const options = { namespace: NAMESPACE, labelSelector: "x=y", resourceVersion, signal };
    const first = client.watch(options).next().then(({ value }) => value, () => undefined);
    await cluster.clock.advance(0);
    cluster.weather.cutWatches();
    strictEqual(await first, undefined);
  }
});

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { ApiError, ConnectionError, isConflict, isExpired } from "../../lib/core/errors.ts";
import { CALM } from "../../lib/simulator/mod.ts";
import { create, drive, follow, NAMESPACE, one, PATH, worldOf } from "../support/weather_world.ts";

Deno.test("Weather passes everything on in calm weather", async () => {
  await using cluster = worldOf();
  const { client, clock, signal } = cluster;
  await drive(cluster, client.create({ metadata: one }, { signal }));
  strictEqual((await drive(cluster, client.get({ ...one, signal }))).metadata.name, "a");
  strictEqual(clock.monotonicMs(), 0);
});

Deno.test("Weather tells how far a request came: refused, reset before, reset after its effect", async () => {
  const cases = [["refused", "connect", 404], ["resetBefore", "send", 404], [
    "resetAfter",
    "send",
    200,
  ]] as const;
  for (const [fault, stage, found] of cases) {
    await using cluster = worldOf({ [fault]: 1 });
    const { client, server, signal } = cluster;
    await rejects(
      drive(cluster, client.create({ metadata: one }, { signal })),
      (error) => error instanceof ConnectionError && error.stage === stage,
      fault,
    );
    strictEqual((await server.fetch(`http://x${PATH}/a`)).status, found, fault);
  }
});

Deno.test("Weather throttles with a Retry-After that the client waits for", async () => {
  await using cluster = worldOf({ throttled: 1 });
  const { client, clock, weather, signal } = cluster;
  const created = client.create({ metadata: one }, { signal });
  await clock.advance(10);
  weather.calm();
  strictEqual((await drive(cluster, created)).metadata.name, "a");
  ok(clock.monotonicMs() >= 1000);
});

Deno.test("Weather answers with errors of the server and of proxies, before and after the effect", async () => {
  const seen = new Set<number>();
  const effects = new Set<boolean>();
  for (let seed = 1; seed <= 30; seed++) {
    await using cluster = worldOf({ serverErrors: 1 }, seed);
    const { client, server, signal } = cluster;
    await rejects(drive(cluster, client.create({ metadata: one }, { signal })), (error) => {
      ok(error instanceof ApiError, String(error));
      seen.add(error.status);
      return true;
    });
    effects.add(server.storage.find("configmaps", "default/a") !== undefined);
  }
  deepStrictEqual([...seen].sort(), [500, 503, 504]);
  deepStrictEqual(effects, new Set([true, false]));
});

Deno.test("Weather cuts answers inside their body", async () => {
  await using cluster = worldOf({ cutBodies: 1 });
  await create(cluster, "a");
  const { client, signal } = cluster;
  await rejects(
    drive(cluster, client.get({ ...one, signal })),
    (error) => error instanceof ConnectionError && error.stage === "body",
  );
});

Deno.test("Weather takes time to answer, within the client's limits or beyond", async () => {
  await using cluster = worldOf({ latencyMs: 100, slow: 1 });
  await create(cluster, "a");
  const { client, clock, signal } = cluster;
  await drive(cluster, client.get({ ...one, signal }));
  ok(clock.monotonicMs() > 100 && clock.monotonicMs() < 25_000, String(clock.monotonicMs()));
});

Deno.test("Weather gives old states to lists that allow them, and to no others", async () => {
  const sizes = new Set<number>();
  for (let seed = 1; seed <= 10; seed++) {
    await using cluster = worldOf({ staleLists: 1 }, seed);
    const { client, signal } = cluster;
    const first = await create(cluster, "a");
    await create(cluster, "b");
    await create(cluster, "c");
    const list = (resourceVersion?: string) =>
      drive(
        cluster,
        client.list({
          namespace: NAMESPACE,
          ...(resourceVersion === undefined
            ? {}
            : { resourceVersion, resourceVersionMatch: "NotOlderThan" }),
          signal,
        }),
      );
    strictEqual((await list()).items.length, 3);
    sizes.add((await list("0")).items.length);
    const { items } = await list(first.metadata.resourceVersion);
    ok(items.length === 1 || items.length === 2, "not older than asked for, and not the latest");
  }
  ok(sizes.size > 1);
});

Deno.test("Weather makes pages small and their tokens expire, and the list is whole or fails", async () => {
  await using cluster = worldOf({ smallPages: 1, expiredPages: 1 });
  for (const name of "abcdefgh") await create(cluster, name);
  const { client, weather, signal } = cluster;
  const list = () => drive(cluster, client.list({ namespace: NAMESPACE, signal }));
  await rejects(list(), (error) => error instanceof ApiError && isExpired(error));
  weather.change({ ...CALM, smallPages: 1 });
  strictEqual((await list()).items.length, 8);
});

Deno.test("Weather answers as a server that lags behind", async () => {
  await using cluster = worldOf({ laggingServers: 1 });
  const { client, signal } = cluster;
  const { metadata: { resourceVersion } } = await create(cluster, "a");
  const list = { namespace: NAMESPACE, resourceVersion, resourceVersionMatch: "NotOlderThan" };
  await rejects(
    drive(cluster, client.list({ ...list, resourceVersionMatch: "NotOlderThan", signal })),
    (error) =>
      error instanceof ApiError && error.status === 504 &&
      error.causes.some(({ reason }) => reason === "ResourceVersionTooLarge"),
  );
});

Deno.test("Weather lets another writer come first", async () => {
  await using cluster = worldOf({ conflicts: 1 });
  const { client, server, signal } = cluster;
  const { metadata: { uid, resourceVersion } } = await create(cluster, "a");
  const body = { metadata: { uid, resourceVersion }, data: { x: "1" } };
  await rejects(
    drive(cluster, client.patch({ ...one, patch: { type: "merge", body }, signal })),
    isConflict,
  );
  const found = server.storage.find("configmaps", "default/a");
  ok(found?.metadata.annotations?.["weather/mark"]?.includes("ö"));
});

Deno.test("Weather crashes a program at its writes, before or after their effect, and at nothing else", async () => {
  const effects = new Set<boolean>();
  for (let seed = 1; seed <= 10; seed++) {
    await using cluster = worldOf({ crashes: 1 }, seed);
    const { weather, server, signal } = cluster;
    let isAlive = true;
    const transport = weather.transportFor({
      get isAlive() {
        return isAlive;
      },
      crash: () => void (isAlive = false),
    });
    const send = (method: string, path: string, body?: string) =>
      drive(
        cluster,
        transport(`http://x${path}`, {
          method,
          headers: { "content-type": "application/json" },
          ...(body === undefined ? {} : { body }),
          signal,
        }),
      );
    strictEqual((await send("GET", PATH)).status, 200);
    ok(isAlive);
    await rejects(send("POST", PATH, JSON.stringify({ metadata: one })), ConnectionError);
    ok(!isAlive);
    effects.add(server.storage.find("configmaps", "default/a") !== undefined);
    // It is dead: nothing it sends arrives any more.
    await rejects(send("DELETE", `${PATH}/a`), ConnectionError);
    await rejects(send("GET", PATH), ConnectionError);
  }
  deepStrictEqual(effects, new Set([true, false]));
});

Deno.test("Weather.run() brings compactions, cuts, outages and a clock that jumps and drifts", async () => {
  await using cluster = worldOf({
    compactions: 5,
    massCuts: 5,
    outages: 5,
    clockJumps: 5,
    clockDrift: 3,
  });
  const { weather, clock, trace } = cluster;
  const over = new AbortController();
  const running = weather.run(over);
  const wallMs = clock.wallMs();
  await clock.advance(120_000);
  over.abort();
  await running;
  for (const what of ["compaction", "watches cut", "outage", "wall clock jumps"]) {
    ok(trace.lines.some((line) => line.includes(what)), what);
  }
  ok(Math.abs(clock.wallMs() - wallMs - 120_000) > 100);
});

Deno.test("Weather.beginOutage() refuses connections, ends watches, and is over in time", async () => {
  await using cluster = worldOf();
  const { client, weather, clock, signal } = cluster;
  const watch = follow(cluster);
  await clock.advance(0);
  weather.beginOutage(5000);
  strictEqual(await drive(cluster, watch.ended), "failed");
  await rejects(drive(cluster, client.create({ metadata: one }, { signal })), ConnectionError);
  await clock.advance(5000);
  await drive(cluster, client.create({ metadata: one }, { signal }));
});

Deno.test("Weather.loseLease() gives the Lease to someone else", async () => {
  await using cluster = worldOf();
  const { server, weather } = cluster;
  await server.fetch("http://x/apis/coordination.k8s.io/v1/namespaces/default/leases", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ metadata: { name: "l" }, spec: { holderIdentity: "us" } }),
  });
  await weather.loseLease({ namespace: "default", name: "l" });
  const lease: unknown = server.storage.find("coordination.k8s.io/leases", "default/l");
  ok(JSON.stringify(lease).includes('"holderIdentity":"weather"'));
  await rejects(weather.loseLease({ namespace: "default", name: "absent" }));
});

Deno.test("Weather keeps the signal's reason", async () => {
  await using cluster = worldOf({ latencyMs: 1000 });
  const { weather, clock } = cluster;
  const stop = new AbortController();
  const init = { method: "GET", headers: {}, signal: stop.signal };
  const sent = weather.fetch(`http://x${PATH}`, init);
  const reason = new Error("enough");
  stop.abort(reason);
  await rejects(sent, (error) => error === reason);
  await rejects(weather.fetch(`http://x${PATH}`, init), (error) => error === reason);
  await clock.settle();
});

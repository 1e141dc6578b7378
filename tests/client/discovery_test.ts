import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import {
  findByName,
  findKind,
  kindOfResource,
  parseAggregated,
  parseGroupList,
  parseResourceList,
} from "../../lib/client/api_catalog.ts";
import { Discovery } from "../../lib/client/discovery.ts";
import { DynamicClient, UnservedKindError } from "../../lib/client/dynamic_client.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "../../lib/client/kinds.ts";
import type { Transport } from "../../lib/client/transport.ts";
import { json, scriptedRest, status } from "../support/scripted_transport.ts";
import { type SimClient, simClient } from "../support/sim_client.ts";

const { signal } = new AbortController();

/** Sends on what a client of before 1.27 would send. */
const legacy = (sim: () => SimClient): Transport => (url, init) =>
  sim().server.fetch(url, { ...init, headers: { ...init.headers, accept: "application/json" } });

const CRD = {
  metadata: { name: "crons.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "crons", singular: "cron", kind: "Cron", shortNames: ["cr"] },
    versions: ["v1", "v1beta1"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    })),
  },
};

Deno.test("Discovery asks twice where discovery is aggregated, and keeps the answer a while", async () => {
  await using sim = simClient();
  const { rest, clock, requests } = sim;
  const discovery = new Discovery({ rest, clock, maxAgeMs: 5000 });
  const found = await Promise.all(
    ["deploy", "Deployment", "deployments.apps", "deployment.v1.apps"].map((name) =>
      discovery.findByName(name, { signal })
    ),
  );
  deepStrictEqual(found.map((each) => each?.plural), Array(4).fill("deployments"));
  deepStrictEqual(requests.map(({ path }) => path), ["/api", "/apis"]);
  const deployments = found[0];
  strictEqual(deployments?.scope, "Namespaced");
  strictEqual(deployments?.verbs.includes("patch"), true);
  deepStrictEqual(deployments?.subresources.find(({ name }) => name === "scale")?.gvk, {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
  });
  await clock.advance(5000);
  await discovery.catalog({ signal });
  strictEqual(requests.length, 4);
  discovery.invalidate();
  await discovery.catalog({ signal });
  strictEqual(requests.length, 6);
});

Deno.test("Discovery says the same of a server without aggregated discovery", async () => {
  await using modern = simClient();
  await using old: SimClient = simClient({ before: (url, init) => legacy(() => old)(url, init) });
  const [aggregated, plain] = await Promise.all([modern, old].map(async (sim) => {
    await sim.client.resource(CUSTOM_RESOURCE_DEFINITIONS).create(CRD, { signal });
    return await new Discovery(sim).catalog({ signal });
  }));
  deepStrictEqual(plain, aggregated);
  strictEqual(old.requests.some(({ path }) => path === "/apis/apps/v1"), true);
});

Deno.test("Discovery finds a kind that was defined after it asked, and does not ask in a storm", async () => {
  await using sim = simClient();
  const { rest, clock, client, requests } = sim;
  const discovery = new Discovery({ rest, clock });
  const name = { group: "example.com", kind: "Cron" };
  for (let i = 0; i < 100; i++) {
    strictEqual(await discovery.findKind(name, { signal }), undefined);
  }
  strictEqual(requests.length, 2);
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).create(CRD, { signal });
  await clock.advance(1000);
  strictEqual((await discovery.findKind(name, { signal }))?.gvk.version, "v1");
  const old = await discovery.findKind({ ...name, version: "v1beta1" }, { signal });
  strictEqual(old?.gvk.version, "v1beta1");
  strictEqual(requests.length, 5);
});

Deno.test("Discovery keeps what it knew of a group whose own server is down", async () => {
  const group = (name: string, freshness: string, resources: unknown[]) => ({
    metadata: { name },
    versions: [{ version: "v1", freshness, resources }],
  });
  const list = (...items: unknown[]) => json({ kind: "APIGroupDiscoveryList", items });
  const metrics = {
    resource: "pods",
    responseKind: { kind: "PodMetrics" },
    scope: "Namespaced",
    verbs: ["get"],
  };
  const { rest, clock } = scriptedRest([
    list(),
    list(group("metrics.example.com", "Current", [metrics])),
    list(),
    list(group("metrics.example.com", "Stale", []), group("other.example.com", "Stale", [])),
  ]);
  const discovery = new Discovery({ rest, clock });
  await discovery.catalog({ signal });
  const { groups } = await discovery.refresh({ signal });
  deepStrictEqual(
    groups.map(({ versions }) => [versions[0]?.isStale, versions[0]?.resources.length]),
    [[true, 1], [true, 0]],
  );
});

Deno.test("Discovery of the legacy form hides no group behind one that fails, but says if none answers", async () => {
  const groups = json({
    kind: "APIGroupList",
    groups: ["a.io", "b.io", "c.io"].map((name) => ({ name, versions: [{ version: "v1" }] })),
  });
  const resources = [{ name: "as", kind: "A", namespaced: true, verbs: ["list"] }];
  const { rest, clock } = scriptedRest([
    json({ kind: "APIVersions", versions: [] }),
    groups,
    json({ kind: "APIResourceList", resources }),
    status(503),
    status(404),
    json({ kind: "APIVersions", versions: [] }),
    groups,
    () => Promise.reject(new Error("unreachable")),
    json({ resources }),
    json({ resources }),
  ]);
  const discovery = new Discovery({ rest, clock });
  const catalog = await discovery.catalog({ signal });
  deepStrictEqual(
    catalog.groups.map(({ name, versions }) => [name, versions[0]?.isStale]),
    [["a.io", false], ["b.io", true]],
  );
  await rejects(discovery.refresh({ signal }), { message: "unreachable" });
  strictEqual(await discovery.catalog({ signal }), catalog);
});

Deno.test("Discovery ends its question with the last who waits for it", async () => {
  await using sim = simClient({
    before: (_url, { signal }) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  });
  const discovery = new Discovery(sim);
  const [one, two] = [new AbortController(), new AbortController()];
  const first = rejects(discovery.catalog({ signal: one.signal }), { message: "one" });
  const second = rejects(discovery.catalog({ signal: two.signal }), { message: "two" });
  one.abort(new Error("one"));
  await first;
  strictEqual(sim.requests.length, 2);
  two.abort(new Error("two"));
  await second;
});

Deno.test("parsers leave out what has no kind, or names that would change a path", () => {
  const names = ["ok", "a/../b", "", "A"];
  const resources = names.map((name) => ({ name, kind: "K", namespaced: false }));
  const served = { group: "", version: "v1" };
  const list = parseResourceList({ resources: [...resources, { name: "nokind" }] }, served);
  deepStrictEqual(list.map(({ plural }) => plural), ["ok"]);
  deepStrictEqual(
    parseResourceList(
      { resources: [{ name: "a", kind: "K" }, { name: "a/b/c", kind: "K" }] },
      served,
    )
      .flatMap(({ subresources }) => subresources),
    [],
  );
  strictEqual(parseAggregated({ kind: "APIGroupList" }), undefined);
  deepStrictEqual(parseAggregated({ kind: "APIGroupDiscoveryList", items: null }), []);
  deepStrictEqual(
    parseGroupList({
      groups: [{
        name: "a.io",
        versions: [{ version: "v1beta1" }, { version: "v1" }],
        preferredVersion: { version: "v1" },
      }],
    }),
    [{ name: "a.io", versions: ["v1", "v1beta1"] }],
  );
});

Deno.test("findByName() prefers exact names over short ones, and earlier groups", () => {
  const resource = (group: string, plural: string, shortNames: string[] = []) => ({
    gvk: { group, version: "v1", kind: plural.toUpperCase() },
    plural,
    singular: plural.slice(0, -1),
    scope: "Namespaced" as const,
    verbs: [],
    shortNames,
    categories: [],
    subresources: [],
  });
  const group = (name: string, ...resources: ReturnType<typeof resource>[]) => ({
    name,
    versions: [{ version: "v1", isStale: false, resources }],
  });
  const catalog = {
    groups: [
      group("", resource("", "events", ["ev", "foos"])),
      group("a.io", resource("a.io", "events"), resource("a.io", "foos")),
    ],
  };
  const found = (name: string) => {
    const gvk = findByName(catalog, name)?.gvk;
    return gvk === undefined ? undefined : `${gvk.group}/${gvk.kind}`;
  };
  deepStrictEqual(
    [
      "events",
      "event",
      "EV",
      "foos",
      "events.a.io",
      "events.v1.",
      "events.v1.a.io",
      "foos.b.io",
      "",
    ]
      .map(found),
    [
      "/EVENTS",
      "/EVENTS",
      "/EVENTS",
      "a.io/FOOS",
      "a.io/EVENTS",
      "/EVENTS",
      "a.io/EVENTS",
      undefined,
      undefined,
    ],
  );
  strictEqual(findKind(catalog, { group: "a.io", version: "v2", kind: "FOOS" }), undefined);
});

Deno.test("DynamicClient works on kinds that only the server knows", async () => {
  await using sim = simClient();
  const { client, clock } = sim;
  const dynamic = new DynamicClient(client, new Discovery(sim));
  const cron = {
    apiVersion: "example.com/v1",
    kind: "Cron",
    metadata: { name: "a", namespace: "default" },
    spec: { n: 5 },
  };
  await rejects(dynamic.resource(cron, { signal }), UnservedKindError);
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).create(CRD, { signal });
  await clock.advance(1000);
  const crons = await dynamic.resource(cron, { signal });
  const created = await crons.create(cron, { signal });
  const updated = await crons.update({ ...created, status: {} }, { signal });
  deepStrictEqual(updated["spec"], cron.spec);
  const named = await dynamic.resourceNamed("cr", { signal });
  strictEqual((await named.list({ namespace: "default", signal })).items.length, 1);
  strictEqual(named.kind.isBuiltIn, false);
  strictEqual((await dynamic.kind({ apiVersion: "v1", kind: "Pod" }, { signal })).isBuiltIn, true);
  await rejects(dynamic.resourceNamed("nothing", { signal }), {
    name: "UnservedKindError",
    wanted: '"nothing"',
  });
});

Deno.test("kindOfResource() knows the subresources", async () => {
  await using sim = simClient();
  const found = await new Discovery(sim).findByName("namespaces", { signal });
  if (found === undefined) throw new Error("namespaces are served");
  deepStrictEqual(kindOfResource(found).subresources.toSorted(), ["finalize", "status"]);
});

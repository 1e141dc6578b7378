/** Informer sets on the simulated API server, and what needs no server. */
import { deepStrictEqual, match, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { InformerSet } from "../../lib/cache/informer_set.ts";
import type { CacheDeclaration } from "../../lib/cache/kind_cache.ts";
import { CONFIG_MAPS, PODS, SECRETS } from "../../lib/client/kinds.ts";
import { AssertionError, DeadlineError } from "../../lib/core/errors.ts";
import { configMapsIn, simCacheWorld } from "../support/cache_world.ts";
import { running, SET_CASES } from "./informer_set_cases.ts";
import type { Thing } from "./objects.ts";
import { added, failing, open, refusal, type Script, scripted } from "./scripted_source.ts";
import type { SimClock } from "../../lib/simulator/sim_clock.ts";

for (const { name, run } of SET_CASES) {
  Deno.test(name, async () => {
    await using world = simCacheWorld();
    await run(world);
  });
}

const THINGS = {
  gvk: { group: "example.com", version: "v1", kind: "Thing" },
  plural: "things",
};
const OTHERS = { ...THINGS, plural: "others" };

function thingsOn(
  clock: SimClock,
  script: Script = {},
  rest: Partial<CacheDeclaration<Thing>> = {},
): CacheDeclaration<Thing> {
  return { kind: THINGS, source: () => scripted(clock, script).source, ...rest };
}

async function endless(clock: SimClock, call: { signal: AbortSignal }): Promise<never> {
  await clock.sleep(Infinity, call);
  throw new Error("never");
}

Deno.test("InformerSet.lister() of an undeclared kind says what to declare", async () => {
  await using world = simCacheWorld();
  const caches = new InformerSet(world);
  throws(() => caches.lister(PODS), (error) => {
    ok(error instanceof AssertionError);
    match(error.message, /Nobody declared a cache of pods: declare\(\{ kind: Pod, … \}\)/);
    return true;
  });
  const source = (selection: object) => world.client.resource(CONFIG_MAPS).listWatch(selection);
  using _a = caches.declare({ kind: CONFIG_MAPS, scope: { namespaces: ["a"] }, source });
  // Declared for some namespaces is not declared for others.
  throws(
    () => caches.lister(CONFIG_MAPS, { namespaces: ["b"] }),
    /configmaps \(namespaces b\).* Declared: configmaps \(namespaces a\)/,
  );
  strictEqual(caches.lister(CONFIG_MAPS).size, 0);
  using _b = caches.declare({ kind: CONFIG_MAPS, scope: { namespaces: ["b"] }, source });
  throws(() => caches.lister(CONFIG_MAPS), /Say which cache of configmaps to read/);
  strictEqual(caches.lister(CONFIG_MAPS, { namespaces: ["b"] }).size, 0);
  strictEqual(world.requests.length, 0);
});

Deno.test("InformerSet shares one watch among all who declare it, until the last lets go", async () => {
  await using world = simCacheWorld();
  await configMapsIn(world, "default", "one");
  await running(world, async (caches) => {
    const source = (selection: object) => world.client.resource(CONFIG_MAPS).listWatch(selection);
    const declaration = { kind: CONFIG_MAPS, scope: { labelSelector: "app" }, source };
    const first = caches.declare(declaration);
    const byName = (object: { metadata: { name: string } }) => [object.metadata.name];
    const second = caches.declare({ ...declaration, indexers: { byName } });
    strictEqual(second.cache, first.cache);
    const told: string[] = [];
    const handler = (name: string) => ({ onChange: () => void told.push(name) });
    first.addHandler(handler("first"), { name: "first" });
    second.addHandler(handler("second"), { name: "second" });
    await world.until(() => caches.hasSynced, "the cache is filled");
    strictEqual(first.lister.byIndex("byName", "one").length, 1);
    strictEqual(world.requests.filter((request) => request.includes("watch=true")).length, 1);

    first[Symbol.dispose]();
    first[Symbol.dispose](); // again is fine, and counts once
    await configMapsIn(world, "default", "two");
    await world.until(() => second.lister.size === 2, "the cache is kept for the second");
    deepStrictEqual(told, ["first", "second", "second"]);
    throws(() => first.addHandler(handler("late"), { name: "late" }), AssertionError);

    second[Symbol.dispose]();
    throws(() => caches.lister(CONFIG_MAPS), /Nobody declared/);
    await configMapsIn(world, "default", "three");
    await world.clock.settle();
    deepStrictEqual(told.length, 3);

    using again = caches.declare(declaration);
    await world.until(() => again.lister.size === 3, "it can be declared again");
    ok(again.cache !== first.cache);
  });
  strictEqual(world.clock.pendingTimers, 0);
});

Deno.test("InformerSet.declare() refuses to share a cache among those who keep different things", async () => {
  await using world = simCacheWorld();
  const caches = new InformerSet(world);
  const transform = (thing: Thing) => thing;
  using _held = caches.declare(thingsOn(world.clock, {}, { transform }));
  throws(() => caches.declare(thingsOn(world.clock)), /keep the same of its objects/);
  throws(
    () => caches.declare(thingsOn(world.clock, {}, { transform, keepManagedFields: true })),
    AssertionError,
  );
  using _same = caches.declare(thingsOn(world.clock, {}, { transform }));
  using _other = caches.declare(
    thingsOn(world.clock, {}, { scope: { namespaces: ["default"] } }),
  );
});

Deno.test("W4 InformerSet.synced() names the laggards, while all others go on", async () => {
  await using world = simCacheWorld();
  await configMapsIn(world, "default", "one");
  await running(world, async (caches) => {
    const source = (selection: object) => world.client.resource(CONFIG_MAPS).listWatch(selection);
    using good = caches.declare({ kind: CONFIG_MAPS, scope: { labelSelector: "app" }, source });
    const refused = () => {
      throw refusal(403);
    };
    using bad = caches.declare(thingsOn(world.clock, { list: refused }));
    using slow = caches.declare(
      thingsOn(world.clock, { list: (call) => endless(world.clock, call) }, { kind: OTHERS }),
    );
    const waiting = rejects(
      caches.synced({ limitMs: 30_000, signal: world.signal }),
      (error) => {
        ok(error instanceof DeadlineError);
        match(
          error.message,
          /things\.example\.com: cannot list: refused with 403; others\.example/,
        );
        ok(!error.message.includes("configmaps"));
        return true;
      },
    );
    await world.clock.advance(30_000);
    await waiting;
    deepStrictEqual([good.hasSynced, bad.hasSynced, slow.hasSynced], [true, false, false]);
    await configMapsIn(world, "default", "two");
    await world.until(() => good.lister.size === 2, "the good one goes on");
    await caches.cache(CONFIG_MAPS).synced(world);
  });
});

Deno.test("InformerSet goes on without a cache whose program is broken, and reports it dead", async () => {
  await using world = simCacheWorld();
  await running(world, async (caches) => {
    using broken = caches.declare(thingsOn(world.clock, {
      watch: () => failing(new AssertionError("a defect")),
    }));
    using good = caches.declare(thingsOn(world.clock, {
      async *watch(call) {
        call.onOpen();
        await world.clock.sleep(60_000, call);
        yield* open(world.clock, call, [added("b", 11)]);
      },
    }, { kind: OTHERS, budget: { objects: 1 } }));
    await world.clock.advance(61_000);
    strictEqual(good.lister.size, 2);
    strictEqual(broken.lister.size, 1);
    const [dead, alive] = caches.report();
    deepStrictEqual([dead?.isDead, alive?.isDead], [true, false]);
    match(dead?.failure ?? "", /a defect/);
    deepStrictEqual(alive, {
      name: "others.example.com",
      hasSynced: true,
      silentMs: 1000,
      failure: undefined,
      isDead: false,
      objects: 2,
      bytes: undefined,
      isOverBudget: true,
    });
    ok(world.records.some(({ level, message }) => level === "error" && /has ended/.test(message)));
  });
});

Deno.test("W2 InformerSet.report() shows the age of each informer's last sign of life", async () => {
  await using world = simCacheWorld();
  await running(world, async (caches) => {
    using _silent = caches.declare(thingsOn(world.clock));
    await world.clock.advance(70_000);
    strictEqual(caches.report()[0]?.silentMs, 70_000);
  });
});

for (const by of ["one call", "pages"] as const) {
  Deno.test(`W7 a list of ${by} survives that its version is forgotten between two pages`, async () => {
    await using world = simCacheWorld();
    const secrets = world.client.resource(SECRETS);
    for (let at = 0; at < 1200; at++) {
      await secrets.create({ metadata: { name: `s${at}`, namespace: "default" } }, world);
    }
    let pages = 0;
    world.intercept = async (url, init) => {
      if (url.includes("/secrets") && url.includes("continue=") && ++pages === 2) {
        await secrets.delete({ name: "s0", namespace: "default", signal: world.signal });
        world.server.compact();
      }
      return await world.server.fetch(url, init);
    };
    await running(world, async (caches) => {
      const { pages: _, list, ...rest } = secrets.listWatch({ namespace: "default" });
      // Without pages, and for any state, the server answers with one page: asked for the latest.
      const source = by === "pages"
        ? secrets.listWatch({ namespace: "default" })
        : { ...rest, list: ({ signal }: { signal: AbortSignal }) => list({ signal }) };
      using cache = caches.declare({
        kind: SECRETS,
        scope: { namespaces: ["default"] },
        source: () => source,
      });
      await world.until(() => cache.hasSynced, "the cache is filled");
      // Whole, and of one version: the one that was deleted in between is not in it.
      strictEqual(cache.lister.size, 1199);
      ok(pages >= 4, `${pages} further pages`);
      ok(!world.requests.some((request) => request.includes("resourceVersion=0")));
    });
  });
}

Deno.test("InformerSet keeps of each page what is kept of its objects, before it asks for the next", async () => {
  await using world = simCacheWorld();
  const secrets = world.client.resource(SECRETS);
  for (let at = 0; at < 1001; at++) {
    await secrets.create({ metadata: { name: `s${at}`, namespace: "default" } }, world);
  }
  const reduced: number[] = [];
  let transformed = 0;
  world.intercept = (url, init) => {
    if (url.includes("/secrets") && !url.includes("watch=true")) reduced.push(transformed);
    return world.server.fetch(url, init);
  };
  await running(world, async (caches) => {
    using cache = caches.declare({
      kind: SECRETS,
      source: (selection) => secrets.listWatch(selection),
      transform: (secret) => {
        transformed += 1;
        return secret;
      },
    });
    await world.until(() => cache.hasSynced, "the cache is filled");
    deepStrictEqual(reduced, [0, 500, 1000]);
    strictEqual(cache.lister.size, 1001);
  });
});

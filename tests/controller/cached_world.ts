/** A cached client of ConfigMaps whose watches lag as far as a test wants. */
import { InformerSet } from "../../lib/cache/informer_set.ts";
import type { ConfigMap } from "../../lib/client/kinds.ts";
import { CONFIG_MAPS } from "../../lib/client/kinds.ts";
import {
  CachedClient,
  type CachedResource,
  type CacheOptions,
} from "../../lib/controller/cached_client.ts";
import { type SimCacheWorld, simCacheWorld } from "../support/cache_world.ts";

/** A cached client, the server behind it, and how far its watches lag. */
export interface CachedWorld {
  readonly world: SimCacheWorld;
  readonly cached: CachedClient;
  readonly configMaps: CachedResource<ConfigMap>;
  /** What a handler was told, as `updated a key=value`. */
  readonly told: string[];
  /** How late everything comes on watches from now on, in milliseconds; `Infinity`: never. */
  lagMs: number;
  /** GETs that are no watches, since the caches were filled. */
  reads(): string[];
}

/** A cached client over ConfigMaps of `scope`, its caches filled, for the length of `body`. */
export async function withCache(
  options: CacheOptions<ConfigMap>,
  body: (fixture: CachedWorld) => Promise<void>,
): Promise<void> {
  await using world = simCacheWorld();
  const caches = new InformerSet(world);
  const cached = new CachedClient({ client: world.client, caches, clock: world.clock });
  using handle = cached.declare(CONFIG_MAPS, options);
  const told: string[] = [];
  handle.addHandler({
    onChange(change) {
      const { metadata, data } = change.type === "deleted" ? change.last : change.object;
      told.push(
        `${change.type} ${metadata.name} ${Object.entries(data ?? {}).sort().join(" ")}`.trim(),
      );
    },
  }, { name: "test" });
  const fixture = { world, cached, told, lagMs: 0 };
  world.intercept = async (url, init) => {
    const response = await world.server.fetch(url, init);
    if (!url.includes("watch=true") || response.body === null) return response;
    const delayed = response.body.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        async transform(chunk, controller) {
          await world.clock.sleep(fixture.lagMs, init);
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(delayed, { status: response.status, headers: response.headers });
  };
  const stop = new AbortController();
  const running = caches.run(stop);
  await world.until(() => handle.hasSynced, "the cache is filled");
  const mark = world.requests.length;
  try {
    await body(Object.assign(fixture, {
      configMaps: cached.resource(CONFIG_MAPS),
      reads: () =>
        world.requests.slice(mark).filter((request) =>
          request.startsWith("GET") && !request.includes("watch=true")
        ),
    }));
  } finally {
    stop.abort("the test is over");
    await running;
  }
}

/** The start of a draft. */
export const at = (name: string, namespace = "default") => ({ metadata: { name, namespace } });

/** What became of a promise while the clock ran for `ms`. */
export async function after<R>(
  { clock }: SimCacheWorld,
  ms: number,
  promise: Promise<R>,
): Promise<{ value?: R; error?: unknown } | "waits"> {
  let outcome: { value?: R; error?: unknown } | "waits" = "waits";
  promise.then((value) => outcome = { value }, (error) => outcome = { error });
  await clock.advance(ms);
  return outcome;
}

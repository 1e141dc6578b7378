/**
 * A cluster for tests of caches, simulated or real, seen through the library's own client.
 *
 * @module
 */

import { Client } from "../../lib/client/client.ts";
import {
  CONFIG_MAPS,
  type ConfigMap,
  CUSTOM_RESOURCE_DEFINITIONS,
  defineKind,
  NAMESPACES,
} from "../../lib/client/kinds.ts";
import type { ResourceClient } from "../../lib/client/resource_client.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { FetchTransport, type Transport } from "../../lib/client/transport.ts";
import { type Clock, type Random, realClock, realRandom } from "../../lib/core/clock.ts";
import { isNotFound } from "../../lib/core/errors.ts";
import type { Logger } from "../../lib/core/log.ts";
import type { KubeObject } from "../../lib/core/objects.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import type { ControlPlane } from "./control_plane.ts";
import { type LogRecord, recordingLogger } from "./recording_logger.ts";

/** A kind whose definition tests create and delete. */
export interface Widget extends KubeObject {
  spec?: { size?: number };
}

export const WIDGETS = defineKind<Widget>({
  group: "cache.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced",
});

/** How long anything is waited for, in milliseconds of the world's clock. */
const LIMIT_MS = 90_000;

/** What a test of caches works in. */
export interface CacheWorld extends AsyncDisposable {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly records: readonly LogRecord[];
  /** `GET /path?query` of each request, decoded. */
  readonly requests: readonly string[];
  /** May answer in the server's place. */
  intercept: Transport | undefined;
  /** Waits for a claim while the world goes on. */
  until(claim: () => boolean, what: string): Promise<void>;
  readonly signal: AbortSignal;
}

/** A world with the simulator in it. */
export interface SimCacheWorld extends CacheWorld {
  readonly clock: SimClock;
  readonly server: ApiServer;
}

/** A simulated cluster. */
export function simCacheWorld(): SimCacheWorld {
  const clock = new SimClock();
  const random = seededRandom(3);
  const server = new ApiServer({ clock, random });
  const world = worldOn((url, init) => server.fetch(url, init), {
    server: "https://sim:6443",
    clock,
    random,
  });
  return Object.assign(world, {
    clock,
    server,
    until: (claim: () => boolean, action: string) =>
      clock.runUntil(claim, { limitMs: LIMIT_MS, action }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

/** A real cluster, as its admin. */
export function realCacheWorld(plane: ControlPlane): CacheWorld {
  const credential = { generation: 1, token: plane.adminToken, caPem: plane.caPem };
  const current = () => Promise.resolve(credential);
  const { log } = recordingLogger();
  const transport = new FetchTransport({
    source: { current, refresh: current },
    settings: { server: plane.server, namespace: "default", userAgent: "cache-test/1" },
    clock: realClock,
    log,
  });
  const world = worldOn(transport.send, {
    server: plane.server,
    clock: realClock,
    random: realRandom,
  });
  return Object.assign(world, {
    async until(claim: () => boolean, what: string) {
      const endMs = realClock.monotonicMs() + LIMIT_MS;
      while (!claim()) {
        if (realClock.monotonicMs() > endMs) throw new Error(`Not so in time: ${what}`);
        await realClock.sleep(10, world);
      }
    },
    [Symbol.asyncDispose]() {
      transport[Symbol.dispose]();
      return Promise.resolve();
    },
  });
}

function worldOn(
  transport: Transport,
  { server, clock, random }: { server: string; clock: Clock; random: Random },
) {
  const { log, records } = recordingLogger();
  const requests: string[] = [];
  const weather: { intercept: Transport | undefined } = { intercept: undefined };
  const client = new Client(
    new RestClient({
      transport: (url, init) => {
        requests.push(`${init.method} ${decodeURIComponent(url.slice(server.length))}`);
        return (weather.intercept ?? transport)(url, init);
      },
      connection: { server, userAgent: "cache-test/1" },
      clock,
    }),
  );
  const { signal } = new AbortController();
  return Object.assign(weather, { client, clock, random, log, records, requests, signal });
}

/** Makes a namespace and returns its name. */
export async function namespaceIn({ client, signal }: CacheWorld, name: string): Promise<string> {
  await client.resource(NAMESPACES).create({ metadata: { name } }, { signal });
  return name;
}

/** Makes ConfigMaps by name. */
export async function configMapsIn(
  { client, signal }: CacheWorld,
  namespace: string,
  ...names: string[]
): Promise<ConfigMap[]> {
  const configMaps: ResourceClient<ConfigMap> = client.resource(CONFIG_MAPS);
  return await Promise.all(
    names.map((name) =>
      configMaps.create({
        metadata: { name, namespace, labels: { app: name } },
        data: { key: "value" },
      }, { signal })
    ),
  );
}

/** Serves {@linkcode WIDGETS}. */
export async function defineWidgets({ client, signal }: CacheWorld): Promise<void> {
  const { gvk, plural } = WIDGETS;
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).create({
    metadata: { name: `${plural}.${gvk.group}` },
    spec: {
      group: gvk.group,
      scope: "Namespaced",
      names: { kind: gvk.kind, plural, singular: "widget", listKind: "WidgetList" },
      versions: [{
        name: gvk.version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
      }],
    },
  }, { signal });
}

/** Serves them no more. */
export async function undefineWidgets({ client, signal }: CacheWorld): Promise<void> {
  const name = `${WIDGETS.plural}.${WIDGETS.gvk.group}`;
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).delete({ name, signal });
}

/** Makes a Widget, however soon after its definition. */
export async function widgetIn(world: CacheWorld, name: string): Promise<Widget> {
  const widgets = world.client.resource(WIDGETS);
  const draft = { metadata: { name, namespace: "default" } };
  for (let tries = 0;; tries++) {
    try {
      return await widgets.create(draft, world);
    } catch (error) {
      if (!isNotFound(error) || tries > 100) throw error;
      let isLater = false;
      const later = world.clock.sleep(100, world).then(() => isLater = true);
      await world.until(() => isLater, "a tenth of a second");
      await later;
    }
  }
}

/**
 * A simulated cluster in weather, with a client on each side of it.
 *
 * @module
 */

import { strictEqual } from "node:assert/strict";
import { Client } from "../../lib/client/client.ts";
import { CONFIG_MAPS } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import {
  ApiServer,
  CALM,
  seededRandom,
  SimClock,
  Trace,
  Weather,
  type WeatherPlan,
} from "../../lib/simulator/mod.ts";

/** Where everything is. */
export const NAMESPACE = "default";
/** Path of all ConfigMaps there. */
export const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

/** A cluster under `plan`, a client in the weather (`client`) and one past it (`user`). */
export function worldOf(plan: Partial<WeatherPlan> = {}, seed = 1) {
  const clock = new SimClock();
  const server = new ApiServer({ clock, random: seededRandom(seed) });
  const trace = new Trace({ nowMs: () => clock.monotonicMs() });
  const weather = new Weather({
    server,
    clock,
    random: seededRandom(seed + 1),
    plan: { ...CALM, ...plan },
    trace,
  });
  const connection = { server: "https://sim:6443", userAgent: "test/1" };
  const stop = new AbortController();
  const clientOf = (transport: typeof weather.fetch) =>
    new Client(new RestClient({ transport, connection, clock })).resource(CONFIG_MAPS);
  return {
    ...{ clock, server, weather, trace, stop, signal: stop.signal },
    client: clientOf(weather.fetch),
    user: clientOf((url, init) => server.fetch(url, init)),
    async [Symbol.asyncDispose]() {
      stop.abort(new DOMException("over", "AbortError"));
      await clock.advance(0);
      await weather[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await clock.settle();
      strictEqual(clock.pendingTimers, 0, "the weather leaves no timer");
    },
  };
}

/** See {@linkcode worldOf}. */
export type Cluster = ReturnType<typeof worldOf>;

/** Creates a ConfigMap past the weather. */
export async function create(
  { user, signal }: Cluster,
  name: string,
  data: Record<string, string> = {},
) {
  return await user.create({ metadata: { name, namespace: NAMESPACE }, data }, { signal });
}

/** Sends one request as a program does, and drives time until it has ended. */
export async function drive<T>({ clock }: Cluster, work: Promise<T>): Promise<T> {
  let hasEnded = false;
  const ended = () => void (hasEnded = true);
  work.then(ended, ended);
  await clock.runUntil(() => hasEnded, { limitMs: 600_000, action: "the answer" });
  return await work;
}

/** Follows ConfigMaps from the version of now on; collects what it is told and how it ends. */
export function follow(cluster: Cluster) {
  const told: string[] = [];
  let error: unknown;
  const { client, server, signal } = cluster;
  const run = async () => {
    const resourceVersion = String(server.storage.revision);
    for await (
      const event of client.watch({
        namespace: NAMESPACE,
        resourceVersion,
        timeoutSeconds: 600,
        signal,
      })
    ) {
      if ("object" in event) told.push(`${event.type} ${event.object.metadata.name}`);
    }
  };
  const ended = run().then(() => "ended", (thrown) => {
    error = thrown;
    return "failed";
  });
  return { told, ended, error: () => error };
}

/** Where most tests have their ConfigMap. */
export const one = { name: "a", namespace: NAMESPACE };

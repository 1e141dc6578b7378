/**
 * An API server and a clock to test operators against, in one process and without a socket.
 *
 * {@linkcode ApiServer} has a `fetch` that fits the client's `Transport`; {@linkcode SimClock} moves
 * when a test says so, and lets all promise work end before it does. {@linkcode serveHttp} puts the
 * same server on a loopback port, for kubectl and curl; {@linkcode simulate} runs a whole program
 * against it in seeded weather.
 *
 * @example A test in ten lines: the library's finalizers, on a server that honours them
 * ```ts
 * import { ok, rejects } from "node:assert/strict";
 * import { Client, CONFIG_MAPS, RestClient } from "@foo-operator/lib/client";
 * import { ensureFinalizer, removeFinalizer } from "@foo-operator/lib/controller";
 * import { isNotFound } from "@foo-operator/lib/core";
 * import { ApiServer, seededRandom, SimClock } from "@foo-operator/lib/simulator";
 *
 * const [clock, { signal }] = [new SimClock(), new AbortController()];
 * await using server = new ApiServer({ clock, random: seededRandom(1) });
 * const transport = (url: string, init: RequestInit) => server.fetch(url, init);
 * const connection = { server: "https://sim:6443", userAgent: "test/1.0" };
 * const client = new Client(new RestClient({ transport, connection, clock })).resource(CONFIG_MAPS);
 * const place = { name: "a", namespace: "default" };
 * const made = await client.create({ metadata: place }, { signal });
 * const hold = { client, finalizer: "example.com/hold", signal };
 * const held = await ensureFinalizer(made, hold);
 *
 * await client.delete({ ...place, signal }); // as a user does
 * ok((await client.get({ ...place, signal })).metadata.deletionTimestamp);
 * await removeFinalizer(held, hold);
 * await rejects(client.get({ ...place, signal }), isNotFound);
 * ```
 *
 * @module
 */

export * from "./http_front.ts";
export * from "./least_weather.ts";
export * from "./program.ts";
export * from "./server.ts";
export * from "./sim_clock.ts";
export * from "./simulation.ts";
export * from "./statistics.ts";
export * from "./storage.ts";
export * from "./trace.ts";
export * from "./weather.ts";
export * from "./weather_plan.ts";
export type { AccessAttributes, Authorizer } from "./authorization.ts";
export type { ApiObject } from "./api_object.ts";
export type { Target, UserInfo, Verb } from "./request.ts";
export type { PodsMaxEvent, WorkloadOptions } from "./workloads.ts";
export type { Clock, Random } from "../core/clock.ts";
export type { JsonObject } from "../core/json.ts";
export type { LogFields, Logger } from "../core/log.ts";
export type {
  DraftMeta,
  KubeObject,
  ManagedFieldsEntry,
  ObjectKey,
  ObjectMeta,
  OwnerReference,
} from "../core/objects.ts";
export type { AnyObject } from "../core/watch_event.ts";

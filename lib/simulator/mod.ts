/**
 * An API server and a clock to test operators against, in one process and without a socket.
 *
 * {@linkcode ApiServer} has a `fetch` that fits the client's `Transport`; {@linkcode SimClock} moves
 * when a test says so, and lets all promise work end before it does. {@linkcode serveHttp} puts the
 * same server on a loopback port, for kubectl and curl.
 *
 * @module
 */

export * from "./http_front.ts";
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
export type { WorkloadOptions } from "./workloads.ts";
export type { Clock, Random } from "../core/clock.ts";
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

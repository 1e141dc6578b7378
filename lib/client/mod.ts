/**
 * The API server: configuration as kubectl finds it, credentials that renew themselves, and typed
 * verbs for any kind.
 *
 * {@linkcode loadConfig} says where the server is and who we are, {@linkcode openTransport} opens
 * the way there, {@linkcode RestClient} sends requests with deadlines and turns refusals into
 * `ApiError`s, and {@linkcode Client} gives the verbs of a kind ({@linkcode ResourceClient}).
 *
 * What holds for all verbs: each takes an `AbortSignal`; each ends within its deadlines, whatever
 * the server does; a response's body has been read or cancelled when the promise settles. A write
 * is sent once: the client repeats none of its own accord, with the exceptions that
 * {@linkcode RestClient} names.
 *
 * @module
 */

export * from "./api_catalog.ts";
export * from "./client.ts";
export * from "./config.ts";
export { type AccessedHost } from "./config_route.ts";
export * from "./connection.ts";
export { type LocalFiles } from "./credentials.ts";
export { type DeadlineLimits } from "./deadlines.ts";
export * from "./discovery.ts";
export * from "./dynamic_client.ts";
export * from "./kinds.ts";
export * from "./open_transport.ts";
export * from "./patch.ts";
export * from "./pods.ts";
export { type Environment } from "./proxy.ts";
export * from "./read_modify_write.ts";
export { type RateLimit } from "./request_throttle.ts";
export * from "./resource_client.ts";
export * from "./resource_options.ts";
export * from "./rest.ts";
export * from "./scheme.ts";
export * from "./selectors.ts";
export * from "./secrets.ts";
export * from "./subresource_client.ts";
export * from "./table_client.ts";
export * from "./transport.ts";
export * from "./user_agent.ts";

/**
 * The transport that a connection's settings ask for.
 *
 * @module
 */

import { FetchTransport, type FetchTransportOptions, type Transport } from "./transport.ts";

/** A transport and its connections, which end with the scope. */
export interface OpenTransport extends Disposable {
  /** Sends a request. */
  readonly send: Transport;
}

/**
 * A {@linkcode FetchTransport}; for settings with `insecureSkipTlsVerify` the one over `node:https`,
 * which is loaded only then. Connects at the first request.
 *
 * @example
 * ```ts
 * import { silentLogger } from "../core/log.ts";
 * import { realClock } from "../core/clock.ts";
 *
 * const credential = { generation: 1, token: "t" };
 * const source = {
 *   current: () => Promise.resolve(credential),
 *   refresh: () => Promise.resolve(credential),
 * };
 * const settings = { server: "https://127.0.0.1:6443", namespace: "default", userAgent: "me/1" };
 * using transport = await openTransport({ source, settings, clock: realClock, log: silentLogger });
 * ```
 */
export async function openTransport(options: FetchTransportOptions): Promise<OpenTransport> {
  if (!options.settings.insecureSkipTlsVerify) return new FetchTransport(options);
  const { InsecureTransport } = await import("./insecure_transport.ts");
  return new InsecureTransport(options);
}

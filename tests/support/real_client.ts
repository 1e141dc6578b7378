/**
 * The client on a test's real control plane.
 *
 * @module
 */

import { Client } from "../../lib/client/client.ts";
import { RestClient, type RestOptions } from "../../lib/client/rest.ts";
import { FetchTransport } from "../../lib/client/transport.ts";
import { realClock } from "../../lib/core/clock.ts";
import { silentLogger } from "../../lib/core/log.ts";
import type { ControlPlane } from "./control_plane.ts";

/** A client with all rights; leaving its scope closes its connections. */
export interface RealClient extends Disposable {
  readonly client: Client;
  readonly rest: RestClient;
}

/** A client of `plane`, as its admin unless another token is given. */
export function realClient(
  plane: ControlPlane,
  { token = plane.adminToken, ...options }: Partial<RestOptions> & { token?: string } = {},
): RealClient {
  const credential = { generation: 1, token, caPem: plane.caPem };
  const current = () => Promise.resolve(credential);
  const settings = { server: plane.server, namespace: "default", userAgent: "client-test/1" };
  const transport = new FetchTransport({
    source: { current, refresh: current },
    settings,
    clock: realClock,
    log: silentLogger,
  });
  const rest = new RestClient({
    transport: transport.send,
    connection: settings,
    clock: realClock,
    ...options,
  });
  return {
    client: new Client(rest),
    rest,
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  };
}

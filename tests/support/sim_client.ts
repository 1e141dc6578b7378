/**
 * The client on a simulated API server and clock, for tests of what the client does with answers
 * that make sense.
 *
 * @module
 */

import { Client } from "../../lib/client/client.ts";
import { RestClient, type RestOptions } from "../../lib/client/rest.ts";
import type { Transport } from "../../lib/client/transport.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string | undefined;
}

/** A client and its server. */
export interface SimClient extends AsyncDisposable {
  readonly server: ApiServer;
  readonly clock: SimClock;
  readonly client: Client;
  readonly rest: RestClient;
  /** What was asked so far. */
  readonly requests: readonly SeenRequest[];
}

/** A client of a fresh server. `before` may answer in the server's place, or act before it does. */
export function simClient(
  { before, ...options }: Partial<RestOptions> & {
    before?: (...args: Parameters<Transport>) => Promise<Response | void> | void;
  } = {},
): SimClient {
  const clock = new SimClock();
  const server = new ApiServer({ clock, random: seededRandom(1) });
  const requests: SeenRequest[] = [];
  const transport: Transport = async (url, init) => {
    const { pathname, searchParams } = new URL(url);
    requests.push({ method: init.method, path: pathname, query: searchParams, body: init.body });
    return await before?.(url, init) ?? await server.fetch(url, init);
  };
  const connection = { server: "https://test:6443", userAgent: "test/1" };
  const rest = new RestClient({ transport, connection, clock, ...options });
  return {
    server,
    clock,
    rest,
    requests,
    client: new Client(rest),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

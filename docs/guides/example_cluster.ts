/**
 * A client of a simulated cluster, for the examples in these guides: they run, and need no cluster.
 *
 * @module
 */

import { Client, type Clock, type Random, RestClient } from "@foo-operator/lib";
import { ApiServer, seededRandom, SimClock } from "@foo-operator/lib/simulator";

/** What the examples use. */
export interface ExampleCluster extends AsyncDisposable {
  /** The way into the API. */
  readonly client: Client;
  /** Its request layer. */
  readonly rest: RestClient;
  /** The cluster's time: it stands still until it is waited for. */
  readonly clock: Clock;
  /** The cluster's chance. */
  readonly random: Random;
  /** Never aborts. */
  readonly signal: AbortSignal;
}

/** An empty cluster of its own for each example. */
export function exampleCluster(): ExampleCluster {
  const clock = new SimClock();
  const random = seededRandom(1);
  const server = new ApiServer({ clock, random });
  const rest = new RestClient({
    transport: (url, init) => server.fetch(url, init),
    connection: { server: "https://example.com:6443", userAgent: "guide/1.0" },
    clock,
  });
  return {
    client: new Client(rest),
    rest,
    clock,
    random,
    signal: new AbortController().signal,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/**
 * A cluster to run controllers on, simulated or real, so that one test can be held against both.
 *
 * @module
 */

import { Client } from "../../lib/client/client.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type KindDefinition,
  NAMESPACES,
} from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { FetchTransport, type Transport } from "../../lib/client/transport.ts";
import { type Clock, type Random, realClock, realRandom, realUuid } from "../../lib/core/clock.ts";
import { isAlreadyExists, isNotFound } from "../../lib/core/errors.ts";
import { silentLogger } from "../../lib/core/log.ts";
import type { Draft, KubeObject } from "../../lib/core/objects.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, seededUuid, SimClock } from "../../lib/simulator/sim_clock.ts";
import type { ControlPlane } from "./control_plane.ts";
import type { RealSuite } from "./real_suite.ts";

/** A write that the server answered, as `PATCH /api/v1/… 200`. */
export type SeenWrite = string;

/** What a test needs of a cluster; it can't tell which of the two it has. */
export interface Cluster {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
  readonly signal: AbortSignal;
  /** A namespace of this test's own. */
  readonly namespace: string;
  /** Part of names of cluster-scoped objects, of this test's own. */
  readonly id: string;
  /** Writes through {@linkcode Cluster.client}, in order. */
  readonly writes: SeenWrite[];
  /** Waits for `promise` while time passes. */
  wait<R>(promise: Promise<R>): Promise<R>;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
  /** Waits until `claim` holds; `what` names it if it never does. */
  until(what: string, claim: () => Promise<boolean> | boolean): Promise<void>;
}

/** Longest wait for anything here, in milliseconds. */
const LIMIT_MS = 30_000;

/** How often a claim is asked for, in milliseconds. */
const ASK_EVERY_MS = 50;

/** Adds a test that runs on the simulated and on the real cluster of `suite`. */
export function onBothClusters(
  suite: RealSuite,
  name: string,
  body: (cluster: Cluster) => Promise<void>,
): void {
  Deno.test(`${name} (simulator)`, async () => {
    const clock = new SimClock();
    const random = seededRandom(7);
    await using server = new ApiServer({ clock, random });
    const passing = passOn((url, init) => server.fetch(url, init));
    const simulated = {
      ...passing,
      client: clientOf(passing.transport, clock, "https://sim:6443"),
      clock,
      random,
      uuid: seededUuid(seededRandom(8)),
      pass: (ms: number) => clock.advance(ms),
      async wait<R>(promise: Promise<R>): Promise<R> {
        let isDone = false;
        const watched = promise.finally(() => void (isDone = true));
        watched.catch(() => {}); // thrown by the last line
        await clock.runUntil(() => isDone, { limitMs: LIMIT_MS, action: "the answer" });
        return await watched;
      },
    };
    await run("sim", simulated, body);
  });
  suite.test(`${name} (real)`, async (plane) => {
    using transport = realTransport(plane);
    const passing = passOn(transport.send);
    const real = {
      ...passing,
      client: clientOf(passing.transport, realClock, plane.server),
      clock: realClock,
      random: realRandom,
      uuid: realUuid,
      pass: (ms: number) => realClock.sleep(ms, { signal: new AbortController().signal }),
      wait: <R>(promise: Promise<R>) => promise,
    };
    await run(realUuid().slice(0, 8), real, body);
  });
}

/** Serves the kind of `definition`, and waits until it does. */
export async function install(
  { client, signal, wait, until }: Cluster,
  definition: Draft<CustomResourceDefinition>,
  kind: KindDefinition<KubeObject>,
): Promise<void> {
  try {
    await wait(client.resource(CUSTOM_RESOURCE_DEFINITIONS).create(definition, { signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  await until(`${kind.plural} are served`, async () => {
    try {
      await client.resource(kind).list({ signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  });
}

async function run(
  id: string,
  parts: Omit<Cluster, "signal" | "namespace" | "id" | "until">,
  body: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const { signal } = new AbortController();
  const namespace = `test-${id}`;
  const draft = { metadata: { name: namespace } };
  await parts.wait(parts.client.resource(NAMESPACES).create(draft, { signal }));
  const until: Cluster["until"] = async (what, claim) => {
    for (let passedMs = 0; passedMs < LIMIT_MS; passedMs += ASK_EVERY_MS) {
      if (await parts.wait(Promise.resolve(claim()))) return;
      await parts.pass(ASK_EVERY_MS);
    }
    throw new Error(`not so within ${LIMIT_MS} ms: ${what}`);
  };
  parts.writes.length = 0;
  await body({ ...parts, signal, namespace, id, until });
}

/** A transport that notes writes. */
function passOn(send: Transport): { transport: Transport; writes: SeenWrite[] } {
  const writes: SeenWrite[] = [];
  return {
    writes,
    async transport(url, init) {
      const response = await send(url, init);
      const { pathname } = new URL(url);
      if (init.method !== "GET") writes.push(`${init.method} ${pathname} ${response.status}`);
      return response;
    },
  };
}

function clientOf(transport: Transport, clock: Clock, server: string): Client {
  return new Client(
    new RestClient({ transport, connection: { server, userAgent: "cluster-test/1" }, clock }),
  );
}

function realTransport(plane: ControlPlane): FetchTransport {
  const credential = { generation: 1, token: plane.adminToken, caPem: plane.caPem };
  const current = () => Promise.resolve(credential);
  return new FetchTransport({
    source: { current, refresh: current },
    settings: { server: plane.server, namespace: "default", userAgent: "cluster-test/1" },
    clock: realClock,
    log: silentLogger,
  });
}

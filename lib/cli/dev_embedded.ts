/**
 * A cluster inside the process: the simulated API server with its workload stand-ins, served on
 * loopback for kubectl and for the operator, which is another process.
 *
 * Its state lives as long as this process and no longer. Whoever has the kubeconfig, which only this
 * user can read, may do everything in it, and nobody else anything.
 *
 * @module
 */

import { Client } from "../client/client.ts";
import { RestClient } from "../client/rest.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { stringifyYaml } from "../core/yaml.ts";
import { serveHttp } from "../simulator/http_front.ts";
import { ApiServer } from "../simulator/server.ts";
import type { PodsMaxEvent } from "../simulator/workloads.ts";
import { createServerIdentity } from "./dev_certificates.ts";

/** Name of the context in the kubeconfig. */
export const EMBEDDED_CONTEXT = "foo-operator-dev";

/** From a Pod's creation until it is ready, in milliseconds: short, but long enough to be seen. */
const POD_READY_MS = 300;

/** Most Pods of a ReplicaSet: a slip of the keyboard must not fill the memory. */
const PODS_MAX = 500;

/** What it is made of. */
export interface EmbeddedOptions {
  /** Folder for the kubeconfig, of this user only. */
  readonly dir: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Must not be guessable. */
  readonly uuid: () => string;
  /** Gets failures of the server itself. */
  readonly log: Logger;
  /** Told of a ReplicaSet that wants more Pods than it gets. */
  readonly onPodsMax: (event: PodsMaxEvent) => void;
}

/** A running one; leaving the scope ends it. */
export interface EmbeddedCluster extends AsyncDisposable {
  /** `https://127.0.0.1:port`. */
  readonly server: string;
  /** Path of the kubeconfig. */
  readonly kubeconfig: string;
  /** Reaches it without a socket. */
  readonly client: Client;
}

/**
 * Starts one on a free port.
 *
 * @throws {ConfigError} If it can't listen on loopback.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedCluster> {
  const { dir, userAgent, clock, random, uuid, log, onPodsMax } = options;
  const identity = await createServerIdentity({
    name: EMBEDDED_CONTEXT,
    nowMs: clock.wallMs(),
    uuid,
  });
  const token = `${uuid()}${uuid()}`.replaceAll("-", "");
  const workloads = { readyAfterMs: POD_READY_MS, podsMax: PODS_MAX, onPodsMax };
  const api = new ApiServer({ clock, random, workloads });
  const front = serveHttp({ handler: api, token, tls: identity, log });
  const kubeconfig = `${dir}/kubeconfig`;
  const text = kubeconfigOf({ server: front.url, caPem: identity.caPem, token });
  await Deno.writeTextFile(kubeconfig, text, { mode: 0o600, createNew: true });
  const connection = { server: front.url, userAgent };
  return {
    server: front.url,
    kubeconfig,
    client: new Client(
      new RestClient({ transport: (url, init) => api.fetch(url, init), connection, clock }),
    ),
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

function kubeconfigOf(
  { server, caPem, token }: { server: string; caPem: string; token: string },
): string {
  const name = EMBEDDED_CONTEXT;
  return stringifyYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": btoa(caPem) } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  });
}

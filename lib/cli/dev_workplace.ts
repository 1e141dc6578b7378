/**
 * The cluster that a session of `dev` works in: found, opened, and described to whoever needs it.
 *
 * @module
 */

import { Client } from "../client/client.ts";
import { loadConfig, type ResolvedConfig } from "../client/config.ts";
import { openTransport } from "../client/open_transport.ts";
import { type Environment, takeProxyVariables } from "../client/proxy.ts";
import { RestClient } from "../client/rest.ts";
import { rememberingSecrets } from "../client/secrets.ts";
import { ApiError, ConfigError } from "../core/errors.ts";
import { silentLogger } from "../core/log.ts";
import type { Redactor } from "../core/redact.ts";
import type { Host } from "./command.ts";
import { EMBEDDED_CONTEXT, startEmbedded } from "./dev_embedded.ts";
import type { Screen } from "./dev_screen.ts";
import {
  type CurrentContext,
  namedTarget,
  serverAddressOf,
  type Target,
  targetOf,
} from "./dev_target.ts";
import { PROGRAM } from "./help.ts";

/** What the command line says, and the process. */
export interface WorkplaceOptions {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly embedded: boolean;
  readonly host: Host;
  readonly redactor: Redactor;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/** A cluster to work in. Leaving the scope ends what of it is ours. */
export interface Workplace extends AsyncDisposable {
  readonly type: Target["type"];
  readonly client: Client;
  /** What a person should know before anything is written. */
  readonly facts: Readonly<Record<string, string>>;
  /** Flags by which an operator finds it. */
  readonly operatorArgs: readonly string[];
  /** Variables that the operator needs and this process no longer has. */
  readonly environment: Readonly<Record<string, string>>;
  /** How to call kubectl for it: words that stand before a command. */
  readonly kubectl: string;
  /** Kubeconfig of its own, if it has one. */
  readonly kubeconfig?: string;
  /**
   * Makes sure that the operator's flags still lead to the cluster that was chosen.
   *
   * @throws {ConfigError} If they don't.
   */
  check(options: { signal: AbortSignal }): Promise<void>;
  /** Takes away what would outlive the process: for an exit that waits for nothing. */
  abandon(): void;
}

/**
 * Chooses the cluster and opens it. Writes nothing to it.
 *
 * @throws {UsageError} If the command line asks for two things.
 * @throws {ConfigError} If what it names can't be used.
 */
export async function openWorkplace(options: WorkplaceOptions): Promise<Workplace> {
  const loader = new ConfigLoader(options);
  const target = namedTarget(options) ?? targetOf(await currentContext(options, loader));
  return target.type === "embedded"
    ? await openEmbedded(target.why, options)
    : await openCluster(target, { ...options, loader });
}

/**
 * Reads configurations, any number of times: each time with the proxy variables that the process had
 * at its start. The process itself has them no more, or Deno would apply them unseen.
 */
class ConfigLoader {
  readonly proxyVariables: Readonly<Record<string, string>>;
  readonly #options: WorkplaceOptions;

  constructor(options: WorkplaceOptions) {
    this.#options = options;
    this.proxyVariables = takeProxyVariables(options.host.environment);
  }

  load(context: string | undefined, { signal }: { signal: AbortSignal }): Promise<ResolvedConfig> {
    const { kubeconfig, host } = this.#options;
    const { terminals, files, clock, uuid } = host;
    return loadConfig({
      kubeconfig,
      context,
      environment: this.#environment(),
      userAgent: userAgentOf(host),
      stdinIsTerminal: terminals.stdin,
      files,
      uuid,
      clock,
      // Whatever it warns of, the operator warns of when it loads the same.
      log: silentLogger,
      signal,
    });
  }

  #environment(): Environment {
    const proxies = new Map(Object.entries(this.proxyVariables));
    return {
      get: (name) => proxies.get(name) ?? this.#options.host.environment.get(name),
      delete: (name) => void proxies.delete(name),
    };
  }
}

function userAgentOf({ build }: Host): string {
  return `${PROGRAM}-dev/${build.version} (${build.platform})`;
}

/** The current context, if this machine has one that can be used. */
async function currentContext(
  { kubeconfig, host: { environment }, signal }: WorkplaceOptions,
  loader: ConfigLoader,
): Promise<CurrentContext> {
  const home = environment.get("HOME") || environment.get("USERPROFILE");
  const isAny = kubeconfig || environment.get("KUBECONFIG") ||
    (home && await exists(`${home}/.kube/config`));
  if (!isAny) return { type: "none", why: "this machine has no kubeconfig" };
  try {
    await using config = await loader.load(undefined, { signal });
    const { connection: { contextName: name }, access: { hosts } } = config;
    return { type: "found", ...(name !== undefined && { name }), hosts };
  } catch (error) {
    // A file that was named must be of use; what merely lies around need not be.
    if (!(error instanceof ConfigError) || kubeconfig !== undefined) throw error;
    return { type: "none", why: `the current context can't be used: ${error.message}` };
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function openEmbedded(
  why: string,
  { host, screen }: WorkplaceOptions,
): Promise<Workplace> {
  const { clock, random, uuid } = host;
  const dir = await Deno.makeTempDir({ prefix: `${PROGRAM}-dev-` });
  try {
    const cluster = await startEmbedded({
      dir,
      userAgent: userAgentOf(host),
      clock,
      random,
      uuid,
      // The only thing that it logs is a fault of its own.
      log: {
        ...silentLogger,
        error: (message, fields) => screen.bad(`${message}: ${fields?.["error"]}`),
      },
      onPodsMax: ({ namespace, replicaSet, replicas, podsMax }) =>
        screen.bad(
          `ReplicaSet ${namespace}/${replicaSet} wants ${replicas} Pods: ` +
            `the simulated server makes no more than ${podsMax} for one`,
        ),
    });
    const { server, kubeconfig, client } = cluster;
    return {
      type: "embedded",
      client,
      facts: {
        context: EMBEDDED_CONTEXT,
        because: why,
        server: `${server}, simulated in this process`,
        kubeconfig,
      },
      operatorArgs: ["--kubeconfig", kubeconfig],
      environment: {},
      kubectl: "kubectl",
      kubeconfig,
      check: () => Promise.resolve(),
      abandon: () => removeIfThere(dir),
      async [Symbol.asyncDispose]() {
        await cluster[Symbol.asyncDispose]();
        await Deno.remove(dir, { recursive: true });
      },
    };
  } catch (error) {
    await Deno.remove(dir, { recursive: true });
    throw error;
  }
}

function removeIfThere(dir: string): void {
  try {
    Deno.removeSync(dir, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function openCluster(
  { context, why }: Target & { type: "cluster" },
  { kubeconfig, host, redactor, signal, loader }: WorkplaceOptions & { loader: ConfigLoader },
): Promise<Workplace> {
  const { clock } = host;
  const config = await loader.load(context, { signal });
  const { connection } = config;
  const chosen = addressOf(config);
  const transport = await openTransport({
    source: rememberingSecrets(config.credentials, redactor),
    settings: connection,
    clock,
    log: silentLogger,
  });
  const flags = [...(kubeconfig ? ["--kubeconfig", kubeconfig] : []), "--context", context];
  return {
    type: "cluster",
    client: new Client(new RestClient({ transport: transport.send, connection, clock })),
    facts: { context, because: why, server: connection.server },
    // The name, so that another current context, later, changes nothing for a restarted operator.
    operatorArgs: flags,
    environment: loader.proxyVariables,
    kubectl: ["kubectl", ...flags].join(" "),
    async check({ signal }) {
      await using now = await loader.load(context, { signal });
      if (addressOf(now) === chosen) return;
      throw new ConfigError(
        `Context "${context}" now leads to ${addressOf(now)} and not to ${chosen}: ` +
          "start dev again if that is where it should work",
      );
    },
    abandon: () => {},
    async [Symbol.asyncDispose]() {
      transport[Symbol.dispose]();
      await config[Symbol.asyncDispose]();
    },
  };
}

/** Where the API server of a configuration is. */
function addressOf({ access }: ResolvedConfig): string {
  const server = serverAddressOf(access.hosts);
  return server === undefined ? "nowhere" : `${server.hostname}:${server.port}`;
}

/** What went wrong with the chosen cluster at its first use, in one sentence with the remedy. */
export function clusterFailure(
  error: Error,
  { facts }: Pick<Workplace, "facts">,
): ConfigError {
  const { context, server } = facts;
  const message = error instanceof ApiError
    ? `Cannot apply the definition of Foo to context "${context}" at ${server}: ${error.message}; ` +
      "use a user who may get, create and patch customresourcedefinitions"
    : `Cannot reach the API server ${server} of context "${context}": ${lastCause(error)}; ` +
      "start that cluster, or use --embedded";
  return new ConfigError(message, { cause: error });
}

/** What the first thing to go wrong said. Bounded, since causes may form a cycle. */
function lastCause(error: Error): string {
  let at = error;
  for (let depth = 0; at.cause instanceof Error && depth < 8; depth++) at = at.cause;
  return at.message;
}

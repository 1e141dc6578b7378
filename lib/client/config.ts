/**
 * Finds out which API server to talk to and as whom: `--kubeconfig`, else `KUBECONFIG`, else the
 * service account of the Pod we run in, else `~/.kube/config`.
 *
 * The only place that looks at files, variables and kubeconfigs for that. What comes out is plain
 * data plus a {@linkcode CredentialSource}, so that an operator can run where none of them is in
 * reach. Nothing falls back silently: what was named explicitly is used or is an error, which says
 * in one sentence which value is at fault and what to do, never a secret.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import { type Logger, withFields } from "../core/log.ts";
import {
  caPartsOf,
  checkCluster,
  type ConfigPart,
  execClusterInfoOf,
  impersonationOf,
  type Named,
  type PartContext,
  serverUrlOf,
  userPartsOf,
} from "./config_parts.ts";
import { type AccessedHost, routeTo, trimmed } from "./config_route.ts";
import type { ConnectionSettings, CredentialSource } from "./connection.ts";
import { caFilePart, readFor, tokenFilePart } from "./credential_parts.ts";
import { type LocalFiles, localFiles, RefreshingCredentials } from "./credentials.ts";
import { mergeKubeconfigs, parseKubeconfig, splitKubeconfigVariable } from "./kubeconfig.ts";
import type { Kubeconfig, KubeconfigCluster, KubeconfigUser } from "./kubeconfig_types.ts";
import {
  checkProxyUrl,
  type Environment,
  PROXY_VARIABLES,
  proxyFor,
  takeProxyVariables,
} from "./proxy.ts";

/** What {@linkcode loadConfig} is told. An empty string is the same as nothing. */
export interface LoadConfigOptions {
  /** `--kubeconfig`: the one file to use. */
  readonly kubeconfig?: string | undefined;
  /** `--context`: the context to use in place of the current one; means a kubeconfig is used. */
  readonly context?: string | undefined;
  /** `--master` or `--server`: the URL to use in place of the configured one. */
  readonly master?: string | undefined;
  /**
   * The process' variables. Those about proxies are removed from it: Deno would apply them unseen,
   * even over a proxy that the configuration names. So a second load in the same process must be
   * given a copy of what the first one saw.
   */
  readonly environment: Environment;
  /** Value of the `User-Agent` header. */
  readonly userAgent: string;
  /** A person may be asked for something by an exec plugin. @default {false} */
  readonly stdinIsTerminal?: boolean;
  /** Where configuration is read from. @default {localFiles} */
  readonly files?: LocalFiles;
  /** Makes the password of a relay; must not be guessable. */
  readonly uuid: () => string;
  /** Decides when credentials are renewed. */
  readonly clock: Clock;
  /** Gets a warning for what is used in another way than it looks, and for failed renewals. */
  readonly log: Logger;
  /** Ends the loading; what was loaded does not depend on it. */
  readonly signal: AbortSignal;
}

/** Everything an operator needs to reach its API server. Dispose of it last. */
export interface ResolvedConfig extends AsyncDisposable {
  /** Plain data, for whoever sends the requests. */
  readonly connection: ConnectionSettings;
  /** Stays where files and subprocesses are in reach. */
  readonly credentials: CredentialSource;
  /** Where all this was found, for messages: `--kubeconfig "/x"`, `in-cluster service account`. */
  readonly origin: string;
  /** What it takes to use it. */
  readonly access: ConfigAccess;
}

/** Hosts, files and commands that a configuration uses. Plain data, without secrets. */
export interface ConfigAccess {
  /** Whom the process that sends requests connects to. */
  readonly hosts: readonly AccessedHost[];
  /** Files that are read again and again to keep the credentials fresh. */
  readonly files: readonly string[];
  /** The exec plugin, if there is one. */
  readonly commands: readonly string[];
}

/** Where kubelet mounts the service account. */
export const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

/** All variables that {@linkcode loadConfig} reads: what `--allow-env` must name. */
export const CONFIG_VARIABLES: readonly string[] = [
  "KUBECONFIG",
  "KUBERNETES_SERVICE_HOST",
  "KUBERNETES_SERVICE_PORT",
  "HOME",
  "USERPROFILE",
  ...PROXY_VARIABLES,
];

/** What messages call the user of a Pod. */
const SERVICE_ACCOUNT = "service account";

/** A server and a user, however they were found. */
interface Found {
  readonly origin: string;
  readonly contextName?: string;
  readonly namespace: string;
  readonly server: string;
  readonly cluster: Named<KubeconfigCluster>;
  readonly user: Named<KubeconfigUser>;
  /** Parts that are not those of the cluster and the user. */
  readonly parts: readonly ConfigPart[];
}

/**
 * Resolves the configuration and checks all of it but what an exec plugin would answer: the plugin
 * is run when credentials are asked for.
 *
 * @throws {ConfigError} If there is none, or it can't be used.
 */
export async function loadConfig(options: LoadConfigOptions): Promise<ResolvedConfig> {
  const { clock, log, signal, files = localFiles, stdinIsTerminal = false } = options;
  const proxyVariables = takeProxyVariables(options.environment);
  const found = await find(options, files);
  const { cluster, user, origin } = found;
  checkCluster(cluster);
  const server = serverUrlOf(found.server, {
    subject: `cluster "${cluster.name}" (${origin})`,
    tls: hasTls(cluster.value, user.value),
  });
  const proxyUrl = cluster.value.proxyUrl === undefined
    ? proxyFor(server, proxyVariables)
    : checkProxyUrl(cluster.value.proxyUrl, `the proxy-url of cluster "${cluster.name}"`);
  const context: PartContext = { files, clock, stdinIsTerminal, proxyVariables };
  const all = [
    ...found.parts,
    ...caPartsOf(cluster, context),
    ...userPartsOf(user, execClusterInfoOf(trimmed(server), cluster), context),
  ];
  // As in kubectl nothing secret goes out in the clear: the server sees an anonymous user.
  const parts = server.protocol === "http:" ? [] : all;
  const impersonate = impersonationOf(user);
  await checkReadable(parts, signal);
  warn(found, { server, isPluginUsed: parts.some(({ command }) => command !== undefined), log });
  const route = routeTo(server, { cluster, proxyUrl, uuid: options.uuid, clock, log });
  return {
    connection: {
      ...route.settings,
      namespace: found.namespace,
      userAgent: options.userAgent,
      ...(found.contextName !== undefined && { contextName: found.contextName }),
      ...(impersonate !== undefined && { impersonate }),
    },
    credentials: new RefreshingCredentials({
      parts: parts.map(({ part }) => part),
      clock,
      log: withFields(log, { credentials: origin }),
    }),
    origin,
    access: {
      hosts: route.hosts,
      files: parts.flatMap((part) => part.files),
      commands: parts.flatMap(({ command }) => command === undefined ? [] : [command]),
    },
    [Symbol.asyncDispose]: route.close,
  };
}

/** Warns of what is used in another way than it looks. */
function warn(
  { cluster, user }: Found,
  { server, isPluginUsed, log }: { server: URL; isPluginUsed: boolean; log: Logger },
): void {
  if (server.protocol === "http:") {
    if (Object.keys(user.value).length > 0 || user.name === SERVICE_ACCOUNT) {
      log.warn("Credentials are not sent: the server is http://", { user: user.name });
    }
    return;
  }
  if (cluster.value.insecureSkipTlsVerify) {
    log.warn("Server is not verified: insecure-skip-tls-verify is set", { cluster: cluster.name });
  }
  if (user.value.exec !== undefined && !isPluginUsed) {
    log.warn("Exec plugin is not used: the user has a token or password too", { user: user.name });
  }
}

/** The order of the places to look in is here. */
async function find(options: LoadConfigOptions, files: LocalFiles): Promise<Found> {
  const { kubeconfig, context, master, environment, signal } = options;
  if (kubeconfig) {
    const config = await readKubeconfig(kubeconfig, { files, signal });
    return select(config, { origin: `--kubeconfig "${kubeconfig}"`, options });
  }
  const variable = environment.get("KUBECONFIG");
  if (variable) {
    const config = await readAll(variable, { files, options });
    return select(config, { origin: `KUBECONFIG "${variable}"`, options });
  }
  const inCluster = context ? undefined : await findInCluster(options, files);
  if (inCluster !== undefined) return inCluster;

  const path = homeKubeconfig(environment);
  const config = path === undefined
    ? undefined
    : await ifAllowed(ifThere(readKubeconfig(path, { files, signal })));
  if (path !== undefined && config !== undefined) {
    return select(config, { origin: `"${path}"`, options });
  }
  if (master && !context) return select(EMPTY, { origin: "--master", options });
  throw new ConfigError(
    `No cluster configuration found: no --kubeconfig, no KUBECONFIG, ` +
      `${context ? "--context rules out a service account" : "no Pod's service account"}, ` +
      `no file ${path ?? "~/.kube/config"}; give one of them`,
  );
}

const EMPTY: Kubeconfig = { clusters: new Map(), users: new Map(), contexts: new Map() };
const NO_CLUSTER: KubeconfigCluster = {
  server: "",
  insecureSkipTlsVerify: false,
  disableCompression: false,
  extensions: new Map(),
};

function homeKubeconfig(environment: Environment): string | undefined {
  const home = environment.get("HOME") || environment.get("USERPROFILE");
  return home ? `${home}/.kube/config` : undefined;
}

interface ReadOptions {
  readonly files: LocalFiles;
  readonly signal: AbortSignal;
}

async function readKubeconfig(path: string, { files, signal }: ReadOptions): Promise<Kubeconfig> {
  return parseKubeconfig(await readFor(files, path, "kubeconfig", signal), { path });
}

/** Missing files count as empty, but not all of them: whoever set the variable meant a file. */
async function readAll(
  variable: string,
  { files, options: { log, signal } }: { files: LocalFiles; options: LoadConfigOptions },
): Promise<Kubeconfig> {
  const configs: Kubeconfig[] = [];
  const separator = Deno.build.os === "windows" ? ";" : ":";
  for (const path of splitKubeconfigVariable(variable, separator)) {
    const config = await ifThere(readKubeconfig(path, { files, signal }));
    if (config === undefined) log.warn("File named by KUBECONFIG does not exist", { path });
    else configs.push(config);
  }
  if (configs.length > 0) return mergeKubeconfigs(configs);
  throw new ConfigError(
    `None of the files in KUBECONFIG "${variable}" exists; correct the variable or unset it`,
  );
}

/** The cluster, user and namespace of the context in force. */
function select(
  config: Kubeconfig,
  { origin, options }: { origin: string; options: LoadConfigOptions },
): Found {
  const contextName = options.context || config.currentContext;
  const names = [...config.contexts.keys()].map((name) => `"${name}"`).join(", ");
  if (contextName === undefined) {
    if (options.master && names === "") return selected(origin, options);
    throw new ConfigError(
      names === ""
        ? `No context in ${origin}; give a kubeconfig that has one`
        : `No current context in ${origin}; choose one of ${names} with --context`,
    );
  }
  const context = config.contexts.get(contextName);
  if (context === undefined) {
    throw new ConfigError(
      `No context "${contextName}" in ${origin}; it has ${names || "no contexts"}`,
    );
  }
  const subject = `context "${contextName}" in ${origin}`;
  const cluster = config.clusters.get(context.cluster);
  if (cluster === undefined && !(options.master && context.cluster === "")) {
    throw new ConfigError(
      `No cluster "${context.cluster}", which ${subject} names; add it or choose another context`,
    );
  }
  const user = config.users.get(context.user);
  if (user === undefined && context.user !== "") {
    throw new ConfigError(
      `No user "${context.user}", which ${subject} names; add it, or make user "" for anonymous`,
    );
  }
  return {
    ...selected(origin, options, { name: context.cluster, value: cluster ?? NO_CLUSTER }),
    contextName,
    namespace: context.namespace ?? "default",
    user: { name: context.user, value: user ?? {} },
  };
}

/** As the kubeconfig says, but for the server if the command line names one. */
function selected(
  origin: string,
  { master }: LoadConfigOptions,
  { name, value }: Named<KubeconfigCluster> = { name: "", value: NO_CLUSTER },
): Found {
  // As in kubectl: the name in the certificate was the configured server's, not this one's.
  const { tlsServerName: _, ...others } = value;
  return {
    origin,
    namespace: "default",
    server: master || value.server,
    cluster: { name, value: master ? others : value },
    user: { name: "", value: {} },
    parts: [],
  };
}

/** The service account; `undefined` if we do not run in a Pod that has one. */
async function findInCluster(
  { environment, master, signal }: LoadConfigOptions,
  files: LocalFiles,
): Promise<Found | undefined> {
  const host = environment.get("KUBERNETES_SERVICE_HOST");
  const port = environment.get("KUBERNETES_SERVICE_PORT");
  if (!host || !port) return undefined;
  const subject = "the Pod's service account";
  const pathOf = (name: string) => `${SERVICE_ACCOUNT_DIRECTORY}/${name}`;
  const read = (name: string) => readFor(files, pathOf(name), `${name} of ${subject}`, signal);
  // A Pod may be told not to mount it (automountServiceAccountToken: false).
  if (await ifThere(read("token")) === undefined) return undefined;
  const namespace = await ifThere(read("namespace"));
  const part = tokenFilePart({ path: pathOf("token"), subject, files });
  const caPart = caFilePart({ path: pathOf("ca.crt"), subject: `CA of ${subject}`, files });
  return {
    origin: "in-cluster service account",
    namespace: namespace?.trim() || "default",
    server: master || `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    cluster: { name: "in-cluster", value: NO_CLUSTER },
    user: { name: SERVICE_ACCOUNT, value: {} },
    parts: [{ part, files: [pathOf("token")] }, { part: caPart, files: [pathOf("ca.crt")] }],
  };
}

/** What `reading` gives; `undefined` if there is no such file. Other failures stay failures. */
async function ifThere<R>(reading: Promise<R>): Promise<R | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isCausedBy(error, Deno.errors.NotFound)) return undefined;
    throw error;
  }
}

/** The same for a file that nobody named, in a process that may not look there, as in the image. */
async function ifAllowed<R>(reading: Promise<R>): Promise<R | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isCausedBy(error, Deno.errors.NotCapable)) return undefined;
    throw error;
  }
}

function isCausedBy(error: unknown, kind: typeof Deno.errors.NotFound): boolean {
  return error instanceof ConfigError && error.cause instanceof kind;
}

function hasTls(cluster: KubeconfigCluster, user: KubeconfigUser): boolean {
  return cluster.insecureSkipTlsVerify || cluster.certificateAuthority !== undefined ||
    cluster.certificateAuthorityData !== undefined || user.clientCertificate !== undefined ||
    user.clientCertificateData !== undefined;
}

/** Reads every file once, so that what is missing or damaged is told at the start. */
async function checkReadable(parts: readonly ConfigPart[], signal: AbortSignal): Promise<void> {
  for (const { part, command } of parts) {
    if (command === undefined) await part.load({ rejected: false, before: {}, signal });
  }
}

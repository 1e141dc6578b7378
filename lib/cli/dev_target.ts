/**
 * Which cluster `dev` may write to. Pure: a decision about names and addresses.
 *
 * A cluster is written to only if the command line names its context, or if it is plainly one of
 * this machine: by the name that a local tool gives its contexts, and by an address that is local.
 * Neither alone proves anything: anyone may call a context `minikube`, and a tunnel to production
 * ends on loopback. Whatever is left in doubt is left alone.
 *
 * @module
 */

import type { AccessedHost } from "../client/config_route.ts";
import { UsageError } from "./flags.ts";

/** What the command line says about the cluster. */
export interface TargetFlags {
  /** `--context` */
  readonly context: string | undefined;
  /** `--embedded` */
  readonly embedded: boolean;
}

/** The current context of this machine's kubeconfig. */
export type CurrentContext =
  | {
    readonly type: "found";
    /** Absent if a Pod's service account is what was found. */
    readonly name?: string;
    readonly hosts: readonly AccessedHost[];
  }
  /** `why`: half a sentence for the user. */
  | { readonly type: "none"; readonly why: string };

/** Where `dev` works; `why` is half a sentence for the user, after "because". */
export type Target =
  | { readonly type: "embedded"; readonly why: string }
  | { readonly type: "cluster"; readonly context: string; readonly why: string };

/** Names that local clusters' own tools give to their contexts. */
const LOCAL_NAMES = /^(kind-.+|k3d-.+|minikube|docker-desktop)$/;

/**
 * What the command line alone decides; `undefined` if the current context has a say.
 *
 * @throws {UsageError} If it asks for two things.
 */
export function namedTarget({ context, embedded }: TargetFlags): Target | undefined {
  if (embedded && context !== undefined) {
    throw new UsageError("Flags --embedded and --context exclude each other: give one of them");
  }
  if (embedded) return { type: "embedded", why: "--embedded asks for it" };
  if (context !== undefined) return { type: "cluster", context, why: "--context names it" };
  return undefined;
}

/**
 * Where to work if the command line does not say.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const at = (hostname: string) => [{ hostname, port: 6443, role: "server" } as const];
 * const target = (name: string, hostname: string) =>
 *   targetOf({ type: "found", name, hosts: at(hostname) }).type;
 * strictEqual(target("kind-dev", "127.0.0.1"), "cluster");
 * strictEqual(target("kind-dev", "203.0.113.7"), "embedded");
 * strictEqual(target("production", "127.0.0.1"), "embedded");
 * ```
 */
export function targetOf(current: CurrentContext): Target {
  if (current.type === "none") return { type: "embedded", why: current.why };
  const { name, hosts } = current;
  if (name === undefined) {
    return { type: "embedded", why: "a Pod's own cluster is used only if --context names it" };
  }
  if (LOCAL_NAMES.test(name) && isLocalRoute(hosts)) {
    return { type: "cluster", context: name, why: "it is the current context, and plainly local" };
  }
  return {
    type: "embedded",
    why: `the current context is not plainly local; "--context ${name}" uses it all the same`,
  };
}

/** The address of the API server itself: what a relay dials, if there is one. */
export function serverAddressOf(hosts: readonly AccessedHost[]): AccessedHost | undefined {
  return hosts.find(({ role }) => role === "target") ??
    hosts.find(({ role }) => role === "server");
}

/** True if all of the way is local. What lies behind a proxy is the proxy's to say. */
function isLocalRoute(hosts: readonly AccessedHost[]): boolean {
  const server = serverAddressOf(hosts);
  const isProxied = hosts.some(({ role }) => role === "proxy");
  return server !== undefined && !isProxied && isLocalAddress(server.hostname);
}

/**
 * True for loopback, for private IPv4 addresses (RFC 1918) and for the name that Docker Desktop
 * gives to its own. Other names are not looked up: who answers for them may change.
 */
export function isLocalAddress(hostname: string): boolean {
  const name = hostname.toLowerCase();
  if (["localhost", "::1", "kubernetes.docker.internal"].includes(name)) return true;
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(name)?.slice(1).map(Number);
  if (octets === undefined || octets.some((octet) => octet > 255)) return false;
  const [a = 0, b = 0] = octets;
  // k3d writes 0.0.0.0 into its kubeconfigs, which is this machine to whoever connects to it.
  return a === 127 || a === 10 || (a === 192 && b === 168) || (a === 172 && b >= 16 && b <= 31) ||
    name === "0.0.0.0";
}

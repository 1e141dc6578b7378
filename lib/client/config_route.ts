/**
 * The way to the API server that a configuration asks for.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { Named } from "./config_parts.ts";
import type { ConnectionSettings } from "./connection.ts";
import type { KubeconfigCluster } from "./kubeconfig_types.ts";
import { hostOf, portOf } from "./proxy.ts";
import { startRelay } from "./relay.ts";

/** One address. */
export interface AccessedHost {
  /** A name or an address, IPv6 without brackets. */
  readonly hostname: string;
  /** TCP port. */
  readonly port: number;
  /**
   * `server`: the URL of requests names it. `proxy`: they go through it. `relay`: the same, in this
   * process. `target`: what the relay dials, which the sender of requests never does.
   */
  readonly role: "server" | "proxy" | "relay" | "target";
}

/** Where requests go, and what they meet on the way. */
export interface Route {
  /** What the sender of requests must know of it. */
  readonly settings: Omit<ConnectionSettings, "namespace" | "userAgent">;
  /** Who is connected to, by whom. */
  readonly hosts: readonly AccessedHost[];
  /** Ends the relay, if there is one. */
  close(): Promise<void>;
}

/** What {@linkcode routeTo} needs besides the server. */
export interface RouteOptions {
  /** What the kubeconfig says of the server. */
  readonly cluster: Named<KubeconfigCluster>;
  /** Proxy to go through, checked. */
  readonly proxyUrl: string | undefined;
  /** Makes the password of a relay; must not be guessable. */
  readonly uuid: () => string;
  /** Limits the relay's dials. */
  readonly clock: Clock;
  /** Gets the relay's failures. */
  readonly log: Logger;
}

/**
 * How requests get to `server`: directly, through a proxy, or through a relay of our own, which
 * listens from now on.
 *
 * @throws {ConfigError} If the combination asked for is not supported.
 */
export function routeTo(server: URL, options: RouteOptions): Route {
  const { cluster: { name, value }, proxyUrl } = options;
  const { tlsServerName: serverName, insecureSkipTlsVerify } = value;
  const target = { hostname: hostOf(server), port: portOf(server) };
  const isTls = server.protocol === "https:";
  if (isTls && insecureSkipTlsVerify) return insecureRoute(server, { name, serverName, proxyUrl });
  if (!isTls || serverName === undefined || serverName === target.hostname) {
    return directRoute(server, proxyUrl);
  }
  if (proxyUrl?.startsWith("https:")) {
    throw new ConfigError(
      `Cannot use cluster "${name}": tls-server-name together with an https proxy is not supported; ` +
        "use an http or socks5 proxy, or a server whose certificate names its address",
    );
  }
  const { uuid, clock, log } = options;
  const proxy = proxyUrl === undefined ? {} : { proxyUrl };
  const relay = startRelay({ serverName, target, ...proxy, password: uuid(), clock, log });
  const named = new URL(server);
  named.hostname = serverName;
  return {
    settings: { server: trimmed(named), tlsServerName: serverName, proxyUrl: relay.proxyUrl },
    hosts: [
      { hostname: serverName, port: target.port, role: "server" },
      { hostname: relay.hostname, port: relay.port, role: "relay" },
      { ...target, role: "target" },
    ],
    close: async () => await relay[Symbol.asyncDispose](),
  };
}

function directRoute(server: URL, proxyUrl: string | undefined): Route {
  const proxy = proxyUrl === undefined ? undefined : new URL(proxyUrl);
  return {
    settings: { server: trimmed(server), ...(proxyUrl !== undefined && { proxyUrl }) },
    hosts: [
      { hostname: hostOf(server), port: portOf(server), role: "server" },
      ...(proxy === undefined
        ? []
        : [{ hostname: hostOf(proxy), port: portOf(proxy), role: "proxy" as const }]),
    ],
    close: () => Promise.resolve(),
  };
}

function insecureRoute(
  server: URL,
  { name, serverName, proxyUrl }: {
    name: string;
    serverName: string | undefined;
    proxyUrl: string | undefined;
  },
): Route {
  if (proxyUrl !== undefined) {
    throw new ConfigError(
      `Cannot use cluster "${name}": insecure-skip-tls-verify through a proxy is not supported; ` +
        "give the certificate authority of the server",
    );
  }
  if (!canSkipVerification(Deno.version.deno)) {
    throw new ConfigError(
      `Cannot use cluster "${name}": insecure-skip-tls-verify needs Deno 2.9 or newer and this is ` +
        `${Deno.version.deno}; give the certificate authority of the server`,
    );
  }
  return {
    settings: {
      server: trimmed(server),
      insecureSkipTlsVerify: true,
      ...(serverName !== undefined && { tlsServerName: serverName }),
    },
    hosts: [{ hostname: hostOf(server), port: portOf(server), role: "server" }],
    close: () => Promise.resolve(),
  };
}

/**
 * True if `node:https` of this Deno can leave a server unverified. Tried: 2.6.10 verifies all the
 * same, and a binary may be compiled on that one; 2.9.6 does as told.
 */
export function canSkipVerification(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}

/** A URL as settings hold it: without a slash at its end. */
export function trimmed(url: URL): string {
  return url.href.replace(/\/+$/, "");
}

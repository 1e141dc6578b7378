/**
 * What each thread of the operator may do: worked out from the configuration alone, so that it can
 * be printed, tested and then enforced as printed.
 *
 * The worker's list is exact, since Deno makes a worker's permissions of a list. The main thread
 * starts with what the program was given and drops what it no longer needs; Deno can drop a
 * permission as a whole only (a part of a blanket grant that is revoked stays, silently), so what
 * it still needs a part of stays whole, and says so.
 *
 * @module
 */

import type { AccessedHost } from "../client/config_route.ts";
import type { ConfigAccess } from "../client/config.ts";
import type { ConnectionSettings } from "../client/connection.ts";

/** Names of all permissions of the runtime. */
export const PERMISSIONS = ["net", "read", "write", "env", "run", "sys", "ffi", "import"] as const;

/** Name of a permission of the runtime. */
export type PermissionName = typeof PERMISSIONS[number];

/** One thing that is granted, and why. */
export interface Grant {
  readonly permission: PermissionName;
  /** What of it, as Deno's flags spell it: `127.0.0.1:6443`, a path, a variable. */
  readonly value: string;
  readonly why: string;
}

/** A permission of the main thread that stays after the start, and why. */
export interface Kept {
  readonly permission: PermissionName;
  readonly why: string;
}

/** Who may do what; see the module. */
export interface Grants {
  /** All that the worker gets. */
  readonly worker: readonly Grant[];
  /** What the main thread keeps once the operator is loaded; the rest it drops. */
  readonly main: readonly Kept[];
}

/** What decides about grants. A resolved configuration has the first two. */
export interface GrantsOptions {
  readonly access: ConfigAccess;
  readonly connection: Pick<ConnectionSettings, "insecureSkipTlsVerify">;
  /** Addresses that the operator listens on, `host:port`. */
  readonly listen: readonly string[];
}

const ROLES: Readonly<Record<AccessedHost["role"], string>> = {
  server: "the API server",
  proxy: "the proxy before the API server",
  relay: "this process' relay to it (a new port each start)",
  target: "what the relay dials",
};

/**
 * The grants for a configuration.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const { worker, main } = grantsFor({
 *   access: {
 *     hosts: [{ hostname: "10.0.0.1", port: 443, role: "server" }],
 *     files: [],
 *     commands: [],
 *   },
 *   connection: {},
 *   listen: [],
 * });
 * deepStrictEqual(worker.map(({ permission, value }) => [permission, value]), [
 *   ["net", "10.0.0.1:443"],
 * ]);
 * deepStrictEqual(main, []);
 * ```
 */
export function grantsFor({ access, connection, listen }: GrantsOptions): Grants {
  const net = access.hosts.filter(({ role }) => role !== "target").map((host): Grant => ({
    permission: "net",
    value: addressOf(host),
    why: ROLES[host.role],
  }));
  const listening = listen.map((value): Grant => ({
    permission: "net",
    value,
    why: "listens there",
  }));
  const target = access.hosts.find(({ role }) => role === "target");
  return {
    worker: [...net, ...listening, ...(connection.insecureSkipTlsVerify === true ? INSECURE : [])],
    main: [
      ...kept("net", target && `its relay dials ${addressOf(target)}`),
      ...kept("read", access.files.length > 0 && "files of credentials are read again"),
      ...kept("run", access.commands.length > 0 && "the plugin for credentials is run again"),
    ],
  };
}

/** What `node:https` insists on asking; neither opens anything. */
const INSECURE: readonly Grant[] = [
  { permission: "env", value: "NODE_USE_SYSTEM_CA", why: "node:https asks for it" },
  { permission: "sys", value: "ca", why: "node:https reads the system's authorities" },
];

function kept(permission: PermissionName, why: string | false | undefined): Kept[] {
  return why ? [{ permission, why }] : [];
}

/** `host:port`, IPv6 in brackets, as Deno's flags take it. */
function addressOf({ hostname, port }: AccessedHost): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** The worker's permissions in the form that `new Worker` takes: every one of them is named. */
export function workerPermissions(grants: Grants): Readonly<
  Record<PermissionName, false | string[]>
> {
  const of = (permission: PermissionName): false | string[] => {
    const values = grants.worker.filter((each) => each.permission === permission)
      .map(({ value }) => value);
    // An empty list would be no grant either, but false is what can't be misread.
    return values.length === 0 ? false : values;
  };
  return {
    net: of("net"),
    read: of("read"),
    write: of("write"),
    env: of("env"),
    run: of("run"),
    sys: of("sys"),
    ffi: of("ffi"),
    import: of("import"),
  };
}

/** Permissions that the main thread drops. */
export function droppedBy(grants: Grants): PermissionName[] {
  return PERMISSIONS.filter((name) => !grants.main.some(({ permission }) => permission === name));
}

/**
 * `foo-operator permissions`: what the operator may do with a configuration, and why.
 *
 * Prints the same list that `run` enforces ({@linkcode grantsFor}), so it can be read before
 * anything is started. Resolves the configuration as `run` does; runs no plugin and talks to no
 * server.
 *
 * @module
 */

import type { ResolvedConfig } from "../client/config.ts";
import { silentLogger } from "../core/log.ts";
import type { Redactor } from "../core/redact.ts";
import { type Command, EXIT } from "./command.ts";
import {
  type Grants,
  grantsFor,
  type PermissionName,
  PERMISSIONS as ALL_PERMISSIONS,
  workerPermissions,
} from "./grants.ts";
import { PROGRAM } from "./help.ts";
import { CONNECTION_FLAGS, loadConfigOf } from "./run.ts";
import { type OwnPermissions, refusePermissionBroker } from "./sandbox.ts";

/** Prints the effective grants. */
export const PERMISSIONS: Command = {
  name: "permissions",
  summary: "Print what the operator may do, and why",
  description:
    "Prints which of the runtime's permissions the operator and the main thread beside it have with " +
    "this configuration, with the reason of each. Connects to nothing.",
  flags: CONNECTION_FLAGS,
  examples: [
    { line: `${PROGRAM} permissions`, what: "With the configuration that run would use" },
    {
      line: `${PROGRAM} permissions --kubeconfig ~/.kube/config --context kind-dev`,
      what: "With another",
    },
  ],
  async run(invocation, host) {
    refusePermissionBroker(host.environment);
    // Warnings of the configuration are for whoever runs it.
    await using config = await loadConfigOf(invocation, { host, log: silentLogger });
    const grants = grantsFor({ ...config, listen: [] });
    const lines = [
      ...describeConfig(config, invocation.redactor),
      "",
      ...describeWorker(grants),
      "",
      ...await describeMain(grants, host.permissions),
      "",
      ...describeAccess(config),
    ];
    host.stdout(`${lines.join("\n")}\n`);
    return EXIT.ok;
  },
};

function describeConfig({ origin, connection }: ResolvedConfig, redactor: Redactor): string[] {
  const { server, tlsServerName, proxyUrl, insecureSkipTlsVerify } = connection;
  return table([
    ["Configuration", origin],
    ["API server", server],
    ...(tlsServerName === undefined ? [] : [["Verified as", tlsServerName] as const]),
    ...(insecureSkipTlsVerify ? [["Verified", "no: insecure-skip-tls-verify"] as const] : []),
    // Of a proxy in the environment too: this is where it is seen. Its password is not.
    ...(proxyUrl === undefined ? [] : [["Proxy", redactor.text(proxyUrl)] as const]),
  ]);
}

function describeWorker(grants: Grants): string[] {
  const permissions = workerPermissions(grants);
  const none = ALL_PERMISSIONS.filter((name) => permissions[name] === false);
  return [
    "The operator runs in a sandbox with",
    ...indented(grants.worker.map(({ permission, value, why }) => [permission, value, why])),
    `and nothing else: no ${none.join(", ")}.`,
  ];
}

async function describeMain(grants: Grants, permissions: OwnPermissions): Promise<string[]> {
  const row = async (name: PermissionName) => {
    const kept = grants.main.find(({ permission }) => permission === name);
    const fate = kept === undefined ? "dropped" : `kept: ${kept.why}`;
    return [name, GIVEN[await permissions.state(name)], fate];
  };
  return [
    "The main thread beside it has, at its start and once the operator is loaded",
    ...indented(await Promise.all(ALL_PERMISSIONS.map(row))),
  ];
}

const GIVEN = {
  all: "given",
  // Deno tells of a whole permission only whether all of it is granted.
  other: "in part or not",
} as const;

function describeAccess({ access: { files, commands } }: ResolvedConfig): string[] {
  return [
    ...list("Files read again and again, for credentials", files),
    ...list("Commands run, for credentials", commands),
  ];
}

function list(title: string, values: readonly string[]): string[] {
  if (values.length === 0) return [`${title}: none`];
  return [title, ...values.map((value) => `  ${value}`)];
}

function indented(rows: readonly (readonly string[])[]): string[] {
  return table(rows).map((line) => `  ${line}`);
}

/** Columns, each as wide as its widest cell. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()
  );
}

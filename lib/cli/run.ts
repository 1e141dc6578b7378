/**
 * `foo-operator run`: the operator against a real API server.
 *
 * @module
 */

import { loadConfig, type ResolvedConfig } from "../client/config.ts";
import { rememberingSecrets } from "../client/secrets.ts";
import { GRACE_PERIOD_MS } from "../controller/controller.ts";
import type { Logger } from "../core/log.ts";
import { LOG_FORMATS, LOG_LEVELS, type OpenLog, openLog } from "../core/log_sink.ts";
import type { OperatorSettings } from "../foo/operator.ts";
import type { LogSettings } from "./broker_messages.ts";
import { type Command, EXIT, type Host, type Invocation } from "./command.ts";
import {
  durationMs,
  type FlagDefinitions,
  type Flags,
  oneOf,
  UsageError,
  wholeNumber,
} from "./flags.ts";
import { grantsFor } from "./grants.ts";
import { PROGRAM } from "./help.ts";
import { refusePermissionBroker, runSandboxed } from "./sandbox.ts";

/** Flags about the API server, shared with other subcommands that talk to one. */
export const CONNECTION_FLAGS: FlagDefinitions = {
  kubeconfig: {
    type: "text",
    value: "FILE",
    help: "Kubeconfig file (default: KUBECONFIG, else the Pod's service account, else " +
      "~/.kube/config)",
  },
  context: {
    type: "text",
    value: "NAME",
    help: "Context of the kubeconfig (default: its current)",
  },
  master: {
    type: "text",
    aliases: ["server"],
    value: "URL",
    help: "API server to use in place of the configured one",
  },
};

/** Flags about logs. */
export const LOG_FLAGS: FlagDefinitions = {
  "log-level": {
    type: "text",
    value: "LEVEL",
    help: `Least level to log: ${LOG_LEVELS.join(", ")} (default: info)`,
  },
  "log-format": {
    type: "text",
    value: "FORMAT",
    help: "json or text (default: text on a terminal, else json). Logs go to stderr",
  },
};

/**
 * Foos reconciled at a time unless told otherwise. A reconcile mostly waits for the API server, so a
 * few side by side help; more than a few only matter with thousands of Foos.
 */
const WORKERS = 4;

/** Most workers: each holds at most one request open, and API servers allow a user some hundreds. */
const WORKERS_MAX = 256;

/** Longest instance name in an Event, in characters; the API's limit is 128 bytes. */
const INSTANCE_MAX_CHARS = 128;

/**
 * What a stop may take beyond the grace period of running work, in milliseconds: the last events are
 * sent in that time. More means that something hangs.
 */
const STOP_MARGIN_MS = 30_000;

/** Runs the operator until it is told to stop. */
export const RUN: Command = {
  name: "run",
  summary: "Run the operator",
  description:
    "Runs the operator until SIGTERM or SIGINT: then it lets running work end, for up to " +
    `${GRACE_PERIOD_MS / 1000} s, and exits with 0. A second signal ends it at once.`,
  flags: {
    ...CONNECTION_FLAGS,
    namespace: {
      type: "list",
      aliases: ["n", "namespaces"],
      value: "NAME[,NAME]",
      help: "Namespaces to work in; may be repeated (default: all)",
    },
    workers: {
      type: "text",
      value: "N",
      help: `Foos reconciled at a time (default: ${WORKERS})`,
    },
    resync: {
      type: "text",
      value: "DURATION",
      help: "Look at every Foo this often, also without a change, e.g. 10m (default: 0, never)",
    },
    "no-sandbox": {
      type: "switch",
      help: "Run the operator with all permissions of the program, for debuggers",
    },
    ...LOG_FLAGS,
  },
  examples: [
    { line: `${PROGRAM} run`, what: "In a Pod, or against the kubeconfig's current context" },
    {
      line: `${PROGRAM} run --kubeconfig ~/.kube/config --context kind-dev --log-format text`,
      what: "From a workstation",
    },
    {
      line: `${PROGRAM} run --namespace team-a,team-b --workers 16`,
      what: "In two namespaces only",
    },
  ],
  async run(invocation, host) {
    const { flags, redactor } = invocation;
    refusePermissionBroker(host.environment);
    const settings = settingsOf(flags, host);
    using log = logOf(invocation, host);
    await using config = await loadConfigOf(invocation, { host, log: log.logger });
    log.logger.info("Starting", { version: host.build.version, configuration: config.origin });
    const run = { ...settings, connection: config.connection };
    const credentials = rememberingSecrets(config.credentials, redactor);
    if (flags.isSet("no-sandbox")) {
      const { clock, random, uuid, signal } = host;
      log.logger.warn("Running without a sandbox: the operator may do all that this program may");
      // Loaded only here: beside a sandbox this thread has no use for it, and it costs megabytes.
      const { runOperator } = await import("../foo/operator.ts");
      await runOperator(run, { credentials, clock, random, uuid, log: log.logger }, { signal });
    } else {
      await runSandboxed({
        entry: host.operatorWorker,
        grants: grantsFor({ ...config, listen: [] }),
        start: { settings: run, log: logSettingsOf(flags, host) },
        permissions: host.permissions,
        credentials,
        writeLog: host.stderr,
        redactor,
        clock: host.clock,
        stopLimitMs: settings.gracePeriodMs + STOP_MARGIN_MS,
      }, { signal: host.signal });
    }
    return EXIT.ok;
  },
};

/**
 * The configuration that the flags of {@linkcode CONNECTION_FLAGS} ask for. Dispose of it last.
 *
 * @throws {ConfigError} If there is none, or it can't be used.
 */
export function loadConfigOf(
  { flags }: Pick<Invocation, "flags">,
  { host, log }: { host: Host; log: Logger },
): Promise<ResolvedConfig> {
  const { environment, terminals, files, clock, uuid, signal, build } = host;
  return loadConfig({
    kubeconfig: flags.text("kubeconfig"),
    context: flags.text("context"),
    master: flags.text("master"),
    environment,
    userAgent: `${PROGRAM}/${build.version} (${build.platform})`,
    stdinIsTerminal: terminals.stdin,
    files,
    uuid,
    clock,
    log,
    signal,
  });
}

/**
 * What the flags say of the operator's settings.
 *
 * @throws {UsageError} If a value makes no sense.
 */
export function settingsOf(flags: Flags, { environment }: Pick<Host, "environment">): Omit<
  OperatorSettings,
  "connection"
> {
  const namespaces = flags.list("namespace");
  for (const namespace of namespaces) {
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
      throw new UsageError(`Invalid value "${namespace}" for --namespace: not a namespace's name`);
    }
  }
  const instance = environment.get("POD_NAME") || environment.get("HOSTNAME") || PROGRAM;
  return {
    namespaces,
    workers: wholeNumber(flags.text("workers") ?? String(WORKERS), {
      flag: "workers",
      min: 1,
      max: WORKERS_MAX,
    }),
    resyncMs: durationMs(flags.text("resync") ?? "0", { flag: "resync" }),
    instance: instance.slice(0, INSTANCE_MAX_CHARS),
    gracePeriodMs: GRACE_PERIOD_MS,
  };
}

/**
 * The log that the flags ask for.
 *
 * @throws {UsageError} If a value makes no sense.
 */
export function logOf({ flags, redactor }: Invocation, host: Host): OpenLog {
  return openLog({
    ...logSettingsOf(flags, host),
    write: host.stderr,
    redactor,
    clock: host.clock,
  });
}

/**
 * How the flags want logs written, in this thread or another.
 *
 * @throws {UsageError} If a value makes no sense.
 */
export function logSettingsOf(
  flags: Flags,
  { terminals, environment }: Pick<Host, "terminals" | "environment">,
): LogSettings {
  const isTerminal = terminals.stderr;
  return {
    level: oneOf(flags.text("log-level") ?? "info", { flag: "log-level", choices: LOG_LEVELS }),
    format: oneOf(flags.text("log-format") ?? (isTerminal ? "text" : "json"), {
      flag: "log-format",
      choices: LOG_FORMATS,
    }),
    color: isTerminal && !environment.get("NO_COLOR"),
  };
}

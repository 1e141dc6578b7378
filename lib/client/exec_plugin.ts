/**
 * Exec credential plugins (`client.authentication.k8s.io/v1` and `v1beta1`): how one is checked,
 * asked and understood. When it is asked, and how long its answer is kept, is the matter of
 * `credentials.ts`.
 *
 * Promises: the plugin always gets `KUBERNETES_EXEC_INFO` (field case K10); it is ended after a
 * limit; its standard output, which holds the secret, is in no message. Its standard error is what
 * it means to tell the user, so the end of that is in the message of a failure.
 *
 * @module
 */

import { type Clock, withDeadline } from "../core/clock.ts";
import { ConfigError, DeadlineError, messageOf } from "../core/errors.ts";
import { REDACTED, Redactor } from "../core/redact.ts";
import { parseTime } from "../core/timestamps.ts";
import type { KubeconfigExec } from "./kubeconfig_types.ts";
import { checkKeyPair } from "./pem.ts";

/** What `spec.cluster` tells a plugin that asked for it, in the names of the wire. */
export interface ExecClusterInfo {
  /** URL of the API server. */
  readonly server: string;
  /** Name that its certificate has. */
  readonly "tls-server-name"?: string;
  /** Its certificate is not verified. */
  readonly "insecure-skip-tls-verify"?: boolean;
  /** Base64 of PEM. */
  readonly "certificate-authority-data"?: string;
  /** Proxy before the API server. */
  readonly "proxy-url"?: string;
  /** Answers should not be compressed. */
  readonly "disable-compression"?: boolean;
  /** The cluster's extension for plugins, as it stands in the kubeconfig. */
  readonly config?: unknown;
}

/** One plugin, and how it is run. */
export interface ExecPlugin {
  /** Name of the kubeconfig's user, for messages. */
  readonly user: string;
  /** What the kubeconfig says of it. */
  readonly exec: KubeconfigExec;
  /** A person is at the terminal and may be asked for something. */
  readonly stdinIsTerminal: boolean;
  /** Variables added to the process' own, below those of the kubeconfig: the proxies. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What a plugin answered: a token, a client certificate, or both. */
export interface ExecAnswer {
  /** Bearer token. */
  readonly token?: string;
  /** Certificate chain and its key, a matching pair. */
  readonly clientCertificate?: { readonly certificatePem: string; readonly keyPem: string };
  /** When it ends, in milliseconds since 1970; absent if it is good until it is refused. */
  readonly expiresAtMs?: number;
}

/** Time that a plugin has, in milliseconds. Cloud plugins refresh over the network in seconds. */
export const EXEC_PLUGIN_TIMEOUT_MS = 60_000;
/** The same if a person may have to log in, e.g. in a browser. */
export const EXEC_PLUGIN_INTERACTIVE_TIMEOUT_MS = 300_000;
/** Largest answer, in characters. A token and a certificate chain take a few kilobytes. */
const ANSWER_MAX_CHARS = 1024 * 1024;
/** How much of the end of standard error goes into a message, in characters. */
const STDERR_MAX_CHARS = 1024;
/** How much of it is kept, in characters: a secret that is cut at its start is not shown then. */
const STDERR_KEPT_CHARS = 64 * 1024;
/** Time between asking a plugin that is too late to end and ending it, in milliseconds. */
const TERMINATION_GRACE_MS = 1000;

const API_VERSIONS = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
];

/**
 * Checks all that can be known about a plugin without running it.
 *
 * @throws {ConfigError} If it can't be run as configured.
 */
export function checkExecPlugin({ user, exec, stdinIsTerminal }: ExecPlugin): void {
  const refuse = (fault: string, remedy: string): ConfigError =>
    new ConfigError(`Cannot use the exec plugin of user "${user}": ${fault}; ${remedy}`);
  if (exec.command === "") throw refuse("it has no command", "set exec.command");
  if (!API_VERSIONS.includes(exec.apiVersion)) {
    throw refuse(
      `its apiVersion is "${exec.apiVersion}"`,
      `set exec.apiVersion to ${API_VERSIONS.join(" or ")}, updating the plugin if need be`,
    );
  }
  if (exec.env.some(({ name }) => name === "" || name.includes("="))) {
    throw refuse("a variable in exec.env has no proper name", "give each a name");
  }
  const mode = interactiveModeOf(exec);
  if (mode === undefined || !["Never", "IfAvailable", "Always"].includes(mode)) {
    throw refuse(
      mode === undefined ? "it has no interactiveMode" : `its interactiveMode is "${mode}"`,
      "set exec.interactiveMode to Never, IfAvailable or Always",
    );
  }
  if (mode === "Always" && !stdinIsTerminal) {
    throw refuse(
      "its interactiveMode is Always and standard input is not a terminal",
      "run in a terminal, or use credentials that need no person",
    );
  }
}

/**
 * Runs the plugin once.
 *
 * @param cluster Given to it if it asked for `provideClusterInfo`.
 * @throws {ConfigError} If it can't be started, fails, is too slow or answers something else than
 *   credentials.
 */
export async function runExecPlugin(
  plugin: ExecPlugin,
  { cluster, clock, signal }: { cluster: ExecClusterInfo; clock: Clock; signal: AbortSignal },
): Promise<ExecAnswer> {
  checkExecPlugin(plugin);
  const interactive = isInteractive(plugin);
  const limitMs = interactive ? EXEC_PLUGIN_INTERACTIVE_TIMEOUT_MS : EXEC_PLUGIN_TIMEOUT_MS;
  const info = execInfoOf(plugin, cluster);
  try {
    const stdout = await withDeadline(
      (signal) => outputOf(plugin, { info, interactive, clock, signal }),
      { action: "the plugin", limitMs, clock, signal },
    );
    return parseExecCredential(stdout, plugin);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw failure(plugin, `it did not end within ${limitMs / 1000} s`, error);
  }
}

/**
 * The value of `KUBERNETES_EXEC_INFO`: a JSON ExecCredential of the configured version.
 */
export function execInfoOf(plugin: ExecPlugin, cluster: ExecClusterInfo): string {
  return JSON.stringify({
    kind: "ExecCredential",
    apiVersion: plugin.exec.apiVersion,
    spec: {
      ...(plugin.exec.provideClusterInfo && { cluster }),
      interactive: isInteractive(plugin),
    },
  });
}

/**
 * Reads what a plugin printed.
 *
 * @throws {ConfigError} If it is no ExecCredential of the configured version, or holds neither a
 *   token nor a whole pair of certificate and key.
 */
export function parseExecCredential(stdout: string, plugin: ExecPlugin): ExecAnswer {
  const answer = mappingOf(parsedJson(stdout));
  if (answer?.kind !== "ExecCredential") {
    throw failure(plugin, "it printed no ExecCredential in JSON");
  }
  if (answer.apiVersion !== plugin.exec.apiVersion) {
    const fault = `its answer has not the configured apiVersion ${plugin.exec.apiVersion}`;
    throw failure(plugin, fault);
  }
  const status = mappingOf(answer.status) ?? {};
  const [token, certificatePem, keyPem, expiration] = [
    "token",
    "clientCertificateData",
    "clientKeyData",
    "expirationTimestamp",
  ].map((key) => textOf(status[key], key, plugin));
  if ((certificatePem === undefined) !== (keyPem === undefined)) {
    throw failure(plugin, "it gave only one of clientCertificateData and clientKeyData");
  }
  if (token === undefined && certificatePem === undefined) {
    throw failure(plugin, "its answer holds neither a token nor a client certificate");
  }
  // Checked here: what makes the header of a request would quote it.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw failure(plugin, "its token holds a space, a line break or another odd character");
  }
  const expiresAtMs = expiration === undefined ? undefined : expiryOf(expiration, plugin);
  if (certificatePem === undefined || keyPem === undefined) {
    return { ...(token && { token }), ...(expiresAtMs !== undefined && { expiresAtMs }) };
  }
  const clientCertificate = { certificatePem, keyPem };
  checkKeyPair(clientCertificate, `user "${plugin.user}", given by its exec plugin`);
  return {
    clientCertificate,
    ...(token && { token }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

/** `v1beta1` had a default; `v1` wants it said. */
function interactiveModeOf(exec: KubeconfigExec): string | undefined {
  return exec.interactiveMode ?? (exec.apiVersion.endsWith("/v1beta1") ? "IfAvailable" : undefined);
}

function isInteractive({ exec, stdinIsTerminal }: ExecPlugin): boolean {
  return stdinIsTerminal && interactiveModeOf(exec) !== "Never";
}

async function outputOf(
  plugin: ExecPlugin,
  { info, interactive, clock, signal }: {
    info: string;
    interactive: boolean;
    clock: Clock;
    signal: AbortSignal;
  },
): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(plugin, { info, interactive });
  // Cancelling the pipes matters when a grandchild holds them open after the plugin was ended.
  const readers = [child.stdout.getReader(), interactive ? undefined : child.stderr.getReader()];
  const stop = async () => {
    await terminate(child, clock);
    await Promise.all(readers.map((reader) => reader?.cancel()));
  };
  let stopped: Promise<void> | undefined;
  const onAbort = () => {
    stopped = stop();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const [status, stdout, stderr] = await Promise.all([
      child.status,
      readers[0] && contentOf(readers[0], { kept: "start", charsMax: ANSWER_MAX_CHARS }),
      readers[1] && contentOf(readers[1], { kept: "end", charsMax: STDERR_KEPT_CHARS }),
    ]);
    signal.throwIfAborted();
    if (!status.success) throw failure(plugin, exitOf(status) + quoted(stderr?.text ?? ""));
    if (stdout?.isWhole !== true) {
      throw failure(plugin, `it printed over ${ANSWER_MAX_CHARS} characters`);
    }
    return stdout.text;
  } finally {
    signal.removeEventListener("abort", onAbort);
    await stopped;
  }
}

function spawn(
  plugin: ExecPlugin,
  { info, interactive }: { info: string; interactive: boolean },
): Deno.ChildProcess {
  const { exec, environment } = plugin;
  try {
    return new Deno.Command(exec.command, {
      args: [...exec.args],
      env: {
        ...environment,
        ...Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: info,
      },
      stdin: interactive ? "inherit" : "null",
      stdout: "piped",
      stderr: interactive ? "inherit" : "piped",
    }).spawn();
  } catch (error) {
    throw failure(plugin, startFaultOf(error), error);
  }
}

function startFaultOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "its command was not found";
  if (error instanceof Deno.errors.NotCapable) return "this process may not run subprocesses";
  if (error instanceof Deno.errors.PermissionDenied) return "its command is not executable";
  return `it could not be started (${messageOf(error)})`;
}

/** Asks the process to end, and ends it if it does not. Resolves when it has ended. */
async function terminate(child: Deno.ChildProcess, clock: Clock): Promise<void> {
  const ended = new AbortController();
  const status = child.status.then(() => ended.abort());
  for (const [signal, graceMs] of [["SIGTERM", TERMINATION_GRACE_MS], ["SIGKILL", 0]] as const) {
    if (ended.signal.aborted) break;
    try {
      child.kill(signal);
    } catch (error) {
      // It ended between two turns of the loop: what was wanted.
      if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
    }
    try {
      await clock.sleep(graceMs, { signal: ended.signal });
    } catch (error) {
      if (error !== ended.signal.reason) throw error;
    }
  }
  await status;
}

/** The text of a pipe: of one that gives more than `charsMax`, its start or its end. */
async function contentOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { kept, charsMax }: { kept: "start" | "end"; charsMax: number },
): Promise<{ text: string; isWhole: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let isWhole = true;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), isWhole };
    if (isWhole || kept === "end") text += decoder.decode(value, { stream: true });
    if (text.length <= charsMax) continue;
    isWhole = false;
    text = kept === "start" ? text.slice(0, charsMax) : text.slice(-charsMax);
  }
}

function exitOf(status: Deno.CommandStatus): string {
  return status.signal ? `it was ended by ${status.signal}` : `it exited with ${status.code}`;
}

/**
 * The end of standard error on one line, without what looks like a credential. Blocks of PEM go
 * first, as a whole: of a block that is cut, nothing tells what its lines are.
 */
function quoted(stderr: string): string {
  const lines = stderr.replaceAll(PEM_BLOCK, REDACTED).replaceAll(/[\s\p{Cc}]+/gu, " ").trim()
    .replaceAll(BASE64, REDACTED).replaceAll(LONG_WORD, REDACTED);
  // Twice as much as is shown: the cut may go through what the redactor would know whole.
  const text = new Redactor().text(lines.slice(-2 * STDERR_MAX_CHARS)).slice(-STDERR_MAX_CHARS);
  return text && ` and said: ${text}`;
}

const PEM_BLOCK = /-----BEGIN [A-Z0-9 ]+-----[^]*?(?:-----END [A-Z0-9 ]+-----|$)/g;
/** Keys, which may have slashes in them. Paths are to be read: few have all three kinds of letters. */
const BASE64 =
  /(?<![A-Za-z0-9+/])(?=[A-Za-z+/]*\d)(?=[a-z\d+/]*[A-Z])(?=[A-Z\d+/]*[a-z])[A-Za-z\d+/]{40,}=*/g;
/** Tokens. */
const LONG_WORD = /[\w+=.~-]{40,}/g;

function failure(plugin: ExecPlugin, fault: string, cause?: unknown): ConfigError {
  const { user, exec } = plugin;
  const remedy = exec.installHint?.trim() ||
    "run the command by hand to see what it needs, or correct the kubeconfig";
  return new ConfigError(
    `Cannot get credentials of user "${user}" from its exec plugin "${exec.command}": ` +
      `${fault}; ${remedy}`,
    { cause },
  );
}

function expiryOf(text: string, plugin: ExecPlugin): number {
  try {
    return parseTime(text);
  } catch {
    throw failure(plugin, `its expirationTimestamp "${text.slice(0, 40)}" is not a time`);
  }
}

function textOf(value: unknown, key: string, plugin: ExecPlugin): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw failure(plugin, `the ${key} of its answer is not a string`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The cause would quote the text.
    return undefined;
  }
}

function mappingOf(value: unknown): Record<string, unknown> | undefined {
  const isMapping = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  return isMapping(value) ? value : undefined;
}

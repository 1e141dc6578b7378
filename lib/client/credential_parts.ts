/**
 * The parts that credentials are made of, one for each way in which a kubeconfig or a service account
 * can give them. `credentials.ts` puts them together and says when they are asked.
 *
 * Each checks what it read before any native TLS code sees it, and says in its messages whose it is
 * and where it stands, never what it is.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ConfigError, messageOf } from "../core/errors.ts";
import {
  type CredentialMaterial,
  type CredentialPart,
  EXPIRY_MARGIN_MAX_MS,
  type LocalFiles,
} from "./credentials.ts";
import {
  type ExecAnswer,
  type ExecClusterInfo,
  type ExecPlugin,
  runExecPlugin,
} from "./exec_plugin.ts";
import { checkKeyPair, usableCertificates } from "./pem.ts";

/**
 * How long what was read from a file is believed, in milliseconds: client-go's period for tokens.
 * Kubelet replaces a token when 20 % of its life (of at least 10 minutes) is left.
 */
export const FILE_RECHECK_MS = 60_000;
/**
 * Shortest time between two runs of a plugin that the server's refusals cause, in milliseconds. A
 * server that refuses whatever the plugin gives would else start a process for each request.
 */
export const PLUGIN_REFUSED_PAUSE_MS = 10_000;
/** The same for a plugin that fails, or gives what has expired already, in milliseconds. */
export const PLUGIN_PAUSE_MS = 1_000;

/** A part that never changes: what stands in the kubeconfig itself. */
export function fixedPart(material: CredentialMaterial): CredentialPart {
  return { recheckMs: Infinity, load: () => Promise.resolve(material) };
}

/**
 * Reads a bearer token from the file at `path`.
 *
 * @param options.subject Whose it is, for messages: `user "alice"`.
 * @param options.fallback The token to use while the file can't be read, as kubectl does.
 */
export function tokenFilePart(
  { path, subject, fallback, files }: {
    path: string;
    subject: string;
    fallback?: string;
    files: LocalFiles;
  },
): CredentialPart {
  const read = async (signal: AbortSignal): Promise<CredentialMaterial> => {
    const token = (await readFor(files, path, `token of ${subject}`, signal)).trim();
    checkToken(token, `${subject} in "${path}"`);
    return { token };
  };
  return {
    recheckMs: FILE_RECHECK_MS,
    async load({ signal }) {
      try {
        return await read(signal);
      } catch (error) {
        if (fallback === undefined || signal.aborted) throw error;
        return { token: fallback };
      }
    },
  };
}

/** Reads the certificates that the server's chain may end in from the PEM file at `path`. */
export function caFilePart(
  { path, subject, files }: { path: string; subject: string; files: LocalFiles },
): CredentialPart {
  return {
    recheckMs: FILE_RECHECK_MS,
    async load({ signal }) {
      const pem = await readFor(files, path, subject, signal);
      return { caPem: usableCertificates(pem, `${subject} in "${path}"`) };
    },
  };
}

/** PEM text, or the path of the file that holds it. */
export type PemOrPath = { readonly pem: string } | { readonly path: string };

/** A client certificate and its key, of which either may be in a file that is replaced. */
export function clientCertificatePart(
  { certificate, key, subject, files }: {
    certificate: PemOrPath;
    key: PemOrPath;
    subject: string;
    files: LocalFiles;
  },
): CredentialPart {
  const textOf = async (from: PemOrPath, what: string, signal: AbortSignal) =>
    "pem" in from ? from.pem : await readFor(files, from.path, `${what} of ${subject}`, signal);
  return {
    recheckMs: "path" in certificate || "path" in key ? FILE_RECHECK_MS : Infinity,
    async load({ signal }) {
      const clientCertificate = {
        certificatePem: await textOf(certificate, "client certificate", signal),
        keyPem: await textOf(key, "client key", signal),
      };
      checkKeyPair(clientCertificate, subject);
      return { clientCertificate };
    },
  };
}

/** What {@linkcode execPart} is made of. */
export interface ExecPartOptions {
  /** What to run. */
  readonly plugin: ExecPlugin;
  /** What the plugin may learn of the cluster; the CA is added from the parts before. */
  readonly cluster: ExecClusterInfo;
  /** Limits each run, and decides when the next one is due. */
  readonly clock: Clock;
}

/** Asks an exec plugin, and keeps its answer as the module says. */
export function execPart({ plugin, cluster, clock }: ExecPartOptions): CredentialPart {
  let last: { answer: ExecAnswer } | { error: unknown } | undefined;
  let ranAtMs = -Infinity;
  let ranForRefusalAtMs = -Infinity;

  const mayKeep = (rejected: boolean, kept: NonNullable<typeof last>): boolean => {
    const nowMs = clock.monotonicMs();
    if ("error" in kept) return nowMs < ranAtMs + PLUGIN_PAUSE_MS;
    if (rejected) return nowMs < ranForRefusalAtMs + PLUGIN_REFUSED_PAUSE_MS;
    const { expiresAtMs = Infinity } = kept.answer;
    return nowMs < ranAtMs + PLUGIN_PAUSE_MS || clock.wallMs() < expiresAtMs - EXPIRY_MARGIN_MAX_MS;
  };
  return {
    recheckMs: Infinity,
    async load({ rejected, before, signal }) {
      if (last === undefined || !mayKeep(rejected, last)) {
        ranAtMs = clock.monotonicMs();
        if (rejected) ranForRefusalAtMs = ranAtMs;
        try {
          const told = withCa(cluster, before.caPem);
          last = { answer: await runExecPlugin(plugin, { cluster: told, clock, signal }) };
        } catch (error) {
          // Nobody waits any more: that says nothing about the plugin.
          if (signal.aborted) throw error;
          last = { error };
        }
      }
      if ("error" in last) throw last.error;
      return last.answer;
    },
  };
}

function withCa(cluster: ExecClusterInfo, caPem: string | undefined): ExecClusterInfo {
  if (caPem === undefined) return cluster;
  return { ...cluster, "certificate-authority-data": base64Of(caPem) };
}

/** Base64 of the UTF-8 of `text`. */
function base64Of(text: string): string {
  return btoa(
    Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""),
  );
}

/**
 * Checks that `token` can stand in a header.
 *
 * @throws {ConfigError} If it is empty or has other than visible ASCII characters in it.
 */
export function checkToken(token: string, subject: string): void {
  if (/^[\x21-\x7e]+$/.test(token)) return;
  const fault = token === "" ? "is empty" : "holds a space, a line break or another odd character";
  throw new ConfigError(`Cannot use the token of ${subject}: it ${fault}; write it anew`);
}

/**
 * The text of a file that the configuration names.
 *
 * @param subject What it should hold, for messages: `client key of user "alice"`.
 * @throws {ConfigError} If it can't be read, naming the path.
 */
export async function readFor(
  files: LocalFiles,
  path: string,
  subject: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await files.readText(path, { signal });
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const [fault, remedy] = fileFaultOf(cause);
    throw new ConfigError(`Cannot read the ${subject} from "${path}": ${fault}; ${remedy}`, {
      cause,
    });
  }
}

function fileFaultOf(error: unknown): [fault: string, remedy: string] {
  if (error instanceof Deno.errors.NotFound) {
    return ["there is no such file", "correct the path or create the file"];
  }
  if (error instanceof Deno.errors.NotCapable) {
    return ["this process may not read there", "start it with --allow-read for that path"];
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    return ["permission denied", "make the file readable for this user"];
  }
  if (error instanceof ConfigError) return [messageOf(error), "correct the path"];
  return [messageOf(error), "make it a readable file"];
}

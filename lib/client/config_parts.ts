/**
 * From one cluster and one user of a kubeconfig to what a connection needs: the server's URL, whom
 * we act as, and the parts that its credentials are made of. Decides and checks; reads nothing.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import type { Impersonation } from "./connection.ts";
import {
  caFilePart,
  checkToken,
  clientCertificatePart,
  execPart,
  fixedPart,
  type PemOrPath,
  tokenFilePart,
} from "./credential_parts.ts";
import type { CredentialPart, LocalFiles } from "./credentials.ts";
import { checkExecPlugin, type ExecClusterInfo } from "./exec_plugin.ts";
import {
  EXEC_EXTENSION,
  type KubeconfigCluster,
  type KubeconfigExec,
  type KubeconfigUser,
} from "./kubeconfig_types.ts";
import { checkKeyPair, usableCertificates } from "./pem.ts";
import type { ProxyVariables } from "./proxy.ts";

/** A cluster or user with the name that messages call it by. */
export interface Named<T> {
  /** Its name in the kubeconfig. */
  readonly name: string;
  /** What the kubeconfig says of it. */
  readonly value: T;
}

/** A part of the credentials, and the file or command that it needs, if any. */
export interface ConfigPart {
  /** What is asked for credentials. */
  readonly part: CredentialPart;
  /** Paths that it reads, again and again. */
  readonly files: readonly string[];
  /** Command that it runs. */
  readonly command?: string;
}

/** What parts need of the process. */
export interface PartContext {
  /** Where files are read. */
  readonly files: LocalFiles;
  /** Limits plugins, and ends what they answered. */
  readonly clock: Clock;
  /** A person may be asked for something. */
  readonly stdinIsTerminal: boolean;
  /** Handed on to plugins, since the process no longer has them. */
  readonly proxyVariables: ProxyVariables;
}

/**
 * The URL of an API server: absolute, without a slash at its end.
 *
 * @param options.tls The scheme if `server` has none: https if anything about TLS is configured, else
 *   http. (kubectl takes http for all, and so sends no credentials: never what was meant.)
 * @throws {ConfigError} If it is none.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const url = serverUrlOf("10.0.0.1:6443", { subject: 'cluster "k"', tls: true });
 * strictEqual(url.href, "https://10.0.0.1:6443/");
 * ```
 */
export function serverUrlOf(
  server: string,
  { subject, tls }: { subject: string; tls: boolean },
): URL {
  const refuse = (fault: string) =>
    new ConfigError(
      `Cannot use the server of ${subject}: ${fault}; give https://HOST:PORT`,
    );
  if (server === "") throw refuse("there is none");
  const url = URL.parse(
    /^[a-z][a-z0-9+.-]*:\/\//i.test(server) ? server : `${tls ? "https" : "http"}://${server}`,
  );
  // Not quoted where a password could stand in it.
  if (url === null) throw refuse("it is not a URL");
  if (url.username !== "" || url.password !== "") throw refuse("it holds a user name or password");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw refuse(`its scheme is "${url.protocol.slice(0, -1)}"`);
  }
  if (url.search !== "" || url.hash !== "") throw refuse(`"${server}" has a query or fragment`);
  return url;
}

/**
 * Checks what a cluster says about TLS.
 *
 * @throws {ConfigError} If it contradicts itself.
 */
export function checkCluster({ name, value }: Named<KubeconfigCluster>): void {
  const { certificateAuthority: path, certificateAuthorityData: data } = value;
  const subject = `cluster "${name}"`;
  if (path !== undefined && data !== undefined) {
    throw both(subject, "certificate-authority", "certificate-authority-data");
  }
  if (value.insecureSkipTlsVerify && (path !== undefined || data !== undefined)) {
    throw both(subject, "insecure-skip-tls-verify", "a certificate authority");
  }
  if (value.tlsServerName !== undefined && !/^[\w.-]+$/.test(value.tlsServerName)) {
    throw new ConfigError(
      `Cannot use ${subject}: its tls-server-name "${value.tlsServerName}" is not a host name; ` +
        "give a name from the server's certificate",
    );
  }
}

/**
 * The part that gives the cluster's CA; none if the cluster names none.
 *
 * @throws {ConfigError} If it stands in the kubeconfig and is no certificate.
 */
export function caPartsOf(
  { name, value }: Named<KubeconfigCluster>,
  { files }: PartContext,
): ConfigPart[] {
  const { certificateAuthority: path, certificateAuthorityData: data } = value;
  if (data !== undefined) {
    const subject = `the certificate-authority-data of cluster "${name}"`;
    return [{ part: fixedPart({ caPem: usableCertificates(data, subject) }), files: [] }];
  }
  if (path === undefined) return [];
  const subject = `certificate-authority of cluster "${name}"`;
  return [{ part: caFilePart({ path, subject, files }), files: [path] }];
}

/**
 * The parts that give a user's credentials, in the order in which they count.
 *
 * @param cluster What an exec plugin may learn.
 * @throws {ConfigError} If what the user says is contradictory, damaged or not supported.
 */
export function userPartsOf(
  user: Named<KubeconfigUser>,
  cluster: ExecClusterInfo,
  context: PartContext,
): ConfigPart[] {
  checkUser(user);
  const bearer = bearerPartsOf(user, context);
  const { exec } = user.value;
  // As in kubectl a plugin is not asked when something else already fills the header.
  const plugin = exec === undefined || bearer.length > 0
    ? []
    : [execPartOf(user.name, exec, cluster, context)];
  return [...certificatePartsOf(user, context), ...bearer, ...plugin];
}

/**
 * Whom requests act as; `undefined` if they act as the user itself.
 *
 * @throws {ConfigError} If there are groups, a uid or extras but no user to act as, or what no header
 *   can carry.
 */
export function impersonationOf(
  { name, value }: Named<KubeconfigUser>,
): Impersonation | undefined {
  const { as, asUid, asGroups = [], asUserExtra = {} } = value;
  if (as !== undefined) {
    const texts = [as, asUid ?? "", ...asGroups, ...Object.values(asUserExtra).flat()];
    if (texts.some((text) => LINE_ENDS.test(text))) {
      throw new ConfigError(
        `Cannot use user "${name}": as, as-uid, as-groups or as-user-extra has a line break or a NUL ` +
          "in it; write it anew",
      );
    }
    return {
      user: as,
      ...(asUid !== undefined && { uid: asUid }),
      ...(asGroups.length > 0 && { groups: asGroups }),
      ...(Object.keys(asUserExtra).length > 0 && { extra: asUserExtra }),
    };
  }
  if (asUid === undefined && asGroups.length === 0 && Object.keys(asUserExtra).length === 0) {
    return undefined;
  }
  throw new ConfigError(
    `Cannot use user "${name}": it has as-uid, as-groups or as-user-extra but no as; ` +
      "set as to the user to act as",
  );
}

/** What would end a header, or its request. */
const LINE_ENDS = /[\0\r\n]/;

/** What an exec plugin may learn of the cluster at `server`; its CA comes with the credentials. */
export function execClusterInfoOf(
  server: string,
  { value }: Named<KubeconfigCluster>,
): ExecClusterInfo {
  return {
    server,
    ...(value.tlsServerName !== undefined && { "tls-server-name": value.tlsServerName }),
    ...(value.insecureSkipTlsVerify && { "insecure-skip-tls-verify": true }),
    ...(value.proxyUrl !== undefined && { "proxy-url": value.proxyUrl }),
    ...(value.disableCompression && { "disable-compression": true }),
    // kubectl writes null where the cluster has no such extension.
    config: value.extensions.get(EXEC_EXTENSION) ?? null,
  };
}

function checkUser({ name, value }: Named<KubeconfigUser>): void {
  const subject = `user "${name}"`;
  const hasBasic = value.username !== undefined || value.password !== undefined;
  if (value.token !== undefined && hasBasic) throw both(subject, "a token", "a user name");
  if (value.clientCertificate !== undefined && value.clientCertificateData !== undefined) {
    throw both(subject, "client-certificate", "client-certificate-data");
  }
  if (value.clientKey !== undefined && value.clientKeyData !== undefined) {
    throw both(subject, "client-key", "client-key-data");
  }
  if (value.authProvider === undefined) return;
  if (value.exec !== undefined) throw both(subject, "an auth-provider", "an exec plugin");
  throw new ConfigError(
    `Cannot use ${subject}: its auth-provider "${value.authProvider.name}" is not supported; ` +
      "use an exec plugin, e.g. kubelogin for oidc or gke-gcloud-auth-plugin for gcp",
  );
}

function bearerPartsOf(
  { name, value }: Named<KubeconfigUser>,
  { files }: PartContext,
): ConfigPart[] {
  const { token, tokenFile: path, username, password } = value;
  const subject = `user "${name}"`;
  if (token !== undefined) checkToken(token, subject);
  if (path !== undefined) {
    const fallback = token === undefined ? {} : { fallback: token };
    return [{ part: tokenFilePart({ path, subject, files, ...fallback }), files: [path] }];
  }
  if (token !== undefined) return [{ part: fixedPart({ token }), files: [] }];
  if (username === undefined && password === undefined) return [];
  const basic = { username: username ?? "", password: password ?? "" };
  return [{ part: fixedPart({ basic }), files: [] }];
}

function certificatePartsOf(
  { name, value }: Named<KubeconfigUser>,
  { files }: PartContext,
): ConfigPart[] {
  const subject = `user "${name}"`;
  const certificate = pemOrPath(value.clientCertificateData, value.clientCertificate);
  const key = pemOrPath(value.clientKeyData, value.clientKey);
  // A key alone says nothing to a server: ignored, as kubectl does.
  if (certificate === undefined) return [];
  if (key === undefined) {
    throw new ConfigError(
      `Cannot use ${subject}: it has a client certificate but no key; ` +
        "set client-key or client-key-data",
    );
  }
  if ("pem" in certificate && "pem" in key) {
    const clientCertificate = { certificatePem: certificate.pem, keyPem: key.pem };
    checkKeyPair(clientCertificate, subject);
    return [{ part: fixedPart({ clientCertificate }), files: [] }];
  }
  const paths = [certificate, key].flatMap((from) => "path" in from ? [from.path] : []);
  return [{ part: clientCertificatePart({ certificate, key, subject, files }), files: paths }];
}

function execPartOf(
  user: string,
  exec: KubeconfigExec,
  cluster: ExecClusterInfo,
  { clock, stdinIsTerminal, proxyVariables }: PartContext,
): ConfigPart {
  const plugin = { user, exec, stdinIsTerminal, environment: proxyVariables };
  checkExecPlugin(plugin);
  return { part: execPart({ plugin, cluster, clock }), files: [], command: exec.command };
}

function pemOrPath(pem: string | undefined, path: string | undefined): PemOrPath | undefined {
  if (pem !== undefined) return { pem };
  return path === undefined ? undefined : { path };
}

function both(subject: string, one: string, other: string): ConfigError {
  return new ConfigError(`Cannot use ${subject}: it has both ${one} and ${other}; remove one`);
}

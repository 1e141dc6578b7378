/**
 * A kubeconfig after parsing: what its fields say, in our spelling, with paths resolved and `-data`
 * fields decoded. An optional field that is absent, null or empty in the file is absent here.
 *
 * @module
 */

/** A merged or single kubeconfig. */
export interface Kubeconfig {
  /** Name of the context in force; absent if no file names one. */
  readonly currentContext?: string;
  /** Servers by name. */
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  /** Credentials by name. */
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  /** Pairs of the two by name. */
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
}

/** Which server, and how to trust it. */
export interface KubeconfigCluster {
  /** Its URL; empty if the file says nothing. */
  readonly server: string;
  /** Name that its certificate must have, if not the host of `server`. */
  readonly tlsServerName?: string;
  /** Take any certificate. Excludes a certificate authority. */
  readonly insecureSkipTlsVerify: boolean;
  /** Path of a PEM file. Excludes `certificateAuthorityData`. */
  readonly certificateAuthority?: string;
  /** PEM. */
  readonly certificateAuthorityData?: string;
  /** URL of the proxy to go through. May hold a password. */
  readonly proxyUrl?: string;
  /** Ask for answers that are not compressed. Only exec plugins are told. */
  readonly disableCompression: boolean;
  /** By name; the one named {@linkcode EXEC_EXTENSION} goes to exec plugins. */
  readonly extensions: ReadonlyMap<string, unknown>;
}

/** Who we are. All fields optional: none is an anonymous user. */
export interface KubeconfigUser {
  /** Path of a PEM file. Excludes `clientCertificateData`. */
  readonly clientCertificate?: string;
  /** PEM. */
  readonly clientCertificateData?: string;
  /** Path of a PEM file. Excludes `clientKeyData`. */
  readonly clientKey?: string;
  /** PEM; a secret. */
  readonly clientKeyData?: string;
  /** Bearer token; a secret. */
  readonly token?: string;
  /** Path of a file that holds the token and may be replaced at any time. Wins over `token`. */
  readonly tokenFile?: string;
  /** For basic authentication. Excludes `token`. */
  readonly username?: string;
  /** For basic authentication; a secret. */
  readonly password?: string;
  /** User to act as. */
  readonly as?: string;
  /** Uid to act as; needs `as`. */
  readonly asUid?: string;
  /** Groups to act in; needs `as`. */
  readonly asGroups?: readonly string[];
  /** More about the user to act as; needs `as`. */
  readonly asUserExtra?: Readonly<Record<string, readonly string[]>>;
  /** A legacy, in-process auth provider: its name and settings. Excludes `exec`. */
  readonly authProvider?: {
    readonly name: string;
    readonly config: Readonly<Record<string, string>>;
  };
  /** Command that gives the credentials. */
  readonly exec?: KubeconfigExec;
}

/** A command that prints credentials. */
export interface KubeconfigExec {
  /** Version of its input and output; checked when the plugin is made, as all fields here are. */
  readonly apiVersion: string;
  /** A path if it has a slash, else looked up in PATH; empty if the file says nothing. */
  readonly command: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /** Variables added to our own. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** What to tell the user when it fails. */
  readonly installHint?: string;
  /** It is told about the cluster. */
  readonly provideClusterInfo: boolean;
  /** `Never`, `IfAvailable` or `Always`: whether it may talk with a person at the terminal. */
  readonly interactiveMode?: string;
}

/** A cluster, a user and a namespace under one name. */
export interface KubeconfigContext {
  /** Name of a cluster; empty if the file says nothing. */
  readonly cluster: string;
  /** Name of a user; empty for an anonymous one. */
  readonly user: string;
  /** Where names without a namespace are looked up. */
  readonly namespace?: string;
}

/** Name of the cluster extension that is handed to exec plugins as `spec.cluster.config`. */
export const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

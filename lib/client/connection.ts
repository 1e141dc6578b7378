/**
 * What it takes to talk to one API server: where it is, and the credentials of the moment.
 *
 * Types only, apart from the modules that read kubeconfigs and run plugins, so that the transport,
 * and the sandboxed worker which holds it, know nothing of files and commands. Everything here but
 * {@linkcode CredentialSource} is plain data that `structuredClone` takes.
 *
 * @module
 */

/** Where the API server is and how it is spoken to. Holds no secret but the password of a proxy. */
export interface ConnectionSettings {
  /** `https://host:port` (or `http://…`), with a path if the server has one, no trailing slash. */
  readonly server: string;
  /** The namespace that the context, or the service account, is in. `default` if it says nothing. */
  readonly namespace: string;
  /** Name of the kubeconfig's context; absent in a cluster. */
  readonly contextName?: string;
  /** Value of the `User-Agent` header of each request. */
  readonly userAgent: string;
  /** Name that the server's certificate must have, if not the host of `server`. */
  readonly tlsServerName?: string;
  /** Never verify the server's certificate. Needs the insecure transport: `fetch` can't. */
  readonly insecureSkipTlsVerify?: boolean;
  /** `http://`, `https://` or `socks5://` proxy through which the server is reached. */
  readonly proxyUrl?: string;
  /** Whom each request acts as. */
  readonly impersonate?: Impersonation;
}

/** A user whom the API server should take our requests to be from (`kubectl --as`). */
export interface Impersonation {
  /** User name. */
  readonly user: string;
  /** The user's uid. */
  readonly uid?: string;
  /** Groups that the user is in. */
  readonly groups?: readonly string[];
  /** More attributes, for authorizers that know them. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Who we are, at one time. All parts are optional: none at all is an anonymous request, whose
 * server is still verified by `caPem`.
 */
export interface Credential {
  /**
   * Grows each time that anything else in here changes. Two credentials of one source with the same
   * generation are equal: connections are kept by it.
   */
  readonly generation: number;
  /** Bearer token, without the word `Bearer`. */
  readonly token?: string;
  /** User name and password for basic authentication, where a proxy in front still takes it. */
  readonly basic?: { readonly username: string; readonly password: string };
  /** Client certificate chain and its unencrypted key, both PEM. */
  readonly clientCertificate?: { readonly certificatePem: string; readonly keyPem: string };
  /** Certificates that the server's chain may end in, PEM, beside the public roots. */
  readonly caPem?: string;
  /** Wall-clock time, in milliseconds since 1970, from which the source gives a newer one. */
  readonly expiresAtMs?: number;
}

/**
 * Gives credentials, and renews them. May be another thread: each call is a question, and no secret
 * travels in it.
 *
 * Implementations run one renewal at a time, however many ask.
 */
export interface CredentialSource {
  /**
   * The credential to use now. Called before every request, so it must be quick unless a renewal is
   * due.
   *
   * @throws {ConfigError} If there is none, e.g. since a plugin failed.
   */
  current(options: { signal: AbortSignal }): Promise<Credential>;
  /**
   * The server refused generation `generation` with 401: gives a newer one. If the source already
   * has a newer one it gives that without renewing again; if no newer one is to be had, the same as
   * before.
   *
   * @throws {ConfigError} If renewing failed.
   */
  refresh(generation: number, options: { signal: AbortSignal }): Promise<Credential>;
}

/**
 * The one way to the API server: Deno's `fetch` on an HTTP client of our own.
 *
 * Promises:
 * - One `Deno.HttpClient`, and so one pool of connections, per credential generation; the one
 *   before is closed once the last request on it has its headers (bodies under way go on).
 * - HTTP/1.1 only: reading a body on a reused HTTP/2 connection can hang for good (field case W16).
 *   A watch therefore has a connection to itself, and nothing else waits behind it.
 * - After a 401 the credential is renewed once, however many requests got it, and each is sent once
 *   more if that gave a newer one (K9, K12). A server whose authority is unknown has us look once
 *   for a newer authority in the same way: it may have been replaced (K12). Nothing else is retried
 *   here.
 * - Failures are {@linkcode ConnectionError}s with a hint and without a secret. An abort rejects
 *   with `signal.reason` itself.
 *
 * No deadlines, no reading of bodies, no knowledge of Kubernetes: that is `rest.ts`.
 *
 * @module
 */

import { abortScope, type Clock } from "../core/clock.ts";
import { ConfigError, ConnectionError, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { unlessAborted } from "../core/tasks.ts";
import type { ConnectionSettings, Credential, CredentialSource } from "./connection.ts";
import { connectionHint, failureStage, isUntrustedText } from "./connection_hints.ts";

/** What a {@linkcode Transport} is given besides the URL. Fits `fetch`'s second argument. */
export interface TransportInit {
  /** HTTP method. */
  readonly method: string;
  /** Headers, but for those that say who we are. */
  readonly headers: Record<string, string>;
  /** Kept as text, so that it can be sent a second time. */
  readonly body?: string;
  /** Ends the request, and the body of its answer. */
  readonly signal: AbortSignal;
}

/**
 * Sends one request. Of `fetch`'s shape, so that a simulated server's own `fetch` is one.
 *
 * Resolves when the headers are in, whatever the status. Aborting `signal` also ends the body.
 *
 * @throws {ConnectionError} If no answer came.
 * @throws `signal.reason`, if that came first.
 */
export type Transport = (url: string, init: TransportInit) => Promise<Response>;

/** What {@linkcode FetchTransport} is made of. */
export interface FetchTransportOptions {
  /** Asked before every request, and after a 401. */
  readonly source: CredentialSource;
  /** Which server, and how it is reached. */
  readonly settings: ConnectionSettings;
  /** For the pause after a credential that could not be used. */
  readonly clock: Clock;
  /** Told of such a credential. */
  readonly log: Logger;
}

/**
 * How long a credential that no client could be made of is left alone, in milliseconds, if an
 * older client still works. A certificate and its key are swapped one after the other; 1 s is
 * longer than that takes and short beside the life of what is replaced (field case K15).
 */
const REBUILD_PAUSE_MS = 1000;

/** A pool of connections that all use one credential. */
interface Pool {
  readonly credential: Credential;
  readonly client: Deno.HttpClient;
  /** Headers that all its requests carry. */
  readonly headers: readonly [string, string][];
  /** Requests whose headers are not in yet. */
  pending: number;
}

/**
 * A {@linkcode Transport} over the network. Dispose of it at the end: that closes its connections
 * and aborts a renewal of the credential under way.
 */
export class FetchTransport implements Disposable {
  readonly #source: CredentialSource;
  readonly #settings: ConnectionSettings;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #pool: Pool | undefined;
  /** Generation of which no client could be made, and when to try again. */
  #unusable: { generation: number; untilMs: number } | undefined;
  #renewal: { generation: number; credential: Promise<Credential> } | undefined;
  /** Authorities for which a newer one was asked, since the server is not signed by them. */
  #untrusted: { caPem: string | undefined } | undefined;

  /** Only stores: the first request asks for a credential and connects. */
  constructor({ source, settings, clock, log }: FetchTransportOptions) {
    this.#source = source;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
  }

  /** The transport itself; bound, so that it can be handed on as a function. */
  readonly send: Transport = async (url, init) => {
    const pool = this.#poolFor(await this.#source.current({ signal: init.signal }));
    let response: Response;
    try {
      response = await this.#sendOn(pool, url, init);
    } catch (error) {
      if (!isUnknownAuthority(error)) throw error;
      return await this.#sendOnNewerAuthority(pool, error, { url, init });
    }
    if (response.status !== 401) return response;

    const generation = pool.credential.generation;
    const renewed = await this.#renew(generation, { response, signal: init.signal });
    // The same again would be refused again: the caller gets the server's own words.
    if (renewed.generation === generation) return response;
    await response.body?.cancel();
    return await this.#sendOn(this.#poolFor(renewed), url, init);
  };

  /** Closes idle connections; requests under way fail or end by themselves. */
  [Symbol.dispose](): void {
    this.#closing.abort(new ConnectionError("The transport was closed"));
    const pool = this.#pool;
    this.#pool = undefined;
    if (pool !== undefined) this.#closeIfUnused(pool);
  }

  /**
   * Sends once more if the authorities of `pool` have been replaced. Asks for that once for the same
   * authorities: what is wrong with a server is not cured by running a plugin for every request.
   */
  async #sendOnNewerAuthority(
    pool: Pool,
    failure: unknown,
    { url, init }: { url: string; init: TransportInit },
  ): Promise<Response> {
    const { generation, caPem } = pool.credential;
    const isRenewed = (this.#pool?.credential.generation ?? 0) > generation;
    const isAsking = this.#renewal?.generation === generation;
    if (!isRenewed && !isAsking && this.#untrusted?.caPem === caPem) throw failure;
    this.#untrusted = { caPem };
    let renewed: Credential;
    try {
      renewed = await unlessAborted(this.#renewalOf(generation), init.signal);
    } catch (error) {
      if (init.signal.aborted) throw error;
      // The failure says more about the server than this does.
      this.#log.warn("Cannot look for a newer certificate authority", { error: messageOf(error) });
      throw failure;
    }
    if (renewed.caPem === caPem) throw failure;
    return await this.#sendOn(this.#poolFor(renewed), url, init);
  }

  async #sendOn(pool: Pool, url: string, init: TransportInit): Promise<Response> {
    pool.pending++;
    try {
      return await fetch(url, {
        method: init.method,
        headers: pool.headers.length === 0
          ? init.headers
          : [...Object.entries(init.headers), ...pool.headers],
        body: init.body ?? null,
        signal: init.signal,
        // An API server does not redirect; what does must not get our credentials.
        redirect: "manual",
        client: pool.client,
      });
    } catch (error) {
      throw this.#failureOf(error, init.signal);
    } finally {
      pool.pending--;
      this.#closeIfUnused(pool);
    }
  }

  /** What to throw for `error` of `fetch`. */
  #failureOf(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    // The sandbox refused: no failure of the network, and nothing that a retry would cure.
    if (error instanceof Deno.errors.NotCapable) return error;
    const text = messageOf(error);
    const hint = connectionHint(text);
    return new ConnectionError(
      `Cannot reach ${this.#settings.server}${hint === undefined ? "" : `: ${hint}`}`,
      { cause: error, stage: failureStage(text) },
    );
  }

  /**
   * The pool of `credential`. An older generation than the present pool's gets that pool: the
   * source was asked before another request renewed.
   *
   * @throws {ConfigError} If no client can be made of it and there is none before it.
   */
  #poolFor(credential: Credential): Pool {
    // After the last wait before a pool may be made: nobody would close that one.
    this.#closing.signal.throwIfAborted();
    const old = this.#pool;
    if (old !== undefined && credential.generation <= old.credential.generation) return old;
    if (old !== undefined && this.#isUnusable(credential)) return old;
    try {
      this.#pool = openPool(this.#settings, credential);
    } catch (error) {
      if (old === undefined) throw error;
      this.#unusable = {
        generation: credential.generation,
        untilMs: this.#clock.monotonicMs() + REBUILD_PAUSE_MS,
      };
      this.#log.warn("New credential is unusable; keeping the one before", {
        error: messageOf(error),
      });
      return old;
    }
    if (old !== undefined) this.#closeIfUnused(old);
    return this.#pool;
  }

  #isUnusable({ generation }: Credential): boolean {
    return this.#unusable?.generation === generation &&
      this.#clock.monotonicMs() < this.#unusable.untilMs;
  }

  #closeIfUnused(pool: Pool): void {
    if (pool !== this.#pool && pool.pending === 0) pool.client.close();
  }

  /** Waits for the one renewal of `generation`; releases `response` if that fails. */
  async #renew(
    generation: number,
    { response, signal }: { response: Response; signal: AbortSignal },
  ): Promise<Credential> {
    try {
      return await unlessAborted(this.#renewalOf(generation), signal);
    } catch (error) {
      await response.body?.cancel().catch(() => {
        // Aborted with the request: then the body has ended already, with the reason thrown here.
      });
      throw error;
    }
  }

  #renewalOf(generation: number): Promise<Credential> {
    const present = this.#pool?.credential;
    if (present !== undefined && present.generation > generation) return Promise.resolve(present);
    if (this.#renewal?.generation === generation) return this.#renewal.credential;
    // Lives as long as the transport, not as the request that happens to be first.
    const credential = this.#refresh(generation);
    const renewal = { generation, credential };
    this.#renewal = renewal;
    const forget = () => {
      if (this.#renewal === renewal) this.#renewal = undefined;
    };
    // Handles a failure too, for when all who waited for it have been aborted.
    credential.then(forget, forget);
    return credential;
  }

  async #refresh(generation: number): Promise<Credential> {
    using scope = abortScope(this.#closing.signal);
    return await this.#source.refresh(generation, { signal: scope.signal });
  }
}

/** True if the server's certificate is signed by none of the authorities that we know. */
function isUnknownAuthority(error: unknown): boolean {
  return error instanceof ConnectionError && isUntrustedText(messageOf(error.cause));
}

/**
 * A pool for `credential`.
 *
 * @throws {ConfigError} If `fetch` can't do what the settings or the credential ask.
 */
function openPool(settings: ConnectionSettings, credential: Credential): Pool {
  if (settings.insecureSkipTlsVerify) {
    throw new ConfigError("Cannot use insecure-skip-tls-verify here: give certificate-authority");
  }
  const host = new URL(settings.server).hostname;
  if (settings.tlsServerName !== undefined && settings.tlsServerName !== host) {
    throw new ConfigError(
      `Cannot verify tls-server-name "${settings.tlsServerName}" on a connection to "${host}"`,
    );
  }
  const client = createClient(settings, credential);
  return { credential, client, headers: identityHeaders(settings, credential), pending: 0 };
}

function createClient(
  { server, proxyUrl }: ConnectionSettings,
  { clientCertificate, caPem }: Credential,
): Deno.HttpClient {
  try {
    return Deno.createHttpClient({
      http2: false,
      ...(caPem !== undefined && { caCerts: [caPem] }),
      ...(proxyUrl !== undefined && { proxy: { url: proxyUrl } }),
      ...(clientCertificate !== undefined &&
        { cert: clientCertificate.certificatePem, key: clientCertificate.keyPem }),
    });
  } catch (cause) {
    // Not always ours: the runtime reads certificate stores that its own variables name.
    throw new ConfigError(
      `Cannot make connections to ${server}: ${messageOf(cause)}; check certificate-authority, ` +
        "client-certificate, client-key and proxy-url, and DENO_CERT and DENO_TLS_CA_STORE in the " +
        "environment",
      { cause },
    );
  }
}

/** The headers that say who we are, and whom we act as. */
export function identityHeaders(
  { impersonate }: ConnectionSettings,
  { token, basic }: Credential,
): [string, string][] {
  const headers: [string, string][] = [];
  if (token !== undefined) headers.push(["authorization", `Bearer ${token}`]);
  else if (basic !== undefined) {
    const bytes = new TextEncoder().encode(`${basic.username}:${basic.password}`);
    headers.push(["authorization", `Basic ${bytes.toBase64()}`]);
  }
  if (impersonate === undefined) return headers;
  headers.push(["impersonate-user", utf8Bytes(impersonate.user)]);
  if (impersonate.uid !== undefined) headers.push(["impersonate-uid", utf8Bytes(impersonate.uid)]);
  for (const group of impersonate.groups ?? []) {
    headers.push(["impersonate-group", utf8Bytes(group)]);
  }
  for (const [key, values] of Object.entries(impersonate.extra ?? {})) {
    const name = `impersonate-extra-${headerNamePart(key)}`;
    for (const value of values) headers.push([name, utf8Bytes(value)]);
  }
  return headers;
}

/** `text` as a part of a header's name: escaped as in a URL, and the two that only a URL may have. */
function headerNamePart(text: string): string {
  return encodeURIComponent(text).replaceAll("(", "%28").replaceAll(")", "%29").toLowerCase();
}

/** `text` as a header carries it: a character for each byte of its UTF-8, as kubectl sends it. */
function utf8Bytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

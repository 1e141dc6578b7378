/**
 * A transport for clusters with `insecure-skip-tls-verify`, and only those: Deno's `fetch` can't skip
 * verification for one client, so this one is `node:https` (field case K7). Import it on demand.
 *
 * As `transport.ts` promises: one pool of connections per credential generation, the client
 * certificate sent on each, one renewal and one more try after a 401, `ConnectionError`s, aborts
 * that reject with the signal's reason and end the body.
 *
 * One thing is less: `node:https` of Deno 2.9 reads from the socket whether or not anybody takes the
 * body, so a reader that falls behind costs memory.
 *
 * The server is not verified: whoever answers gets the credentials. Whoever loads a configuration
 * that asks for this is warned by the loader.
 *
 * @module
 */

import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { ConnectionError, messageOf } from "../core/errors.ts";
import type { ConnectionSettings, Credential, CredentialSource } from "./connection.ts";
import { connectionHint, failureStage } from "./connection_hints.ts";
import { identityHeaders, type Transport, type TransportInit } from "./transport.ts";

/** What an {@linkcode InsecureTransport} is made of. */
export interface InsecureTransportOptions {
  /** Gives and renews the credential. */
  readonly source: CredentialSource;
  /** Where to, and as whom to act. */
  readonly settings: ConnectionSettings;
}

/** A pool of connections that all use one credential. */
interface Pool {
  readonly credential: Credential;
  readonly agent: Agent;
  /** Headers that all its requests carry. */
  readonly headers: readonly [string, string][];
}

/** Statuses whose answer has no body; `Response` refuses one. */
const BODILESS = new Set([204, 205, 304]);

/** A {@linkcode Transport} that verifies nothing. Dispose of it at the end. */
export class InsecureTransport implements Disposable {
  readonly #source: CredentialSource;
  readonly #settings: ConnectionSettings;
  #pool: Pool | undefined;
  #isClosed = false;

  /** Only stores: the first request asks for a credential and connects. */
  constructor({ source, settings }: InsecureTransportOptions) {
    this.#source = source;
    this.#settings = settings;
  }

  /** The transport itself; bound, so that it can be handed on as a function. */
  readonly send: Transport = async (url, init) => {
    const { signal } = init;
    const credential = await this.#source.current({ signal });
    const response = await this.#sendOn(this.#poolFor(credential), url, init);
    if (response.status !== 401) return response;

    const renewed = await this.#renewed(credential.generation, response, signal);
    if (renewed.generation === credential.generation) return response;
    await response.body?.cancel();
    return await this.#sendOn(this.#poolFor(renewed), url, init);
  };

  /** Closes all connections, those under way too. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#pool?.agent.destroy();
  }

  /** The newer credential after a refusal; releases `response` if there is a failure instead. */
  async #renewed(
    generation: number,
    response: Response,
    signal: AbortSignal,
  ): Promise<Credential> {
    try {
      return await this.#source.refresh(generation, { signal });
    } catch (error) {
      await response.body?.cancel().catch(() => {
        // Aborted with the request: it has ended already, with the reason that is thrown here.
      });
      throw error;
    }
  }

  #poolFor(credential: Credential): Pool {
    if (this.#isClosed) throw new ConnectionError("The transport was closed");
    const old = this.#pool;
    if (old !== undefined && credential.generation <= old.credential.generation) return old;
    this.#pool = {
      credential,
      agent: new Agent({ keepAlive: true }),
      headers: identityHeaders(this.#settings, credential),
    };
    // Requests under way on it would be cut by `destroy`; without keep-alive each ends by itself.
    if (old !== undefined) retire(old.agent);
    return this.#pool;
  }

  #sendOn(pool: Pool, url: string, init: TransportInit): Promise<Response> {
    const { signal } = init;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const { clientCertificate } = pool.credential;
    const request = httpsRequest(url, {
      method: init.method,
      headers: headersOf(init.headers, pool.headers),
      agent: pool.agent,
      rejectUnauthorized: false,
      ...(this.#settings.tlsServerName !== undefined &&
        { servername: this.#settings.tlsServerName }),
      ...(clientCertificate !== undefined &&
        { cert: clientCertificate.certificatePem, key: clientCertificate.keyPem }),
    });
    const abort = () => request.destroy(asError(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
    const whenEnded = () => signal.removeEventListener("abort", abort);
    const fail = (error: Error) => {
      whenEnded();
      reject(signal.aborted ? signal.reason : this.#failureOf(error));
    };
    request.on("response", (message) => {
      try {
        resolve(responseOf(message, { signal, whenEnded }));
      } catch (error) {
        // Thrown from here it would end the process: a status that no `Response` can have.
        message.destroy();
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    // Unheard, the request would wait for its answer for ever.
    request.on("upgrade", (_message, socket) => {
      socket.destroy();
      fail(new Error("The server answered with another protocol, which nobody asked for"));
    });
    request.on("error", fail);
    request.end(init.body);
    return promise;
  }

  #failureOf(error: Error): ConnectionError {
    const text = messageOf(error);
    const hint = connectionHint(text);
    return new ConnectionError(
      `Cannot reach ${this.#settings.server}${hint === undefined ? "" : `: ${hint}`}`,
      { cause: error, stage: failureStage(text) },
    );
  }
}

/** Closes what is idle now, and lets the rest close when it is done. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

/** Our own headers, then the identity's; several of one name become a list. */
function headersOf(
  own: Readonly<Record<string, string>>,
  identity: readonly [string, string][],
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { ...own };
  for (const [name, value] of identity) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}

function responseOf(
  message: IncomingMessage,
  { signal, whenEnded }: { signal: AbortSignal; whenEnded: () => void },
): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  const status = message.statusCode ?? 0;
  if (BODILESS.has(status)) {
    whenEnded();
    message.resume();
    return new Response(null, { status, headers });
  }
  return new Response(bodyOf(message, { signal, whenEnded }), { status, headers });
}

/** The body as a stream; it asks the message to wait for a slow reader. */
function bodyOf(
  message: IncomingMessage,
  { signal, whenEnded }: { signal: AbortSignal; whenEnded: () => void },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false;
  const once = (end: () => void) => {
    if (isOver) return;
    isOver = true;
    whenEnded();
    end();
  };
  return new ReadableStream({
    start(controller) {
      message.on("data", (chunk: Uint8Array) => {
        if (isOver) return;
        controller.enqueue(new Uint8Array(chunk));
        if ((controller.desiredSize ?? 0) <= 0) message.pause();
      });
      message.on("end", () => once(() => controller.close()));
      const fail = (error?: Error) =>
        once(() => {
          const cut = new TypeError("The connection ended inside the body", { cause: error });
          controller.error(signal.aborted ? signal.reason : cut);
        });
      message.on("error", fail);
      message.on("close", () => fail());
    },
    pull() {
      message.resume();
    },
    cancel() {
      once(() => message.destroy());
    },
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("The request was aborted");
}

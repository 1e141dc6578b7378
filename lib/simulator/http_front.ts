/**
 * The simulated server on a loopback port, for kubectl, curl and other processes. The only file of
 * the simulator that does I/O.
 *
 * Only processes that know the token get an answer, and only under a loopback name: a page in the
 * user's browser that was tricked into resolving its own name to 127.0.0.1 is refused by its Host
 * header.
 *
 * kubectl sends its token over TLS only (its kubeconfig's token is ignored for `http://` servers), so
 * for kubectl give a certificate; curl is content without.
 *
 * @module
 */

import { ConfigError, messageOf } from "../core/errors.ts";
import { type Logger, silentLogger } from "../core/log.ts";

/** What is served: {@linkcode ApiServer} fits, and so does anything that wraps its fetch. */
export interface RequestHandler {
  /** Answers one request; the body of a watch goes on. */
  fetch(input: string, init: RequestInit): Promise<Response>;
}

/** How to serve. */
export interface HttpFrontOptions {
  /** Who answers. */
  readonly handler: RequestHandler;
  /** Bearer token that each request must carry. */
  readonly token: string;
  /** Port on 127.0.0.1. @default {0}, which takes a free one */
  readonly port?: number;
  /** Certificate chain and key, PEM: then it speaks TLS. */
  readonly tls?: { readonly certificatePem: string; readonly keyPem: string };
  /** Where failures of the handler are told. */
  readonly log?: Logger;
}

/** A running front; disposing of it ends its connections. */
export interface HttpFront extends AsyncDisposable {
  /** The port that it listens on. */
  readonly port: number;
  /** `http://127.0.0.1:port`, or `https` with TLS. */
  readonly url: string;
}

/** Names under which a loopback server is reached on purpose. */
const LOOPBACK_NAMES = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Serves `handler` on 127.0.0.1 until disposed of.
 *
 * @throws {ConfigError} If the port is taken or may not be used.
 */
export function serveHttp(options: HttpFrontOptions): HttpFront {
  const { port = 0, tls, log = silentLogger } = options;
  const secure = tls === undefined ? {} : { cert: tls.certificatePem, key: tls.keyPem };
  const stop = new AbortController();
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({
      hostname: "127.0.0.1",
      port,
      signal: stop.signal,
      ...secure,
      onListen: () => {},
      onError: (error) => failed(error, log),
    }, (request) => answer(request, options));
  } catch (cause) {
    throw new ConfigError(
      `Cannot listen on 127.0.0.1:${port}: ${messageOf(cause)}; choose another port`,
      { cause },
    );
  }
  const scheme = tls === undefined ? "http" : "https";
  return {
    port: server.addr.port,
    url: `${scheme}://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: async () => {
      // A graceful shutdown would wait for open watches, which never end by themselves.
      stop.abort();
      await server.finished;
    },
  };
}

function answer(request: Request, { handler, token }: HttpFrontOptions): Promise<Response> {
  // The URL is made of the Host header, or of HTTP/2's :authority.
  if (!LOOPBACK_NAMES.has(new URL(request.url).hostname)) {
    return Promise.resolve(new Response("403 forbidden: unknown host\n", { status: 403 }));
  }
  if (!isSame(request.headers.get("authorization") ?? "", `Bearer ${token}`)) {
    return Promise.resolve(Response.json({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "Unauthorized",
      reason: "Unauthorized",
      code: 401,
    }, { status: 401 }));
  }
  // Without the request's signal: a client that goes away cancels the body, which is enough.
  const { method, headers, body, url } = request;
  const answered = handler.fetch(url, { method, headers, body });
  const protocol = streamProtocolOf(headers);
  return protocol === undefined ? answered : refuseOnStream(request, { answered, protocol });
}

/** Streams of `kubectl exec` and `attach` whose channel 3 takes a Status, the newest first. */
const STREAM_PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

const ERROR_CHANNEL = 3;

/** To kubectl a close without a code is a broken stream. */
const NORMAL_CLOSURE = 1000;

function streamProtocolOf(headers: Headers): string | undefined {
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
  const offered = (headers.get("sec-websocket-protocol") ?? "").split(",").map((each) =>
    each.trim()
  );
  return STREAM_PROTOCOLS.find((each) => offered.includes(each));
}

/**
 * Tells a refusal on the stream that was asked for. Refused the stream itself, kubectl asks once more
 * by SPDY, whose request (an upgrade with a Content-Length) Deno answers by a 400 that says nothing.
 */
async function refuseOnStream(
  request: Request,
  { answered, protocol }: { answered: Promise<Response>; protocol: string },
): Promise<Response> {
  const answer = await answered;
  if (answer.ok) return answer;
  const status = await answer.bytes();
  const { socket, response } = Deno.upgradeWebSocket(request, { protocol });
  socket.onopen = () => {
    socket.send(Uint8Array.of(ERROR_CHANNEL, ...status));
    socket.close(NORMAL_CLOSURE);
  };
  return response;
}

/** Compares in a time that does not depend on where the two differ. */
function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}

/** A failure of the simulator itself: told to the log in full, to the client in one sentence. */
function failed(error: unknown, log: Logger): Response {
  log.error("Simulated API server failed", { error: messageOf(error) });
  return Response.json({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `the simulated API server failed: ${messageOf(error)}`,
    reason: "InternalError",
    code: 500,
  }, { status: 500 });
}

/**
 * An HTTPS server whose certificate is the test's matter: its names, its authority, its rotation.
 * (`tls_server.ts` is about connections; its certificate is always right.)
 *
 * Deno's own server asks for no client certificate, so this one is `node:https`.
 *
 * @module
 */

import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import { TLSSocket } from "node:tls";
import type { Identity, TestPki } from "./pki.ts";

/** A request as the server saw it. */
export interface SeenRequest {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  /** CN of the client's certificate; absent if it sent none. */
  readonly clientName?: string;
}

/** What the server answers. */
export interface NamedAnswer {
  readonly status?: number;
  readonly body?: string;
}

/** A server that listens. */
export interface NamedServer extends AsyncDisposable {
  readonly port: number;
  /** All requests so far. */
  readonly requests: readonly SeenRequest[];
  /** Connections so far, also those whose handshake failed. */
  readonly connections: number;
  /** Serves with another certificate from the next connection on; cuts those that are open. */
  use(identity: Identity): void;
}

/** What {@linkcode startNamedServer} takes. */
export interface NamedServerOptions {
  readonly identity: Identity;
  /** Whose client certificates are told in {@linkcode SeenRequest.clientName}. */
  readonly pki: TestPki;
  answer(request: SeenRequest): NamedAnswer;
}

/** Starts a server on a free port of loopback. */
export async function startNamedServer(
  { identity, pki, answer }: NamedServerOptions,
): Promise<NamedServer> {
  const requests: SeenRequest[] = [];
  let connections = 0;
  const server = createServer({
    cert: identity.certificatePem,
    key: identity.keyPem,
    ca: pki.caPem,
    requestCert: true,
    rejectUnauthorized: false,
  }, (request, response) => {
    const seen = seenOf(request);
    requests.push(seen);
    const { status = 200, body = "{}" } = answer(seen);
    request.resume();
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  server.on("connection", (socket) => {
    connections++;
    // A client that breaks off is what some tests are about.
    socket.on("error", () => {});
  });
  server.on("tlsClientError", () => {});
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  return {
    port: address.port,
    requests,
    get connections() {
      return connections;
    },
    use({ certificatePem, keyPem }) {
      server.setSecureContext({ cert: certificatePem, key: keyPem, ca: pki.caPem });
      server.closeAllConnections();
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function seenOf({ url = "", headers, socket }: IncomingMessage): SeenRequest {
  const name = socket instanceof TLSSocket ? socket.getPeerCertificate()?.subject?.CN : undefined;
  return { url, headers, ...(typeof name === "string" && { clientName: name }) };
}

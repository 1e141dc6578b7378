/**
 * An HTTPS server on a free loopback port, for tests of the real connection: certificates, protocol,
 * connections that die. What is asked over it is answered by a function.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { TestPki } from "./pki.ts";

/** How a request came. */
export interface ServedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  /** All header lines, in turn name and value, as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  /** Protocol agreed on in the TLS handshake; `false` if none was. */
  readonly alpnProtocol: string | false | null;
  /** CN of the client's certificate, if it sent one that the authority has signed. */
  readonly clientName: string | undefined;
  readonly socket: Socket;
}

/** A running server. */
export interface TlsServer extends AsyncDisposable {
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  readonly requests: readonly ServedRequest[];
  /** Connections opened since the start. */
  readonly connections: number;
  /** Connections open now. */
  readonly openConnections: number;
}

/**
 * Starts a server with a certificate of `pki` that offers HTTP/2 as an API server does. It speaks
 * HTTP/1.1 only: for a client that takes the offer, name the `protocols`.
 */
export async function startTlsServer(
  pki: TestPki,
  answer: (request: ServedRequest, response: ServerResponse) => void | Promise<void>,
  { protocols = ["h2", "http/1.1"] }: { protocols?: string[] } = {},
): Promise<TlsServer> {
  const identity = await pki.issue({ commonName: "server" });
  const requests: ServedRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({
    cert: identity.certificatePem,
    key: identity.keyPem,
    ca: pki.caPem,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: protocols,
  }, async (incoming, response) => {
    const request = await readRequest(incoming);
    requests.push(request);
    await answer(request, response);
  });
  server.on("secureConnection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A client that goes away is what many of these tests are about.
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  // Boundary: node's type also covers pipes, which have no port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ServedRequest> {
  const { socket, method = "", url = "", headers, rawHeaders } = incoming;
  let body = "";
  incoming.setEncoding("utf8");
  for await (const chunk of incoming) body += chunk;
  const tls = socket instanceof TLSSocket ? socket : undefined;
  const subject = tls?.authorized ? tls.getPeerCertificate().subject : undefined;
  return {
    method,
    url,
    headers,
    rawHeaders,
    body,
    alpnProtocol: tls?.alpnProtocol ?? null,
    clientName: subject?.CN?.toString(),
    socket,
  };
}

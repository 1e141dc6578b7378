/**
 * A relay in this process through which `fetch` reaches an API server by another name than its
 * address: what `tls-server-name` in a kubeconfig asks for (field case K5).
 *
 * Deno's HTTP client has no setting for the name that it sends and verifies; it takes the URL's. So
 * the URL carries the name, `https://NAME:port`, and this relay is its proxy: it answers `CONNECT
 * NAME:port` by dialling the one address it was made for. TLS runs from `fetch` to the server, so
 * the relay sees no plain text, and a server that can't show a certificate for NAME gets no request.
 *
 * Listens on loopback. Refuses any other target, and whoever does not know its password, so it is no
 * way out for other programs of the machine.
 *
 * @module
 */

import { type Clock, withDeadline } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { hostOf, portOf } from "./proxy.ts";
import { closeConnection, type Head, openTunnel, readHead, writeAll } from "./tunnel.ts";

/** What a relay is for. */
export interface RelayOptions {
  /** Name in the URL, and so in the certificate. */
  readonly serverName: string;
  /** What is dialled in its place. */
  readonly target: { readonly hostname: string; readonly port: number };
  /** `http` or `socks5` proxy through which the target is reached, if there is one. */
  readonly proxyUrl?: string;
  /** Not to be guessed. */
  readonly password: string;
  /** Limits dials and the exchange before a tunnel stands. */
  readonly clock: Clock;
  /** Gets a warning when the server can't be reached. */
  readonly log: Logger;
}

/** A relay that listens. Disposing of it cuts its connections and waits until they have ended. */
export interface Relay extends AsyncDisposable {
  /** Address of loopback. */
  readonly hostname: string;
  /** Drawn by the system. */
  readonly port: number;
  /** For `proxy.url` of an HTTP client; holds the password. */
  readonly proxyUrl: string;
}

/** Time to reach the server, in milliseconds; client-go gives a dial the same. */
const DIAL_LIMIT_MS = 30_000;

/** Pause after a connection could not be accepted, in milliseconds; `net/http` waits as long. */
const ACCEPT_PAUSE_MS = 1000;

/** Starts a relay on a free port of loopback. */
export function startRelay(options: RelayOptions): Relay {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr;
  const closing = new AbortController();
  const tasks = new Set<Promise<void>>();

  const serve = (client: Deno.TcpConn) => {
    const task = serveClient(client, options, closing.signal);
    tasks.add(task);
    task.finally(() => tasks.delete(task));
  };
  const { clock, log } = options;
  const serving = acceptEach(listener, { serve, clock, log, signal: closing.signal });
  return {
    hostname,
    port,
    proxyUrl: `http://relay:${options.password}@${hostname}:${port}`,
    async [Symbol.asyncDispose]() {
      closing.abort(new DOMException("The relay was closed", "AbortError"));
      listener.close();
      await serving;
      await Promise.all(tasks);
    },
  };
}

/**
 * Gives `serve` each connection until `signal` aborts. A failure is no end: the usual one is that
 * there are too many open files, and the next that is closed makes room.
 */
export async function acceptEach<C>(
  listener: { accept(): Promise<C> },
  { serve, clock, log, signal }: {
    serve: (connection: C) => void;
    clock: Clock;
    log: Logger;
    signal: AbortSignal;
  },
): Promise<void> {
  while (!signal.aborted) {
    try {
      serve(await listener.accept());
    } catch (error) {
      if (signal.aborted) return;
      log.warn("Relay cannot take a connection; trying again", { error: messageOf(error) });
      await clock.sleep(ACCEPT_PAUSE_MS, { signal }).catch(() => {
        // Closed meanwhile: the loop sees it.
      });
    }
  }
}

/** Serves one connection until either side ends it. Never rejects. */
async function serveClient(
  client: Deno.TcpConn,
  options: RelayOptions,
  signal: AbortSignal,
): Promise<void> {
  const { log, serverName } = options;
  let server: Deno.Conn | undefined;
  const cut = () => {
    closeConnection(client);
    if (server !== undefined) closeConnection(server);
  };
  signal.addEventListener("abort", cut, { once: true });
  try {
    const refusal = refusalOf(await readHead(client, { clock: options.clock, signal }), options);
    if (refusal !== undefined) {
      await writeAll(client, `HTTP/1.1 ${refusal}\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    try {
      server = await dial(options, signal);
    } catch (error) {
      log.warn("Relay cannot reach the API server", { serverName, error: messageOf(error) });
      await writeAll(client, "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    await writeAll(client, "HTTP/1.1 200 OK\r\n\r\n");
    await joinBoth(client, server);
  } catch (error) {
    // The client left, or sent nonsense: its request fails, which tells whoever waits for it.
    log.debug("Relay connection ended early", { serverName, error: messageOf(error) });
  } finally {
    signal.removeEventListener("abort", cut);
    cut();
  }
}

/** The status line to refuse a request with; `undefined` if it is fine. */
function refusalOf(
  { lines: [requestLine = "", ...lines], hasMore }: Head,
  { serverName, target, password }: RelayOptions,
): string | undefined {
  const authorization = lines.map((line) => /^proxy-authorization:\s*(.*)$/i.exec(line)?.[1])
    .find((value) => value !== undefined);
  if (authorization !== `Basic ${btoa(`relay:${password}`)}`) {
    return "407 Proxy Authentication Required";
  }
  const wanted = `CONNECT ${serverName}:${target.port} HTTP/1.1`;
  if (hasMore) return "400 Bad Request";
  return requestLine.toLowerCase() === wanted.toLowerCase() ? undefined : "403 Forbidden";
}

async function dial(
  { target, proxyUrl, clock }: RelayOptions,
  signal: AbortSignal,
): Promise<Deno.Conn> {
  const proxy = proxyUrl === undefined ? undefined : new URL(proxyUrl);
  const first = proxy === undefined ? target : { hostname: hostOf(proxy), port: portOf(proxy) };
  const connection = await withDeadline(
    (signal) => Deno.connect({ ...first, signal }),
    { action: "connecting", limitMs: DIAL_LIMIT_MS, clock, signal },
  );
  if (proxy === undefined) return connection;
  try {
    await openTunnel(connection, { target, proxy, clock, signal });
    return connection;
  } catch (error) {
    closeConnection(connection);
    throw error;
  }
}

/** Copies both ways until one side ends. */
async function joinBoth(a: Deno.Conn, b: Deno.Conn): Promise<void> {
  const copy = async (from: Deno.Conn, to: Deno.Conn) => {
    try {
      await from.readable.pipeTo(to.writable);
    } finally {
      // A tunnel of which one direction has ended carries no HTTP any more.
      closeConnection(from);
      closeConnection(to);
    }
  };
  await Promise.allSettled([copy(a, b), copy(b, a)]);
}

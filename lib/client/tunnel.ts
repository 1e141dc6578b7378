/**
 * A byte stream to a server through a proxy: the client's half of HTTP CONNECT and of SOCKS5
 * (RFC 1928 and 1929), over a connection to the proxy that is given.
 *
 * For the relay alone: `fetch` speaks to proxies by itself. Names are sent as they are, for the proxy
 * to resolve, as kubectl does.
 *
 * @module
 */

import { type Clock, withDeadline } from "../core/clock.ts";

/** What is to be reached. */
export interface TunnelTarget {
  /** A name or an address, IPv6 without brackets. */
  readonly hostname: string;
  /** TCP port. */
  readonly port: number;
}

/** The part of a connection that tunnels need; `Deno.Conn` is one. */
export interface ByteConnection {
  /** Reads at least one byte; `null` at the end. */
  read(buffer: Uint8Array): Promise<number | null>;
  /** Writes at least one byte. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends it, and what is being read or written. */
  close(): void;
}

/** What a step on a connection takes. */
export interface TunnelOptions {
  /** Limits the wait for the other side. */
  readonly clock: Clock;
  /** Closes the connection. */
  readonly signal: AbortSignal;
}

/** Time for the other side of a new connection to speak up, in milliseconds. */
const HEAD_LIMIT_MS = 10_000;
/** Longest head of a request or an answer, in bytes; ours take a few hundred. */
const HEAD_MAX_BYTES = 8192;

/**
 * Asks the proxy at the other end of `connection` for a tunnel to `target`; what is read and written
 * afterwards is the target's.
 *
 * @param proxy Its URL: the scheme says how to ask, user and password who does.
 * @throws {Error} If it refuses, or says something else.
 */
export async function openTunnel(
  connection: ByteConnection,
  { proxy, target, ...options }: { proxy: URL; target: TunnelTarget } & TunnelOptions,
): Promise<void> {
  const login = {
    username: decodeURIComponent(proxy.username),
    password: decodeURIComponent(proxy.password),
  };
  if (proxy.protocol === "socks5:") await askSocks(connection, { target, login, ...options });
  else await askHttp(connection, { target, login, ...options });
}

/** What {@linkcode readHead} read. */
export interface Head {
  /** The lines of the head, without the empty one. */
  readonly lines: readonly string[];
  /**
   * Something came along with it: the page of a proxy that refuses, say. In a tunnel nothing may:
   * TLS starts with the client's hello, which waits for the 200.
   */
  readonly hasMore: boolean;
}

/**
 * Reads up to the empty line that ends the head of a request or an answer.
 *
 * @throws {Error} If the connection ends before, or the head is too long or too late.
 */
export async function readHead(
  connection: ByteConnection,
  options: TunnelOptions,
): Promise<Head> {
  return await closingOnAbort(connection, options, async (signal) => {
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(HEAD_MAX_BYTES);
    for (let text = "";;) {
      const count = await connection.read(buffer);
      signal.throwIfAborted();
      if (count === null) throw new Error("The connection ended inside the head");
      text += decoder.decode(buffer.subarray(0, count), { stream: true });
      const end = text.indexOf("\r\n\r\n");
      if (end >= 0) {
        return { lines: text.slice(0, end).split("\r\n"), hasMore: end + 4 < text.length };
      }
      if (text.length >= HEAD_MAX_BYTES) throw new Error("The head is too long");
    }
  });
}

/** Writes all of `content`; text as UTF-8. */
export async function writeAll(
  connection: ByteConnection,
  content: string | Uint8Array,
): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Closes a connection unless it is closed: both sides and the streams on them may have come first. */
export function closeConnection(connection: Pick<ByteConnection, "close">): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

interface AskOptions extends TunnelOptions {
  readonly target: TunnelTarget;
  readonly login: { readonly username: string; readonly password: string };
}

async function askHttp(connection: ByteConnection, options: AskOptions): Promise<void> {
  const { target: { hostname, port }, login: { username, password } } = options;
  const host = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  const authorization = username === "" && password === ""
    ? ""
    : `proxy-authorization: Basic ${base64Of(`${username}:${password}`)}\r\n`;
  await writeAll(connection, `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n${authorization}\r\n`);
  const { lines: [statusLine = ""], hasMore } = await readHead(connection, options);
  if (!/^HTTP\/1\.[01] 2\d\d/.test(statusLine)) {
    throw new Error(`The proxy answered "${statusLine.slice(0, 60)}"`);
  }
  if (hasMore) throw new Error("The proxy sent something of its own into the tunnel");
}

const SOCKS_VERSION = 5;
const NO_AUTHENTICATION = 0;
const PASSWORD_AUTHENTICATION = 2;
/** What RFC 1928 calls the replies 1 to 8. */
const SOCKS_FAILURES = [
  "general failure",
  "not allowed",
  "network unreachable",
  "host unreachable",
  "connection refused",
  "TTL expired",
  "command not supported",
  "address type not supported",
];

async function askSocks(connection: ByteConnection, options: AskOptions): Promise<void> {
  const { target, login: { username, password } } = options;
  const read = (count: number) => readExactly(connection, count, options);
  const method = username === "" ? NO_AUTHENTICATION : PASSWORD_AUTHENTICATION;
  await writeAll(connection, Uint8Array.of(SOCKS_VERSION, 1, method));
  const [version, chosen] = await read(2);
  if (version !== SOCKS_VERSION || chosen !== method) {
    throw new Error("The proxy does not take our way of authentication");
  }
  if (method === PASSWORD_AUTHENTICATION) {
    const parts = [username, password].flatMap((text) => [...counted(text)]);
    await writeAll(connection, Uint8Array.of(1, ...parts));
    const [, refused] = await read(2);
    if (refused !== 0) throw new Error("The proxy does not take our user name and password");
  }
  const port = [target.port >> 8, target.port & 0xff];
  await writeAll(connection, Uint8Array.of(SOCKS_VERSION, 1, 0, ...addressOf(target), ...port));
  const [, reply = 1, , kind] = await read(4);
  if (reply !== 0) throw new Error(`The proxy answered: ${SOCKS_FAILURES[reply - 1] ?? reply}`);
  // The address that it uses, which nobody needs: 4 or 16 bytes or a counted name, and a port.
  const length = kind === 1 ? 4 : kind === 4 ? 16 : (await read(1))[0] ?? 0;
  await read(length + 2);
}

/** Kind and bytes of an address: IPv4 as such, all else by its text, which proxies resolve. */
function addressOf({ hostname }: TunnelTarget): number[] {
  return /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
    ? [1, ...hostname.split(".").map(Number)]
    : [3, ...counted(hostname)];
}

/** A length of one byte, and the text. */
function counted(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > 255) throw new Error("A name for a SOCKS proxy is over 255 bytes");
  return Uint8Array.of(bytes.length, ...bytes);
}

async function readExactly(
  connection: ByteConnection,
  count: number,
  options: TunnelOptions,
): Promise<Uint8Array> {
  return await closingOnAbort(connection, options, async (signal) => {
    const bytes = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const got = await connection.read(bytes.subarray(at));
      signal.throwIfAborted();
      if (got === null) throw new Error("The proxy ended the connection");
      at += got;
    }
    return bytes;
  });
}

/** Runs `work` within the limit; reads can't be aborted, so the connection is closed instead. */
async function closingOnAbort<R>(
  connection: ByteConnection,
  { clock, signal }: TunnelOptions,
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const limits = { action: "the other side's answer", limitMs: HEAD_LIMIT_MS, clock, signal };
  return await withDeadline(async (signal) => {
    const end = () => closeConnection(connection);
    signal.addEventListener("abort", end, { once: true });
    try {
      return await work(signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      signal.removeEventListener("abort", end);
    }
  }, limits);
}

function base64Of(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

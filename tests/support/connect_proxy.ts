/**
 * A proxy that notes what it is asked for: HTTP CONNECT, or SOCKS5 by the first byte.
 *
 * @module
 */

/** One request for a tunnel. */
export interface ProxiedRequest {
  /** `host:port` */
  readonly target: string;
  /** Value of `Proxy-Authorization`, or SOCKS5's `user:password`, if there was one. */
  readonly authorization?: string;
  /** It came by SOCKS5. */
  readonly socks?: true;
}

/** A proxy that listens. */
export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly ProxiedRequest[];
}

/** Starts a proxy on a free port of loopback. Dials only loopback, whatever the name. */
export function startConnectProxy(): ConnectProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: ProxiedRequest[] = [];
  const open = new Set<Deno.Conn>();
  const tasks: Promise<void>[] = [];
  const serve = async (client: Deno.Conn) => {
    open.add(client);
    const first = await readSome(client);
    const request = first[0] === 5 ? await socksRequest(client, first) : httpRequest(first);
    requests.push(request);
    const port = Number(request.target.slice(request.target.lastIndexOf(":") + 1));
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(server);
    await client.write(
      request.socks
        ? Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0)
        : new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"),
    );
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
  };
  const accept = async () => {
    for await (const client of listener) tasks.push(serve(client));
  };
  const accepting = accept();
  return {
    port: listener.addr.port,
    requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const connection of open) closeQuietly(connection);
      await Promise.allSettled(tasks);
    },
  };
}

async function readSome(connection: Deno.Conn): Promise<Uint8Array> {
  const buffer = new Uint8Array(8192);
  return buffer.subarray(0, await connection.read(buffer) ?? 0);
}

function httpRequest(head: Uint8Array): ProxiedRequest {
  const text = new TextDecoder().decode(head);
  const target = /^CONNECT (\S+) /.exec(text)?.[1] ?? "";
  const authorization = /^proxy-authorization: *(.*?)\r$/im.exec(text)?.[1];
  return { target, ...(authorization !== undefined && { authorization }) };
}

/** After the greeting: takes the way of authentication offered, then a target. */
async function socksRequest(client: Deno.Conn, greeting: Uint8Array): Promise<ProxiedRequest> {
  const method = greeting[2] ?? 0;
  await client.write(Uint8Array.of(5, method));
  const decoder = new TextDecoder();
  let authorization: string | undefined;
  if (method === 2) {
    const login = await readSome(client);
    const split = 2 + (login[1] ?? 0);
    const [user, password] = [login.subarray(2, split), login.subarray(split + 1)];
    authorization = `${decoder.decode(user)}:${decoder.decode(password)}`;
    await client.write(Uint8Array.of(1, 0));
  }
  const bytes = await readSome(client);
  const isName = bytes[3] === 3;
  const end = isName ? 5 + (bytes[4] ?? 0) : 8;
  const host = isName ? decoder.decode(bytes.subarray(5, end)) : bytes.subarray(4, end).join(".");
  const port = (bytes[end] ?? 0) * 256 + (bytes[end + 1] ?? 0);
  const target = `${host}:${port}`;
  return { target, socks: true, ...(authorization !== undefined && { authorization }) };
}

/** The streams may have closed it already. */
function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

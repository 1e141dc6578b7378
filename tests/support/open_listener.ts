/**
 * A listener that takes every connection and counts it: what an attempt to get out would reach.
 *
 * @module
 */

/** A listener; see the module. */
export interface OpenListener extends AsyncDisposable {
  /** `host:port`, IPv6 in brackets. */
  readonly address: string;
  /** Connections so far. */
  readonly connections: number;
}

/** Starts one; answers HTTP with an empty JavaScript module, and a WebSocket with its handshake. */
export function openListener(options: Deno.TcpListenOptions): OpenListener {
  const listener = Deno.listen(options);
  const { hostname, port } = listener.addr;
  let connections = 0;
  const serving: Promise<void>[] = [];
  const accept = async () => {
    for await (const connection of listener) {
      connections++;
      serving.push(serve(connection));
    }
  };
  const accepting = accept();
  return {
    address: `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(serving);
    },
  };
}

async function serve(connection: Deno.TcpConn): Promise<void> {
  try {
    const buffer = new Uint8Array(8192);
    const bytes = await connection.read(buffer);
    if (bytes === null) return;
    const head = new TextDecoder().decode(buffer.subarray(0, bytes));
    await connection.write(new TextEncoder().encode(await answerTo(head)));
    // Until the other side has had enough.
    while (await connection.read(buffer) !== null);
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
  } finally {
    connection.close();
  }
}

async function answerTo(head: string): Promise<string> {
  const key = /^sec-websocket-key: *(\S+)/im.exec(head)?.[1];
  if (key === undefined) {
    return "HTTP/1.1 200 OK\r\ncontent-type: text/javascript\r\ncontent-length: 10\r\n" +
      "connection: close\r\n\r\nexport {};";
  }
  // RFC 6455, 1.3.
  const text = `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const hash = new Uint8Array(
    await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text)),
  );
  return "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n" +
    `sec-websocket-accept: ${hash.toBase64()}\r\n\r\n`;
}

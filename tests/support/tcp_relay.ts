/**
 * A TCP relay between the operator and the API server, so that tests can cut connections without
 * hurting either end.
 *
 * @module
 */

/** Listens on a free loopback port and pipes every connection to one fixed address. */
export class TcpRelay implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #target: { hostname: string; port: number };
  readonly #open = new Set<Deno.TcpConn>();
  readonly #accepting: Promise<void>;

  constructor(target: { hostname: string; port: number }) {
    this.#target = target;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#accepting = this.#accept();
  }

  /** `https://` address to use in place of the target's. */
  get server(): string {
    return `https://127.0.0.1:${this.#listener.addr.port}`;
  }

  /** Closes every connection there is; new ones are accepted. Returns how many pairs it closed. */
  cut(): number {
    const pairs = this.#open.size / 2;
    for (const connection of this.#open) closeQuietly(connection);
    this.#open.clear();
    return pairs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.cut();
    await this.#accepting;
  }

  async #accept(): Promise<void> {
    const pipes: Promise<void>[] = [];
    for await (const near of this.#listener) pipes.push(this.#serve(near));
    await Promise.all(pipes);
  }

  async #serve(near: Deno.TcpConn): Promise<void> {
    let far: Deno.TcpConn;
    try {
      far = await Deno.connect(this.#target);
    } catch {
      // The target is down: the caller sees a reset, as it would without us.
      closeQuietly(near);
      return;
    }
    this.#open.add(near).add(far);
    await Promise.all([pump(near, far), pump(far, near)]);
    for (const connection of [near, far]) {
      this.#open.delete(connection);
      closeQuietly(connection);
    }
  }
}

/** Copies until either side ends, then closes both, so that the other direction ends too. */
async function pump(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  try {
    const buffer = new Uint8Array(65_536);
    for (let n = await from.read(buffer); n !== null; n = await from.read(buffer)) {
      for (let sent = 0; sent < n;) sent += await to.write(buffer.subarray(sent, n));
    }
  } catch (error) {
    if (!isConnectionEnd(error)) throw error;
  } finally {
    closeQuietly(from);
    closeQuietly(to);
  }
}

function isConnectionEnd(error: unknown): boolean {
  return [
    Deno.errors.BadResource,
    Deno.errors.BrokenPipe,
    Deno.errors.ConnectionReset,
    Deno.errors.Interrupted,
    Deno.errors.NotConnected,
  ].some((kind) => error instanceof kind);
}

function closeQuietly(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch (error) {
    // Closed by the other direction already.
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { acceptEach } from "../../lib/client/relay.ts";
import { type ByteConnection, openTunnel, readHead } from "../../lib/client/tunnel.ts";
import { messageOf } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

const { signal } = new AbortController();
const TARGET = { hostname: "api.test", port: 6443 };

/** A proxy that sends its answers in turn, one read each, and then nothing more. */
function scripted(...answers: (string | number[] | null)[]): ByteConnection & {
  readonly written: number[][];
  closed: boolean;
} {
  const waiting = Promise.withResolvers<number | null>();
  const written: number[][] = [];
  const connection = {
    written,
    closed: false,
    read(buffer: Uint8Array) {
      const answer = answers.shift();
      if (answer === undefined) return waiting.promise;
      if (answer === null) return Promise.resolve(null);
      const bytes = typeof answer === "string" ? new TextEncoder().encode(answer) : answer;
      // What does not fit now comes with the next read, as from a socket.
      if (bytes.length > buffer.length) answers.unshift([...bytes.slice(buffer.length)]);
      buffer.set(bytes.slice(0, buffer.length));
      return Promise.resolve(Math.min(bytes.length, buffer.length));
    },
    write(bytes: Uint8Array) {
      written.push([...bytes]);
      return Promise.resolve(bytes.length);
    },
    close() {
      connection.closed = true;
      waiting.resolve(null);
    },
  };
  return connection;
}

function open(connection: ByteConnection, proxy: string, target = TARGET): Promise<void> {
  const clock = new SimClock();
  return openTunnel(connection, { proxy: new URL(proxy), target, clock, signal });
}

Deno.test("K6 openTunnel() asks by CONNECT, and takes an answer in pieces", async () => {
  const connection = scripted("HTTP/1.1 200", " Connection established\r\nvia: x\r\n", "\r\n");
  await open(connection, "http://proxy:3128", { hostname: "fd00::1", port: 443 });
  strictEqual(
    new TextDecoder().decode(Uint8Array.from(connection.written.flat())),
    "CONNECT [fd00::1]:443 HTTP/1.1\r\nhost: [fd00::1]:443\r\n\r\n",
  );
});

Deno.test("K6 openTunnel() tells how the proxy refused", async () => {
  const cases: [proxy: string, answers: (string | number[] | null)[], expected: RegExp][] = [
    ["http://p", ["HTTP/1.1 403 Forbidden\r\n\r\n"], /answered "HTTP\/1\.1 403 Forbidden"/],
    ["http://p", ["HTTP/1.1 407 Who?\r\nvia: x\r\n\r\n<html>"], /answered "HTTP\/1\.1 407 Who\?"/],
    ["http://p", ["HTTP/1.1 200 OK\r\n\r\nodd"], /something of its own into the tunnel/],
    ["http://p", ["x".repeat(9000), "x"], /head is too long/],
    ["http://p", ["HTTP/1.1 2", null], /ended inside the head/],
    ["socks5://p", [[5, 255]], /our way of authentication/],
    ["socks5://p", [[5], null], /ended the connection/],
    ["socks5://u:p@p", [[5, 2], [1, 1]], /our user name and password/],
    ["socks5://p", [[5, 0], [5, 5, 0, 1]], /connection refused/],
    ["socks5://p", ["HTTP/1.1 400"], /our way of authentication/],
  ];
  for (const [proxy, answers, expected] of cases) {
    await rejects(open(scripted(...answers), proxy), (error) => {
      match(messageOf(error), expected);
      return true;
    });
  }
});

Deno.test("K6 openTunnel() speaks SOCKS5 byte by byte, whatever the kind of the bound address", async () => {
  const name = [..."api.test"].map((char) => char.charCodeAt(0));
  const bound = [
    [1, 127, 0, 0, 1],
    [4, ...Array.from({ length: 16 }, () => 0)],
    [3, 2, 97, 98],
  ];
  for (const address of bound) {
    const reply = [5, 0, 0, ...address, 0, 80];
    const connection = scripted(...[5, 0, ...reply].map((byte) => [byte]), "tls");
    await open(connection, "socks5://proxy");
    deepStrictEqual(connection.written, [
      [5, 1, 0],
      [5, 1, 0, 3, name.length, ...name, 6443 >> 8, 6443 & 255],
    ]);
    // Nothing of what the target says was taken.
    strictEqual(await connection.read(new Uint8Array(9)), 3);
  }
});

Deno.test("readHead() closes the connection of one who says nothing", async () => {
  const clock = new SimClock();
  const connection = scripted();
  const head = readHead(connection, { clock, signal });
  const refused = rejects(head, { name: "DeadlineError" });
  await clock.advance(10_000);
  await refused;
  strictEqual(connection.closed, true);

  const stop = new AbortController();
  const stopped = readHead(scripted(), { clock, signal: stop.signal });
  stop.abort("stop");
  await rejects(stopped, (reason) => reason === "stop");
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("K5 acceptEach() goes on after a failure to accept, and ends when told", async () => {
  const clock = new SimClock();
  const stop = new AbortController();
  const closed = Promise.withResolvers<string>();
  const outcomes: (() => Promise<string>)[] = [
    () => Promise.resolve("a"),
    () => Promise.reject(new Error("Too many open files (os error 24)")),
    () => Promise.resolve("b"),
  ];
  const served: string[] = [];
  const logger = recordingLogger();
  const serving = acceptEach({ accept: () => outcomes.shift()?.() ?? closed.promise }, {
    serve: (connection) => served.push(connection),
    clock,
    log: logger.log,
    signal: stop.signal,
  });
  await clock.settle();
  deepStrictEqual(served, ["a"]);
  await clock.advance(1000);
  deepStrictEqual(served, ["a", "b"]);
  stop.abort();
  closed.reject(new Deno.errors.BadResource("closed"));
  await serving;
  strictEqual(clock.pendingTimers, 0);
  deepStrictEqual(logger.records, [{
    level: "warn",
    message: "Relay cannot take a connection; trying again",
    fields: { error: "Too many open files (os error 24)" },
  }]);
});

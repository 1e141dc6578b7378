import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import type { Credential, CredentialSource } from "../../lib/client/connection.ts";
import { InsecureTransport } from "../../lib/client/insecure_transport.ts";
import { ConnectionError } from "../../lib/core/errors.ts";
import { createPki } from "../support/pki.ts";
import { startTlsServer } from "../support/tls_server.ts";

const { signal } = new AbortController();
const PKI = await createPki("nobody trusts this one");
const GET = { method: "GET", headers: {}, signal };

/** Gives `A`; after a refusal `B`, for good. */
function renewing(): CredentialSource & { refreshes: number } {
  let credential: Credential = { generation: 1, token: "A" };
  const source = {
    refreshes: 0,
    current: () => Promise.resolve(credential),
    refresh() {
      source.refreshes++;
      credential = { generation: 2, token: "B" };
      return Promise.resolve(credential);
    },
  };
  return source;
}

function transportTo(url: string, source: CredentialSource = renewing()): InsecureTransport {
  const settings = { server: url, namespace: "default", userAgent: "test" };
  return new InsecureTransport({ source, settings: { ...settings, insecureSkipTlsVerify: true } });
}

Deno.test("K7 InsecureTransport sends method, headers and body, and gives status, headers and body", async () => {
  await using server = await startTlsServer(PKI, (_, response) => {
    response.writeHead(201, { "content-type": "text/plain", "retry-after": "7" });
    response.end("héllo");
  });
  using transport = transportTo(server.url);
  const response = await transport.send(`${server.url}/apis?x=1`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"ü":1}',
    signal,
  });
  deepStrictEqual(
    [response.status, response.headers.get("retry-after"), await response.text()],
    [201, "7", "héllo"],
  );
  const [request] = server.requests;
  deepStrictEqual([request?.method, request?.url, request?.body], ["POST", "/apis?x=1", '{"ü":1}']);
  strictEqual(request?.headers["content-type"], "application/json");
});

Deno.test("K7 InsecureTransport keeps its connection, and renews once after a 401", async () => {
  await using server = await startTlsServer(PKI, ({ headers }, response) => {
    response.statusCode = headers.authorization === "Bearer B" ? 200 : 401;
    response.end("{}");
  });
  const source = renewing();
  using transport = transportTo(server.url, source);
  for (const _ of [1, 2, 3]) {
    const response = await transport.send(server.url, GET);
    strictEqual(response.status, 200);
    await response.text();
  }
  strictEqual(source.refreshes, 1);
  // One for each generation.
  strictEqual(server.connections, 2);
});

Deno.test("K7 InsecureTransport gives the refusal when nothing newer is to be had", async () => {
  await using server = await startTlsServer(PKI, (_, response) => {
    response.statusCode = 401;
    response.end("no");
  });
  const credential = { generation: 1, token: "A" };
  const same = () => Promise.resolve(credential);
  using transport = transportTo(server.url, { current: same, refresh: same });
  const response = await transport.send(server.url, GET);
  deepStrictEqual([response.status, await response.text()], [401, "no"]);
  strictEqual(server.requests.length, 1);
});

Deno.test("K7 InsecureTransport rejects with the signal's reason, before and inside the body", async () => {
  await using server = await startTlsServer(PKI, ({ url }, response) => {
    if (url === "/silent") return;
    response.writeHead(200);
    response.write("first\n");
  });
  using transport = transportTo(server.url);
  const early = new AbortController();
  const silent = transport.send(`${server.url}/silent`, { ...GET, signal: early.signal });
  early.abort("early");
  await rejects(silent, (reason) => reason === "early");

  const late = new AbortController();
  const response = await transport.send(server.url, { ...GET, signal: late.signal });
  const reader = response.body?.getReader();
  strictEqual(new TextDecoder().decode((await reader?.read())?.value), "first\n");
  const rest = reader?.read() ?? Promise.resolve();
  late.abort("late");
  await rejects(rest, (reason) => reason === "late");
});

Deno.test("K7 InsecureTransport tells a connection that breaks off from one that ends", async () => {
  await using server = await startTlsServer(PKI, ({ url, socket }, response) => {
    if (url === "/none") return void socket.destroy();
    response.writeHead(200, { "content-length": "100" });
    response.write("part", () => socket.destroy());
  });
  using transport = transportTo(server.url);
  await rejects(transport.send(`${server.url}/none`, GET), (error) => {
    match(String(error), /Cannot reach https:\/\/127/);
    return error instanceof ConnectionError;
  });
  const response = await transport.send(server.url, GET);
  await rejects(response.text());
});

Deno.test("K7 InsecureTransport fails the request, and no more, when an answer has an odd status", async () => {
  const heads = [
    "HTTP/1.1 999 Odd\r\ncontent-length: 2\r\n\r\nhi",
    "HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\nhi",
    "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: odd\r\n\r\nhi",
    "odd\r\n\r\n",
  ];
  await using server = await startTlsServer(PKI, ({ url, socket }, response) => {
    const head = heads[Number(url.slice(1))];
    if (head === undefined) response.end("{}");
    else socket.write(head);
  });
  using transport = transportTo(server.url);
  for (const at of heads.keys()) {
    await rejects(transport.send(`${server.url}/${at}`, GET), ConnectionError, heads[at]);
  }
  strictEqual(await (await transport.send(`${server.url}/${heads.length}`, GET)).text(), "{}");
});

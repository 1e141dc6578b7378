import { deepStrictEqual, doesNotMatch, match, ok, rejects, strictEqual } from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { RestClient } from "../../lib/client/rest.ts";
import { ConfigError, ConnectionError, messageOf } from "../../lib/core/errors.ts";
import { createPki } from "../support/pki.ts";
import { pki, sourceOf, transportTo, untilSocketsShow } from "../support/real_transport.ts";
import { type ServedRequest, startTlsServer } from "../support/tls_server.ts";

const live = () => new AbortController().signal;

const echoName = (request: ServedRequest, response: ServerResponse) =>
  void response.end(request.clientName ?? "anonymous");

Deno.test("K14 FetchTransport sends the client certificate; W16 and speaks HTTP/1.1", async () => {
  await using server = await startTlsServer(pki, echoName);
  const { transport, get } = transportTo(
    server.url,
    sourceOf({ clientCertificate: await pki.issue({ commonName: "alice" }) }),
  );
  using _ = transport;
  deepStrictEqual(await get(), { status: 200, text: "alice" });
  strictEqual(server.requests[0]?.alpnProtocol, "http/1.1");
});

Deno.test("FetchTransport sends token, basic authentication and impersonation", async () => {
  await using server = await startTlsServer(pki, echoName);
  const impersonate = {
    user: "eve",
    uid: "7",
    groups: ["dev", "ops"],
    extra: { "example.com/Scope": ["a", "b"], "a key (of '1')!*~": ["c"] },
  };
  const token = transportTo(server.url, sourceOf({ token: "t1" }), { impersonate });
  using _token = token.transport;
  await token.get();
  const raw = server.requests[0]?.rawHeaders ?? [];
  const lines = Array.from(
    { length: raw.length / 2 },
    (_, i) => `${raw[2 * i]}: ${raw[2 * i + 1]}`,
  );
  for (
    const line of [
      "authorization: Bearer t1",
      "impersonate-user: eve",
      "impersonate-uid: 7",
      // One line each: joined they would be one group of a strange name.
      "impersonate-group: dev",
      "impersonate-group: ops",
      "impersonate-extra-example.com%2fscope: a",
      "impersonate-extra-example.com%2fscope: b",
      "impersonate-extra-a%20key%20%28of%20'1'%29!*~: c",
    ]
  ) ok(lines.includes(line), `${line} in ${lines.join("; ")}`);

  const basic = transportTo(server.url, sourceOf({ basic: { username: "ü", password: "p:q" } }));
  using _basic = basic.transport;
  await basic.get();
  strictEqual(server.requests[1]?.headers.authorization, "Basic w7w6cDpx");
});

Deno.test("P4 FetchTransport uses one connection for 300 requests, and leaves none open", async () => {
  await using server = await startTlsServer(pki, (_, response) => void response.end("x"));
  {
    const { transport, get } = transportTo(server.url, sourceOf({ token: "t" }));
    using _ = transport;
    for (let i = 0; i < 300; i++) await get();
    strictEqual(server.connections, 1);
  }
  await untilSocketsShow(() => server.openConnections === 0);
});

Deno.test("K16 FetchTransport says why a server's certificate is refused, and what to do", async () => {
  await using server = await startTlsServer(pki, echoName);
  const other = await createPki("other");
  const stranger = transportTo(server.url, sourceOf({ caPem: other.caPem, token: "hunter2" }));
  using _stranger = stranger.transport;
  await rejects(stranger.get(), (error) => {
    ok(error instanceof ConnectionError);
    strictEqual(error.stage, "connect");
    ok(error.message.includes(server.url) && error.message.includes("certificate-authority"));
    ok(!Deno.inspect(error).includes("hunter2"));
    return true;
  });
});

Deno.test("FetchTransport tells how far a request came: refused, died, cut", async () => {
  let gone = "";
  {
    await using server = await startTlsServer(pki, ({ url, socket }, response) => {
      if (url === "/died") socket.destroy();
      else response.end("x");
    });
    gone = server.url;
    const { transport, get } = transportTo(server.url, sourceOf({}));
    using _ = transport;
    await rejects(get("/died"), (error) => {
      ok(error instanceof ConnectionError);
      strictEqual(error.stage, "send", messageOf(error));
      return true;
    });
  }
  const { transport, get } = transportTo(gone, sourceOf({}));
  using _ = transport;
  await rejects(get(), { name: "ConnectionError", stage: "connect", message: /nothing listens/ });
});

Deno.test("FetchTransport rejects with the signal's own reason, before and after the headers", async () => {
  await using server = await startTlsServer(pki, ({ url }, response) => {
    if (url === "/body") response.write("x");
  });
  const { transport, get } = transportTo(server.url, sourceOf({}));
  using _ = transport;
  for (const path of ["/headers", "/body"]) {
    const stop = new AbortController();
    const reason = new Error("stop");
    const failed = rejects(get(path, stop.signal), (error) => error === reason);
    await untilSocketsShow(() => server.requests.some(({ url }) => url === path));
    stop.abort(reason);
    await failed;
  }
  await untilSocketsShow(() => server.openConnections === 0);
});

Deno.test("FetchTransport does not follow a redirect with its credentials", async () => {
  await using server = await startTlsServer(pki, (_, response) => {
    response.writeHead(302, { location: "/elsewhere" });
    response.end();
  });
  const { transport, get } = transportTo(server.url, sourceOf({ token: "t" }));
  using _ = transport;
  strictEqual((await get()).status, 302);
  strictEqual(server.requests.length, 1);
});

Deno.test("K5 K7 FetchTransport refuses settings that it can't keep, and use after its end", async () => {
  const named = transportTo("https://127.0.0.1:6443", sourceOf({}), { tlsServerName: "api.test" });
  await rejects(named.get(), ConfigError);
  const insecure = transportTo("https://127.0.0.1:6443", sourceOf({}), {
    insecureSkipTlsVerify: true,
  });
  await rejects(insecure.get(), ConfigError);
  const ended = transportTo("https://127.0.0.1:6443", sourceOf({}));
  const early = rejects(ended.get(), ConnectionError);
  // Its credential is still on the way: no client may be made of it any more.
  ended.transport[Symbol.dispose]();
  await early;
  await rejects(ended.get(), ConnectionError);
});

Deno.test("P4 50 watches that are left early leave no connection behind", async () => {
  await using server = await startTlsServer(pki, ({ url }, response) => {
    if (url === "/watch") response.write("{}\n");
    else response.end("{}");
  });
  const { transport, clock } = transportTo(server.url, sourceOf({}));
  using _ = transport;
  const connection = { server: server.url, userAgent: "test/1" };
  const rest = new RestClient({ transport: transport.send, connection, clock });
  const request = { method: "GET", signal: live() } as const;
  for (let i = 0; i < 50; i++) {
    for await (const _chunk of rest.stream({ ...request, verb: "watch", path: "/watch" })) break;
    await rest.request({ ...request, verb: "get", path: "/" });
  }
  await untilSocketsShow(() => server.openConnections <= 1);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("RestClient outlives a reused connection that dies as a read is sent on it", async () => {
  let isFirst = true;
  await using server = await startTlsServer(pki, ({ url, socket }, response) => {
    // Taken by the server, and cut before any byte of an answer, as by an idle timeout.
    if (url === "/dies" && isFirst) {
      isFirst = false;
      socket.destroy();
    } else response.end("{}");
  });
  const { transport, clock } = transportTo(server.url, sourceOf({}));
  using _ = transport;
  const connection = { server: server.url, userAgent: "test/1" };
  const rest = new RestClient({ transport: transport.send, connection, clock });
  const request = { method: "GET", verb: "get", signal: live() } as const;
  await rest.request({ ...request, path: "/" });
  await rest.request({ ...request, path: "/dies" });
  deepStrictEqual(server.requests.map(({ url }) => url), ["/", "/dies", "/dies"]);
  strictEqual(server.requests[0]?.socket, server.requests[1]?.socket);
  strictEqual(server.connections, 2);

  isFirst = true;
  const write = { ...request, method: "POST", verb: "create", path: "/dies", body: {} } as const;
  await rejects(rest.request(write), { name: "ConnectionError", stage: "send" });
});

Deno.test("FetchTransport says why it can't make connections, and blames nothing else", async () => {
  const source = sourceOf({ token: "SECRET-token" });
  const { transport, get } = transportTo("https://127.0.0.1:1", source, { proxyUrl: "http://[" });
  using _ = transport;
  await rejects(get(), (error: unknown) => {
    ok(error instanceof ConfigError);
    match(error.message, /^Cannot make connections to https:\/\/127\.0\.0\.1:1: .+; check /);
    ok(error.message.includes(messageOf(error.cause)), "the runtime's own reason");
    doesNotMatch(error.message, /belong together|SECRET/);
    return true;
  });
});

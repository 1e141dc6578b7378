import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { Credential } from "../../lib/client/connection.ts";
import { ConfigError, ConnectionError } from "../../lib/core/errors.ts";
import { latch } from "../../lib/core/tasks.ts";
import { startNamedServer } from "../support/named_server.ts";
import { createPki } from "../support/pki.ts";
import { pki, sourceOf, transportTo, untilSocketsShow } from "../support/real_transport.ts";
import { type ServedRequest, startTlsServer } from "../support/tls_server.ts";

const live = () => new AbortController().signal;

const echoName = (request: ServedRequest, response: ServerResponse) =>
  void response.end(request.clientName ?? "anonymous");

/** Takes only the given bearer token. */
const wants = (token: () => string) => (request: ServedRequest, response: ServerResponse) => {
  response.statusCode = request.headers.authorization === `Bearer ${token()}` ? 200 : 401;
  response.end("x");
};

const certificateOf = async (commonName: string): Promise<Omit<Credential, "generation">> => ({
  clientCertificate: await pki.issue({ commonName }),
});

Deno.test("K11 FetchTransport closes a generation's connections once another took over", async () => {
  await using server = await startTlsServer(pki, echoName);
  const names = Array.from({ length: 20 }, (_, i) => `user-${i}`);
  const source = sourceOf(...await Promise.all(names.map(certificateOf)));
  const { transport, get } = transportTo(server.url, source);
  using _ = transport;
  for (const name of names) {
    strictEqual((await get()).text, name);
    source.rotate();
  }
  await untilSocketsShow(() => server.openConnections <= 1);
});

Deno.test("K9 FetchTransport leaves a watch open when the credential changes", async () => {
  const next = latch();
  await using server = await startTlsServer(pki, async (request, response) => {
    if (request.url !== "/watch") return void response.end("x");
    response.write("first ");
    await next.wait({ signal: live() });
    response.end("second");
  });
  const source = sourceOf({ token: "t1" }, { token: "t2" });
  const { transport, get } = transportTo(server.url, source);
  using _ = transport;
  const watch = await transport.send(`${server.url}/watch`, {
    method: "GET",
    headers: {},
    signal: live(),
  });
  source.rotate();
  await get();
  next.open();
  strictEqual(await watch.text(), "first second");
});

Deno.test("K9 K12 FetchTransport renews once for many 401s and sends each request again", async () => {
  await using server = await startTlsServer(pki, wants(() => "t2"));
  const source = sourceOf({ token: "t1" }, { token: "t2" });
  const { transport, get } = transportTo(server.url, source);
  using _ = transport;
  const answers = await Promise.all(Array.from({ length: 10 }, () => get()));
  deepStrictEqual(answers.map(({ status }) => status), Array(10).fill(200));
  deepStrictEqual(source.renewals, [0]);
  strictEqual(server.requests.length, 20);
});

Deno.test("K9 FetchTransport gives the 401 to the caller if renewing does not help", async () => {
  await using server = await startTlsServer(pki, wants(() => "other"));
  const useless = sourceOf({ token: "t1" }, { token: "t2" }, { token: "t3" });
  const renewed = transportTo(server.url, useless);
  using _renewed = renewed.transport;
  deepStrictEqual(await renewed.get(), { status: 401, text: "x" });
  strictEqual(server.requests.length, 2);

  const fixed = transportTo(server.url, sourceOf({ token: "t1" }));
  using _fixed = fixed.transport;
  deepStrictEqual(await fixed.get(), { status: 401, text: "x" });
  strictEqual(server.requests.length, 3);
});

Deno.test("FetchTransport throws what renewing throws, to all who wait for it", async () => {
  await using server = await startTlsServer(pki, wants(() => "t2"));
  const source = {
    ...sourceOf({ token: "t1" }),
    refresh: () => Promise.reject(new ConfigError("Cannot run the plugin")),
  };
  const { transport, get } = transportTo(server.url, source);
  using _ = transport;
  await Promise.all([rejects(get(), ConfigError), rejects(get(), ConfigError)]);
});

Deno.test("FetchTransport lets one caller go while others wait for the renewal", async () => {
  await using server = await startTlsServer(pki, wants(() => "t2"));
  const asked = latch();
  const answered = latch();
  const two = sourceOf({ token: "t1" }, { token: "t2" });
  const source = {
    ...two,
    refresh: async (generation: number, options: { signal: AbortSignal }) => {
      asked.open();
      await answered.wait({ signal: live() });
      return await two.refresh(generation, options);
    },
  };
  const { transport, get } = transportTo(server.url, source);
  using _ = transport;
  const stop = new AbortController();
  const first = rejects(get("/", stop.signal), { message: "stop" });
  await asked.wait({ signal: live() });
  const second = get();
  stop.abort(new Error("stop"));
  await first;
  answered.open();
  strictEqual((await second).status, 200);
});

Deno.test("K15 FetchTransport keeps the old client certificate while the new pair is half there", async () => {
  await using server = await startTlsServer(pki, echoName);
  const alice = await pki.issue({ commonName: "alice" });
  const bob = await pki.issue({ commonName: "bob" });
  const half = { certificatePem: bob.certificatePem, keyPem: alice.keyPem };
  const source = sourceOf(
    { clientCertificate: alice },
    { clientCertificate: half },
    { clientCertificate: bob },
  );
  const { transport, get, records, clock } = transportTo(server.url, source);
  using _ = transport;
  strictEqual((await get()).text, "alice");
  source.rotate();
  strictEqual((await get()).text, "alice");
  strictEqual((await get()).text, "alice");
  strictEqual(records.length, 1);
  await clock.advance(1000);
  await get();
  strictEqual(records.length, 2);
  source.rotate();
  strictEqual((await get()).text, "bob");

  const never = transportTo(server.url, sourceOf({ clientCertificate: half }));
  await rejects(never.get(), {
    name: "ConfigError",
    message: /KeyMismatch; check .*client-certificate, client-key/,
  });
});

/** A server whose authority is replaced, and a source that has both authorities, in turn. */
async function replacedAuthority() {
  const [before, after] = [await createPki("before"), await createPki("after")];
  const server = await startNamedServer({
    identity: await before.issue({ commonName: "server" }),
    pki: before,
    answer: () => ({ body: "x" }),
  });
  const source = sourceOf({ caPem: before.caPem }, { caPem: after.caPem });
  const fixture = transportTo(`https://127.0.0.1:${server.port}`, source);
  return {
    ...fixture,
    source,
    replace: async () => server.use(await after.issue({ commonName: "server" })),
    replaceByAnother: async () =>
      server.use(await (await createPki("third")).issue({ commonName: "server" })),
    async [Symbol.asyncDispose]() {
      fixture.transport[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

Deno.test("K12 FetchTransport looks once for a newer authority, and every request goes through", async () => {
  await using world = await replacedAuthority();
  await world.replace();
  const all = await Promise.all(Array.from({ length: 5 }, () => world.get()));
  deepStrictEqual(all.map(({ status }) => status), [200, 200, 200, 200, 200]);
  deepStrictEqual(world.source.renewals, [0]);
});

Deno.test("K12 FetchTransport asks no more for an authority that did not change", async () => {
  await using world = await replacedAuthority();
  await world.replaceByAnother();
  // The source gives its second authority, which is not the one either.
  for (let i = 0; i < 5; i++) await rejects(world.get(), ConnectionError);
  deepStrictEqual(world.source.renewals, [0, 1]);
});

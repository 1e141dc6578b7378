/**
 * Field cases K4 to K16 on the wire: a kubeconfig is loaded, a request sent, and the server tells who
 * came. What the files alone decide is in config_test.ts.
 */

import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { loadConfig, type ResolvedConfig } from "../../lib/client/config.ts";
import type { LocalFiles } from "../../lib/client/credentials.ts";
import { type OpenTransport, openTransport } from "../../lib/client/open_transport.ts";
import type { Transport } from "../../lib/client/transport.ts";
import { type Clock, realClock, realUuid } from "../../lib/core/clock.ts";
import { messageOf } from "../../lib/core/errors.ts";
import { silentLogger } from "../../lib/core/log.ts";
import {
  base64,
  environmentOf,
  kubeconfigOf,
  load,
  type TestFolder,
  testFolder,
} from "../support/config_fixture.ts";
import { startConnectProxy } from "../support/connect_proxy.ts";
import { createPki } from "../support/pki.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { type NamedServer, startNamedServer } from "../support/named_server.ts";

const { signal } = new AbortController();
const PKI = await createPki("cluster");
const CA_DATA = { "certificate-authority-data": base64(PKI.caPem) };

/** What a request that got through came back with. */
interface Got {
  readonly status: number;
  readonly body: string;
}

async function get(send: Transport, { connection }: ResolvedConfig): Promise<Got> {
  const init = { method: "GET", headers: {}, signal };
  const response = await send(`${connection.server}/api`, init);
  return { status: response.status, body: await response.text() };
}

/** One request with what `cluster` and `user` say. */
async function getWith(
  folder: TestFolder,
  cluster: Record<string, unknown>,
  user: Record<string, unknown> = {},
  variables: Record<string, string> = {},
): Promise<Got> {
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster, user }));
  await using config = await load({ kubeconfig, variables });
  using transport = await transportOf(config);
  return await get(transport.send, config);
}

function transportOf(
  { connection: settings, credentials: source }: ResolvedConfig,
  clock: Clock = realClock,
): Promise<OpenTransport> {
  return openTransport({ source, settings, clock, log: silentLogger });
}

/** A server for 127.0.0.1 (or `hosts`) that answers with the name of its client. */
async function nameServer(hosts: readonly string[] = ["127.0.0.1"]): Promise<NamedServer> {
  return await startNamedServer({
    identity: await PKI.issue({ commonName: "server", hosts }),
    pki: PKI,
    answer: ({ clientName, headers }) => ({
      body: clientName ?? headers.authorization ?? "nobody",
    }),
  });
}

function pairOf({ certificatePem, keyPem }: { certificatePem: string; keyPem: string }) {
  return {
    "client-certificate-data": base64(certificatePem),
    "client-key-data": base64(keyPem),
  };
}

Deno.test("K4 connect: without a user the cluster's CA still counts", async () => {
  await using folder = await testFolder();
  await using server = await nameServer();
  const url = `https://127.0.0.1:${server.port}`;
  deepStrictEqual(await getWith(folder, { server: url, ...CA_DATA }), {
    status: 200,
    body: "nobody",
  });
  await rejects(
    getWith(folder, { server: url }),
    (error) => /UnknownIssuer/.test(messageOf(error)),
  );
});

Deno.test("K5 connect: tls-server-name is the name that is verified, on every request", async () => {
  await using folder = await testFolder();
  await using server = await nameServer(["api.test"]);
  const alice = await PKI.issue({ commonName: "alice" });
  const cluster = { server: `https://127.0.0.1:${server.port}`, ...CA_DATA };
  const named = { ...cluster, "tls-server-name": "api.test" };
  deepStrictEqual(await getWith(folder, named, pairOf(alice)), { status: 200, body: "alice" });
  deepStrictEqual(await getWith(folder, named, { token: "t" }), { status: 200, body: "Bearer t" });

  const before = server.requests.length;
  const wrong = { ...cluster, "tls-server-name": "other.test" };
  await rejects(
    getWith(folder, wrong, { token: "SECRET" }),
    (error) => /not valid for name|NotValidForName/.test(messageOf(error)),
  );
  strictEqual(server.requests.length, before);
});

Deno.test("K5 connect: the relay takes only its own target, and only with its password", async () => {
  await using folder = await testFolder();
  await using server = await nameServer(["api.test"]);
  const cluster = {
    server: `https://127.0.0.1:${server.port}`,
    "tls-server-name": "api.test",
    ...CA_DATA,
  };
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster }));
  await using config = await load({ kubeconfig });
  const { server: url, proxyUrl = "" } = config.connection;
  strictEqual(url, `https://api.test:${server.port}`);
  deepStrictEqual(config.access.hosts.map(({ role }) => role), ["server", "relay", "target"]);

  const ask = async (target: string, login: string) => {
    const { hostname, port } = new URL(proxyUrl);
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const request = `CONNECT ${target} HTTP/1.1\r\nproxy-authorization: Basic ${login}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(request));
    return await new Response(connection.readable).text();
  };
  const { username, password } = new URL(proxyUrl);
  const login = btoa(`${username}:${password}`);
  match(await ask(`api.test:${server.port}`, btoa("relay:guess")), /^HTTP\/1\.1 407 /);
  match(await ask("169.254.169.254:80", login), /^HTTP\/1\.1 403 /);
  match(await ask(`api.test:${server.port + 1}`, login), /^HTTP\/1\.1 403 /);
  strictEqual(server.connections, 0);
});

Deno.test("K5 K6 connect: tls-server-name through a proxy reaches the address, verified by name", async () => {
  await using folder = await testFolder();
  await using server = await nameServer(["api.test"]);
  await using proxy = startConnectProxy();
  const target = `127.0.0.1:${server.port}`;
  const clusterBy = (scheme: string) => ({
    server: `https://${target}`,
    "tls-server-name": "api.test",
    "proxy-url": `${scheme}127.0.0.1:${proxy.port}`,
    ...CA_DATA,
  });
  for (const scheme of ["http://u:p%40@", "socks5://u:p%40@", "socks5://"]) {
    strictEqual((await getWith(folder, clusterBy(scheme), { token: "t" })).body, "Bearer t");
  }
  deepStrictEqual(proxy.requests, [
    { target, authorization: `Basic ${btoa("u:p@")}` },
    { target, authorization: "u:p@", socks: true },
    { target, socks: true },
  ]);
});

Deno.test("K6 connect: a proxy gets one CONNECT, and the certificate is the server's matter", async () => {
  await using folder = await testFolder();
  await using server = await nameServer();
  await using proxy = startConnectProxy();
  const cluster = { server: `https://127.0.0.1:${server.port}`, ...CA_DATA };
  const proxied = { ...cluster, "proxy-url": `http://127.0.0.1:${proxy.port}` };
  strictEqual((await getWith(folder, proxied, { token: "t" })).body, "Bearer t");
  deepStrictEqual(proxy.requests.map(({ target }) => target), [`127.0.0.1:${server.port}`]);
  // The kubeconfig's proxy counts, whatever the environment says.
  const variables = { HTTPS_PROXY: "http://127.0.0.1:1", NO_PROXY: "127.0.0.0/8" };
  strictEqual((await getWith(folder, proxied, {}, variables)).status, 200);
  strictEqual(proxy.requests.length, 2);
  strictEqual((await getWith(folder, cluster, {}, variables)).status, 200);
  strictEqual(proxy.requests.length, 2);
});

Deno.test("K6 connect: a socks5 proxy is spoken to in its own words", async () => {
  await using folder = await testFolder();
  await using server = await nameServer();
  await using proxy = startConnectProxy();
  const cluster = {
    server: `https://127.0.0.1:${server.port}`,
    "proxy-url": `socks5://127.0.0.1:${proxy.port}`,
    ...CA_DATA,
  };
  strictEqual((await getWith(folder, cluster, { token: "t" })).body, "Bearer t");
  deepStrictEqual(proxy.requests, [{ target: `127.0.0.1:${server.port}`, socks: true }]);
});

Deno.test("K7 connect: without verification the client certificate is sent all the same", async () => {
  await using folder = await testFolder();
  await using server = await nameServer(["elsewhere.test"]);
  const alice = await PKI.issue({ commonName: "alice" });
  const cluster = {
    server: `https://127.0.0.1:${server.port}`,
    "insecure-skip-tls-verify": true,
  };
  deepStrictEqual(await getWith(folder, cluster, pairOf(alice)), { status: 200, body: "alice" });
  deepStrictEqual(await getWith(folder, cluster, { token: "t" }), {
    status: 200,
    body: "Bearer t",
  });
  const impersonating = { token: "t", as: "root", "as-groups": ["g", "h"] };
  await getWith(folder, cluster, impersonating);
  const headers = server.requests.at(-1)?.headers;
  strictEqual(headers?.["impersonate-user"], "root");
  strictEqual(headers?.["impersonate-group"], "g, h");
});

Deno.test("K7 connect: each start with verification off warns", async () => {
  await using folder = await testFolder();
  const cluster = { server: "https://a", "insecure-skip-tls-verify": true };
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster }));
  const { log, records } = recordingLogger();
  await load({ kubeconfig, log });
  deepStrictEqual(records.map(({ level }) => level), ["warn"]);
  match(records[0]?.message ?? "", /insecure-skip-tls-verify/);
});

Deno.test("K12 connect: a rotated token and CA cost no failed request", async () => {
  const next = await createPki("next");
  let valid = "Bearer A";
  await using server = await startNamedServer({
    identity: await PKI.issue({ commonName: "server" }),
    pki: PKI,
    answer: ({ headers }) => ({ status: headers.authorization === valid ? 200 : 401 }),
  });
  const texts: Record<string, string> = { token: "A", "ca.crt": PKI.caPem, namespace: "n" };
  const files: LocalFiles = {
    readText: (path) => Promise.resolve(texts[path.slice(path.lastIndexOf("/") + 1)] ?? ""),
  };
  const clock = { ...realClock, monotonicMs: () => nowMs };
  let nowMs = 0;
  await using config = await loadConfig({
    environment: environmentOf({
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(server.port),
    }),
    files,
    clock,
    userAgent: "test",
    uuid: realUuid,
    log: silentLogger,
    signal,
  });
  using transport = await transportOf(config, clock);
  strictEqual((await get(transport.send, config)).status, 200);
  [texts.token, valid] = ["B", "Bearer B"];
  // Inside the minute: the refusal makes it read again.
  strictEqual((await get(transport.send, config)).status, 200);
  deepStrictEqual(server.requests.map(({ headers }) => headers.authorization), [
    "Bearer A",
    "Bearer A",
    "Bearer B",
  ]);
  texts["ca.crt"] = next.caPem;
  server.use(await next.issue({ commonName: "server" }));
  nowMs = 60_000;
  strictEqual((await get(transport.send, config)).status, 200);
});

Deno.test("K11 connect: after a 401 a plugin's new certificate is on a new connection", async () => {
  await using folder = await testFolder();
  const answer = async (commonName: string) => {
    const { certificatePem, keyPem } = await PKI.issue({ commonName });
    return JSON.stringify({
      kind: "ExecCredential",
      apiVersion: "client.authentication.k8s.io/v1",
      status: { clientCertificateData: certificatePem, clientKeyData: keyPem },
    });
  };
  let wanted = "bob";
  await using server = await startNamedServer({
    identity: await PKI.issue({ commonName: "server" }),
    pki: PKI,
    answer: ({ clientName }) => ({ status: clientName === wanted ? 200 : 401 }),
  });
  await folder.write("answer", await answer("bob"));
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "cat",
    args: [`${folder.path}/answer`],
    interactiveMode: "Never",
  };
  const cluster = { server: `https://127.0.0.1:${server.port}`, ...CA_DATA };
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster, user: { exec } }));
  await using config = await load({ kubeconfig });
  using transport = await transportOf(config);
  strictEqual((await get(transport.send, config)).status, 200);
  await folder.write("answer", await answer("robert"));
  wanted = "robert";
  strictEqual((await get(transport.send, config)).status, 200);
  deepStrictEqual(server.requests.map(({ clientName }) => clientName), ["bob", "bob", "robert"]);
  strictEqual(server.connections, 2);
});

Deno.test("K16 connect: a server that shows an authority as its own is refused with the remedy", async () => {
  await using folder = await testFolder();
  await using server = await startNamedServer({
    identity: PKI.authority,
    pki: PKI,
    answer: () => ({}),
  });
  const cluster = { server: `https://127.0.0.1:${server.port}`, ...CA_DATA };
  await rejects(getWith(folder, cluster), (error) => {
    match(messageOf(error), /CA:TRUE/);
    return true;
  });
  ok(server.connections > 0);
});

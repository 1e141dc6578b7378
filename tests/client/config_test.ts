import { deepStrictEqual, doesNotMatch, match, ok, strictEqual } from "node:assert/strict";
import { CONFIG_VARIABLES, SERVICE_ACCOUNT_DIRECTORY } from "../../lib/client/config.ts";
import { canSkipVerification } from "../../lib/client/config_route.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import {
  base64,
  configErrorOf,
  environmentOf,
  filesBelow,
  kubeconfigOf,
  load,
  type TestFolder,
  testFolder,
} from "../support/config_fixture.ts";
import { createPki } from "../support/pki.ts";

const { signal } = new AbortController();
const CONTEXTS = JSON.stringify({
  clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:7001" } }],
  users: [{ name: "u", user: { token: "SECRET-abc" } }],
  contexts: [
    { name: "blue", context: { cluster: "k", user: "u", namespace: "team" } },
    { name: "green", context: { cluster: "k" } },
    { name: "ghost", context: { cluster: "k", user: "ghost" } },
    { name: "lost", context: { cluster: "gone", user: "u" } },
  ],
});

/** A Pod's service account below `folder`, as if that were the root. */
async function mountServiceAccount(folder: TestFolder): Promise<Record<string, string>> {
  const { caPem } = await createPki("cluster");
  const directory = SERVICE_ACCOUNT_DIRECTORY.slice(1);
  await folder.write(`${directory}/token`, "pod-token\n");
  await folder.write(`${directory}/ca.crt`, caPem);
  await folder.write(`${directory}/namespace`, "operators\n");
  return { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };
}

Deno.test("loadConfig() looks at the flag, KUBECONFIG, the service account, then the home folder", async () => {
  await using folder = await testFolder();
  const files = filesBelow(folder.path);
  const cluster = (host: string) => kubeconfigOf({ cluster: { server: `https://${host}` } });
  await folder.write("flag", cluster("flag"));
  await folder.write("variable", cluster("variable"));
  await folder.write("home/u/.kube/config", cluster("home"));
  const inCluster = await mountServiceAccount(folder);
  const variables = { ...inCluster, KUBECONFIG: "/variable", HOME: "/home/u" };
  const { KUBECONFIG: _, ...inPod } = variables;

  const flag = await load({ files, variables, kubeconfig: "/flag" });
  deepStrictEqual([flag.connection.server, flag.origin], [
    "https://flag",
    '--kubeconfig "/flag"',
  ]);
  const variable = await load({ files, variables });
  deepStrictEqual([variable.connection.server, variable.origin], [
    "https://variable",
    'KUBECONFIG "/variable"',
  ]);
  const pod = await load({ files, variables: inPod });
  deepStrictEqual(pod.connection, {
    server: "https://10.0.0.1",
    namespace: "operators",
    userAgent: "test",
  });
  strictEqual(pod.origin, "in-cluster service account");
  strictEqual((await pod.credentials.current({ signal })).token, "pod-token");
  const home = await load({ files, variables: { HOME: "/home/u" } });
  deepStrictEqual([home.connection.server, home.origin], [
    "https://home",
    '"/home/u/.kube/config"',
  ]);
  // A context is something of a kubeconfig: the service account would silently ignore it.
  const context = await load({ files, variables: inPod, context: "c" });
  strictEqual(context.connection.server, "https://home");
});

Deno.test("K3 config: no current context lists the contexts, and --context chooses one", async () => {
  await using folder = await testFolder();
  const kubeconfig = await folder.write("config", CONTEXTS);
  const message = await configErrorOf(load({ kubeconfig }));
  match(message, /^No current context in --kubeconfig ".*"; choose one of "blue", "green"/);
  match(message, /--context/);

  const { connection } = await load({ kubeconfig, context: "blue" });
  deepStrictEqual(connection, {
    server: "https://127.0.0.1:7001",
    namespace: "team",
    contextName: "blue",
    userAgent: "test",
  });
  match(
    await configErrorOf(load({ kubeconfig, context: "red" })),
    /^No context "red" in .*; it has "blue"/,
  );
});

Deno.test("K3 config: nothing configured is an error, never localhost", async () => {
  await using folder = await testFolder();
  const files = filesBelow(folder.path);
  match(
    await configErrorOf(load({ files, variables: { HOME: "/home/u" } })),
    /^No cluster configuration found: .*no file \/home\/u\/\.kube\/config; give one/,
  );
  match(
    await configErrorOf(load({ files, variables: { KUBECONFIG: "/a:/b" } })),
    /^None of the files in KUBECONFIG "\/a:\/b" exists/,
  );
  match(
    await configErrorOf(load({ files, kubeconfig: "/gone" })),
    /^Cannot read the kubeconfig from "\/gone": there is no such file/,
  );
});

Deno.test("K3 config: a home folder that may not be read is not a configuration", async () => {
  const files = { readText: () => Promise.reject(new Deno.errors.NotCapable("read")) };
  const home = load({ files, variables: { HOME: "/home/u" } });
  match(await configErrorOf(home), /^No cluster configuration found/);
  // What was named is an error all the same.
  match(
    await configErrorOf(load({ files, kubeconfig: "/named" })),
    /^Cannot read the kubeconfig from "\/named": this process may not read there; start it with/,
  );
});

Deno.test("loadConfig() reads no variable but CONFIG_VARIABLES", async () => {
  const read = new Set<string>();
  const environment = {
    get: (name: string) => void read.add(name),
    delete: () => {},
  };
  const files = { readText: () => Promise.reject(new Deno.errors.NotFound()) };
  await configErrorOf(load({ files, environment }));
  ok(read.size > 0);
  deepStrictEqual([...read].filter((name) => !CONFIG_VARIABLES.includes(name)), []);
});

Deno.test("K1 config: a missing file in KUBECONFIG is skipped with a warning, a broken one named", async () => {
  await using folder = await testFolder();
  const good = await folder.write("good", kubeconfigOf({ cluster: { server: "https://good" } }));
  const broken = await folder.write("broken", "users: [");
  const { log, records } = recordingLogger();
  const variables = { KUBECONFIG: `${folder.path}/gone::${good}` };
  strictEqual((await load({ variables, log })).connection.server, "https://good");
  deepStrictEqual(records.map(({ level, fields }) => [level, fields]), [
    ["warn", { path: `${folder.path}/gone` }],
  ]);
  const message = await configErrorOf(load({ variables: { KUBECONFIG: `${good}:${broken}` } }));
  match(message, new RegExp(`"${broken}": invalid YAML at line`));
});

Deno.test("K2 config: a missing file is named by its resolved path", async () => {
  await using folder = await testFolder();
  const cluster = { server: "https://a", "certificate-authority": "pki/ca.crt" };
  const kubeconfig = await folder.write("cfg/config", kubeconfigOf({ cluster }));
  match(
    await configErrorOf(load({ kubeconfig })),
    new RegExp(`cluster "k" from "${folder.path}/cfg/pki/ca.crt": there is no such file`),
  );
  const { caPem } = await createPki("ca");
  const path = await folder.write("cfg/pki/ca.crt", caPem);
  const config = await load({ kubeconfig });
  strictEqual((await config.credentials.current({ signal })).caPem, caPem);
  deepStrictEqual(config.access.files, [path]);
});

Deno.test("K4 config: no user is anonymous, an unknown user is an error that names it", async () => {
  await using folder = await testFolder();
  const kubeconfig = await folder.write("config", CONTEXTS);
  const { credentials } = await load({ kubeconfig, context: "green" });
  deepStrictEqual(await credentials.current({ signal }), { generation: 1 });
  match(await configErrorOf(load({ kubeconfig, context: "ghost" })), /^No user "ghost", which/);
  match(await configErrorOf(load({ kubeconfig, context: "lost" })), /^No cluster "gone", which/);
});

Deno.test("loadConfig() lets --master replace the server, and with it tls-server-name", async () => {
  await using folder = await testFolder();
  const cluster = { server: "https://a", "tls-server-name": "other" };
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster, user: { token: "t" } }));
  const { connection } = await load({ kubeconfig, master: "https://b:1/" });
  strictEqual(connection.server, "https://b:1");
  strictEqual(connection.tlsServerName, undefined);
  const alone = await load({ files: filesBelow(folder.path), master: "http://127.0.0.1:8080" });
  deepStrictEqual([alone.connection.server, alone.origin], ["http://127.0.0.1:8080", "--master"]);
});

Deno.test("loadConfig() takes a server without a scheme for https if anything about TLS is configured", async () => {
  await using folder = await testFolder();
  const { caPem } = await createPki("ca");
  const serverOf = async (cluster: Record<string, unknown>) => {
    const kubeconfig = await folder.write("config", kubeconfigOf({ cluster }));
    return (await load({ kubeconfig })).connection.server;
  };
  const data = { "certificate-authority-data": base64(caPem) };
  strictEqual(await serverOf({ server: "10.0.0.1:6443", ...data }), "https://10.0.0.1:6443");
  strictEqual(await serverOf({ server: "10.0.0.1:8080" }), "http://10.0.0.1:8080");
  strictEqual(await serverOf({ server: "https://r/k8s/clusters/c/" }), "https://r/k8s/clusters/c");
});

Deno.test("loadConfig() sends no credentials over http, as kubectl does, and says so", async () => {
  await using folder = await testFolder();
  const cluster = { server: "http://a" };
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster, user: { token: "t" } }));
  const { log, records } = recordingLogger();
  const { credentials } = await load({ kubeconfig, log });
  deepStrictEqual(await credentials.current({ signal }), { generation: 1 });
  deepStrictEqual(records.map(({ level, message }) => [level, message]), [
    ["warn", "Credentials are not sent: the server is http://"],
  ]);
});

Deno.test("loadConfig() refuses what contradicts itself or is damaged, without a secret", async () => {
  await using folder = await testFolder();
  const pki = await createPki("ca");
  const alice = await pki.issue({ commonName: "alice" });
  const bob = await pki.issue({ commonName: "bob" });
  const encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nc2VjcmV0\n" +
    "-----END ENCRYPTED PRIVATE KEY-----\n";
  const ca = base64(pki.caPem);
  const pair = (certificate: string, key: string) => ({
    "client-certificate-data": base64(certificate),
    "client-key-data": base64(key),
  });
  const refuses = async (
    id: string,
    cluster: Record<string, unknown>,
    user: Record<string, unknown>,
    expected: RegExp,
  ) => {
    const text = kubeconfigOf({ cluster: { server: "https://a", ...cluster }, user });
    const message = await configErrorOf(load({ kubeconfig: await folder.write("config", text) }));
    match(message, expected, id);
    match(message, /"[ku]"/, `${id} says whose it is`);
    doesNotMatch(message, /SECRET|BEGIN [A-Z]* ?PRIVATE[^"]*\n|\n/, id);
  };
  const authority = { "certificate-authority-data": ca };
  await refuses("K7", { "insecure-skip-tls-verify": true, ...authority }, {}, /both insecure/);
  await refuses("K16", { "certificate-authority-data": base64("hello") }, {}, /no PEM certificate/);
  await refuses("K15", {}, pair(alice.certificatePem, bob.keyPem), /another certificate/);
  await refuses("K14", {}, pair(alice.certificatePem, encrypted), /encrypted client key is not/);
  await refuses("K14", {}, { "client-certificate": "/a.crt" }, /no key; set client-key/);
  await refuses("K14", {}, pair(alice.certificatePem, "SECRET"), /no PEM private key/);
  await refuses("K6", { "proxy-url": "ftp://u:SECRET@p" }, {}, /its scheme is "ftp"/);
  const escaped = /its user or password has a % that starts no escape/;
  await refuses("K6", { "proxy-url": "http://u:100%SECRET@p" }, {}, escaped);
  await refuses("K6", { "proxy-url": "socks5://u%:SECRET@p" }, {}, escaped);
  await refuses("K6", { "proxy-url": "p:3128" }, {}, /proxy-url/);
  await refuses("K5", { "tls-server-name": "a b" }, {}, /not a host name/);
  const named = { "tls-server-name": "b", "proxy-url": "https://u:SECRET@p" };
  await refuses("K5", named, {}, /tls-server-name together with an https proxy is not supported/);
  const insecure = { "insecure-skip-tls-verify": true, "proxy-url": "http://u:SECRET@p" };
  await refuses("K7", insecure, {}, /through a proxy is not supported/);
  await refuses("server", { server: "" }, {}, /there is none/);
  await refuses("server", { server: "https://u:SECRET@a" }, {}, /a user name or password/);
  await refuses("token", {}, { token: "SECRET abc" }, /odd character/);
  await refuses("token", {}, { token: "SECRET", username: "u" }, /both a token and a user name/);
  await refuses("as", {}, { "as-groups": ["g"] }, /as-groups or as-user-extra but no as/);
  await refuses("auth", {}, { "auth-provider": { name: "oidc" } }, /use an exec plugin/);
  const exec = { command: "x", apiVersion: "client.authentication.k8s.io/v1" };
  await refuses("K10", {}, { exec }, /no interactiveMode; set exec\.interactiveMode/);
  const always = { ...exec, interactiveMode: "Always" };
  await refuses("K10", {}, { exec: always }, /standard input is not a terminal/);
  const alpha = { ...exec, apiVersion: "client.authentication.k8s.io/v1alpha1" };
  await refuses("K10", {}, { exec: alpha }, /apiVersion is ".*v1alpha1"; set exec\.apiVersion/);
});

Deno.test("loadConfig() gives plain data but for the credentials, and says what it uses", async () => {
  await using folder = await testFolder();
  const cluster = { server: "https://a:6443", "proxy-url": "http://u:p@proxy:3128/" };
  const user = {
    tokenFile: "token",
    as: "root",
    "as-groups": ["g"],
    "as-user-extra": { k: ["v"] },
  };
  const token = await folder.write("token", "t");
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster, user }));
  const { connection, access } = await load({ kubeconfig });
  deepStrictEqual(structuredClone(connection), connection);
  deepStrictEqual(connection.impersonate, { user: "root", groups: ["g"], extra: { k: ["v"] } });
  strictEqual(connection.proxyUrl, "http://u:p@proxy:3128");
  deepStrictEqual(structuredClone(access), {
    hosts: [
      { hostname: "a", port: 6443, role: "server" },
      { hostname: "proxy", port: 3128, role: "proxy" },
    ],
    files: [token],
    commands: [],
  });
});

Deno.test("K7 config: an older runtime, which would verify all the same, is told apart", () => {
  deepStrictEqual(
    ["2.6.10", "2.8.3", "2.9.0", "2.10.1", "3.0.0"].map((version) => canSkipVerification(version)),
    [false, false, true, true, true],
  );
});

Deno.test("K6 config: the environment's proxy counts only without proxy-url, and is taken over", async () => {
  await using folder = await testFolder();
  const plain = await folder.write("plain", kubeconfigOf({ cluster: { server: "https://a" } }));
  const cluster = { server: "https://a", "proxy-url": "socks5://own:1080" };
  const proxied = await folder.write("proxied", kubeconfigOf({ cluster }));
  const variables = { HTTPS_PROXY: "http://env:1", NO_PROXY: "b" };
  const environment = environmentOf(variables);
  const { connection } = await load({ kubeconfig: plain, environment });
  strictEqual(connection.proxyUrl, "http://env:1");
  // Deno would let NO_PROXY overrule an explicit proxy.
  strictEqual(environment.get("HTTPS_PROXY") ?? environment.get("NO_PROXY"), undefined);
  const own = await load({ kubeconfig: proxied, variables });
  strictEqual(own.connection.proxyUrl, "socks5://own:1080");
  const excepted = await load({ kubeconfig: plain, variables: { ...variables, NO_PROXY: "a" } });
  strictEqual(excepted.connection.proxyUrl, undefined);
});

Deno.test("loadConfig() refuses to act as what no header can carry", async () => {
  await using folder = await testFolder();
  const odd = "a\r\nx-evil: 1";
  for (
    const fields of [
      { as: odd },
      { as: "a", "as-uid": odd },
      { as: "a", "as-groups": ["g", odd] },
      { as: "a", "as-user-extra": { k: ["v\0"] } },
    ]
  ) {
    const kubeconfig = await folder.write(
      "config",
      kubeconfigOf({ cluster: { server: "https://a" }, user: { token: "t", ...fields } }),
    );
    strictEqual(
      await configErrorOf(load({ kubeconfig })),
      'Cannot use user "u": as, as-uid, as-groups or as-user-extra has a line break or a NUL in it; ' +
        "write it anew",
    );
  }
});

import { deepStrictEqual, doesNotMatch, match, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  mergeKubeconfigs,
  parseKubeconfig,
  splitKubeconfigVariable,
} from "../../lib/client/kubeconfig.ts";
import type { Kubeconfig } from "../../lib/client/kubeconfig_types.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { kubectl, needsKubectl } from "../support/kubectl.ts";

function parse(text: string): Kubeconfig {
  return parseKubeconfig(text, { path: "/etc/foo/config" });
}

/** The ConfigError that `text` gives. */
function refusal(text: string): string {
  let message = "";
  throws(() => parse(text), (error) => {
    message = error instanceof ConfigError ? error.message : "";
    return error instanceof ConfigError;
  });
  match(message, /\/etc\/foo\/config/);
  return message;
}

Deno.test("parseKubeconfig() reads each field of cluster, user and context", () => {
  const config = parse(`
apiVersion: v1
kind: Config
current-context: c
clusters:
- name: k
  cluster:
    server: https://a:1
    tls-server-name: n
    insecure-skip-tls-verify: true
    certificate-authority-data: aGVsbG8=
    proxy-url: http://p:1
    disable-compression: true
    extensions: [{name: client.authentication.k8s.io/exec, extension: {aud: x}}]
users:
- name: u
  user: {token: t, username: n, password: p, as: a, as-uid: i, as-groups: [g],
    as-user-extra: {k: [v]}, client-key-data: aGk=,
    auth-provider: {name: oidc, config: {a: b}}}
contexts: [{name: c, context: {cluster: k, user: u, namespace: "n"}}]
`);
  deepStrictEqual(config, {
    currentContext: "c",
    clusters: new Map([["k", {
      server: "https://a:1",
      tlsServerName: "n",
      insecureSkipTlsVerify: true,
      certificateAuthorityData: "hello",
      proxyUrl: "http://p:1",
      disableCompression: true,
      extensions: new Map([["client.authentication.k8s.io/exec", { aud: "x" }]]),
    }]]),
    users: new Map([["u", {
      clientKeyData: "hi",
      token: "t",
      username: "n",
      password: "p",
      as: "a",
      asUid: "i",
      asGroups: ["g"],
      asUserExtra: { k: ["v"] },
      authProvider: { name: "oidc", config: { a: "b" } },
    }]]),
    contexts: new Map([["c", { cluster: "k", user: "u", namespace: "n" }]]),
  });
});

Deno.test("K2 kubeconfig: paths count from the folder of the file that holds them", () => {
  const text = `
clusters: [{name: k, cluster: {server: s, certificate-authority: pki/ca.crt}}]
users:
- name: files
  user: {client-certificate: ./a.crt, client-key: /abs/a.key, tokenFile: ../token}
- {name: slash, user: {exec: {command: bin/cred}}}
- {name: path, user: {exec: {command: cred}}}
`;
  const { clusters, users } = parse(text);
  strictEqual(clusters.get("k")?.certificateAuthority, "/etc/foo/pki/ca.crt");
  strictEqual(users.get("files")?.clientCertificate, "/etc/foo/a.crt");
  strictEqual(users.get("files")?.clientKey, "/abs/a.key");
  strictEqual(users.get("files")?.tokenFile, "/etc/token");
  strictEqual(users.get("slash")?.exec?.command, "/etc/foo/bin/cred");
  strictEqual(users.get("path")?.exec?.command, "cred");
});

Deno.test("K2 kubeconfig: a command beside a file without a folder is not looked up in PATH", () => {
  const text = "users: [{name: u, user: {exec: {command: ./cred}}}]";
  const { users } = parseKubeconfig(text, { path: "config" });
  strictEqual(users.get("u")?.exec?.command, "./cred");
});

Deno.test("K4 K10 kubeconfig: null and absent are the same for every optional field", () => {
  const { users, contexts, clusters } = parse(`
clusters: null
users: [{name: a, user: null}, {name: b, user: {token: null, as-groups: ~, exec: {args: null, env: null}}}]
contexts: [{name: c, context: {cluster: k}}]
`);
  strictEqual(clusters.size, 0);
  deepStrictEqual(users.get("a"), {});
  deepStrictEqual(users.get("b"), {
    exec: { apiVersion: "", command: "", args: [], env: [], provideClusterInfo: false },
  });
  deepStrictEqual(contexts.get("c"), { cluster: "k", user: "" });
});

Deno.test("parseKubeconfig() names file and field of a wrong type, and quotes no value", () => {
  const cases: [string, RegExp][] = [
    ["users: [{name: u, user: {token: 12345}}]", /users\[0\]\.user\.token is a number/],
    ["users: {a: 1}", /users is a object; it must be a list/],
    ["clusters: [{name: k, cluster: {insecure-skip-tls-verify: 's3cret'}}]", /true or false/],
    ["users: [{name: u, user: {client-key-data: 's3cret%%'}}]", /client-key-data is not base64/],
    ["users: [{name: u, user: s3cret}]", /users\[0\]\.user is a string/],
    ["users:\n- user: {token: s3cret\n  x", /invalid YAML at line \d+, column \d+/],
    ["- s3cret", /the document is a list/],
    ["kind: Pod", /its kind is "Pod" and not "Config"/],
    ["apiVersion: v2", /its apiVersion is "v2"/],
    ["users: [{name: a}, {name: a}]", /users holds "a" twice/],
  ];
  for (const [text, expected] of cases) {
    const message = refusal(text);
    match(message, expected);
    doesNotMatch(message, /s3cret|12345/);
  }
});

Deno.test("K1 kubeconfig: the first file to hold an entry or a current context wins, whole", () => {
  const a = parse(`
current-context: blue
clusters: [{name: k, cluster: {server: "https://127.0.0.1:7001"}}]`);
  const b = parse(`
current-context: green
clusters: [{name: k, cluster: {server: "https://127.0.0.1:7002", tls-server-name: n}},
  {name: l, cluster: {server: "https://127.0.0.1:7003"}}]`);
  const merged = mergeKubeconfigs([a, b]);
  strictEqual(merged.currentContext, "blue");
  strictEqual(merged.clusters.get("k")?.server, "https://127.0.0.1:7001");
  strictEqual(merged.clusters.get("k")?.tlsServerName, undefined);
  strictEqual(merged.clusters.get("l")?.server, "https://127.0.0.1:7003");
  strictEqual(mergeKubeconfigs([parse(""), b]).currentContext, "green");
});

Deno.test("splitKubeconfigVariable() skips empty names", () => {
  deepStrictEqual(splitKubeconfigVariable(":a::b:a:", ":"), ["a", "b"]);
  deepStrictEqual(splitKubeconfigVariable("C:\\a;D:\\b", ";"), ["C:\\a", "D:\\b"]);
});

const NAMES = fc.constantFrom("", "a", "b", "c-1", "kind-x", "x y", "Ü", "arn:aws:eks/1");
/** Strings that YAML readers like to take for something else; JSON text keeps them strings. */
const VALUES = fc.constantFrom(null, "", "v", "yes", "012", "1e3", "2026-01-02", "~", "a: b", "#x");
const DATA = fc.constantFrom(null, "", "aGVsbG8=", "aGVs\nbG8=");
const PATHS = fc.constantFrom(null, "", "/abs/file", "/abs/../other");
const FLAGS = fc.constantFrom(null, true, false);

function optionally<T>(fields: Record<string, fc.Arbitrary<T>>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: fc.record(fields, { requiredKeys: [] }) }, {
    weight: 1,
    arbitrary: fc.constant(null),
  });
}

function entries(key: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const item = fc.record({ name: NAMES, [key]: value }, { requiredKeys: ["name"] });
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    // Now and then with a repeated name, which kubectl refuses.
    { weight: 1, arbitrary: fc.array(item, { maxLength: 3 }) },
    { weight: 8, arbitrary: fc.uniqueArray(item, { maxLength: 4, selector: (one) => one.name }) },
  );
}

const KUBECONFIG = fc.record({
  apiVersion: fc.constantFrom("v1", "", null),
  "current-context": fc.oneof(NAMES, fc.constant(null)),
  clusters: entries(
    "cluster",
    optionally<unknown>({
      server: VALUES,
      "tls-server-name": VALUES,
      "insecure-skip-tls-verify": FLAGS,
      "certificate-authority": PATHS,
      "certificate-authority-data": DATA,
      "proxy-url": VALUES,
      "disable-compression": FLAGS,
    }),
  ),
  users: entries(
    "user",
    optionally<unknown>({
      token: VALUES,
      tokenFile: PATHS,
      username: VALUES,
      "client-certificate": PATHS,
      "client-key-data": DATA,
      as: VALUES,
      "as-groups": fc.constantFrom(null, ["g", "h"]),
      exec: optionally<unknown>({
        apiVersion: VALUES,
        command: fc.constantFrom("", "cmd", "/abs/cmd"),
        args: fc.constantFrom(null, ["a", "-b"]),
        env: fc.constantFrom(null, [{ name: "A", value: "1" }, { name: "B" }]),
        installHint: VALUES,
        provideClusterInfo: FLAGS,
        interactiveMode: fc.constantFrom(null, "Never", "Always"),
      }),
    }),
  ),
  contexts: entries("context", optionally({ cluster: NAMES, user: NAMES, namespace: VALUES })),
}, { requiredKeys: [] });

/** One of a thousand spellings: JSON, or JSON after comments and in a document of its own. */
const SPELLED = fc.record({
  config: fc.oneof({ weight: 12, arbitrary: KUBECONFIG }, { weight: 1, arbitrary: fc.constant(7) }),
  frame: fc.constantFrom((text: string) => text, (text: string) => `# c\n---\n${text}\n...\n`),
});

Deno.test({
  ...await needsKubectl("K1 kubeconfig: several files mean what `kubectl config view` prints"),
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const property = fc.asyncProperty(
        fc.array(SPELLED, { minLength: 1, maxLength: 3 }),
        (files) =>
          agreesWithKubectl(
            files.map(({ config, frame }) => frame(JSON.stringify(config))),
            folder,
          ),
      );
      await fc.assert(property, { numRuns: 60, seed: 20261130, endOnFailure: true });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function agreesWithKubectl(texts: readonly string[], folder: string): Promise<void> {
  const paths = texts.map((_, index) => `${folder}/${index}.yaml`);
  await Promise.all(paths.map((path, index) => Deno.writeTextFile(path, texts[index] ?? "")));
  // A missing file and an empty name between them change nothing.
  const names = [paths[0], `${folder}/gone.yaml`, "", ...paths.slice(1)].join(":");
  const printed = await kubectl(["config", "view", "--raw", "-o", "json"], { KUBECONFIG: names });
  let ours: Kubeconfig | undefined;
  try {
    ours = mergeKubeconfigs(
      texts.map((text, i) => parseKubeconfig(text, { path: paths[i] ?? "" })),
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
  strictEqual(ours !== undefined, printed.success, `${printed.stderr}\n${texts.join("\n")}`);
  // What kubectl prints is a kubeconfig again.
  if (ours) deepStrictEqual(ours, parseKubeconfig(printed.stdout, { path: `${folder}/out` }));
}

/**
 * Which cluster `dev` chooses, and that it leaves all others alone.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  isLocalAddress,
  namedTarget,
  serverAddressOf,
  targetOf,
} from "../../lib/cli/dev_target.ts";
import { EXAMPLE_FOO } from "../../lib/cli/dev_objects.ts";
import { endOf } from "../../lib/cli/dev_session.ts";
import { suggestionsFor } from "../../lib/cli/dev_suggestions.ts";
import { UsageError } from "../../lib/cli/flags.ts";
import { clusterFailure, openWorkplace } from "../../lib/cli/dev_workplace.ts";
import { Screen } from "../../lib/cli/dev_screen.ts";
import type { AccessedHost } from "../../lib/client/config_route.ts";
import { ApiError, ConfigError, ConnectionError } from "../../lib/core/errors.ts";
import { Redactor } from "../../lib/core/redact.ts";
import { parseYaml } from "../../lib/core/yaml.ts";
import { seededRandom, seededUuid } from "../../lib/simulator/sim_clock.ts";
import { cli, cliHost } from "../support/cli_host.ts";

type Role = AccessedHost["role"];
const host = (hostname: string, role: Role = "server"): AccessedHost => ({
  hostname,
  port: 6443,
  role,
});
const typeFor = (name: string, ...hosts: AccessedHost[]) =>
  targetOf({ type: "found", name, hosts }).type;

Deno.test("targetOf() takes the current context only if name and address are plainly local", () => {
  const cases: [string, string, "cluster" | "embedded"][] = [
    ["kind-dev", "127.0.0.1", "cluster"],
    ["kind-dev", "::1", "cluster"],
    ["k3d-a", "0.0.0.0", "cluster"],
    ["minikube", "192.168.49.2", "cluster"],
    ["minikube", "172.16.0.1", "cluster"],
    ["minikube", "172.31.255.254", "cluster"],
    ["kind-a", "10.1.2.3", "cluster"],
    ["docker-desktop", "kubernetes.docker.internal", "cluster"],
    ["docker-desktop", "LOCALHOST", "cluster"],
    // A local name, but who knows where that is.
    ["kind-dev", "203.0.113.7", "embedded"],
    ["kind-dev", "172.32.0.1", "embedded"],
    ["kind-dev", "172.15.0.1", "embedded"],
    ["kind-dev", "192.169.0.1", "embedded"],
    ["kind-dev", "11.0.0.1", "embedded"],
    ["kind-dev", "api.example.com", "embedded"],
    ["kind-dev", "127.0.0.1.example.com", "embedded"],
    ["kind-dev", "10.0.0.1.nip.io", "embedded"],
    ["kind-dev", "2001:db8::1", "embedded"],
    // A local address, but a tunnel ends there as well.
    ["production", "127.0.0.1", "embedded"],
    ["admin@prod", "10.0.0.1", "embedded"],
    ["my-kind-dev", "127.0.0.1", "embedded"],
    ["minikube-prod", "127.0.0.1", "embedded"],
    ["kind-", "127.0.0.1", "embedded"],
    ["", "127.0.0.1", "embedded"],
  ];
  for (const [name, hostname, expected] of cases) {
    strictEqual(typeFor(name, host(hostname)), expected, `${name} at ${hostname}`);
  }
});

Deno.test("targetOf() looks at what a relay dials, and trusts no proxy", () => {
  const relay = [host("localhost", "server"), host("127.0.0.1", "relay")];
  strictEqual(typeFor("kind-a", ...relay, host("10.0.0.1", "target")), "cluster");
  strictEqual(typeFor("kind-a", ...relay, host("203.0.113.7", "target")), "embedded");
  strictEqual(typeFor("kind-a", host("10.0.0.1"), host("127.0.0.1", "proxy")), "embedded");
  strictEqual(typeFor("kind-a"), "embedded");
  deepStrictEqual(serverAddressOf([...relay, host("10.0.0.1", "target")])?.hostname, "10.0.0.1");
});

Deno.test("targetOf() takes no service account and no broken kubeconfig, and says why", () => {
  strictEqual(targetOf({ type: "found", hosts: [host("10.0.0.1")] }).type, "embedded");
  deepStrictEqual(targetOf({ type: "none", why: "this machine has no kubeconfig" }), {
    type: "embedded",
    why: "this machine has no kubeconfig",
  });
  match(
    targetOf({ type: "found", name: "production", hosts: [host("127.0.0.1")] }).why,
    /"--context production" uses it/,
  );
});

Deno.test("namedTarget() does as the command line says, and refuses two wishes", () => {
  strictEqual(namedTarget({ context: undefined, embedded: false }), undefined);
  strictEqual(namedTarget({ context: undefined, embedded: true })?.type, "embedded");
  deepStrictEqual(namedTarget({ context: "production", embedded: false }), {
    type: "cluster",
    context: "production",
    why: "--context names it",
  });
  throws(() => namedTarget({ context: "a", embedded: true }), UsageError);
});

Deno.test("isLocalAddress() is true for exactly the loopback and private IPv4 addresses", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(fc.property(octet, octet, octet, octet, (a, b, c, d) => {
    const isPrivate = a === 10 || a === 127 || (a === 172 && (b & 0xf0) === 16) ||
      (a === 192 && b === 168) || (a === 0 && b === 0 && c === 0 && d === 0);
    strictEqual(isLocalAddress(`${a}.${b}.${c}.${d}`), isPrivate);
  }));
  for (const name of ["10.0.0", "10.0.0.256", "010.0.0.1x", "", "example.com"]) {
    strictEqual(isLocalAddress(name), false, name);
  }
});

/** A server that counts who connects to it, and never answers. */
function countingListener(): { port: number; connections: () => number } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let connections = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      connections += 1;
      connection.close();
    }
  })();
  return {
    port: listener.addr.port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
    },
  };
}

const kubeconfig = (name: string, port: number) =>
  JSON.stringify({
    clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: { token: "SECRET-abc" } }],
    contexts: [{ name, context: { cluster: "c", user: "u" } }],
    "current-context": name,
  });

/** Opens a workplace as `dev` would with these files and flags. */
async function opened(
  text: string | undefined,
  { context, embedded = false }: { context?: string; embedded?: boolean } = {},
) {
  const dir = await Deno.makeTempDir();
  const path = `${dir}/config`;
  if (text !== undefined) await Deno.writeTextFile(path, text);
  const variables: Record<string, string> = text === undefined ? {} : { KUBECONFIG: path };
  const { host } = cliHost({
    environment: { get: (name) => variables[name], delete: () => {} },
    // Certificates are made of these, so they must differ.
    uuid: seededUuid(seededRandom(1)),
  });
  try {
    return await openWorkplace({
      kubeconfig: undefined,
      context,
      embedded,
      host,
      redactor: new Redactor(),
      screen: new Screen({ write: () => {}, color: false }),
      signal: new AbortController().signal,
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("openWorkplace() connects to no cluster that was not chosen, and to a chosen one not yet", async () => {
  await using listener = countingListener();
  const production = kubeconfig("production", listener.port);
  const cases: [
    string | undefined,
    Parameters<typeof opened>[1],
    "embedded" | "cluster",
    RegExp,
  ][] = [
    [undefined, {}, "embedded", /no kubeconfig/],
    [production, {}, "embedded", /not plainly local/],
    [production, { embedded: true }, "embedded", /--embedded/],
    ["clusters: [unclosed", {}, "embedded", /can't be used: .*config/],
    [production, { context: "production" }, "cluster", /--context/],
    [kubeconfig("kind-a", listener.port), {}, "cluster", /current context/],
    [kubeconfig("kind-a", listener.port), { embedded: true }, "embedded", /--embedded/],
  ];
  for (const [text, flags, type, why] of cases) {
    await using workplace = await opened(text, flags);
    strictEqual(workplace.type, type);
    match(workplace.facts["because"] ?? "", why);
    ok(!JSON.stringify(workplace.facts).includes("SECRET"));
  }
  strictEqual(listener.connections(), 0);
});

Deno.test("openWorkplace() keeps a chosen cluster: by its name, and only where it was", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const path = `${dir}/config`;
    await Deno.writeTextFile(path, kubeconfig("kind-a", 1));
    const { signal } = new AbortController();
    await using workplace = await openWorkplace({
      kubeconfig: path,
      context: undefined,
      embedded: false,
      host: cliHost().host,
      redactor: new Redactor(),
      screen: new Screen({ write: () => {}, color: false }),
      signal,
    });
    deepStrictEqual(workplace.operatorArgs, ["--kubeconfig", path, "--context", "kind-a"]);
    await workplace.check({ signal });
    await Deno.writeTextFile(path, kubeconfig("kind-a", 2));
    const error = await workplace.check({ signal }).then(() => undefined, (error) => error);
    ok(error instanceof ConfigError);
    match(error.message, /"kind-a" now leads to 127\.0\.0\.1:2 and not to 127\.0\.0\.1:1/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("openWorkplace() has a kubeconfig that only this user can read, and removes it", async () => {
  const workplace = await opened(undefined);
  const path = workplace.kubeconfig ?? "";
  const dir = path.slice(0, path.lastIndexOf("/"));
  strictEqual((await Deno.stat(path)).mode, 0o100600);
  strictEqual((await Deno.stat(dir)).mode, 0o40700);
  await workplace[Symbol.asyncDispose]();
  deepStrictEqual([...await entriesOf(dir)], []);
});

async function entriesOf(dir: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

Deno.test("dev refuses what it can't do in one sentence", async () => {
  const both = await cli(["dev", "--embedded", "--context", "a"]);
  deepStrictEqual([both.code, both.stdout], [2, ""]);
  match(both.stderr, /^error: Flags --embedded and --context exclude each other/);

  const permissions = {
    state: (name: string) => Promise.resolve(name === "run" ? "other" as const : "all" as const),
    drop: () => Promise.resolve(),
  };
  const image = await cli(["dev"], { permissions });
  deepStrictEqual([image.code, image.stdout], [1, ""]);
  match(image.stderr, /^error: Cannot run dev in a program without the permission "run"/);

  const missing = await cli(["dev", "--kubeconfig", "/nowhere/config"]);
  strictEqual(missing.code, 1);
  match(missing.stderr, /^error: .*\/nowhere\/config/);
});

Deno.test("EXAMPLE_FOO is the example of the repository, and the suggestions are about it", async () => {
  const text = await Deno.readTextFile(new URL("../../crds/examples/foo.yaml", import.meta.url));
  deepStrictEqual(parseYaml(text), EXAMPLE_FOO);
  const cluster = { type: "cluster", kubectl: "kubectl --context a" } as const;
  const linesFor = (hasSources: boolean) =>
    suggestionsFor(cluster, { hasSources }).map(({ line }) => line);
  const lines = linesFor(true);
  ok([...lines, ...linesFor(false)].every((line) => line.includes("kubectl --context a ")));
  ok(lines.some((line) => line.endsWith("apply -f crds/examples/foo.yaml")));
  ok(linesFor(false).every((line) => !line.includes("crds/examples")), "a binary has no such file");
  ok(lines.some((line) => line.includes(`patch foo ${EXAMPLE_FOO.metadata.name} `)));
});

Deno.test("endOf() names what stays on a cluster, and the line that removes it", () => {
  const lines = endOf({ type: "cluster", kubectl: "kubectl --context a" });
  match(lines.join("\n"), /stays on the cluster/);
  strictEqual(lines.at(-1), "  kubectl --context a delete crd foos.samplecontroller.k8s.io");
  match(endOf({ type: "embedded", kubectl: "kubectl" }).join("\n"), /gone\.$/);
});

Deno.test("clusterFailure() says in one sentence what is wrong and what to do", () => {
  const facts = { context: "kind-a", server: "https://127.0.0.1:6443" };
  const cause = new Error("connection refused");
  const lost = new ConnectionError("Cannot reach", { stage: "connect", cause });
  strictEqual(
    clusterFailure(lost, { facts }).message,
    'Cannot reach the API server https://127.0.0.1:6443 of context "kind-a": connection refused; ' +
      "start that cluster, or use --embedded",
  );
  const refused = new ApiError("no rights", { status: 403, reason: "Forbidden" });
  match(clusterFailure(refused, { facts }).message, /"kind-a" at https.*: no rights; use a user/);
});

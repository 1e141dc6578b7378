/**
 * Every way to an API server and every kind of credential, through the sandbox: the operator makes a
 * Deployment with it.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { startConnectProxy } from "../support/connect_proxy.ts";
import type { OperatorProcess } from "../support/operator_process.ts";
import type { ProbeReport } from "../support/probe_main.ts";
import { boundTokens, projectedFolder } from "../support/service_account.ts";
import { deployments, foo, foos } from "./foo_objects.ts";
import {
  type Form,
  sandboxSuite,
  type SandboxWorld,
  type StartOptions,
} from "./sandbox_program.ts";

const realTest = sandboxSuite();

/** Makes a Foo, and waits for its Deployment and for the status that tells of it. */
async function works({ kube }: SandboxWorld, operator: OperatorProcess, name = "a"): Promise<void> {
  await operator.line("Controller started");
  const ns = await kube.namespace("sandbox");
  await kube.post(foos(ns), foo(name, { deploymentName: name, replicas: 1 }));
  await kube.until(deployments(ns), name, (object) => object !== undefined);
  await kube.until(foos(ns), name, (object) => object.status?.observedGeneration === 1);
  ok(!operator.isEnded, operator.lines.join("\n"));
}

async function stops(operator: OperatorProcess): Promise<void> {
  strictEqual((await operator.stop()).code, 0, operator.lines.join("\n"));
}

/** Runs to the first Deployment and a clean stop. */
async function runsWith(world: SandboxWorld, form: Form, options: StartOptions): Promise<void> {
  await using operator = world.run(form, options);
  await works(world, operator);
  await stops(operator);
}

/** Writes a kubeconfig; `cluster` and `user` are added to the control plane's own. */
function kubeconfig(
  world: SandboxWorld,
  { cluster = {}, user }: { cluster?: Record<string, unknown>; user?: Record<string, unknown> },
): Promise<string> {
  const { server, caPem, adminToken } = world.plane;
  const authority = { "certificate-authority-data": btoa(caPem) };
  return world.file(
    `kubeconfig-${crypto.randomUUID()}`,
    JSON.stringify({
      "current-context": "c",
      clusters: [{ name: "k", cluster: { server, ...authority, ...cluster } }],
      users: [{ name: "u", user: user ?? { token: adminToken } }],
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    }),
  );
}

realTest("K11 sandbox: a client certificate from files works", async (world, form) => {
  const { plane } = world;
  const admin = await plane.pki.issue({ commonName: "bob", organizations: ["system:masters"] });
  const user = {
    "client-certificate": await world.file("bob.crt", admin.certificatePem),
    "client-key": await world.file("bob.key", admin.keyPem),
  };
  await runsWith(world, form, { args: ["--kubeconfig", await kubeconfig(world, { user })] });
});

realTest("K9 sandbox: an exec plugin is run by the main thread", async (world, form) => {
  const runs = `${world.plane.dir}/plugin-runs-${form}`;
  const answer = JSON.stringify({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status: { token: world.plane.adminToken },
  });
  const command = await world.file(
    "plugin",
    `#!/bin/sh\necho "$GREETING" >>"${runs}"\necho '${answer}'\n`,
    0o700,
  );
  const user = {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      interactiveMode: "Never",
      env: [{ name: "GREETING", value: "hello" }],
    },
  };
  await runsWith(world, form, { args: ["--kubeconfig", await kubeconfig(world, { user })] });
  strictEqual(await Deno.readTextFile(runs), "hello\n", "once, with its variables");
});

realTest("K6 sandbox: http and socks5 proxies are gone through", async (world, form) => {
  for (const scheme of ["http", "socks5"]) {
    await using proxy = startConnectProxy();
    const cluster = { "proxy-url": `${scheme}://me:hunter22@127.0.0.1:${proxy.port}` };
    const path = await kubeconfig(world, { cluster });
    await using operator = world.run(form, { args: ["--kubeconfig", path] });
    await works(world, operator);
    await stops(operator);
    ok(proxy.requests.length > 0, scheme);
    for (const { target } of proxy.requests) strictEqual(target, `127.0.0.1:${world.plane.port}`);
    ok(!operator.lines.join().includes("hunter22"), "the proxy's password is not shown");
  }
});

realTest(
  "K5 sandbox: tls-server-name works through the main thread's relay",
  async (world, form) => {
    const cluster = { "tls-server-name": "kubernetes.default.svc" };
    await runsWith(world, form, { args: ["--kubeconfig", await kubeconfig(world, { cluster })] });
  },
);

realTest(
  "K7 sandbox: a server that is not verified works",
  async (world, form) => {
    const cluster = { "insecure-skip-tls-verify": true, "certificate-authority-data": undefined };
    await runsWith(world, form, { args: ["--kubeconfig", await kubeconfig(world, { cluster })] });
  },
  // Binaries may be compiled on a Deno that can't leave a server unverified; then they say so.
  { forms: ["source"] },
);

realTest(
  "K12 sandbox: in a cluster, a replaced token is taken up without a restart and without a failure",
  async (world, form) => {
    const [first, second] = await boundTokens(world.kube);
    ok(first !== undefined && second !== undefined);
    const dir = `${world.plane.dir}/service-account-${form}`;
    const files = { "ca.crt": world.plane.caPem, namespace: "default", token: first.token };
    const folder = await projectedFolder(dir, files);
    await using operator = world.run(form, {
      args: ["--log-level", "debug"],
      environment: {
        PROBE_SERVICE_ACCOUNT: dir,
        KUBERNETES_SERVICE_HOST: "127.0.0.1",
        KUBERNETES_SERVICE_PORT: String(world.plane.port),
      },
    });
    await works(world, operator, "before");
    await folder.swap({ ...files, token: second.token });
    await first.revoke();
    // Authenticated tokens are cached by the API server for some seconds.
    await refused(world, first.token);
    await works(world, operator, "after");
    await stops(operator);
    const failures = operator.records.filter(({ level }) => level === "error" || level === "warn");
    deepStrictEqual(failures, []);
    for (const { token } of [first, second]) {
      ok(!operator.lines.join().includes(token), "no token is shown");
    }
  },
);

/** Waits until the API server refuses a token. */
async function refused({ plane }: SandboxWorld, token: string): Promise<void> {
  using client = Deno.createHttpClient({ caCerts: [plane.caPem] });
  const headers = { authorization: `Bearer ${token}` };
  for (let status = 0; status !== 401;) {
    const response = await fetch(`${plane.server}/api`, { client, headers });
    await response.body?.cancel();
    ({ status } = response);
    if (status !== 401) await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

realTest("sandbox: the main thread keeps what the credentials need", async (world, form) => {
  const user = { tokenFile: await world.file("token-file", world.plane.adminToken) };
  await using operator = world.run(form, {
    args: ["--kubeconfig", await kubeconfig(world, { user })],
    order: { type: "probe", targets: NOWHERE },
  });
  const report: ProbeReport = JSON.parse((await operator.line("PROBES ")).slice(7));
  deepStrictEqual(report.main, ["read"]);
  await stops(operator);
});

const NOWHERE = {
  otherPort: "127.0.0.1:1",
  otherHost: "127.0.0.1:1",
  file: "/nowhere",
  newFile: "/nowhere",
  module: "/nowhere",
  variable: "NOWHERE",
};

/**
 * The real kubectl against the simulated server, over TLS on loopback: what a user of the demo types.
 *
 * @module
 */

import { deepStrictEqual, doesNotMatch, match, ok, strictEqual } from "node:assert/strict";
import { realClock } from "../../lib/core/clock.ts";
import { type HttpFront, serveHttp } from "../../lib/simulator/http_front.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom } from "../../lib/simulator/sim_clock.ts";
import { kubectl, needsKubectl } from "../support/kubectl.ts";
import { createPki } from "../support/pki.ts";

const TOKEN = "kubectl-test";

const MANIFEST = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: nginx, image: "nginx:1"}]
---
apiVersion: demo.example.com/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
`;

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.example.com}
spec:
  group: demo.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, description: How large it is.}
          status: {type: object, properties: {size: {type: integer}}}
`;

/** A server with workloads, its front, and a folder with a kubeconfig. */
interface Stage extends AsyncDisposable {
  readonly front: HttpFront;
  readonly dir: string;
  /** Runs kubectl, requires success, and returns what it printed. */
  run(...args: string[]): Promise<string>;
  /** Runs kubectl and returns what it complained of. */
  fail(...args: string[]): Promise<string>;
  /** Starts kubectl and leaves it running. */
  start(...args: string[]): Deno.ChildProcess;
}

async function stage(): Promise<Stage> {
  const dir = await Deno.makeTempDir({ prefix: "kubectl-" });
  const pki = await createPki("kubectl tests");
  const leaf = await pki.issue({ commonName: "simulator", hosts: ["127.0.0.1"] });
  const workloads = { readyAfterMs: 10 };
  const server = new ApiServer({ clock: realClock, random: seededRandom(1), workloads });
  const front = serveHttp({ handler: server, token: TOKEN, tls: leaf });
  await Deno.writeTextFile(`${dir}/kubeconfig`, kubeconfigOf(front.url, pki.caPem));
  await Deno.writeTextFile(`${dir}/manifest.yaml`, MANIFEST);
  await Deno.writeTextFile(`${dir}/definition.yaml`, DEFINITION);
  const environment = { KUBECONFIG: `${dir}/kubeconfig`, HOME: dir, KUBE_EDITOR: `${dir}/editor` };
  return {
    front,
    dir,
    async run(...args) {
      const result = await kubectl(args, environment);
      ok(result.success, `kubectl ${args.join(" ")}: ${result.stderr}`);
      return result.stdout;
    },
    async fail(...args) {
      const result = await kubectl(args, environment);
      strictEqual(result.success, false, `kubectl ${args.join(" ")}: ${result.stdout}`);
      return result.stderr;
    },
    start: (...args) =>
      new Deno.Command("kubectl", {
        args,
        env: { PATH: Deno.env.get("PATH") ?? "", ...environment },
        clearEnv: true,
        stdin: "null",
        stdout: "piped",
        stderr: "null",
      }).spawn(),
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

function kubeconfigOf(server: string, caPem: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "simulator",
      cluster: { server, "certificate-authority-data": btoa(caPem) },
    }],
    contexts: [{
      name: "simulator",
      context: { cluster: "simulator", user: "user", namespace: "default" },
    }],
    "current-context": "simulator",
    users: [{ name: "user", user: { token: TOKEN } }],
  });
}

/** Adds a test with a stage of its own, on which both manifests are applied. */
async function kubectlTest(name: string, body: (stage: Stage) => Promise<void>): Promise<void> {
  const known = await needsKubectl(`kubectl: ${name}`);
  Deno.test({
    ...known,
    async fn() {
      await using on = await stage();
      await on.run("apply", "-f", `${on.dir}/definition.yaml`);
      await on.run("apply", "-f", `${on.dir}/manifest.yaml`);
      await body(on);
    },
  });
}

await kubectlTest("apply is unchanged the second time, and merges what others set", async (on) => {
  const file = `${on.dir}/manifest.yaml`;
  const again = await on.run("apply", "-f", file);
  deepStrictEqual(again.trim().split("\n"), [
    "deployment.apps/web unchanged",
    "widget.demo.example.com/one unchanged",
  ]);
  await on.run("label", "deployment", "web", "by=hand");
  await Deno.writeTextFile(file, MANIFEST.replace("replicas: 2", "replicas: 1"));
  match(await on.run("apply", "-f", file), /deployment\.apps\/web configured/);
  strictEqual(
    await on.run("get", "deploy", "web", "-o", "jsonpath={.spec.replicas} {.metadata.labels.by}"),
    "1 hand",
  );
  match(await on.run("diff", "-f", file), /^$/);
});

await kubectlTest("apply --server-side owns, conflicts and forces", async (on) => {
  const file = `${on.dir}/manifest.yaml`;
  await on.run("apply", "--server-side", "-f", file);
  const patch = '{"spec":{"replicas":5}}';
  await on.run("patch", "deployment", "web", "--field-manager=other", "-p", patch);
  const refusal = await on.fail("apply", "--server-side", "-f", file);
  match(refusal, /conflict with "other" using apps\/v1: \.spec\.replicas/);
  await on.run("apply", "--server-side", "--force-conflicts", "-f", file);
  strictEqual(await on.run("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"), "2");
});

await kubectlTest("get prints tables, wide tables and YAML", async (on) => {
  await on.run("wait", "--for=condition=Available", "deployment/web", "--timeout=20s");
  match(
    await on.run("get", "deploy"),
    /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +2\/2 +2 +2 +\d+s\n$/,
  );
  match(await on.run("get", "deploy", "-o", "wide"), /CONTAINERS +IMAGES +SELECTOR\n.*nginx:1/);
  match(await on.run("get", "wd"), /^NAME +SIZE\none +3\n$/);
  match(
    await on.run("get", "pods"),
    /^NAME +READY +STATUS +RESTARTS +AGE\n(web-\S+ +1\/1 +Running +0 +\d+s\n){2}$/,
  );
  match(
    await on.run("get", "wd", "one", "-o", "yaml"),
    /^apiVersion: demo\.example\.com\/v1\nkind: Widget\n/,
  );
  match(await on.run("get", "ns"), /default +Active/);
});

await kubectlTest("get -w follows changes", async (on) => {
  const watch = on.start("get", "wd", "-w", "--output-watch-events");
  const lines = watch.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let seen = (await lines.read()).value ?? "";
  await on.run("patch", "wd", "one", "--type=merge", "-p", '{"spec":{"size":4}}');
  await on.run("delete", "wd", "one");
  while (!seen.includes("DELETED")) {
    const { value, done } = await lines.read();
    ok(!done, seen);
    seen += value;
  }
  deepStrictEqual(
    seen.split("\n").filter((line) => line !== "").map((line) => line.split(/\s+/)[0]),
    ["EVENT", "ADDED", "MODIFIED", "DELETED"],
  );
  watch.kill();
  while (!(await lines.read()).done);
  await watch.status;
});

await kubectlTest("describe shows the object, its ReplicaSet and no error", async (on) => {
  await on.run("wait", "--for=condition=Available", "deployment/web", "--timeout=20s");
  const text = await on.run("describe", "deployment", "web");
  match(text, /Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable/);
  match(text, /NewReplicaSet: +web-\S+ \(2\/2 replicas created\)/);
  match(await on.run("describe", "wd", "one"), /Spec:\n +Size: +3/);
});

await kubectlTest("edit saves what the editor wrote", async (on) => {
  await Deno.writeTextFile(`${on.dir}/editor`, "#!/bin/sh\nsed -i 's/size: 3/size: 9/' \"$1\"\n", {
    mode: 0o755,
  });
  match(await on.run("edit", "wd", "one"), /widget\.demo\.example\.com\/one edited/);
  strictEqual(await on.run("get", "wd", "one", "-o", "jsonpath={.spec.size}"), "9");
});

await kubectlTest("scale, patch, rollout and set image", async (on) => {
  await on.run("scale", "deployment", "web", "--replicas=3");
  await on.run("scale", "wd", "one", "--replicas=8");
  strictEqual(await on.run("get", "wd", "one", "-o", "jsonpath={.spec.size}"), "8");
  await on.run("patch", "deployment", "web", "-p", '{"spec":{"revisionHistoryLimit":2}}');
  await on.run("set", "image", "deployment/web", "nginx=nginx:2");
  await on.run("rollout", "status", "deployment/web", "--timeout=20s");
  strictEqual(
    await on.run(
      "get",
      "deploy",
      "web",
      "-o",
      "jsonpath={.spec.revisionHistoryLimit} {.spec.template.spec.containers[0].image}",
    ),
    "2 nginx:2",
  );
});

await kubectlTest("delete takes dependents along, in each of its ways", async (on) => {
  await on.run("wait", "--for=condition=Available", "deployment/web", "--timeout=20s");
  await on.run("delete", "deployment", "web", "--cascade=foreground");
  await on.run("wait", "--for=delete", "pods", "--all", "--timeout=20s");
  strictEqual(await on.run("get", "rs,pods", "-o", "name"), "");
  await on.run("delete", "crd", "widgets.demo.example.com");
  match(await on.fail("get", "wd"), /NotFound|doesn't have a resource type "wd"/);
  await on.run(
    "apply",
    "-f",
    "-",
    "--dry-run=client",
    "-o",
    "name",
    "-f",
    `${on.dir}/definition.yaml`,
  );
});

await kubectlTest("logs, exec and attach say that the Pods run nothing", async (on) => {
  await on.run("wait", "--for=condition=Available", "deployment/web", "--timeout=20s");
  match(await on.fail("logs", "deployment/web"), /simulated Pods have no logs/);
  match(await on.fail("exec", "deployment/web", "--", "ls"), /simulated Pods run nothing/);
  match(await on.fail("attach", "deployment/web"), /simulated Pods run nothing/);
});

await kubectlTest("auth can-i is refused without advice that is of no use", async (on) => {
  const refusal = await on.fail("auth", "can-i", "get", "pods");
  match(refusal, /does not read protobuf/);
  doesNotMatch(refusal, /dry-run/);
});

await kubectlTest("api-resources, api-versions, explain and version", async (on) => {
  const resources = await on.run("api-resources", "--no-headers");
  match(resources, /^deployments +deploy +apps\/v1 +true +Deployment$/m);
  match(resources, /^widgets +wd +demo\.example\.com\/v1 +true +Widget$/m);
  match(await on.run("api-versions"), /^demo\.example\.com\/v1$/m);
  match(await on.run("explain", "deployment.spec.replicas"), /FIELD: replicas <integer>/);
  match(await on.run("explain", "widget.spec.size"), /How large it is\./);
  match(await on.run("version"), /Server Version: v1\.36/);
});

await kubectlTest("unknown fields are refused by kubectl's own validation", async (on) => {
  await Deno.writeTextFile(
    `${on.dir}/wrong.yaml`,
    MANIFEST.replace("size: 3", "size: 3, colour: red"),
  );
  match(
    await on.fail("apply", "-f", `${on.dir}/wrong.yaml`),
    /strict decoding error: unknown field "spec\.colour"/,
  );
});

Deno.test("serveHttp() refuses other tokens and hosts, and ends with watches open", async () => {
  const server = new ApiServer({ clock: realClock, random: seededRandom(1) });
  await using _server = server;
  const front = serveHttp({ handler: server, token: TOKEN });
  const get = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(front.url + path, { headers });
    return { status: response.status, text: await response.text() };
  };
  const authorization = `Bearer ${TOKEN}`;
  strictEqual((await get("/version", { authorization })).status, 200);
  strictEqual((await get("/version", {})).status, 401);
  strictEqual((await get("/version", { authorization: "Bearer other" })).status, 401);
  strictEqual(await rawStatus(front.port, "evil.example.com", authorization), 403);
  strictEqual(await rawStatus(front.port, `localhost:${front.port}`, authorization), 200);
  const watch = await fetch(`${front.url}/api/v1/namespaces?watch=1`, {
    headers: { authorization },
  });
  const reader = watch.body?.getReader();
  strictEqual((await reader?.read())?.done, false);
  await front[Symbol.asyncDispose]();
  await reader?.cancel();
});

/** Status of a request with a Host header of our choice, which fetch would not send. */
async function rawStatus(port: number, host: string, authorization: string): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = `GET /version HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\n` +
    "Connection: close\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const text = await new Response(connection.readable).text();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}

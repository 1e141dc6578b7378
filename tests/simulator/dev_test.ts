/**
 * `dev --embedded` as its users run it: a process, a real kubectl, an editor that saves files.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { realClock } from "../../lib/core/clock.ts";
import { parseYaml } from "../../lib/core/yaml.ts";
import type { Json } from "../support/kube.ts";
import { kubectl, needsKubectl } from "../support/kubectl.ts";
import { OperatorProcess } from "../support/operator_process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A running `dev` whose temporary files, and only those, are in a folder of the test. */
interface Session extends AsyncDisposable {
  readonly dev: OperatorProcess;
  /** Where its temporary files go. */
  readonly temp: string;
  readonly kubeconfig: string;
}

async function session({ main }: { main?: string } = {}): Promise<Session> {
  const temp = await Deno.makeTempDir({ prefix: "dev-test-" });
  const dev = OperatorProcess.start({
    args: ["dev", "--embedded"],
    environment: { TMPDIR: temp, PATH: Deno.env.get("PATH") ?? "" },
    ...(main !== undefined && { main }),
  });
  const line = await dev.line("kubeconfig");
  return {
    dev,
    temp,
    kubeconfig: line.trim().split(/\s+/).at(-1) ?? "",
    async [Symbol.asyncDispose]() {
      await dev[Symbol.asyncDispose]();
      await noProcessNames(temp);
      await Deno.remove(temp, { recursive: true });
    },
  };
}

/** Longest wait for what another process does in its own time, in milliseconds. */
const GONE_MAX_MS = 20_000;

/**
 * Resolves once no process has `text` in its command line, as an operator has its kubeconfig. The
 * guard of a process ends by itself just after it.
 */
async function noProcessNames(text: string): Promise<void> {
  const { signal } = new AbortController();
  const untilMs = realClock.monotonicMs() + GONE_MAX_MS;
  for (;;) {
    const left = await processesNaming(text);
    if (left.length === 0) return;
    ok(realClock.monotonicMs() < untilMs, left.join("\n"));
    await realClock.sleep(20, { signal });
  }
}

/** Command lines that have `text` in them. */
async function processesNaming(text: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-eo", "args="] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.includes(text));
}

async function entriesOf(dir: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(dir))).map(({ name }) => name);
}

/** Ends well: with 0, without a process or a file. */
async function endsWell({ dev, temp }: Session, signal: Deno.Signal): Promise<void> {
  const { code, lines } = await dev.stop(signal);
  strictEqual(code, 0, lines.join("\n"));
  deepStrictEqual(await entriesOf(temp), []);
  await noProcessNames(temp);
}

Deno.test("dev shows where it works, makes a Foo converge, and leaves nothing behind", async () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    await using on = await session();
    await on.dev.line("Foo default/example-foo is ready: 2 of 2 Pods");
    await on.dev.line("Ctrl-C ends it.");
    const { lines } = on.dev;
    const at = (text: string) => lines.findIndex((line) => line.includes(text));
    ok(at("because") < at("Definition"), lines.join("\n"));
    match(lines[at("because")] ?? "", /--embedded asks for it/);
    match(lines[at("server")] ?? "", /https:\/\/127\.0\.0\.1:\d+, simulated in this process/);
    ok(lines.includes(`  export KUBECONFIG=${on.kubeconfig}`), lines.join("\n"));
    strictEqual((await Deno.stat(on.kubeconfig)).mode, 0o100600);
    await endsWell(on, signal);
  }
});

Deno.test("dev is stopped at any time: while it starts too", async () => {
  await using on = await session();
  await endsWell(on, "SIGINT");
});

Deno.test("dev takes its operator along when it is killed", async () => {
  await using on = await session();
  await on.dev.line("Controller started");
  await on.dev.stop("SIGKILL");
  await noProcessNames(on.temp);
});

Deno.test("dev applies a definition that was edited, and tells why it can't", async () => {
  await using tree = await copyOfSources();
  await using on = await session({ main: tree.main });
  await on.dev.line("Foo default/example-foo is ready");
  const [file, from] = ["lib/foo/schema.ts", "Name of the Deployment"];
  await tree.edit(file, from, `Edited: ${from}`);
  await on.dev.line(`${file} changed: restarting the operator`);
  await on.dev.line("Definition foos.samplecontroller.k8s.io updated");
  await definitionSays(on, `Edited: ${from}`);

  await tree.edit("lib/foo/crd.ts", "", "const = ;\n");
  await on.dev.line("Definition foos.samplecontroller.k8s.io can't be made of the sources");
  await tree.edit("lib/foo/crd.ts", "const = ;\n", "");
  await tree.edit(file, `Edited: ${from}`, `Repaired: ${from}`);
  await definitionSays(on, `Repaired: ${from}`);
  await endsWell(on, "SIGINT");
});

/** Resolves once the served definition has `text` in it. */
async function definitionSays({ kubeconfig }: Session, text: string): Promise<void> {
  const { signal } = new AbortController();
  const untilMs = realClock.monotonicMs() + GONE_MAX_MS;
  while (!(await (await asked(kubeconfig, "GET", DEFINITION)).text()).includes(text)) {
    ok(realClock.monotonicMs() < untilMs, `the definition says "${text}"`);
    await realClock.sleep(50, { signal });
  }
}

const DEFINITION =
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.samplecontroller.k8s.io";
const EXAMPLE = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos/example-foo";

/** Sends a request as kubectl would. */
async function asked(
  path: string,
  method: string,
  url: string,
  patch?: unknown,
): Promise<Response> {
  const { clusters: [{ cluster }], users: [{ user }] } = parseYaml(
    await Deno.readTextFile(path),
  ) as Json;
  const caCerts = [atob(cluster["certificate-authority-data"])];
  using client = Deno.createHttpClient({ caCerts });
  const response = await fetch(`${cluster.server}${url}`, {
    client,
    method,
    headers: {
      authorization: `Bearer ${user.token}`,
      "content-type": "application/merge-patch+json",
    },
    ...(patch === undefined ? {} : { body: JSON.stringify(patch) }),
  });
  // Read whole, while the client lives.
  return new Response(await response.bytes(), { status: response.status });
}

Deno.test("dev stands any number of replicas: it says what it makes, answers, and stops", async () => {
  await using on = await session();
  await on.dev.line("Foo default/example-foo is ready");
  const patch = { spec: { replicas: 2_000_000_000 } };
  const { status } = await asked(on.kubeconfig, "PATCH", EXAMPLE, patch);
  strictEqual(status, 200);
  await on.dev.line("wants 2000000000 Pods: the simulated server makes no more than 500");
  strictEqual((await asked(on.kubeconfig, "GET", EXAMPLE)).status, 200);
  await endsWell(on, "SIGINT");
});

Deno.test("dev ends at once on a second signal, with nothing left behind", async () => {
  await using on = await session();
  await on.dev.line("Foo default/example-foo is ready");
  // An operator that does not answer: without a second signal dev gives it five seconds.
  for (const pid of await pidsNaming(`--kubeconfig ${on.kubeconfig}`)) Deno.kill(pid, "SIGSTOP");
  const startedMs = realClock.monotonicMs();
  on.dev.kill("SIGINT");
  // Two signals within 200 ms are one.
  await realClock.sleep(400, { signal: new AbortController().signal });
  strictEqual(on.dev.isEnded, false);
  const { code, lines } = await on.dev.stop("SIGINT");
  strictEqual(code, 1, lines.join("\n"));
  ok(realClock.monotonicMs() - startedMs < 4000);
  deepStrictEqual(await entriesOf(on.temp), []);
});

/** Processes, other than shells, that have `text` in their command line. */
async function pidsNaming(text: string): Promise<number[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-eo", "pid=,args="] }).output();
  const rows = new TextDecoder().decode(stdout).split("\n").map((row) => row.trim());
  const found = rows.filter((row) => row.includes(text) && !row.includes("/bin/sh"));
  ok(found.length > 0, text);
  return found.map((row) => Number(row.split(" ")[0]));
}

const known = await needsKubectl("dev: kubectl works, and watches survive a restart");
Deno.test({
  ...known,
  async fn() {
    await using tree = await copyOfSources();
    await using on = await session({ main: tree.main });
    const environment = { KUBECONFIG: on.kubeconfig, HOME: tree.dir };
    await on.dev.line("Foo default/example-foo is ready");
    const watch = new Deno.Command("kubectl", {
      args: ["--kubeconfig", on.kubeconfig, "get", "foos", "-w", "--no-headers"],
      env: { PATH: Deno.env.get("PATH") ?? "", HOME: tree.dir },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const rows = watch.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    const row = async (pattern: RegExp) => {
      while (!pattern.test(seen)) {
        const { value, done } = await rows.read();
        ok(!done, `the watch ended: ${seen}`);
        seen += value;
      }
    };
    await row(/example-foo +2 +2 +True/);

    // The new code runs: it says something else.
    await tree.edit("lib/controller/controller.ts", '"Controller started"', '"Edited controller"');
    await on.dev.line("lib/controller/controller.ts changed: restarting the operator");
    await on.dev.line("Edited controller");
    await tree.edit("lib/foo/plan.ts", "", "const = ;\n");
    await on.dev.line("SyntaxError");
    await on.dev.line("The operator's sources can't be loaded: waiting for a change");
    await tree.edit("lib/foo/plan.ts", "const = ;\n", "");
    await tree.edit("lib/controller/controller.ts", "Edited controller", "Repaired controller");
    await on.dev.line("Repaired controller");

    const patch = ["patch", "foo", "example-foo", "--type=merge", "-p", '{"spec":{"replicas":3}}'];
    ok((await kubectl(patch, environment)).success);
    await row(/example-foo +3 +3 +True/);
    await on.dev.line("is ready: 3 of 3 Pods");
    ok((await kubectl(["delete", "deployment", "example-foo"], environment)).success);
    await row(/example-foo +3 +[01]? +False[^]*example-foo +3 +3 +True/);

    watch.kill();
    while (!(await rows.read()).done);
    await watch.status;
    await endsWell(on, "SIGINT");
  },
});

/** The program's sources, to be edited. */
async function copyOfSources() {
  const dir = await Deno.makeTempDir({ prefix: "dev-sources-" });
  const files = ["main.ts", "deno.json", "deno.lock", "lib"].map((name) => `${ROOT}${name}`);
  const { success } = await new Deno.Command("cp", { args: ["-r", ...files, dir] }).output();
  ok(success);
  return {
    dir,
    main: `${dir}/main.ts`,
    /** Replaces the first `from`, or puts `to` first if `from` is empty; as one write. */
    async edit(file: string, from: string, to: string) {
      const text = await Deno.readTextFile(`${dir}/${file}`);
      ok(text.includes(from), `${file} has ${from}`);
      await Deno.writeTextFile(`${dir}/${file}.new`, text.replace(from, to));
      await Deno.rename(`${dir}/${file}.new`, `${dir}/${file}`);
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(dir, { recursive: true });
    },
  };
}

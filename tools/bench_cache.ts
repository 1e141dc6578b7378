/**
 * `deno task bench:cache`: what caches cost, beside a peer, on one real control plane.
 *
 * First the caches of the library alone, each way of listing in a process of its own; then whole
 * operators, started cold over converged Foos with one left to do: the time to the first write is
 * that to filled caches. Last, what Deployments cost that are not ours.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { parseYaml } from "../lib/core/yaml.ts";
import { ControlPlane } from "../tests/support/control_plane.ts";
import { type Json, Kube } from "../tests/support/kube.ts";
import { fromSource } from "../tests/support/operator_process.ts";
import type { ProbeResult, ProbeTask } from "./bench_cache_probe.ts";

const USAGE = `Usage: deno task bench:cache [options]

Measures caches: memory, time to sync, events, lists without change. Only ratios within one run
mean anything.

  --objects N       Foos, and Deployments of them (default 10000)
  --foreign N       Deployments that are not ours (default 20000)
  --rounds N        how often each operator starts cold; medians are printed (default 3)
  --binary PATH     compiled operator to measure (default: main.ts from source)
  --go-peer PATH    a controller-runtime program with the same job
`;

const NAMESPACE = "bench";
const FOOS_PATH = `/apis/samplecontroller.k8s.io/v1alpha1/namespaces/${NAMESPACE}/foos`;
const DEPLOYMENTS_PATH = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;

/** The Foo that is left to do: the first in the order of lists. */
const PROBE = "a-probe";

/** How long an operator is left alone before its memory is read, in milliseconds. */
const SETTLE_MS = 10_000;

/** Longest run of one probe, in milliseconds. */
const PROBE_MAX_MS = 300_000;

/** What a cold start cost. */
interface ColdStart {
  readonly firstWriteMs: number;
  readonly peakRssMib: number;
  readonly settledRssMib: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      objects: { type: "string", default: "10000" },
      foreign: { type: "string", default: "20000" },
      rounds: { type: "string", default: "3" },
      binary: { type: "string" },
      "go-peer": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(USAGE);
  const objects = Number(values.objects);
  const own = values.binary === undefined ? fromSource() : [values.binary];
  const contestants: Record<string, string[]> = {
    "foo-operator": [...own, "run", "--workers", "32", "--log-level", "error"],
    ...(values["go-peer"] === undefined
      ? {}
      : { "go-peer": [values["go-peer"], "--workers", "32", "--zap-log-level=error"] }),
  };
  await using bench = await CacheBench.start();
  await bench.converge(objects, contestants["foo-operator"] ?? []);
  print(`${objects} Foos and as many Deployments have converged\n\n`);
  await probes(bench, objects);
  await coldStarts(bench, contestants, Number(values.rounds));
  const { before, after, requests } = await bench.foreign(
    Number(values.foreign),
    contestants["foo-operator"] ?? [],
  );
  print(
    `\n${values.foreign} Deployments that are not ours: ${before.toFixed(1)} MiB before, ` +
      `${after.toFixed(1)} MiB after (${(after - before).toFixed(1)}), ${requests} requests\n`,
  );
}

async function probes(bench: CacheBench, objects: number): Promise<void> {
  print(
    "| cache of | list | sync | CPU | heap an object | peak RSS | settled | " +
      `${objects} events | CPU | relist | CPU | calls | heap left | peak + |\n` +
      `|${"---|".repeat(14)}\n`,
  );
  for (const keeps of ["whole", "slim"] as const) {
    for (const initialList of ["pages", "stream"] as const) {
      const told = await bench.probe({ initialList, keeps, events: objects });
      const cells = [
        keeps,
        initialList,
        `${told.syncMs.toFixed(0)} ms`,
        `${told.syncCpuMs.toFixed(0)} ms`,
        `${told.heapBytesPerObject.toFixed(0)} B`,
        `${told.peakRssMib.toFixed(0)} MiB`,
        `${told.settledRssMib.toFixed(0)} MiB`,
        `${told.eventsMs.toFixed(0)} ms`,
        `${told.eventsCpuMs.toFixed(0)} ms`,
        `${told.relistMs.toFixed(0)} ms`,
        `${told.relistCpuMs.toFixed(0)} ms`,
        String(told.relistHandlerCalls),
        `${(told.relistHeapBytes / 1024).toFixed(0)} KiB`,
        `${told.relistPeakMib.toFixed(0)} MiB`,
      ];
      print(`| ${cells.join(" | ")} |\n`);
    }
  }
}

async function coldStarts(
  bench: CacheBench,
  contestants: Readonly<Record<string, readonly string[]>>,
  rounds: number,
): Promise<void> {
  const all = new Map<string, ColdStart[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, command] of Object.entries(contestants)) {
      const start = await bench.coldStart(command);
      all.set(name, [...all.get(name) ?? [], start]);
    }
  }
  print("\n| cold start of | first write | peak RSS | settled |\n|---|---|---|---|\n");
  for (const [name, starts] of all) {
    const cells = [
      name,
      `${median(starts.map(({ firstWriteMs }) => firstWriteMs)).toFixed(0)} ms`,
      `${median(starts.map(({ peakRssMib }) => peakRssMib)).toFixed(0)} MiB`,
      `${median(starts.map(({ settledRssMib }) => settledRssMib)).toFixed(0)} MiB`,
    ];
    print(`| ${cells.join(" | ")} |\n`);
  }
}

/** One control plane and what is on it. */
class CacheBench implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #kube: Kube;

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
    this.#kube = new Kube({
      server: plane.server,
      caPem: plane.caPem,
      token: plane.adminToken,
    });
  }

  static async start(): Promise<CacheBench> {
    const bench = new CacheBench(await ControlPlane.start({ audit: true }));
    const crd = parseYaml(await Deno.readTextFile(new URL("../crds/foo.yaml", import.meta.url)));
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await bench.#kube.post(crds, crd);
    await bench.#kube.until(
      crds,
      "foos.samplecontroller.k8s.io",
      (object) => object.status?.conditions?.some(isEstablished),
    );
    await bench.#kube.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    return bench;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kube[Symbol.dispose]();
    await this.#plane[Symbol.asyncDispose]();
  }

  /** Makes `objects` Foos and has the operator make their Deployments. */
  async converge(objects: number, command: readonly string[]): Promise<void> {
    await each(objects, (at) => this.#kube.post(FOOS_PATH, fooOf(`foo-${at}`)));
    await using _operator = this.#start(command);
    for (;;) {
      const { items, metadata } = await this.#kube.get(`${DEPLOYMENTS_PATH}?limit=1`);
      const made = items.length + (metadata.remainingItemCount ?? 0);
      if (made >= objects) break;
      await later(1000);
    }
    await later(SETTLE_MS); // status writes and events
  }

  /** Runs the library's caches in a process of their own. */
  async probe(
    task: Pick<ProbeTask, "initialList" | "keeps" | "events">,
  ): Promise<ProbeResult> {
    const { server, caPem, adminToken: token } = this.#plane;
    const whole: ProbeTask = { ...task, server, caPem, token, namespace: NAMESPACE };
    const script = new URL("./bench_cache_probe.ts", import.meta.url).pathname;
    const args = ["run", "--quiet", "--cached-only", "-A", "--v8-flags=--expose-gc", script];
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...args, JSON.stringify(whole)],
      stdin: "null",
      signal: AbortSignal.timeout(PROBE_MAX_MS),
    }).output();
    if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout));
  }

  /**
   * Starts an operator with one Foo left to do. Its first write is of a filled cache, whichever Foo
   * it is for: not all take Foos in the order of the list, and some write all of them again.
   */
  async coldStart(command: readonly string[]): Promise<ColdStart> {
    await this.#kube.post(FOOS_PATH, fooOf(PROBE));
    const startedMs = performance.timeOrigin + performance.now();
    let result: ColdStart;
    {
      await using operator = this.#start(command);
      await later(2 * SETTLE_MS);
      result = {
        firstWriteMs: await this.#firstWriteMs(startedMs) - startedMs,
        peakRssMib: await operator.rssMib("VmHWM"),
        settledRssMib: await operator.rssMib("VmRSS"),
      };
    }
    await this.#kube.delete(`${FOOS_PATH}/${PROBE}`);
    await this.#kube.delete(`${DEPLOYMENTS_PATH}/${PROBE}`);
    return result;
  }

  /** When an operator first wrote a Foo or a Deployment after `sinceMs`, by the API server's log. */
  async #firstWriteMs(sinceMs: number): Promise<number> {
    const records = await this.#plane.auditRecords();
    const times = records.filter(({ verb, userAgent, objectRef }) =>
      ["create", "update", "patch"].includes(verb) && !userAgent?.startsWith("Deno/") &&
      ["foos", "deployments"].includes(objectRef?.resource ?? "")
    ).map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
    const first = times.filter((atMs) => atMs >= sinceMs).sort((one, other) => one - other)[0];
    if (first === undefined) throw new Error("An operator did not write in time");
    return first;
  }

  /** What a running operator takes for Deployments that are not ours. */
  async foreign(
    count: number,
    command: readonly string[],
  ): Promise<{ before: number; after: number; requests: number }> {
    await using operator = this.#start(command);
    // Until it has put right what another operator may have written.
    let mark = -1;
    for (let now = 0; now !== mark; now = await this.#requests()) {
      mark = now;
      await later(2 * SETTLE_MS);
    }
    const before = await operator.rssMib("VmRSS");
    await each(count, (at) => this.#kube.post(DEPLOYMENTS_PATH, foreignOf(`theirs-${at}`)));
    await later(SETTLE_MS);
    const after = await operator.rssMib("VmRSS");
    return { before, after, requests: await this.#requests() - mark };
  }

  /** Requests of operators so far, without watches. */
  async #requests(): Promise<number> {
    const records = await this.#plane.auditRecords();
    return records.filter(({ stage, verb, userAgent }) =>
      stage === "ResponseComplete" && verb !== "watch" && userAgent?.startsWith("foo-operator")
    ).length;
  }

  #start([program = "", ...args]: readonly string[]) {
    const child = new Deno.Command(program, {
      args,
      env: { KUBECONFIG: this.#plane.kubeconfig("token") },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    return {
      async rssMib(field: "VmHWM" | "VmRSS"): Promise<number> {
        // By a program, since Deno reads other processes' files only with all permissions.
        const { stdout } = await new Deno.Command("cat", { args: [`/proc/${child.pid}/status`] })
          .output();
        const status = new TextDecoder().decode(stdout);
        return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
      },
      async [Symbol.asyncDispose](): Promise<void> {
        child.kill("SIGTERM");
        await child.status;
      },
    };
  }
}

function isEstablished({ type, status }: Json): boolean {
  return type === "Established" && status === "True";
}

function fooOf(name: string): Json {
  return {
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    metadata: { name },
    spec: { deploymentName: name, replicas: 1 },
  };
}

function foreignOf(name: string): Json {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "theirs", image: "theirs:1" }] },
      },
    },
  };
}

/** Does something `count` times, eight at a time. */
async function each(count: number, act: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

if (import.meta.main) await main();

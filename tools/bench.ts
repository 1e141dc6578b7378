/**
 * `deno task bench`: how fast and at what price the operator converges, beside its peers.
 *
 * Every contestant meets the same work on the same control plane, in turn, in several rounds; only
 * ratios within one run mean anything, since machines differ and drift. The API server's audit log
 * counts the requests, the kernel counts CPU time and memory.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { ControlPlane } from "../tests/support/control_plane.ts";
import { fromSource } from "../tests/support/operator_process.ts";
import { type Json, Kube } from "../tests/support/kube.ts";
import { parseYaml } from "../lib/core/yaml.ts";

/** A program that reconciles Foos and reads KUBECONFIG. */
interface Contestant {
  readonly name: string;
  readonly command: readonly string[];
}

/** What one run of one contestant cost. */
interface Measurement {
  readonly contestant: string;
  readonly seconds: number;
  readonly foosPerSecond: number;
  readonly requestsPerFoo: number;
  readonly cpuSeconds: number;
  readonly peakRssMib: number;
}

const USAGE = `Usage: deno task bench [options]

Measures the operator, and its peers where their programs are given, on one control plane.

  --foos N          Foos to converge from a cold start (default 1000)
  --rounds N        how often each contestant runs; medians are printed (default 3)
  --workers N       workers of each contestant (default 32)
  --binary PATH     compiled operator to measure (default: main.ts from source)
  --go-peer PATH    a controller-runtime program with the same job
  --rs-peer PATH    a kube-rs program with the same job
`;

const FOOS_PATH = "/apis/samplecontroller.k8s.io/v1alpha1/foos";
const DEPLOYMENTS_PATH = "/apis/apps/v1/deployments";
const NAMESPACE = "bench";

/** Clock ticks a second in /proc, the same on every Linux that Deno runs on. */
const TICKS_PER_SECOND = 100;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      foos: { type: "string", default: "1000" },
      rounds: { type: "string", default: "3" },
      workers: { type: "string", default: "32" },
      binary: { type: "string" },
      "go-peer": { type: "string" },
      "rs-peer": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    print(USAGE);
    return;
  }
  const contestants = contestantsOf(values);
  const measurements: Measurement[] = [];
  await using bench = await Bench.start(Number(values.foos));
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const contestant of contestants) {
      const measurement = await bench.measure(contestant);
      measurements.push(measurement);
      print(`round ${round}: ${row(measurement).join("  ")}\n`);
    }
  }
  print(`\n${table(contestants, measurements)}\n`);
}

function contestantsOf(
  values: { workers: string; binary?: string; "go-peer"?: string; "rs-peer"?: string },
): Contestant[] {
  const own = values.binary === undefined ? fromSource() : [values.binary];
  const workers = values.workers;
  const contestants: Contestant[] = [{
    name: "foo-operator",
    command: [...own, "run", "--workers", workers, "--log-level", "error"],
  }];
  if (values["go-peer"] !== undefined) {
    contestants.push({
      name: "go-peer",
      command: [values["go-peer"], "--workers", workers, "--zap-log-level=error"],
    });
  }
  if (values["rs-peer"] !== undefined) {
    contestants.push({ name: "rs-peer", command: [values["rs-peer"]] });
  }
  return contestants;
}

/** One control plane and the work on it. */
class Bench implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly #kube: Kube;
  readonly #foos: number;

  private constructor(plane: ControlPlane, foos: number) {
    this.#plane = plane;
    this.#foos = foos;
    this.#kube = new Kube({
      ...plane,
      token: plane.adminToken,
      caPem: plane.caPem,
      server: plane.server,
    });
  }

  static async start(foos: number): Promise<Bench> {
    const bench = new Bench(await ControlPlane.start({ audit: true }), foos);
    const crd = parseYaml(await Deno.readTextFile(new URL("../crds/foo.yaml", import.meta.url)));
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await bench.#kube.post(crds, crd);
    await bench.#kube.until(
      crds,
      "foos.samplecontroller.k8s.io",
      (object) =>
        object.status?.conditions?.some((each: Json) =>
          each.type === "Established" && each.status === "True"
        ),
    );
    await bench.#kube.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    return bench;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kube[Symbol.dispose]();
    await this.#plane[Symbol.asyncDispose]();
  }

  /** Creates the Foos, starts `contestant` cold, waits for convergence, cleans up. */
  async measure(contestant: Contestant): Promise<Measurement> {
    await this.#createFoos();
    const requestsBefore = (await this.#plane.auditRecords()).length;
    const done = Promise.all([
      this.#count(FOOS_PATH, (foo) => foo.status?.availableReplicas !== undefined),
      this.#count(DEPLOYMENTS_PATH, (object) => object.metadata.namespace === NAMESPACE),
    ]);
    const startedAtMs = performance.now();
    const [program = "", ...args] = contestant.command;
    const child = new Deno.Command(program, {
      args,
      env: { KUBECONFIG: this.#plane.kubeconfig("token") },
      stdin: "null",
      stdout: "null",
      // A contestant that logs much must not wait for our terminal.
      stderr: "null",
    }).spawn();
    await Promise.race([
      done,
      child.status.then(({ code }): never => {
        throw new Error(`${contestant.name} ended with ${code}`);
      }),
    ]);
    const seconds = (performance.now() - startedAtMs) / 1000;
    const usage = await usageOf(child.pid);
    child.kill("SIGTERM");
    await child.status;
    const requests = (await this.#plane.auditRecords()).slice(requestsBefore).filter((record) =>
      record.stage === "ResponseComplete" && record.objectRef?.resource !== "leases" &&
      !record.userAgent?.startsWith("Deno/")
    );
    await this.#clean();
    return {
      contestant: contestant.name,
      seconds,
      foosPerSecond: this.#foos / seconds,
      requestsPerFoo: requests.length / this.#foos,
      ...usage,
    };
  }

  async #createFoos(): Promise<void> {
    const path = `/apis/samplecontroller.k8s.io/v1alpha1/namespaces/${NAMESPACE}/foos`;
    const names = Array.from({ length: this.#foos }, (_, i) => `foo-${i}`);
    const one = async () => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        await this.#kube.post(path, {
          apiVersion: "samplecontroller.k8s.io/v1alpha1",
          kind: "Foo",
          metadata: { name },
          spec: { deploymentName: name, replicas: 1 },
        });
      }
    };
    await Promise.all(Array.from({ length: 8 }, one));
  }

  /** Resolves when as many different objects as there are Foos satisfied `claim`. */
  async #count(path: string, claim: (object: Json) => boolean): Promise<void> {
    const seen = new Set<string>();
    const list = await this.#kube.get(`${path}?limit=1`);
    const query = `?watch=1&resourceVersion=${list.metadata.resourceVersion}`;
    for await (const event of this.#kube.watch(path + query)) {
      if (event.type !== "DELETED" && claim(event.object)) seen.add(event.object.metadata.uid);
      if (seen.size >= this.#foos) return;
    }
    throw new Error(`the watch of ${path} ended at ${seen.size} of ${this.#foos}`);
  }

  async #clean(): Promise<void> {
    for (
      const path of [
        `/apis/samplecontroller.k8s.io/v1alpha1/namespaces/${NAMESPACE}/foos`,
        `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
        `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`,
      ]
    ) {
      await this.#kube.delete(path);
    }
  }
}

/** CPU time and peak memory of a running process, as the kernel counts them. */
async function usageOf(pid: number): Promise<{ cpuSeconds: number; peakRssMib: number }> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The command, in parentheses, may hold spaces; user and system time are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const peakKib = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]);
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    peakRssMib: peakKib / 1024,
  };
}

function row(each: Measurement): string[] {
  return [
    each.contestant,
    `${each.foosPerSecond.toFixed(0)} Foos/s`,
    `${each.requestsPerFoo.toFixed(2)} requests/Foo`,
    `${each.cpuSeconds.toFixed(2)} CPU s`,
    `${each.peakRssMib.toFixed(0)} MiB`,
  ];
}

/** The medians as a Markdown table, with the ratio of ours to each peer. */
function table(contestants: readonly Contestant[], all: readonly Measurement[]): string {
  const median = (name: string, figure: (each: Measurement) => number): number => {
    const values = all.filter((each) => each.contestant === name).map(figure).sort((a, b) => a - b);
    return values[Math.floor(values.length / 2)] ?? NaN;
  };
  const own = contestants[0]?.name ?? "";
  const lines = contestants.map(({ name }) => {
    const speed = median(name, (each) => each.foosPerSecond);
    const cpu = median(name, (each) => each.cpuSeconds);
    return [
      "",
      name,
      speed.toFixed(0),
      median(name, (each) => each.requestsPerFoo).toFixed(2),
      cpu.toFixed(2),
      `${median(name, (each) => each.peakRssMib).toFixed(0)} MiB`,
      `${(median(own, (each) => each.foosPerSecond) / speed).toFixed(2)}×`,
      `${(median(own, (each) => each.cpuSeconds) / cpu).toFixed(2)}×`,
      "",
    ].join(" | ").trim();
  });
  return [
    "| | Foos/s | requests per Foo | CPU s | peak RSS | ours ÷ it, Foos/s | ours ÷ it, CPU |",
    "|---|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

await main();

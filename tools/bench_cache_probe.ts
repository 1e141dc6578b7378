/**
 * The part of `deno task bench:cache` that runs alone in a process: two caches of the library, filled
 * and kept, and what that costs. Prints one line of JSON.
 *
 * Alone, so that memory and CPU time are those of the caches and nothing else; with `--expose-gc`,
 * so that memory is what is held and not what waits for the collector.
 *
 * @module
 */

import { cpuUsage } from "node:process";
import { type CacheHandle, InformerSet } from "../lib/cache/informer_set.ts";
import type { ListWatch } from "../lib/cache/list_watch.ts";
import { Client } from "../lib/client/client.ts";
import { type Deployment, DEPLOYMENTS } from "../lib/client/kinds.ts";
import { RestClient } from "../lib/client/rest.ts";
import { FetchTransport } from "../lib/client/transport.ts";
import { type Clock, realClock, realRandom } from "../lib/core/clock.ts";
import { ApiError } from "../lib/core/errors.ts";
import { silentLogger } from "../lib/core/log.ts";
import { latch } from "../lib/core/tasks.ts";
import { slimDeployment, slimFoo } from "../lib/foo/plan.ts";
import { type Foo, FOOS } from "../lib/foo/schema.ts";

/** What the probe is told, as JSON in its first argument. */
export interface ProbeTask {
  readonly server: string;
  readonly caPem: string;
  readonly token: string;
  readonly namespace: string;
  readonly initialList: "pages" | "stream";
  /** As the operator keeps objects, or whole but for `managedFields`. */
  readonly keeps: "slim" | "whole";
  /** Changes of Foos whose way to a handler is measured. */
  readonly events: number;
}

/** What the probe found. */
export interface ProbeResult {
  readonly objects: number;
  /** From the first request to the last object of both kinds. */
  readonly syncMs: number;
  readonly syncCpuMs: number;
  /** Memory that the stores hold, by what the collector leaves. */
  readonly heapBytesPerObject: number;
  readonly peakRssMib: number;
  readonly settledRssMib: number;
  /** From the opening of the watch to the last change in the handler. */
  readonly eventsMs: number;
  readonly eventsCpuMs: number;
  /** Of a list of the Foos that finds nothing new. */
  readonly relistMs: number;
  readonly relistCpuMs: number;
  readonly relistHandlerCalls: number;
  /** What it left, and by how much it raised the peak. */
  readonly relistHeapBytes: number;
  readonly relistPeakMib: number;
}

/** A source whose watch the probe can hold up, or end so that the whole is read again. */
class Gate {
  #open = latch();
  #expire = new AbortController();

  constructor() {
    this.#open.open();
  }

  over<T>(source: ListWatch<T>): ListWatch<T> {
    const current = () => ({ open: this.#open, expired: this.#expire.signal });
    return {
      list: (call) => source.list(call),
      async *watch(call) {
        const { open, expired } = current();
        await open.wait(call);
        const ended = new AbortController();
        const end = () => ended.abort(expired.aborted ? expired.reason : call.signal.reason);
        expired.addEventListener("abort", end);
        call.signal.addEventListener("abort", end);
        try {
          yield* source.watch({ ...call, signal: ended.signal });
        } finally {
          expired.removeEventListener("abort", end);
          call.signal.removeEventListener("abort", end);
        }
      },
    };
  }

  /** Ends the watch with `error`; the next waits for {@linkcode Gate.open}. */
  shut(error: Error): void {
    this.#open = latch();
    const current = this.#expire;
    this.#expire = new AbortController();
    current.abort(error);
  }

  open(): void {
    this.#open.open();
  }
}

function collectGarbage(): void {
  const collect: unknown = Reflect.get(globalThis, "gc"); // there with --expose-gc
  if (typeof collect !== "function") {
    throw new Error("Cannot measure memory: run with --v8-flags=--expose-gc");
  }
  collect();
  collect();
}

function heapBytes(): number {
  collectGarbage();
  return Deno.memoryUsage().heapUsed;
}

function cpuMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

/** `VmHWM` or `VmRSS` of this process. */
async function rssMib(field: string): Promise<number> {
  const status = await Deno.readTextFile("/proc/self/status");
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1]) / 1024;
}

function clientOf(task: ProbeTask): Client & Disposable {
  const credential = { generation: 1, token: task.token, caPem: task.caPem };
  const current = () => Promise.resolve(credential);
  const settings = { server: task.server, namespace: "default", userAgent: "bench-cache/1" };
  const clock: Clock = realClock;
  const transport = new FetchTransport({
    source: { current, refresh: current },
    settings,
    clock,
    log: silentLogger,
  });
  const rest = new RestClient({ transport: transport.send, connection: settings, clock });
  return Object.assign(new Client(rest), {
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  });
}

/** The caches that are measured, and what they told. */
class Probe {
  readonly task: ProbeTask;
  readonly client: Client;
  readonly gate = new Gate();
  readonly caches: InformerSet;
  readonly foos: CacheHandle<Foo>;
  readonly deployments: CacheHandle<Deployment>;
  lists = 0;
  listedMs = NaN;
  /** Changes of Foos that the handler was told since the last reset. */
  calls = 0;
  #wanted = Infinity;
  #told = latch();

  constructor(task: ProbeTask, client: Client) {
    this.task = task;
    this.client = client;
    const { initialList, keeps } = task;
    this.caches = new InformerSet({
      clock: realClock,
      random: realRandom,
      log: silentLogger,
      observerOf: () => ({
        listed: ({ durationMs }) => {
          this.listedMs = durationMs;
          this.lists += 1;
        },
      }),
    });
    this.foos = this.caches.declare({
      kind: FOOS,
      source: (selection) => this.gate.over(client.resource(FOOS).listWatch(selection)),
      initialList,
      ...(keeps === "slim" && { transform: slimFoo }),
    });
    this.deployments = this.caches.declare({
      kind: DEPLOYMENTS,
      source: (selection) => client.resource(DEPLOYMENTS).listWatch(selection),
      initialList,
      ...(keeps === "slim" && { transform: slimDeployment }),
    });
    this.foos.addHandler({
      onChange: () => {
        this.calls += 1;
        if (this.calls >= this.#wanted) this.#told.open();
      },
    }, { name: "probe" });
  }

  async fill(signal: AbortSignal) {
    const heapBefore = heapBytes();
    const [startedMs, cpuBefore] = [performance.now(), cpuMs()];
    await this.caches.synced({ limitMs: 300_000, signal });
    const [syncMs, syncCpuMs] = [performance.now() - startedMs, cpuMs() - cpuBefore];
    const peakRssMib = await rssMib("VmHWM");
    const objects = this.foos.lister.size + this.deployments.lister.size;
    const heapBytesPerObject = (heapBytes() - heapBefore) / objects;
    const settledRssMib = await rssMib("VmRSS");
    return { objects, syncMs, syncCpuMs, heapBytesPerObject, peakRssMib, settledRssMib };
  }

  /** The watch stands still while the Foos change, then brings it all. */
  async follow(signal: AbortSignal) {
    this.gate.shut(new ApiError("held up by the benchmark", { status: 503, reason: "Unknown" }));
    await touchFoos(this.client, this.task, this.foos.lister.all());
    this.calls = 0;
    this.#wanted = this.task.events;
    const [openedMs, cpuBefore] = [performance.now(), cpuMs()];
    this.gate.open();
    await this.#told.wait({ signal });
    return { eventsMs: performance.now() - openedMs, eventsCpuMs: cpuMs() - cpuBefore };
  }

  async relist(signal: AbortSignal) {
    const [heapBefore, peakBefore] = [heapBytes(), await rssMib("VmHWM")];
    const { lists } = this;
    this.calls = 0;
    const cpuBefore = cpuMs();
    this.gate.shut(new ApiError("Too old, says the benchmark", { status: 410, reason: "Expired" }));
    this.gate.open();
    while (this.lists === lists) await realClock.sleep(5, { signal });
    return {
      relistMs: this.listedMs,
      relistCpuMs: cpuMs() - cpuBefore,
      relistHandlerCalls: this.calls,
      relistHeapBytes: heapBytes() - heapBefore,
      relistPeakMib: await rssMib("VmHWM") - peakBefore,
    };
  }
}

async function measure(task: ProbeTask): Promise<ProbeResult> {
  using client = clientOf(task);
  const probe = new Probe(task, client);
  const stop = new AbortController();
  const { signal } = stop;
  const filled = probe.fill(signal);
  const running = probe.caches.run({ signal });
  const result = {
    ...await filled,
    ...await probe.follow(signal),
    ...await probe.relist(signal),
  };
  stop.abort();
  await running;
  return result;
}

/** Changes as many Foos as asked for, eight at a time, in a way that the operator does not mind. */
async function touchFoos(client: Client, task: ProbeTask, foos: readonly Foo[]): Promise<void> {
  const { signal } = new AbortController();
  const names = Array.from({ length: task.events }, (_, at) => foos[at % foos.length]);
  const run = crypto.randomUUID().slice(0, 8); // what another run wrote would change nothing
  const one = async () => {
    for (let foo = names.pop(); foo !== undefined; foo = names.pop()) {
      const labels = { touched: `${run}-${names.length}` };
      await client.resource(FOOS).patch({
        name: foo.metadata.name,
        namespace: task.namespace,
        patch: { type: "merge", body: { metadata: { labels } } },
        signal,
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

if (import.meta.main) {
  const task: ProbeTask = JSON.parse(Deno.args[0] ?? "");
  const result = await measure(task);
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(result)}\n`));
}

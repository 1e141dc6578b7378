/**
 * Drives the client for long, in a process of its own, and measures what is left of it. Started by
 * `leaks_slow_test.ts` with `--v8-flags=--expose-gc`; speaks JSON: a {@linkcode LeakTask} on stdin, a
 * {@linkcode LeakReport} on stdout.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- its report is its output

import { setImmediate } from "node:timers";
import { Client } from "../../lib/client/client.ts";
import { CONFIG_MAPS } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { FetchTransport } from "../../lib/client/transport.ts";
import { realClock } from "../../lib/core/clock.ts";
import { silentLogger } from "../../lib/core/log.ts";

/** What to do. */
export interface LeakTask {
  readonly server: string;
  readonly caPem: string;
  readonly requests: number;
  readonly watches: number;
  readonly rotations: number;
}

/** What the process held at one time. */
export interface Holdings {
  readonly descriptors: number;
  readonly sockets: number;
  readonly heapBytes: number;
}

/** What was held: before the first request, after some, after all, and after the transport's end. */
export interface LeakReport {
  readonly idle: Holdings;
  readonly start: Holdings;
  readonly end: Holdings;
  readonly closed: Holdings;
  readonly rotations: number;
}

/** How long descriptors may take to close, in turns of the event loop. */
const SETTLE_TURNS = 2000;

const never = new AbortController();

/** Counts open descriptors. Closed sockets go some turns of the event loop later. */
async function holdings(): Promise<Holdings> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect !== "function") throw new Error("Run with --v8-flags=--expose-gc");
  for (let pass = 0; pass < 4; pass++) {
    collect();
    await realClock.sleep(20, { signal: never.signal });
  }
  const links = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => linkOf(name));
  const open = links.filter((link) => link !== undefined);
  return {
    descriptors: open.length,
    sockets: open.filter((link) => link.startsWith("socket:")).length,
    heapBytes: Deno.memoryUsage().heapUsed,
  };
}

/** Where descriptor `name` leads; `undefined` for the one that listed them. */
function linkOf(name: string): string | undefined {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${name}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A source of tokens: every second rotation is its own, the others follow a 401. */
function tokens(caPem: string) {
  let generation = 0;
  const current = () =>
    Promise.resolve({ generation, caPem, token: `token-${generation}-${"x".repeat(800)}` });
  return {
    current,
    rotate: () => generation++,
    refresh: (refused: number) => {
      if (refused === generation) generation++;
      return current();
    },
    get generation() {
      return generation;
    },
  };
}

async function main(
  { server, caPem, requests, watches, rotations }: LeakTask,
): Promise<LeakReport> {
  const source = tokens(caPem);
  const settings = { server, namespace: "default", userAgent: "leaks/1" };
  const transport = new FetchTransport({ source, settings, clock: realClock, log: silentLogger });
  const rest = new RestClient({
    transport: transport.send,
    connection: settings,
    clock: realClock,
  });
  const configMaps = new Client(rest).resource(CONFIG_MAPS);
  const { signal } = never;

  /** Two at a time, as many as a program has that watches and writes. */
  const request = async (times: number) => {
    for (let i = 0; i < times; i += 2) {
      await Promise.all([
        configMaps.list({ namespace: "default", signal }),
        configMaps.get({ name: i % 10 === 0 ? "missing" : "a", namespace: "default", signal })
          .catch(() => "404: its body is one more to be read"),
      ]);
    }
  };
  /** The server ends, cuts or keeps silent in turn; or we leave, or abort. */
  const watch = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const stop = new AbortController();
      const way = ["ended", "cut", "left", "aborted"][i % 4] ?? "";
      const events = configMaps.watch({
        resourceVersion: "1",
        labelSelector: `way=${way}`,
        signal: stop.signal,
      });
      try {
        for await (const _ of events) {
          if (way === "left") break;
          if (way === "aborted") stop.abort("enough");
        }
      } catch (error) {
        if (way === "ended" || way === "left") throw error;
      }
    }
  };
  const rotate = async (times: number) => {
    for (let i = 0; i < times; i++) {
      if (i % 2 === 0) source.rotate();
      else await configMaps.get({ name: "expired", namespace: "default", signal });
      await request(2);
    }
  };

  const idle = await holdings();
  await request(1000);
  await watch(40);
  await rotate(4);
  const start = await holdings();
  const before = source.generation;
  for (let part = 0; part < 10; part++) {
    await request(requests / 10);
    await watch(watches / 10);
    await rotate(rotations / 10);
  }
  const end = await holdings();
  transport[Symbol.dispose]();
  return { idle, start, end, closed: await holdings(), rotations: source.generation - before };
}

if (import.meta.main) {
  const task: LeakTask = await new Response(Deno.stdin.readable).json();
  console.log(JSON.stringify(await main(task)));
}

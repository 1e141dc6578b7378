/**
 * A list-and-watch source that does what a test says, call by call, and a reflector running on it.
 *
 * @module
 */

import { strictEqual } from "node:assert/strict";
import type { Clock } from "../../lib/core/clock.ts";
import { ApiError, type Status } from "../../lib/core/errors.ts";
import type { WatchEvent } from "../../lib/core/watch_event.ts";
import {
  type ListCall,
  type ListWatch,
  reflect,
  type ReflectOptions,
  type WatchCall,
} from "../../lib/cache/reflector.ts";
import { ReflectorHealth, type ReflectorObserver } from "../../lib/cache/reflector_health.ts";
import { Store, type StoreChange } from "../../lib/cache/store.ts";
import { seededRandom, type SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { type Thing, thing } from "./objects.ts";

export type ThingList = { items: Thing[]; resourceVersion: string };
export type ThingEvent = WatchEvent<Thing>;

/** One call that reached the source; `stream` for a watch with initial events. `resourceVersion` is `""` for the latest state. */
export interface Call {
  readonly verb: "list" | "watch" | "stream";
  readonly atMs: number;
  readonly resourceVersion: string;
  readonly timeoutSeconds?: number;
}

/** What the source does. `turn` counts the calls of one verb, from 0. */
export interface Script {
  list?(call: ListCall, turn: number): ThingList | Promise<ThingList>;
  watch?(call: WatchCall, turn: number): AsyncIterable<ThingEvent>;
  /** A watch that is asked for the initial events. */
  stream?(call: WatchCall, turn: number): AsyncIterable<ThingEvent>;
}

/** A source that records its calls; one object `a` at version 10 and silence unless scripted. */
export function scripted(
  clock: Clock,
  script: Script,
): { source: ListWatch<Thing>; calls: Call[] } {
  const calls: Call[] = [];
  const turnOf = (verb: Call["verb"]) => calls.filter((call) => call.verb === verb).length;
  const {
    list = () => listOf([["a", 10]], "10"),
    watch = (call) => silence(clock, call),
    stream = (call) => open(clock, call, [added("a", 10), initialEventsEnd(10)]),
  } = script;
  return {
    calls,
    source: {
      async list(call) {
        const turn = turnOf("list");
        const { resourceVersion = "" } = call;
        calls.push({ verb: "list", atMs: clock.monotonicMs(), resourceVersion });
        return await list(call, turn);
      },
      watch(call) {
        const verb = call.sendInitialEvents ? "stream" : "watch";
        const turn = turnOf(verb);
        const { resourceVersion, timeoutSeconds } = call;
        calls.push({ verb, atMs: clock.monotonicMs(), resourceVersion, timeoutSeconds });
        return verb === "stream" ? stream(call, turn) : watch(call, turn);
      },
    },
  };
}

/** A list of Things, each by name and version. */
export function listOf(items: readonly (readonly [string, number])[], version: string): ThingList {
  return {
    items: items.map(([name, at]) => thing(name, { version: at })),
    resourceVersion: version,
  };
}

export function modified(name: string, version: number): ThingEvent {
  return { type: "MODIFIED", object: thing(name, { version }) };
}

export function added(name: string, version: number): ThingEvent {
  return { type: "ADDED", object: thing(name, { version }) };
}

/** The bookmark that ends a streamed list. */
export function initialEventsEnd(version: number): ThingEvent {
  return { type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd: true };
}

export function bookmark(version: number): ThingEvent {
  return { type: "BOOKMARK", resourceVersion: String(version), initialEventsEnd: false };
}

/** An ERROR event, with the Status a server sends. */
export function errorEvent(code: number, details: Status["details"] = {}): ThingEvent {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    code,
    reason: code === 410 ? "Expired" : "Unknown",
    message: `error ${code}`,
    details,
  };
  return { type: "ERROR", status };
}

/** The failure of a request with this HTTP status. */
export function refusal(status: number, retryAfterMs?: number): ApiError {
  const reason = { 403: "Forbidden", 404: "NotFound", 410: "Expired" }[status] ?? "Unknown";
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new ApiError(`refused with ${status}`, { status, reason, ...wait });
}

export function versionTooLarge(): ApiError {
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  return new ApiError("Timeout", { status: 504, reason: "Timeout", causes });
}

/** An open watch on which nothing comes. */
// deno-lint-ignore require-yield -- that is its point
export async function* silence(clock: Clock, { signal }: WatchCall): AsyncGenerator<ThingEvent> {
  await clock.sleep(Infinity, { signal });
}

/** A watch that brings `events` and stays open. */
export async function* open(
  clock: Clock,
  call: WatchCall,
  events: readonly ThingEvent[] = [],
): AsyncGenerator<ThingEvent> {
  call.onOpen();
  yield* events;
  yield* silence(clock, call);
}

/** A watch that brings `events` and then fails. */
export async function* failing(
  error: unknown,
  events: readonly ThingEvent[] = [],
): AsyncGenerator<ThingEvent> {
  yield* events;
  throw error;
}

/** A watch that brings `events` and that the server then ends well. */
export async function* ending(events: readonly ThingEvent[] = []): AsyncGenerator<ThingEvent> {
  yield* events;
}

/** A reflector at work on a script, with all that can be seen of it. */
export interface Reflected extends AsyncDisposable {
  readonly store: Store<Thing>;
  readonly calls: Call[];
  /** Changes told, in the form `added a@10`. */
  readonly changes: string[];
  readonly health: ReflectorHealth;
  readonly records: ReturnType<typeof recordingLogger>["records"];
}

/** Starts a reflector on `script`. Leaving the scope stops it and checks that no wait is left. */
export function reflecting(
  clock: SimClock,
  script: Script,
  { seed = 1, observer, name = "things.example.com", ...options }:
    & { seed?: number; observer?: ReflectorObserver; name?: string }
    & Pick<ReflectOptions<Thing>, "initialList" | "relistMs"> = {},
): Reflected {
  const { source, calls } = scripted(clock, script);
  const { log, records } = recordingLogger();
  const store = new Store<Thing>();
  const health = new ReflectorHealth({ clock, observer });
  const changes: string[] = [];
  const stop = new AbortController();
  const isFirst = clock.pendingTimers === 0;
  const running = reflect(source, store, {
    ...options,
    name,
    clock,
    random: seededRandom(seed),
    log,
    observer: health,
    onChange: (told) => changes.push(...told.map(summary)),
    signal: stop.signal,
  });
  return {
    store,
    calls,
    changes,
    health,
    records,
    async [Symbol.asyncDispose]() {
      stop.abort("the test is over");
      await running;
      // Of several on one clock, the first to start is the last to stop.
      if (isFirst) strictEqual(clock.pendingTimers, 0, "no wait outlives the reflector");
    },
  };
}

/** `added a@10`, `deleted a@10?` if not certain. */
export function summary(change: StoreChange<Thing>): string {
  const { metadata } = change.type === "deleted" ? change.last : change.object;
  const doubt = change.type === "deleted" && !change.certain ? "?" : "";
  return `${change.type} ${metadata.name}@${metadata.resourceVersion}${doubt}`;
}

/** `list:0`, `watch:10`, …: what was asked for, in order. */
export function asked(calls: readonly Call[]): string[] {
  return calls.map(({ verb, resourceVersion }) => `${verb}:${resourceVersion}`);
}

/** Milliseconds between the starts of calls that follow each other. */
export function gaps(calls: readonly Call[]): number[] {
  return calls.slice(1).map(({ atMs }, at) => atMs - (calls[at]?.atMs ?? 0));
}

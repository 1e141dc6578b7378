import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Random } from "../../lib/core/clock.ts";
import { ConnectionError, ProtocolError } from "../../lib/core/errors.ts";
import { keyOf, type ObjectKey } from "../../lib/core/objects.ts";
import {
  type ListCall,
  type ListWatch,
  reflect,
  type WatchCall,
} from "../../lib/cache/reflector.ts";
import { ReflectorHealth } from "../../lib/cache/reflector_health.ts";
import { Store, type StoreChange } from "../../lib/cache/store.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { type Thing, thing } from "./objects.ts";
import {
  bookmark,
  errorEvent,
  initialEventsEnd,
  refusal,
  type ThingEvent,
  type ThingList,
  versionTooLarge,
} from "./scripted_source.ts";

/** What may go wrong, each with its chance per request or event. A seed leaves some of it out. */
const FAULTS = {
  refused: 0.2,
  overloaded: 0.1,
  unavailable: 0.1,
  staleList: 0.5,
  lagging: 0.05,
  expiredStatus: 0.1,
  cut: 0.03,
  silent: 0.02,
  errorEvent: 0.02,
  unparsable: 0.02,
  ended: 0.03,
  streamRefused: 0.05,
  streamEndless: 0.2,
};
type Fault = keyof typeof FAULTS;

/** A server with a history, as etcd has: each revision is one event, and any past state is known. */
class StormyServer implements ListWatch<Thing> {
  readonly #clock: SimClock;
  readonly #random: Random;
  readonly #faults: ReadonlySet<Fault>;
  readonly #history: Exclude<ThingEvent, { type: "BOOKMARK" | "ERROR" }>[] = [];
  #compacted = 0;
  #uids = 0;
  isCalm = false;

  constructor(clock: SimClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    const all: Fault[] = Object.keys(FAULTS).filter((fault): fault is Fault => fault in FAULTS);
    this.#faults = new Set(all.filter(() => random() < 0.6));
  }

  get revision(): number {
    return this.#history.length;
  }

  stateAt(revision: number): Map<ObjectKey, Thing> {
    const state = new Map<ObjectKey, Thing>();
    for (const { type, object } of this.#history.slice(0, revision)) {
      if (type === "DELETED") state.delete(keyOf(object.metadata));
      else state.set(keyOf(object.metadata), object);
    }
    return state;
  }

  /** One random change: creation, edit, deletion. At times the history is cut off. */
  change(): void {
    const name = `n${Math.floor(this.#random() * 6)}`;
    const held = this.stateAt(this.revision).get(`default/${name}`);
    const version = this.revision + 1;
    const uid = held?.metadata.uid ?? `uid-${++this.#uids}`;
    const object = thing(name, { version, uid });
    const type = held === undefined ? "ADDED" : this.#random() < 0.4 ? "DELETED" : "MODIFIED";
    this.#history.push({ type, object });
    if (this.#random() < 0.05) this.#compacted = this.revision - 1;
  }

  async list({ resourceVersion = "", signal }: ListCall): Promise<ThingList> {
    await this.#clock.sleep(this.#random() * 2000, { signal });
    this.#refuse();
    const at = this.#someRevision(resourceVersion);
    return { items: [...this.stateAt(at).values()], resourceVersion: String(at) };
  }

  /** A revision not older than `resourceVersion`; not always the latest. */
  #someRevision(resourceVersion: string): number {
    if (resourceVersion !== "" && this.#strikes("lagging")) throw versionTooLarge();
    const oldest = resourceVersion === "" ? this.revision : Number(resourceVersion);
    const spread = this.#strikes("staleList") ? this.revision - oldest : 0;
    return this.revision - Math.floor(this.#random() * (spread + 1));
  }

  *#initialEvents(at: number, onOpen: () => void): Generator<ThingEvent> {
    onOpen();
    for (const object of this.stateAt(at).values()) {
      if (this.#strikes("cut")) throw new ConnectionError("Connection reset");
      yield copyOf({ type: "ADDED", object });
    }
    if (!this.#strikes("streamEndless")) yield initialEventsEnd(at);
  }

  async *watch(
    { resourceVersion, timeoutSeconds, sendInitialEvents, onOpen, signal }: WatchCall,
  ): AsyncGenerator<ThingEvent, void, void> {
    await this.#clock.sleep(this.#random() * 200, { signal });
    this.#refuse();
    const endMs = this.#clock.monotonicMs() + timeoutSeconds * 1000;
    if (sendInitialEvents && this.#strikes("streamRefused")) throw refusal(422);
    let at = sendInitialEvents ? this.#someRevision(resourceVersion) : Number(resourceVersion);
    if (sendInitialEvents) yield* this.#initialEvents(at, onOpen);
    if (at < this.#compacted && this.#strikes("expiredStatus")) throw refusal(410);
    onOpen();
    if (at < this.#compacted) yield errorEvent(410);
    while (this.#clock.monotonicMs() < endMs) {
      if (this.#strikes("silent")) await this.#clock.sleep(Infinity, { signal });
      if (this.#strikes("cut")) throw new ConnectionError("Connection reset");
      if (this.#strikes("unparsable")) throw new ProtocolError("Line is no event");
      if (this.#strikes("errorEvent")) yield errorEvent(500);
      if (this.#strikes("ended")) return;
      const event = this.#history[at];
      if (event !== undefined) yield copyOf(event);
      else if (this.#random() < 0.1) yield bookmark(at);
      if (event !== undefined) at += 1;
      await this.#clock.sleep(this.#random() * 1000, { signal });
    }
  }

  #refuse(): void {
    if (this.#strikes("refused")) throw new ConnectionError("Connection refused");
    if (this.#strikes("overloaded")) throw refusal(429, 1000 + this.#random() * 4000);
    if (this.#strikes("unavailable")) throw refusal(503);
  }

  #strikes(fault: Fault): boolean {
    return !this.isCalm && this.#faults.has(fault) && this.#random() < FAULTS[fault];
  }
}

/** Each connection sends its own copy, as a wire does. */
function copyOf(event: ThingEvent): ThingEvent {
  return structuredClone(event);
}

/** Applies a change to what a handler believes; refuses what can't follow from it. */
function follow(belief: Map<ObjectKey, Thing>, change: StoreChange<Thing>): void {
  const subject = change.type === "deleted" ? change.last : change.object;
  const key = keyOf(subject.metadata);
  const held = belief.get(key);
  if (change.type === "added") strictEqual(held, undefined, "added what was there");
  else strictEqual(held?.metadata.uid, subject.metadata.uid, "changed what was not there");
  if (change.type === "updated") {
    const versions = [change.previous, change.object].map((o) =>
      Number(o.metadata.resourceVersion)
    );
    ok((versions[0] ?? 0) < (versions[1] ?? 0), "went back in time");
  }
  if (change.type === "deleted") belief.delete(key);
  else belief.set(key, subject);
}

const versionsOf = (objects: Iterable<Thing>): string[] =>
  [...objects].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();

async function weather(
  seed: number,
  initialList: "pages" | "stream",
): Promise<{ lists: number; streamed: number }> {
  const clock = new SimClock();
  const random = seededRandom(seed);
  const server = new StormyServer(clock, random);
  const store = new Store<Thing>();
  let streamed = 0;
  const health = new ReflectorHealth({
    clock,
    observer: { listed: ({ by }) => streamed += by === "stream" ? 1 : 0 },
  });
  const belief = new Map<ObjectKey, Thing>();
  let versionBefore = 0;
  const stop = new AbortController();
  const running = reflect(server, store, {
    name: "things",
    clock,
    random,
    log: recordingLogger().log,
    observer: health,
    initialList,
    onChange(changes) {
      for (const change of changes) follow(belief, change);
      // The whole promise: at each step the store is the server's state at one version, and this
      // version only grows.
      const version = Number(store.resourceVersion);
      ok(version >= versionBefore, "the store's version went back");
      versionBefore = version;
      deepStrictEqual(versionsOf(store.all()), versionsOf(server.stateAt(version).values()));
      deepStrictEqual(versionsOf(belief.values()), versionsOf(store.all()));
    },
    signal: stop.signal,
  });
  let broken: { error: unknown } | undefined;
  running.catch((error) => broken = { error });
  const untilMs = 10 * 60_000;
  while (clock.monotonicMs() < untilMs) {
    server.change();
    await clock.advance(random() * 4000);
    if (broken !== undefined) throw broken.error;
  }
  server.isCalm = true;
  // Silence is found in 90 s, then the longest delay passes, then the backlog comes.
  await clock.advance(5 * 60_000);
  strictEqual(store.resourceVersion, String(server.revision));
  deepStrictEqual(versionsOf(store.all()), versionsOf(server.stateAt(server.revision).values()));
  strictEqual(health.failure, undefined);
  const { lists } = health;
  await clock.advance(60 * 60_000);
  strictEqual(health.lists, lists, "lists in calm weather");
  stop.abort();
  await running;
  strictEqual(clock.pendingTimers, 0);
  return { lists, streamed };
}

for (const by of ["pages", "stream"] as const) {
  Deno.test(`reflect() is the server's state at some version, at each step of any weather, and catches up, by ${by}`, async () => {
    let [lists, streamed] = [0, 0];
    for (let seed = 1; seed <= 25; seed++) {
      const told = await weather(seed, by).catch((cause) => {
        throw new Error(`Weather of seed ${seed} broke the reflector`, { cause });
      });
      lists += told.lists;
      streamed += told.streamed;
    }
    ok(lists > 100, `the weather was too fine: ${lists} lists`);
    ok(by === "pages" ? streamed === 0 : streamed > 50, `${streamed} lists were streamed`);
  });
}

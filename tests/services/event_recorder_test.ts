import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ApiError, ConnectionError } from "../../lib/core/errors.ts";
import {
  END_FLUSH_LIMIT_MS,
  type EventInput,
  EventRecorder,
  type EventWriter,
  QUEUE_MAX,
  SERIES_MAX,
} from "../../lib/services/event_recorder.ts";
import { seededRandom, seededUuid, SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

const MINUTE_MS = 60_000;
const START = "2026-01-01T00:00:00.000000Z";

interface StoredEvent {
  note: string;
  eventTime: string;
  series?: { count: number; lastObservedTime: string };
}

type Weather = (options: { verb: string; signal: AbortSignal }) => Promise<void> | void;

/** An API server for events, as far as a recorder sees it; `weather` goes before each request. */
function eventServer() {
  const stored = new Map<string, StoredEvent>();
  const requests: string[] = [];
  const server = {
    stored,
    requests,
    weather: (() => {}) as Weather,
    client: {
      async create(event, { namespace, signal }) {
        requests.push("create");
        await server.weather({ verb: "create", signal });
        const key = `${namespace}/${event.metadata.name}`;
        if (stored.has(key)) throw new ApiError("exists", { status: 409, reason: "AlreadyExists" });
        const { note, eventTime, series } = event;
        stored.set(key, { note, eventTime, ...(series && { series }) });
      },
      async patch({ name, namespace, patch, signal }) {
        requests.push("patch");
        await server.weather({ verb: "patch", signal });
        const event = stored.get(`${namespace}/${name}`);
        if (event === undefined) throw new ApiError("gone", { status: 404, reason: "NotFound" });
        event.series = patch.body.series;
      },
    } satisfies EventWriter,
  };
  return server;
}

/** A running recorder. Leaving the scope stops it and checks that nothing is left behind. */
function start() {
  const clock = new SimClock();
  const server = eventServer();
  const { log, records } = recordingLogger();
  const stop = new AbortController();
  const recorder = new EventRecorder({
    client: server.client,
    reportingController: "samplecontroller.k8s.io/foo-controller",
    reportingInstance: "foo-operator-0",
    clock,
    random: seededRandom(1),
    uuid: seededUuid(seededRandom(2)),
    log,
  });
  const running = recorder.run({ signal: stop.signal });
  return {
    clock,
    server,
    records,
    recorder,
    events: () => [...server.stored.values()],
    async end() {
      stop.abort();
      await clock.advance(END_FLUSH_LIMIT_MS);
      await running;
      strictEqual(clock.pendingTimers, 0);
    },
    async [Symbol.asyncDispose]() {
      await this.end();
    },
  };
}

function about(name: string, fields: Partial<EventInput> = {}): EventInput {
  const gvk = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
  const metadata = { name, namespace: "ns", uid: `uid-${name}`, resourceVersion: "7" };
  const note = "Foo synced successfully";
  return {
    regarding: { gvk, metadata },
    type: "Normal",
    reason: "Synced",
    action: "Sync",
    note,
    ...fields,
  };
}

Deno.test("EventRecorder writes what happens first at once, without a series", async () => {
  await using world = start();
  world.recorder.record(about("a"));
  world.recorder.record(about("b"));
  await world.clock.settle();
  const event = { note: "Foo synced successfully", eventTime: START };
  deepStrictEqual(world.events(), [event, event]);
  ok([...world.server.stored.keys()].every((key) => /^ns\/[ab]\.[0-9a-f]{16}$/.test(key)));
});

Deno.test("EventRecorder counts repeats and writes them at most once in 30 min", async () => {
  await using world = start();
  for (let minute = 0; minute < 65; minute++) {
    world.recorder.record(about("a"));
    await world.clock.advance(MINUTE_MS);
  }
  deepStrictEqual(world.server.requests, ["create", "patch", "patch"]);
  const lastObservedTime = "2026-01-01T00:59:00.000000Z";
  const series = { count: 60, lastObservedTime };
  deepStrictEqual(world.events(), [{ note: "Foo synced successfully", eventTime: START, series }]);
});

Deno.test("EventRecorder finishes a series that was idle for 6 min, and starts a new one then", async () => {
  await using world = start();
  world.recorder.record(about("a"));
  world.recorder.record(about("a"));
  world.recorder.record(about("once"));
  await world.clock.advance(5 * MINUTE_MS);
  deepStrictEqual(world.server.requests, ["create", "create"]);
  await world.clock.advance(2 * MINUTE_MS);
  deepStrictEqual(world.server.requests, ["create", "create", "patch"]);
  deepStrictEqual(world.events()[0]?.series, { count: 2, lastObservedTime: START });
  world.recorder.record(about("a"));
  await world.clock.settle();
  strictEqual(world.server.stored.size, 3);
});

Deno.test("EventRecorder creates an Event anew, with its count, when its patch finds none", async () => {
  await using world = start();
  world.recorder.record(about("a"));
  await world.clock.settle();
  const [first] = world.server.stored.keys();
  world.server.stored.clear();
  for (let n = 0; n < 4; n++) world.recorder.record(about("a"));
  await world.clock.advance(7 * MINUTE_MS);
  deepStrictEqual(world.server.requests, ["create", "patch", "create"]);
  const [[key, event] = []] = world.server.stored;
  ok(key !== first);
  strictEqual(event?.series?.count, 5);
});

Deno.test("EventRecorder writes counts at the end, also of what was never written", async () => {
  const world = start();
  world.recorder.record(about("a"));
  await world.clock.settle();
  world.recorder.record(about("a"));
  world.recorder.record(about("b"));
  world.recorder.record(about("b"));
  world.recorder.record(about("b"));
  await world.end();
  deepStrictEqual(world.events().map(({ series }) => series?.count), [2, 3]);
  world.recorder.record(about("late"));
  strictEqual(world.recorder.dropped, 1);
});

Deno.test("E1 events: requests that hang delay no record, the queue is bounded, the end too", async () => {
  const world = start();
  world.server.weather = ({ signal }) => world.clock.sleep(30_000, { signal });
  for (let n = 0; n < QUEUE_MAX + 500; n++) world.recorder.record(about(`foo-${n}`));
  await world.clock.settle();
  strictEqual(world.recorder.dropped, 500);
  strictEqual(world.server.requests.length, 4);
  await world.end(); // within its limit
  strictEqual(world.recorder.dropped, QUEUE_MAX + 500);
  deepStrictEqual(world.records.map(({ level, message }) => [level, message]).slice(-1), [
    ["info", "Events were not sent before the end"],
  ]);
});

Deno.test("E1 events: failures that may go are tried again, within bounds, and told in one line", async () => {
  for (
    const error of [
      new ApiError("internal error", { status: 500, reason: "InternalError" }),
      new ApiError("slow down", { status: 429, reason: "TooManyRequests", retryAfterMs: 2000 }),
      new ConnectionError("connection refused"),
    ]
  ) {
    await using world = start();
    let failuresLeft = 3;
    world.server.weather = () => {
      if (failuresLeft-- > 0) throw error;
    };
    world.recorder.record(about("a"));
    await world.clock.advance(MINUTE_MS);
    strictEqual(world.events().length, 1);

    failuresLeft = 100;
    world.server.requests.length = 0;
    world.recorder.record(about("b"));
    await world.clock.advance(2 * MINUTE_MS);
    strictEqual(world.server.requests.length, 6);
    strictEqual(world.recorder.dropped, 1);
    const [warning, ...others] = world.records.filter(({ level }) => level !== "debug");
    deepStrictEqual(warning?.fields, { error: error.message, dropped: 1 });
    deepStrictEqual(others, []);
  }
});

Deno.test("E1 events: a hung request is cut, and the next try is not held to be a stranger's", async () => {
  await using world = start();
  let isFirst = true;
  const { create } = world.server.client;
  world.server.client.create = async (event, options) => {
    await create(event, options); // it got through …
    if (!isFirst) return;
    isFirst = false;
    await world.clock.sleep(Infinity, options); // … but the answer never comes
  };
  world.recorder.record(about("a"));
  await world.clock.advance(MINUTE_MS);
  strictEqual(world.server.stored.size, 1);
  strictEqual(world.recorder.dropped, 0);
  deepStrictEqual(world.server.requests, ["create", "create"]);
});

Deno.test("E1 events: a namespace that is going makes no noise and no retries", async () => {
  const causes = [{ reason: "NamespaceTerminating", message: "namespace ns is being terminated" }];
  for (
    const error of [
      new ApiError("forbidden", { status: 403, reason: "Forbidden", causes }),
      new ApiError('namespaces "ns" not found', { status: 404, reason: "NotFound" }),
    ]
  ) {
    await using world = start();
    world.server.weather = () => Promise.reject(error);
    for (let n = 0; n < 20; n++) world.recorder.record(about(`foo-${n}`));
    await world.clock.advance(MINUTE_MS);
    strictEqual(world.server.requests.length, 20);
    ok(world.records.every(({ level }) => level === "debug"));
    strictEqual(world.recorder.dropped, 20);
  }
});

Deno.test("E1 events: missing rights are told once a minute, in one line, and not retried", async () => {
  await using world = start();
  const error = new ApiError("events is forbidden", { status: 403, reason: "Forbidden" });
  world.server.weather = () => Promise.reject(error);
  for (let n = 0; n < 150; n++) {
    world.recorder.record(about("a"));
    await world.clock.advance(1000);
  }
  strictEqual(world.server.requests.length, 150);
  const warnings = world.records.filter(({ level }) => level === "warn");
  strictEqual(warnings.length, 3);
  deepStrictEqual(warnings[1]?.fields, { error: "events is forbidden", dropped: 61 });
});

Deno.test("EventRecorder takes another name when its own is taken", async () => {
  await using world = start();
  let hasName = true;
  world.server.weather = () => {
    if (!hasName) return;
    hasName = false;
    throw new ApiError("exists", { status: 409, reason: "AlreadyExists" });
  };
  world.recorder.record(about("a"));
  await world.clock.advance(2000);
  strictEqual(world.server.stored.size, 1);
});

Deno.test("EventRecorder remembers a bounded number of events, the latest, and loses no count", async () => {
  await using world = start();
  world.recorder.record(about("first"));
  world.recorder.record(about("first"));
  for (let n = 0; n < SERIES_MAX; n++) {
    world.recorder.record(about(`foo-${n}`));
    if (n % 500 === 0) await world.clock.settle();
  }
  await world.clock.settle();
  strictEqual(world.server.stored.size, SERIES_MAX + 1);
  const [oldest] = world.events();
  strictEqual(oldest?.series?.count, 2); // written when it was forgotten
  world.recorder.record(about("first"));
  await world.clock.settle();
  strictEqual(world.server.stored.size, SERIES_MAX + 2);
});

Deno.test("EventRecorder.record() never throws, whatever it is given", async () => {
  await using world = start();
  world.recorder.record(JSON.parse('{"type":"Normal"}'));
  strictEqual(world.recorder.dropped, 1);
  strictEqual(world.records[0]?.message, "Cannot record an event");
});

/** How the event recorder gets on with an API server that fails, hangs or refuses. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ApiError, ConnectionError } from "../../lib/core/errors.ts";
import { about, startRecorder } from "../support/event_world.ts";

const MINUTE_MS = 60_000;

Deno.test("EventRecorder creates an Event anew, with its count, when its patch finds none", async () => {
  await using world = startRecorder();
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

Deno.test("E1 events: failures that may go are tried again, within bounds, and told in one line", async () => {
  for (
    const error of [
      new ApiError("internal error", { status: 500, reason: "InternalError" }),
      new ApiError("slow down", { status: 429, reason: "TooManyRequests", retryAfterMs: 2000 }),
      new ConnectionError("connection refused"),
    ]
  ) {
    await using world = startRecorder();
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
  await using world = startRecorder();
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
    await using world = startRecorder();
    world.server.weather = () => Promise.reject(error);
    for (let n = 0; n < 20; n++) world.recorder.record(about(`foo-${n}`));
    await world.clock.advance(MINUTE_MS);
    strictEqual(world.server.requests.length, 20);
    ok(world.records.every(({ level }) => level === "debug"));
    strictEqual(world.recorder.dropped, 20);
  }
});

Deno.test("E1 events: missing rights are told once a minute, in one line, and not retried", async () => {
  await using world = startRecorder();
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

Deno.test("EventRecorder takes another name when a stranger has its own", async () => {
  await using world = startRecorder();
  const { create } = world.server.client;
  world.server.client.create = async (event, options) => {
    if (world.server.stored.size === 0) await create({ ...event, note: "a stranger's" }, options);
    await create(event, options);
  };
  world.recorder.record(about("a"));
  await world.clock.advance(2000);
  const notes = world.events().map(({ note }) => note);
  deepStrictEqual(notes, ["a stranger's", "Foo synced successfully"]);
});

Deno.test("EventRecorder has one request at a time for one event, however long it takes", async () => {
  await using world = startRecorder();
  let inFlight = 0;
  let inFlightMax = 0;
  world.server.weather = async ({ signal }) => {
    inFlightMax = Math.max(inFlightMax, ++inFlight);
    await world.clock.sleep(9000, { signal }).finally(() => inFlight -= 1);
    throw new ApiError("not yet", { status: 503, reason: "ServiceUnavailable" });
  };
  world.recorder.record(about("a"));
  world.recorder.record(about("a")); // due as soon as the first is stored
  await world.clock.advance(65_000); // past a look through the series
  deepStrictEqual([inFlight, inFlightMax], [1, 1]);
});

Deno.test("EventRecorder waits as long as the server asks it to", async () => {
  await using world = startRecorder();
  const retryAfterMs = 7000; // more than the delay of its own
  const error = { status: 429, reason: "TooManyRequests", retryAfterMs } as const;
  world.server.weather = () => Promise.reject(new ApiError("slow down", error));
  world.recorder.record(about("a"));
  await world.clock.advance(6999);
  strictEqual(world.server.requests.length, 1);
  await world.clock.advance(1);
  strictEqual(world.server.requests.length, 2);
});

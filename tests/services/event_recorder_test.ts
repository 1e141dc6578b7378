/** What is written of events and their repeats, and when. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { QUEUE_MAX, SERIES_MAX } from "../../lib/services/event_recorder.ts";
import { about, startRecorder } from "../support/event_world.ts";

const MINUTE_MS = 60_000;
const START = "2026-01-01T00:00:00.000000Z";

Deno.test("EventRecorder writes what happens first at once, without a series", async () => {
  await using world = startRecorder();
  world.recorder.record(about("a"));
  world.recorder.record(about("b"));
  await world.clock.settle();
  const event = { note: "Foo synced successfully", eventTime: START };
  deepStrictEqual(world.events(), [event, event]);
  ok([...world.server.stored.keys()].every((key) => /^ns\/[ab]\.[0-9a-f]{16}$/.test(key)));
});

Deno.test("EventRecorder counts repeats and writes them at most once in 30 min", async () => {
  await using world = startRecorder();
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
  await using world = startRecorder();
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

Deno.test("EventRecorder writes counts at the end, also of what was never written", async () => {
  const world = startRecorder();
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
  const world = startRecorder();
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

Deno.test("EventRecorder remembers a bounded number of events, the latest, and loses no count", async () => {
  await using world = startRecorder();
  const fill = async (prefix: string, count: number) => {
    for (let n = 0; n < count; n++) {
      world.recorder.record(about(`${prefix}-${n}`));
      if (n % 500 === 0) await world.clock.settle();
    }
    await world.clock.settle();
  };
  await fill("foo", SERIES_MAX);
  world.recorder.record(about("foo-0")); // counted, and now the latest
  await fill("bar", SERIES_MAX - 1);
  deepStrictEqual(world.events()[0]?.series, undefined);
  strictEqual(world.server.stored.size, 2 * SERIES_MAX - 1);
  await fill("last", 1); // foo-0 is forgotten, its count written
  strictEqual(world.events()[0]?.series?.count, 2);
  world.recorder.record(about("foo-0"));
  await world.clock.settle();
  strictEqual(world.server.stored.size, 2 * SERIES_MAX + 1);
  strictEqual(world.recorder.dropped, 0);
});

Deno.test("EventRecorder.record() never throws, whatever it is given", async () => {
  await using world = startRecorder();
  world.recorder.record(JSON.parse('{"type":"Normal"}'));
  strictEqual(world.recorder.dropped, 1);
  strictEqual(world.records[0]?.message, "Cannot record an event");
});

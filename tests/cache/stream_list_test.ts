/** Lists that come as a watch, and what happens where they don't. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { INITIAL_EVENTS_SILENCE_MS } from "../../lib/cache/initial_events.ts";
import { ConnectionError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import {
  added,
  asked,
  bookmark,
  errorEvent,
  failing,
  initialEventsEnd,
  listOf,
  modified,
  open,
  reflecting,
  refusal,
  silence,
  versionTooLarge,
} from "./scripted_source.ts";

const STREAM = { initialList: "stream" } as const;

Deno.test("reflect() streams the list and goes on with the same watch", async () => {
  const clock = new SimClock();
  const by: string[] = [];
  await using run = reflecting(clock, {
    stream: (call) =>
      open(clock, call, [added("a", 9), added("b", 10), initialEventsEnd(10), modified("a", 11)]),
  }, { ...STREAM, observer: { listed: (list) => void by.push(`${list.by} ${list.items}`) } });
  await clock.settle();
  deepStrictEqual(asked(run.calls), ["stream:"]);
  deepStrictEqual(run.changes, ["added a@9", "added b@10", "updated a@11"]);
  deepStrictEqual(by, ["stream 2"]);
  strictEqual(run.store.resourceVersion, "11");
});

Deno.test("reflect() shows nothing of a streamed list before it is whole", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async *stream(call, turn) {
      if (turn === 0) {
        yield* [added("a", 9), added("b", 10), initialEventsEnd(10), errorEvent(410)];
        return;
      }
      yield added("b", 10);
      await clock.sleep(10_000, call);
      yield added("c", 14);
      await clock.sleep(10_000, call);
      yield initialEventsEnd(15);
      yield* silence(clock, call);
    },
  }, STREAM);
  await clock.advance(20_000);
  deepStrictEqual(asked(run.calls), ["stream:", "stream:10"]);
  deepStrictEqual(run.store.keys(), ["default/a", "default/b"]);
  strictEqual(run.changes.length, 2);
  await clock.advance(10_000);
  deepStrictEqual(run.store.keys(), ["default/b", "default/c"]);
  deepStrictEqual(run.changes.slice(2), ["deleted a@9?", "added c@14"]);
});

Deno.test("W13 reflect() lists in pages within 30 s if the streamed list has no end", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list: () => listOf([["a", 9], ["b", 10], ["c", 11]], "11"),
    stream: (call) => open(clock, call, [added("a", 9), added("b", 10), bookmark(10)]),
  }, STREAM);
  await clock.advance(INITIAL_EVENTS_SILENCE_MS - 1);
  strictEqual(run.store.size, 0);
  await clock.advance(1);
  ok(clock.monotonicMs() < 30_000);
  deepStrictEqual(asked(run.calls).slice(0, 2), ["stream:", "list:0"]);
  strictEqual(run.store.size, 3);
  await clock.advance(1000);
  strictEqual(asked(run.calls)[2], "watch:11");
  strictEqual(run.health.failure, undefined);
  ok(run.records.some(({ level, message }) => level === "info" && message.includes("in pages")));
});

Deno.test("W13 reflect() counts the time without an object, not that of the whole streamed list", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async *stream(call) {
      for (let version = 1; version <= 8; version++) {
        await clock.sleep(INITIAL_EVENTS_SILENCE_MS - 1, call);
        yield added(`n${version}`, version);
      }
      yield initialEventsEnd(8);
      yield* silence(clock, call);
    },
  }, STREAM);
  await clock.advance(8 * INITIAL_EVENTS_SILENCE_MS);
  deepStrictEqual(asked(run.calls), ["stream:"]);
  strictEqual(run.store.size, 8);
});

Deno.test("W13 reflect() is not kept waiting by live changes in place of the list's end", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async *stream(call) {
      yield added("a", 1);
      for (let version = 2;; version++) {
        await clock.sleep(1000, call);
        yield version % 2 === 0 ? modified("a", version) : bookmark(version);
      }
    },
  }, STREAM);
  await clock.advance(INITIAL_EVENTS_SILENCE_MS);
  deepStrictEqual(asked(run.calls).slice(0, 2), ["stream:", "list:0"]);
});

Deno.test("W13 reflect() asks a server no more that refuses to stream, or stalls twice", async () => {
  const expired = [errorEvent(410)];
  for (const status of [400, 403, 405, 422, "stall"] as const) {
    const clock = new SimClock();
    await using run = reflecting(clock, {
      list: (_, turn) => listOf([["a", 10]], String(10 + turn)),
      stream: (call) => status === "stall" ? silence(clock, call) : failing(refusal(status)),
      watch: (call, turn) => open(clock, call, turn < 3 ? expired : []),
    }, STREAM);
    await clock.advance(120_000);
    const verbs = run.calls.map(({ verb }) => verb);
    strictEqual(verbs.filter((verb) => verb === "list").length, 4, String(status));
    strictEqual(verbs.filter((verb) => verb === "stream").length, status === "stall" ? 2 : 1);
    // A refusal costs no time.
    if (status !== "stall") strictEqual(run.calls[1]?.atMs, 0);
  }
});

Deno.test("reflect() reads pages once after a streamed list broke, then streams again", async () => {
  const clock = new SimClock();
  const cut = new ConnectionError("Connection reset");
  await using run = reflecting(clock, {
    stream: (call, turn) =>
      turn === 0
        ? failing(cut, [added("a", 9)])
        : open(clock, call, [added("a", 12), initialEventsEnd(12)]),
    watch: () => failing(refusal(410)),
  }, STREAM);
  await clock.advance(10_000);
  deepStrictEqual(asked(run.calls), ["stream:", "list:0", "watch:10", "stream:10"]);
  deepStrictEqual(run.changes, ["added a@10", "updated a@12"]);
});

Deno.test("W14 reflect() streams again after a refusal that asks for patience, when told to", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    stream: (call, turn) =>
      turn < 2
        ? failing(refusal(429, 7000))
        : open(clock, call, [added("a", 9), initialEventsEnd(9)]),
  }, STREAM);
  await clock.advance(60_000);
  deepStrictEqual(asked(run.calls), ["stream:", "stream:", "stream:"]);
  ok((run.calls[1]?.atMs ?? 0) >= 7000);
  strictEqual(run.health.failure, undefined);
});

Deno.test("W7 reflect() streams the latest state if the server can't reach the version it knows", async () => {
  for (const error of [versionTooLarge(), refusal(410)]) {
    const clock = new SimClock();
    await using run = reflecting(clock, {
      stream(call, turn) {
        if (turn === 0) {
          return open(clock, call, [added("a", 50), initialEventsEnd(60), errorEvent(410)]);
        }
        if (call.resourceVersion !== "") return failing(error);
        return open(clock, call, [added("a", 20), initialEventsEnd(30)]);
      },
    }, STREAM);
    await clock.advance(10_000);
    deepStrictEqual(asked(run.calls), ["stream:", "stream:60", "stream:"]);
    deepStrictEqual(run.changes, ["added a@50", "updated a@20"]);
  }
});

Deno.test("reflect() refuses a streamed list that is older than it asked for", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    stream(call, turn) {
      const events = [
        [added("a", 10), initialEventsEnd(10), errorEvent(410)],
        [initialEventsEnd(4)],
        [added("a", 10), initialEventsEnd(12)],
      ][turn];
      return open(clock, call, events);
    },
  }, STREAM);
  await clock.advance(10_000);
  deepStrictEqual(asked(run.calls), ["stream:", "stream:10", "stream:"]);
  deepStrictEqual(run.changes, ["added a@10"]);
});

Deno.test("W12 reflect() tells objects as deleted whose resource is gone, streaming or not", async () => {
  const clock = new SimClock();
  let isServed = true;
  await using run = reflecting(clock, {
    stream: (call) =>
      isServed
        ? open(clock, call, [added("a", 10), initialEventsEnd(10), errorEvent(410)])
        : failing(refusal(404)),
  }, STREAM);
  await clock.settle();
  isServed = false;
  await clock.advance(60_000);
  deepStrictEqual(run.changes, ["added a@10", "deleted a@10?"]);
  isServed = true;
  await clock.advance(31_000);
  strictEqual(run.store.size, 1);
});

Deno.test("W13 reflect() takes no streamed list whose end has no version, and lists in pages", async () => {
  const clock = new SimClock();
  const end = { type: "BOOKMARK", resourceVersion: "", initialEventsEnd: true } as const;
  await using run = reflecting(clock, {
    list: () => listOf([["a", 9]], "10"),
    stream: (call) => open(clock, call, [added("a", 9), end]),
  }, STREAM);
  await clock.advance(5000);
  deepStrictEqual(asked(run.calls), ["stream:", "list:", "watch:10"]);
  deepStrictEqual(run.changes, ["added a@9"]);
});

Deno.test("reflect() takes the first end of a streamed list for its end, and what follows for news", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    stream: (call) =>
      open(clock, call, [
        bookmark(3),
        added("a", 9),
        added("a", 9),
        added("b", 10),
        initialEventsEnd(10),
        initialEventsEnd(12),
        added("c", 11),
      ]),
  }, STREAM);
  await clock.settle();
  deepStrictEqual(run.changes, ["added a@9", "added b@10", "added c@11"]);
  strictEqual(run.store.resourceVersion, "12");
});

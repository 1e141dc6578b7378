/** The list that finds what no watch tells. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { RELIST_MS } from "../../lib/cache/reflector.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import {
  added,
  asked,
  bookmark,
  ending,
  initialEventsEnd,
  listOf,
  reflecting,
} from "./scripted_source.ts";
import type { WatchCall } from "../../lib/cache/reflector.ts";

/** A watch that lives as long as it is asked to, with a sign of life a minute. */
function wholeWatch(clock: SimClock) {
  return async function* ({ timeoutSeconds, resourceVersion, signal }: WatchCall) {
    const endMs = clock.monotonicMs() + timeoutSeconds * 1000;
    while (clock.monotonicMs() < endMs) {
      await clock.sleep(Math.min(60_000, endMs - clock.monotonicMs()), { signal });
      yield bookmark(Number(resourceVersion));
    }
  };
}

Deno.test("reflect() finds with a periodic list that versions went back, though its watch works", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list: (_, turn) =>
      turn === 0 ? listOf([["a", 50], ["b", 60]], "60") : listOf([["a", 20]], "30"),
    watch: wholeWatch(clock),
  });
  await clock.advance(RELIST_MS - 1);
  strictEqual(run.health.lists, 1);
  await clock.advance(RELIST_MS / 4 + 1);
  strictEqual(run.health.lists, 2);
  strictEqual(asked(run.calls).filter((call) => call === "list:").length, 1);
  deepStrictEqual(run.changes.slice(2), ["deleted b@60?", "updated a@20"]);
  strictEqual(asked(run.calls).at(-1), "watch:30");
  ok(run.records.some(({ message }) => message.startsWith("Versions on the server went back")));
});

Deno.test("reflect() tells nothing at a periodic list that finds nothing new, and spreads them", async () => {
  const clock = new SimClock();
  const reasons: string[] = [];
  await using run = reflecting(clock, { watch: wholeWatch(clock) }, {
    relistMs: 60_000,
    observer: { listed: ({ reason }) => void reasons.push(reason) },
  });
  await clock.advance(10 * 60_000);
  deepStrictEqual(run.changes, ["added a@10"]);
  ok(reasons.length >= 8 && reasons.length <= 11, reasons.join());
  deepStrictEqual([...new Set(reasons)], ["start", "periodic"]);
  const lists = run.calls.filter(({ verb }) => verb === "list").map(({ atMs }) => atMs);
  const between = lists.slice(1).map((atMs, at) => atMs - (lists[at] ?? 0));
  // To the second, since that is the unit of a watch's length.
  ok(between.every((ms) => ms >= 60_000 && ms <= 77_000), between.join());
  strictEqual(new Set(between).size > 1, true);
});

Deno.test("reflect() lists once if periodic lists are off", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, { watch: () => ending([bookmark(10)]) }, { relistMs: 0 });
  await clock.advance(10 * 60_000);
  strictEqual(run.health.lists, 1);
});

Deno.test("W13 reflect() gives a periodic list that is streamed the time of any watch", async () => {
  const clock = new SimClock();
  const by: string[] = [];
  await using run = reflecting(clock, {
    // A server that is as slow as any with many objects, and keeps to the time that it was given.
    async *stream({ timeoutSeconds, signal }) {
      const endMs = clock.monotonicMs() + timeoutSeconds * 1000;
      for (let n = 0; n < 10 && clock.monotonicMs() < endMs; n++) {
        await clock.sleep(Math.min(1500, endMs - clock.monotonicMs()), { signal });
        yield added(`o${n}`, 10 + n);
      }
      if (clock.monotonicMs() < endMs) yield initialEventsEnd(30);
      if (clock.monotonicMs() < endMs) await clock.sleep(endMs - clock.monotonicMs(), { signal });
    },
    list: () => listOf([], "30"),
    watch: wholeWatch(clock),
  }, {
    initialList: "stream",
    relistMs: 10 * 60_000,
    observer: { listed: (list) => void by.push(`${list.reason} ${list.by}`) },
  });
  await clock.advance(30 * 60_000);
  deepStrictEqual(by, ["start stream", "periodic stream", "periodic stream"]);
  strictEqual(run.store.size, 10);
});

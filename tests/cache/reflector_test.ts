import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { AssertionError, ConnectionError, ProtocolError } from "../../lib/core/errors.ts";
import { silentLogger } from "../../lib/core/log.ts";
import { reflect, WATCH_INACTIVITY_MS } from "../../lib/cache/reflector.ts";
import { Store } from "../../lib/cache/store.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import { type Thing, thing } from "./objects.ts";
import {
  asked,
  bookmark,
  ending,
  errorEvent,
  failing,
  gaps,
  listOf,
  modified,
  open,
  reflecting,
  refusal,
  scripted,
  silence,
  versionTooLarge,
} from "./scripted_source.ts";

Deno.test("reflect() lists from any state, then watches from the list's version", async () => {
  const clock = new SimClock();
  const deletion = { type: "DELETED", object: thing("a", { version: 12 }) } as const;
  await using run = reflecting(clock, {
    watch: (call) => open(clock, call, [modified("b", 11), deletion]),
  });
  await clock.settle();
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10"]);
  deepStrictEqual(run.changes, ["added a@10", "added b@11", "deleted a@12"]);
  deepStrictEqual(run.store.keys(), ["default/b"]);
  strictEqual(run.store.resourceVersion, "12");
});

Deno.test("reflect() asks for watches of 3 to 4 minutes, each another", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, { watch: () => ending([bookmark(10)]) });
  await clock.advance(60_000);
  const seconds = run.calls.flatMap(({ timeoutSeconds }) => timeoutSeconds ?? []);
  ok(seconds.every((value) => value >= 180 && value <= 240), seconds.join());
  ok(new Set(seconds).size > 20);
});

Deno.test("reflect() tells the first list even if it is empty, and later ones only if they differ", async () => {
  const clock = new SimClock();
  const { source } = scripted(clock, {
    list: () => listOf([], "10"),
    watch: (call, turn) => turn === 0 ? failing(refusal(410)) : open(clock, call),
  });
  const told: number[] = [];
  const stop = new AbortController();
  const running = reflect(source, new Store<Thing>(), {
    name: "things",
    clock,
    random: seededRandom(1),
    log: silentLogger,
    onChange: (changes) => void told.push(changes.length),
    signal: stop.signal,
  });
  await clock.advance(10_000);
  deepStrictEqual(told, [0]);
  stop.abort();
  await running;
});

Deno.test("W1 reflect() replaces a watch gone silent, from the last version and without a list", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    watch: (call, turn) =>
      open(clock, call, turn === 0 ? [modified("a", 11)] : [modified("a", 12)]),
  });
  await clock.advance(WATCH_INACTIVITY_MS - 1);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10"]);
  // What readiness and a metric show meanwhile: nothing heard since the event.
  strictEqual(run.health.lastSignOfLifeMs, 0);
  await clock.advance(1);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "watch:11"]);
  strictEqual(run.store.find("default/a")?.metadata.resourceVersion, "12");
  strictEqual(run.health.lastSignOfLifeMs, WATCH_INACTIVITY_MS);
});

Deno.test("W1 reflect() also ends a watch that dies after some bookmarks, counted from the last", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async *watch(call) {
      for (const version of [11, 12]) {
        await clock.sleep(60_000, call);
        yield bookmark(version);
      }
      yield* silence(clock, call);
    },
  });
  await clock.advance(120_000 + WATCH_INACTIVITY_MS);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "watch:12"]);
});

Deno.test("W2 reflect() ends a watch that the server does not end in time, however busy it is", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async *watch(call) {
      for (let version = 11;; version++) {
        await clock.sleep(1000, call);
        yield bookmark(version);
      }
    },
  });
  await clock.advance(251_000);
  const [first, second, ...more] = run.calls.filter(({ verb }) => verb === "watch");
  const limitMs = (first?.timeoutSeconds ?? 0) * 1000 + 10_000;
  strictEqual(second?.atMs, limitMs);
  // All that came before the limit; the event of the same instant is on the next watch.
  strictEqual(second.resourceVersion, String(10 + limitMs / 1000 - 1));
  deepStrictEqual(more, []);
  strictEqual(run.health.failure, undefined);
});

Deno.test("W3 reflect() keeps one watch while events flow", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async *watch(call) {
      for (let version = 11;; version++) {
        await clock.sleep(10_000, call);
        yield modified("a", version);
      }
    },
  });
  await clock.advance(120_000);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10"]);
  strictEqual(run.changes.length, 13);
});

Deno.test("W5 reflect() goes easy on a server that closes every watch at once", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, { watch: () => ending() });
  await clock.advance(10_000);
  ok(run.calls.length <= 6, `${run.calls.length} requests in 10 s`);
  strictEqual(run.calls.filter(({ verb }) => verb === "list").length, 1);
});

Deno.test("W5 reflect() starts watches a second apart even if each brings something", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, { watch: (_, turn) => ending([modified("a", 11 + turn)]) });
  await clock.advance(10_000);
  const watches = run.calls.filter(({ verb }) => verb === "watch");
  deepStrictEqual(gaps(watches), Array.from({ length: 10 }, () => 1000));
});

Deno.test("W5 reflect() is one loop for a store, ever", async () => {
  const clock = new SimClock();
  const { source, calls } = scripted(clock, {});
  const store = new Store<Thing>();
  const stop = new AbortController();
  const options = {
    name: "things",
    clock,
    random: seededRandom(1),
    log: silentLogger,
    onChange: () => {},
    signal: stop.signal,
  };
  const running = reflect(source, store, options);
  await rejects(reflect(source, store, options), AssertionError);
  await clock.settle();
  strictEqual(calls.length, 2);
  stop.abort();
  await running;
  await rejects(reflect(source, store, options), AssertionError);
});

Deno.test("W7 reflect() lists again on a 410 of either shape, and tells what is gone", async () => {
  for (const shape of ["status", "event"]) {
    const clock = new SimClock();
    await using run = reflecting(clock, {
      list: (_, turn) =>
        turn === 0 ? listOf([["a", 9], ["b", 10]], "10") : listOf([["a", 9], ["c", 14]], "15"),
      watch(call, turn) {
        if (turn > 0) return open(clock, call);
        return shape === "status" ? failing(refusal(410)) : open(clock, call, [errorEvent(410)]);
      },
    });
    await clock.advance(5000);
    deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "list:10", "watch:15"], shape);
    deepStrictEqual(run.changes.slice(2), ["deleted b@10?", "added c@14"]);
  }
});

Deno.test("W7 reflect() lists less and less often if the new version is expired as well", async () => {
  const clock = new SimClock();
  const reasons: string[] = [];
  await using run = reflecting(clock, {
    watch: (call, turn) => open(clock, call, turn < 3 ? [errorEvent(410)] : []),
  }, { observer: { listed: ({ reason }) => void reasons.push(reason) } });
  await clock.advance(30_000);
  const lists = run.calls.filter(({ verb }) => verb === "list");
  const [first = 0, second = 0, third = 0] = gaps(lists);
  ok(first >= 800 && second > first && third > second, gaps(lists).join());
  deepStrictEqual(reasons, ["start", "expired", "expired", "expired"]);
});

Deno.test("W7 reflect() keeps its version on other ERROR events, and waits before it goes on", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    watch: (call, turn) =>
      open(clock, call, turn === 0 ? [modified("a", 11), errorEvent(500)] : []),
  });
  await clock.advance(10_000);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "watch:11"]);
  ok((gaps(run.calls)[1] ?? 0) >= 1000);
});

Deno.test("W7 reflect() moves its version with bookmarks, so a quiet kind does not expire", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    watch: (_, turn) => turn === 0 ? ending([bookmark(500)]) : ending([bookmark(900)]),
  });
  await clock.advance(1000);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "watch:500"]);
  deepStrictEqual(run.changes, ["added a@10"]);
});

Deno.test("W10 reflect() goes on from the last whole line when the connection is cut inside one", async () => {
  const clock = new SimClock();
  const cut = new ConnectionError("The stream ended inside a line");
  await using run = reflecting(clock, {
    watch: (call, turn) =>
      turn === 0 ? failing(cut, [modified("a", 11)]) : open(clock, call, [modified("a", 12)]),
  });
  await clock.advance(1000);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "watch:11"]);
  deepStrictEqual(run.changes, ["added a@10", "updated a@11", "updated a@12"]);
});

Deno.test("W10 reflect() lists again after a line that is no event, and counts it", async () => {
  for (const error of [new ProtocolError("not JSON"), new SyntaxError("Unexpected token")]) {
    const clock = new SimClock();
    const reasons: string[] = [];
    await using run = reflecting(clock, {
      list: (_, turn) => listOf([["a", 10 + turn]], String(10 + turn)),
      watch: (call, turn) => turn === 0 ? failing(error) : open(clock, call),
    }, { observer: { listed: ({ reason }) => void reasons.push(reason) } });
    await clock.advance(5000);
    deepStrictEqual(reasons, ["start", "unparsable"]);
    deepStrictEqual(run.changes, ["added a@10", "updated a@11"]);
  }
});

Deno.test("reflect() refuses a list older than it asked for, until the latest state is known", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list: (_, turn) =>
      [listOf([["a", 10]], "10"), listOf([], "4"), listOf([["a", 10]], "12")][turn] ??
        listOf([], "99"),
    watch: (call, turn) => turn === 0 ? failing(refusal(410)) : open(clock, call),
  });
  await clock.advance(10_000);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:10", "list:10", "list:", "watch:12"]);
  deepStrictEqual(run.changes, ["added a@10"]); // Never told that `a` was gone.
  ok((gaps(run.calls)[2] ?? 0) >= 800);
  ok(run.records.some(({ level, fields }) => level === "warn" && fields.verb === "list"));
});

Deno.test("reflect() takes the latest state of a server that was restored, though it is older", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list(call, turn) {
      if (turn === 0) return listOf([["a", 50], ["b", 60]], "60");
      if (call.resourceVersion !== undefined) throw versionTooLarge();
      return listOf([["a", 20]], "30");
    },
    watch: (call, turn) => turn === 0 ? failing(versionTooLarge()) : open(clock, call),
  });
  await clock.advance(10_000);
  deepStrictEqual(asked(run.calls), ["list:0", "watch:60", "list:60", "list:", "watch:30"]);
  deepStrictEqual(run.changes.slice(2), ["deleted b@60?", "updated a@20"]);
  ok(run.records.some(({ message }) => message.startsWith("Versions on the server went back")));
});

Deno.test("reflect() throws what its reader throws, instead of trying the connection again", async () => {
  const clock = new SimClock();
  const { source, calls } = scripted(clock, {
    watch: (call) => open(clock, call, [modified("a", 11)]),
  });
  const broken = new Error("broken reader");
  await rejects(
    reflect(source, new Store<Thing>(), {
      name: "things",
      clock,
      random: seededRandom(1),
      log: silentLogger,
      onChange([change]) {
        if (change?.type === "updated") throw broken;
      },
      signal: new AbortController().signal,
    }),
    (error) => error === broken,
  );
  deepStrictEqual(asked(calls), ["list:0", "watch:10"]);
  strictEqual(clock.pendingTimers, 0);
});

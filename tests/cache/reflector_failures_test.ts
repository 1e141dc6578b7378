import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ApiError, ConnectionError } from "../../lib/core/errors.ts";
import { UNSERVED_AFTER_MS } from "../../lib/cache/reflector.ts";
import { needsLatest, RETRY_AFTER_MAX_MS, retryAfterOf } from "../../lib/cache/recovery.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
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
  silence,
  versionTooLarge,
} from "./scripted_source.ts";

Deno.test("W4 reflect() fails alone: other kinds go on, and it recovers within 30 s", async () => {
  const clock = new SimClock();
  const downUntilMs = 300_000;
  await using broken = reflecting(clock, {
    watch: (call) => clock.monotonicMs() < downUntilMs ? failing(refusal(503)) : open(clock, call),
  }, { name: "deployments.apps" });
  await using fine = reflecting(clock, {
    async *watch(call) {
      for (let version = Number(call.resourceVersion) + 1;; version++) {
        await clock.sleep(10_000, call);
        yield modified("a", version);
      }
    },
  }, { seed: 2 });
  await clock.advance(downUntilMs - 1);
  ok(fine.changes.length >= 28, `${fine.changes.length} changes`);
  deepStrictEqual(broken.health.failure?.verb, "watch");
  strictEqual(broken.health.failure?.sinceMs, 0);
  await clock.advance(30_001);
  const attempts = broken.calls.filter(({ atMs }) => atMs >= downUntilMs);
  strictEqual(attempts.length, 1);
  await clock.advance(5000);
  strictEqual(broken.health.failure, undefined);
});

Deno.test("W4 reflect() keeps its delay after a watch that broke again soon, not after a stable one", async () => {
  const clock = new SimClock();
  const broken = new ConnectionError("Connection refused");
  let upForMs = 0;
  await using run = reflecting(clock, {
    async *watch(call) {
      if (upForMs > 0) {
        yield bookmark(11);
        await clock.sleep(upForMs, call);
        upForMs = 0;
      }
      throw broken;
    },
  });
  const delayAfter = async (ms: number): Promise<number> => {
    upForMs = ms;
    const before = run.calls.length;
    // The watch that works, the one that follows at once, and the one after the delay.
    await clock.runUntil(() => run.calls.length === before + 3, { limitMs: 200_000 });
    return gaps(run.calls.slice(-2))[0] ?? 0;
  };
  await clock.advance(60_000);
  ok(await delayAfter(10_000) >= 20_000, "10 s of work are no recovery");
  ok(await delayAfter(30_000) < 1300, "30 s of work are one");
});

Deno.test("W7 reflect() lists soon after an outage that made its version expire, and calls it no warning", async () => {
  const clock = new SimClock();
  const downUntilMs = 60_000;
  await using run = reflecting(clock, {
    watch(call) {
      if (clock.monotonicMs() < downUntilMs) {
        return failing(new ConnectionError("Connection refused"));
      }
      return call.resourceVersion === "10" ? failing(refusal(410)) : open(clock, call);
    },
    list: (_, turn) => listOf([], String(10 + turn)),
  });
  await clock.runUntil(() => run.health.lists === 2, { limitMs: downUntilMs + 31_500 });
  ok((gaps(run.calls.slice(-3))[0] ?? 0) <= 1200, gaps(run.calls).join());
  const told = run.records.filter(({ level }) => level !== "debug");
  deepStrictEqual(told.map(({ level }) => level), ["warn", "info"]);
});

Deno.test("W6 reflect() outlives every failure of a list, serving the old state meanwhile", async () => {
  const clock = new SimClock();
  const unparsable = new SyntaxError("Unexpected end of JSON input");
  const failures: unknown[] = [
    ...Array.from({ length: 5 }, () => new ConnectionError("Connection refused")),
    refusal(500),
    unparsable,
    "not even an error",
  ];
  await using run = reflecting(clock, {
    list(_, turn) {
      if (turn === 0) return listOf([["a", 9], ["b", 10]], "10");
      if (turn <= failures.length) throw failures[turn - 1];
      return listOf([["a", 9]], "20");
    },
    watch: (call, turn) => turn === 0 ? failing(refusal(410)) : open(clock, call),
  });
  await clock.runUntil(() => run.calls.length === 2 + failures.length, { limitMs: 200_000 });
  deepStrictEqual(run.store.keys(), ["default/a", "default/b"]);
  strictEqual(run.health.failure?.verb, "list");
  await clock.advance(60_000);
  deepStrictEqual(run.store.keys(), ["default/a"]);
  deepStrictEqual(run.changes.slice(2), ["deleted b@10?"]);
  strictEqual(run.health.failure, undefined);
  ok(run.records.some(({ level, message }) => level === "info" && message === "Can list again"));
  const delays = gaps(run.calls.slice(2));
  ok(delays.every((ms) => ms <= 30_000), delays.join());
});

Deno.test("reflect() outlives sources that throw before they return, and lists without a version", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list: (_, turn) => turn === 0 ? listOf([], "") : listOf([], "10"),
    watch(call, turn) {
      if (turn === 0) throw new Error("thrown before any promise");
      return open(clock, call);
    },
  });
  await clock.advance(10_000);
  deepStrictEqual(asked(run.calls), ["list:0", "list:0", "watch:10", "watch:10"]);
});

Deno.test("reflect() gives up a list that never answers, and tries again", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    async list({ signal }, turn) {
      if (turn === 0) await clock.sleep(Infinity, { signal });
      return listOf([], "10");
    },
  });
  await clock.advance(5 * 60_000 + 2000);
  deepStrictEqual(asked(run.calls), ["list:0", "list:0", "watch:10"]);
});

Deno.test("W11 reflect() says once, as an error, what it has no right to watch", async () => {
  const clock = new SimClock();
  let isGranted = false;
  await using run = reflecting(clock, {
    watch: (call) => isGranted ? open(clock, call) : failing(refusal(403)),
  }, { name: "foos.samplecontroller.k8s.io" });
  await clock.advance(4 * 60_000);
  const told = run.records.filter(({ level }) => level !== "debug");
  deepStrictEqual(told.map(({ level, message }) => [level, message]), [["error", "Cannot watch"]]);
  const { resource, verb, status } = told[0]?.fields ?? {};
  deepStrictEqual([resource, verb, status], ["foos.samplecontroller.k8s.io", "watch", 403]);
  // Readiness can name it, though the list has worked.
  strictEqual(run.health.failure?.verb, "watch");
  strictEqual(run.store.size, 1);
  ok(Math.max(...gaps(run.calls)) <= 30_000);

  await clock.advance(2 * 60_000); // Told again after five minutes.
  strictEqual(run.records.filter(({ level }) => level === "error").length, 2);
  isGranted = true;
  await clock.advance(35_000);
  strictEqual(run.health.failure, undefined);
  deepStrictEqual(run.records.at(-1)?.message, "Can watch again");
});

Deno.test("W11 reflect() tells 401, 404 and 405 as errors too, and what passes as a warning", async () => {
  for (const [status, level] of [[401, "error"], [404, "error"], [405, "error"], [500, "warn"]]) {
    const clock = new SimClock();
    await using run = reflecting(clock, {
      list() {
        throw refusal(Number(status));
      },
    });
    await clock.advance(60_000);
    const told = run.records.filter(({ level }) => level !== "debug");
    deepStrictEqual(told.map(({ level }) => level), [level]);
  }
});

Deno.test("W12 reflect() waits calmly for a CRD, and survives that it goes and comes back", async () => {
  const clock = new SimClock();
  let isServed = false;
  let version = 10;
  await using run = reflecting(clock, {
    list() {
      if (!isServed) throw refusal(404);
      return listOf([["a", version]], String(version));
    },
    async *watch(call) {
      if (!isServed) throw refusal(404);
      yield bookmark(version);
      while (isServed) await clock.sleep(1000, call);
    },
  });
  await clock.advance(60_000);
  ok(run.calls.length <= 8, `${run.calls.length} requests in 60 s`);
  strictEqual(run.records.filter(({ level }) => level !== "debug").length, 1);
  isServed = true;
  await clock.advance(30_000);
  deepStrictEqual(run.changes, ["added a@10"]);

  isServed = false; // No DELETED event reaches us: the connection went with it.
  await clock.advance(UNSERVED_AFTER_MS);
  strictEqual(run.store.size, 1, "an API server that starts may answer 404 for a while");
  await clock.advance(60_000);
  deepStrictEqual(run.changes.slice(1), ["deleted a@10?"]);

  isServed = true;
  version = 90;
  await clock.advance(30_000);
  deepStrictEqual(run.changes.slice(2), ["added a@90"]);
});

Deno.test("W12 reflect() does not take a server that is coming up for a deleted CRD", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list(_, turn) {
      if (turn === 0) return listOf([["a", 10]], "10");
      throw refusal(turn % 3 === 0 ? 503 : 404);
    },
    watch: () => failing(refusal(404)),
  });
  await clock.advance(10 * 60_000);
  deepStrictEqual(run.changes, ["added a@10"]);
});

Deno.test("W14 reflect() waits as long as an overloaded server asks, then watches, without a list", async () => {
  for (const shape of ["status", "event"]) {
    const clock = new SimClock();
    await using run = reflecting(clock, {
      watch(call, turn) {
        if (turn >= 3) return open(clock, call);
        if (shape === "status") return failing(refusal(429, 3000));
        return open(clock, call, [errorEvent(429, { retryAfterSeconds: 3 })]);
      },
    });
    await clock.advance(30_000);
    deepStrictEqual(asked(run.calls), ["list:0", ...Array.from({ length: 4 }, () => "watch:10")]);
    const waits = gaps(run.calls.slice(1));
    ok(waits.every((ms) => ms >= 3000 && ms < 8000), `${shape}: ${waits.join()}`);
  }
});

Deno.test("W14 reflect() follows Retry-After of a list too, and keeps asking for the same state", async () => {
  const clock = new SimClock();
  await using run = reflecting(clock, {
    list(_, turn) {
      if (turn < 2) throw refusal(503, 5000);
      return listOf([], "10");
    },
    watch: (call) => silence(clock, call),
  });
  await clock.advance(20_000);
  deepStrictEqual(asked(run.calls), ["list:0", "list:0", "list:0", "watch:10"]);
  ok(gaps(run.calls).slice(0, 2).every((ms) => ms >= 5000));
});

Deno.test("reflect() asks for the latest state when the one it knows is expired or ahead", async () => {
  for (const error of [refusal(410), versionTooLarge(), refusal(400)]) {
    const clock = new SimClock();
    await using run = reflecting(clock, {
      list(call, turn) {
        if (turn > 0 && call.resourceVersion !== undefined) throw error;
        return listOf([["a", 10]], "10");
      },
      watch: (call, turn) => turn === 0 ? failing(refusal(410)) : open(clock, call),
    });
    await clock.advance(10_000);
    deepStrictEqual(asked(run.calls).slice(2), ["list:10", "list:", "watch:10"]);
  }
});

Deno.test("needsLatest() holds only for failures that say something about the version", () => {
  const causes = [{ reason: "ResourceVersionTooLarge" }];
  strictEqual(needsLatest(new ApiError("x", { status: 504, reason: "Timeout", causes })), true);
  strictEqual(needsLatest(new ApiError("x", { status: 504, reason: "Timeout" })), false);
  for (const status of [401, 403, 404, 429, 500, 503]) {
    strictEqual(needsLatest(refusal(status)), false);
  }
});

Deno.test("retryAfterOf() follows no proxy into an hour of blindness", () => {
  strictEqual(retryAfterOf(refusal(503, 3_600_000)), RETRY_AFTER_MAX_MS);
  strictEqual(retryAfterOf(refusal(503)), 0);
  strictEqual(retryAfterOf(new Error("no answer")), 0);
});

Deno.test("reflect() tells its observer what it does", async () => {
  const clock = new SimClock();
  const told: string[] = [];
  await using run = reflecting(clock, {
    watch: (call, turn) =>
      [ending([bookmark(11)]), failing(refusal(500)), open(clock, call)][turn] ?? ending(),
  }, {
    observer: {
      listed: ({ reason, items, changes }) => told.push(`listed ${reason} ${items} ${changes}`),
      watchStarted: ({ resourceVersion }) => told.push(`started ${resourceVersion}`),
      watchWorked: () => told.push("worked"),
      watchEnded: ({ end, events }) => told.push(`${end} after ${events}`),
      failed: ({ verb }) => told.push(`failed ${verb}`),
    },
  });
  await clock.advance(20_000);
  deepStrictEqual(told, [
    ...["listed start 1 1", "started 10", "worked", "ended after 1"],
    ...["started 11", "failed after 0", "failed watch"],
    ...["started 11", "worked"],
  ]);
  deepStrictEqual([run.health.lists, run.health.watches], [1, 3]);
});

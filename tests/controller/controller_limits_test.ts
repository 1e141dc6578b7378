/** What a controller does with reconciles that hang, misbehave or are running when it stops. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  type Reconciler,
  type ReconcileResult,
  requeueAfter,
  SETTLED,
} from "../../lib/controller/controller.ts";
import { settles, startController } from "../support/running_controller.ts";

Deno.test("Q1 controller: throws before the first await, wrong answers and the like free the key", async () => {
  const broken: Reconciler[] = [
    () => {
      throw new Error("at once");
    },
    () => Promise.reject(undefined),
    () => Promise.resolve(JSON.parse("null")), // what an untyped caller may answer
    () => Promise.resolve(JSON.parse('{"type":"done"}')),
    () => Promise.resolve({ type: "requeue", afterMs: NaN }),
    () => Promise.reject(new TypeError("x is undefined")),
  ];
  for (const reconcile of broken) {
    const seen: string[] = [];
    await using world = startController((request, context) => {
      seen.push(request.name);
      return request.name === "a" && seen.length === 1
        ? reconcile(request, context)
        : Promise.resolve(SETTLED);
    });
    world.queue.add("default/a");
    await world.clock.settle();
    deepStrictEqual(world.queue.running(), []);
    world.queue.add("default/b");
    await world.clock.advance(5);
    deepStrictEqual(seen, ["a", "b", "a"]);
    strictEqual(world.queue.failures("default/a"), 0);
  }
});

Deno.test("Q1 controller: a hung reconcile is cut at its deadline; its key and worker are free", async () => {
  const seen: string[] = [];
  let signal: AbortSignal | undefined;
  await using world = startController((request, context) => {
    seen.push(request.name);
    signal ??= context.signal;
    return seen.length === 1 ? new Promise(() => {}) : Promise.resolve(SETTLED);
  }, { deadlineMs: 60_000 });
  world.queue.add("default/a");
  await world.clock.advance(59_999);
  world.queue.add("default/a"); // changed meanwhile
  world.queue.add("default/b");
  strictEqual(signal?.aborted, false);
  await world.clock.advance(1);
  strictEqual(signal?.reason.name, "DeadlineError");
  deepStrictEqual(seen, ["a"]); // it has a moment to unwind
  await world.clock.advance(2000);
  deepStrictEqual(seen.slice(0, 3), ["a", "b", "a"]);
  const failure = world.records.find(({ message }) => message === "Reconcile failed");
  strictEqual(failure?.fields.reason, "deadline");
  ok(world.records.some(({ message }) => message.includes("abandoned")));
});

Deno.test("Q1 controller: a hung reconcile blocks no other worker", async () => {
  const seen: string[] = [];
  await using world = startController(({ name }) => {
    seen.push(name);
    return name === "a" ? new Promise(() => {}) : Promise.resolve(SETTLED);
  }, { workers: 2 });
  for (const key of ["default/a", "default/b", "default/c"]) world.queue.add(key);
  await world.clock.settle();
  deepStrictEqual(seen, ["a", "b", "c"]);
});

Deno.test("Controller cuts a reconcile that heeds its signal, and says so once it ended", async () => {
  await using world = startController(async (_request, { signal }) => {
    await world.clock.sleep(Infinity, { signal });
    return SETTLED;
  }, { deadlineMs: 1000 });
  world.queue.add("default/a");
  await world.clock.advance(1000);
  const failure = world.records.find(({ message }) => message === "Reconcile failed");
  deepStrictEqual([failure?.fields.reason, failure?.fields.retryAfterMs], ["deadline", 5]);
  ok(!world.records.some(({ message }) => message.includes("abandoned")));
});

Deno.test("Q3 controller: a stop lets running reconciles end and starts no other", async () => {
  const seen: string[] = [];
  const world = startController(async ({ name }, { signal }) => {
    await world.clock.sleep(2000, { signal });
    seen.push(name);
    return SETTLED;
  });
  world.queue.add("default/a");
  world.queue.add("default/b");
  world.queue.addAfter("default/c", 60_000);
  await world.clock.advance(500);
  world.stop.abort();
  await world.clock.advance(1499);
  strictEqual(world.hasEnded(), false);
  await world.clock.advance(1);
  strictEqual(world.hasEnded(), true);
  await world.running;
  deepStrictEqual(seen, ["a"]);
  strictEqual(world.clock.pendingTimers, 0);
});

Deno.test("Q3 controller: idle workers and waiting keys hold up no stop", async () => {
  const world = startController(settles, { workers: 4 });
  for (let n = 0; n < 100; n++) world.queue.addAfter(`default/${n}`, 60_000);
  await world.clock.settle();
  world.stop.abort();
  await world.running; // no time passes
  strictEqual(world.clock.pendingTimers, 0);
});

Deno.test("Q3 controller: a key that is handed over as the stop comes is not started", async () => {
  let calls = 0;
  const world = startController(() => {
    calls += 1;
    return settles();
  });
  await world.clock.settle(); // the worker waits
  world.queue.add("default/a");
  world.stop.abort();
  await world.running;
  strictEqual(calls, 0);
  deepStrictEqual(world.queue.running(), []);
});

Deno.test("Q3 controller: after the grace period the signal aborts, and then nothing is waited for", async () => {
  const reasons: unknown[] = [];
  const world = startController(({ name }, { signal }) => {
    signal.addEventListener("abort", () => reasons.push(signal.reason));
    return name === "a"
      ? new Promise(() => {}) // heeds nothing
      : world.clock.sleep(Infinity, { signal }).then(() => SETTLED);
  }, { workers: 2, gracePeriodMs: 10_000 });
  world.queue.add("default/a");
  world.queue.add("default/b");
  await world.clock.settle();
  const reason = new Error("SIGTERM");
  world.stop.abort(reason);
  await world.clock.advance(9999);
  deepStrictEqual(reasons, []);
  await world.clock.advance(1);
  deepStrictEqual(reasons, [reason, reason]);
  strictEqual(world.hasEnded(), false);
  await world.clock.advance(2000);
  strictEqual(world.hasEnded(), true);
  await world.running;
  strictEqual(world.clock.pendingTimers, 0);
  strictEqual(world.records.filter(({ message }) => message.includes("by the stop")).length, 2);
});

Deno.test("Controller tells when abandoned work ends after all", async () => {
  const late = Promise.withResolvers<ReconcileResult>();
  await using world = startController(() => late.promise, { deadlineMs: 100 });
  world.queue.add("default/a");
  await world.clock.advance(2100);
  late.reject(new Error("much later"));
  await world.clock.settle();
  const told = world.records.find(({ message }) => message.startsWith("Abandoned reconcile ended"));
  strictEqual(told?.fields.error, "much later");
});

Deno.test("Controller gives each run its own signal, which ends with it, and its own id", async () => {
  const contexts: { signal: AbortSignal; reconcileId: string }[] = [];
  await using world = startController((_request, context) => {
    context.log.info("Looked");
    contexts.push(context);
    return Promise.resolve(SETTLED);
  });
  world.queue.add("default/a");
  await world.clock.settle();
  world.queue.add("default/a");
  await world.clock.settle();
  deepStrictEqual(contexts.map(({ reconcileId }) => reconcileId), ["id-1", "id-2"]);
  ok(contexts.every(({ signal }) => signal.aborted));
  deepStrictEqual(world.records.find(({ message }) => message === "Looked")?.fields, {
    controller: "foo",
    namespace: "default",
    name: "a",
    reconcileID: "id-1",
  });
});

Deno.test("Controller lets the event loop turn, however fast keys come back", async () => {
  let calls = 0;
  await using world = startController(() => {
    calls += 1;
    // The end is only there so that the test fails, and does not hang, where nothing turns.
    return Promise.resolve(calls < 10_000 ? requeueAfter(0) : SETTLED);
  }, { workers: 2 });
  // Enough keys that none of them alone looks like a loop.
  for (let n = 0; n < 20; n++) world.queue.add(`default/${n}`);
  await world.clock.settle();
  strictEqual(calls, 100);
  await world.clock.advance(1);
  strictEqual(calls, 200);
  world.stop.abort();
  await world.running; // also a hot loop is stopped at once
});

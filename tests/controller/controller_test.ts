import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import {
  Controller,
  type ControllerObserver,
  requeueAfter,
  SETTLED,
  TerminalError,
} from "../../lib/controller/controller.ts";
import { Workqueue } from "../../lib/controller/workqueue.ts";
import { ApiError, DeadlineError } from "../../lib/core/errors.ts";
import { defaultRateLimiter } from "../../lib/core/rate_limiter.ts";
import { latch } from "../../lib/core/tasks.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import {
  fails,
  scriptedReconciler,
  settles,
  startController,
} from "../support/running_controller.ts";

Deno.test("S5 controller: nothing is reconciled before every cache and handler has synced", async () => {
  const foos = latch();
  const deployments = latch();
  const seen: string[] = [];
  await using world = startController(scriptedReconciler([settles], seen), {
    waitFor: [
      { name: "foos", synced: foos.wait },
      { name: "deployments", synced: deployments.wait },
    ],
  });
  world.queue.add("default/a");
  foos.open();
  await world.clock.advance(40_000);
  deepStrictEqual(seen, []);
  const warning = world.records.find(({ level }) => level === "warn");
  deepStrictEqual(warning?.fields.caches, ["deployments"]);
  deployments.open();
  await world.clock.settle();
  deepStrictEqual(seen, ["default/a"]);
  strictEqual(world.records.filter(({ level }) => level === "warn").length, 1);
});

Deno.test("Controller.run() fails with the name of a cache that can't sync, and can be repeated", async () => {
  const clock = new SimClock();
  const rateLimiter = defaultRateLimiter<string>({ clock, random: () => 0 });
  const queue = new Workqueue<string>({ name: "foo", clock, rateLimiter });
  const { signal } = new AbortController();
  const waits = { name: "b", synced: latch().wait };
  const broken = { name: "a", synced: () => Promise.reject(new Error("no such kind")) };
  const controller = new Controller({
    name: "foo",
    reconcile: settles,
    queue,
    waitFor: [broken, waits],
    clock,
    uuid: () => "id",
    log: recordingLogger().log,
  });
  await rejects(controller.run({ signal }), { message: 'Task "cache 1: a" failed' });
  strictEqual(queue.isShutDown, false);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("S5 controller: a cache that is deaf to its signal holds up neither the deadline nor the stop", async () => {
  for (const syncDeadlineMs of [5000, Infinity]) {
    const deaf = { name: "deaf", synced: () => Promise.withResolvers<void>().promise };
    const world = startController(settles, { waitFor: [deaf], syncDeadlineMs });
    const ending = world.running.catch((error) => error);
    await world.clock.advance(syncDeadlineMs < Infinity ? syncDeadlineMs : 5000);
    world.stop.abort();
    await world.clock.settle();
    ok(world.hasEnded());
    strictEqual(await ending instanceof DeadlineError, syncDeadlineMs < Infinity);
  }
});

Deno.test("Controller.run() ends when stopped while it waits for caches", async () => {
  const world = startController(settles, { waitFor: [{ name: "a", synced: latch().wait }] });
  world.stop.abort();
  await world.running;
  strictEqual(world.queue.isShutDown, true);
  strictEqual(world.clock.pendingTimers, 0);
});

Deno.test("Controller retries what throws, later each time, and forgets on success", async () => {
  const seen: string[] = [];
  const error = new Error("Cannot write", { cause: new Error("quota exceeded") });
  await using world = startController(
    scriptedReconciler([fails(error), fails(error), fails(error), settles], seen),
  );
  world.queue.add("default/a");
  await world.clock.advance(4);
  strictEqual(seen.length, 1);
  await world.clock.advance(1 + 10);
  strictEqual(seen.length, 3);
  strictEqual(world.queue.failures("default/a"), 3);
  await world.clock.advance(20);
  strictEqual(seen.length, 4);
  strictEqual(world.queue.failures("default/a"), 0);
  await world.clock.advance(3_600_000);
  strictEqual(seen.length, 4);
  deepStrictEqual(
    world.records.filter(({ level }) => level === "error").map((r) => r.fields),
    [
      [1, 5],
      [2, 10],
      [3, 20],
    ].map(([failures, retryAfterMs], index) => ({
      controller: "foo",
      namespace: "default",
      name: "a",
      reconcileID: `id-${index + 1}`,
      reason: "error",
      error: "Cannot write: quota exceeded",
      failures,
      retryAfterMs,
      durationMs: 0,
      ...(index === 0 ? {} : { reasons: "retry foo" }),
    })),
  );
});

Deno.test("Q4 controller: a change is reconciled at once, however long the retry would wait", async () => {
  const seen: string[] = [];
  await using world = startController(
    scriptedReconciler([fails(new Error("quota exceeded"))], seen),
  );
  world.queue.add("default/a");
  await world.clock.advance(25_000); // twelve failures, next retry at 40 s
  strictEqual(seen.length, 13);
  world.queue.forget("default/a");
  world.queue.add("default/a");
  await world.clock.advance(0);
  strictEqual(seen.length, 14);
  await world.clock.advance(5); // and the delays start anew
  strictEqual(seen.length, 15);
});

Deno.test("Controller does not retry a TerminalError, nor one that is wrapped", async () => {
  const seen: string[] = [];
  const terminal = new TerminalError("Cannot use the spec: replicas is negative");
  const wrapped = new Error("Cannot reconcile", { cause: terminal });
  await using world = startController(
    scriptedReconciler([fails(new Error("x")), fails(terminal), fails(wrapped)], seen),
  );
  world.queue.add("default/a");
  await world.clock.advance(3_600_000);
  strictEqual(seen.length, 2);
  strictEqual(world.queue.failures("default/a"), 0);
  world.queue.add("default/a"); // a change is worth a look
  await world.clock.advance(3_600_000);
  strictEqual(seen.length, 3);
});

Deno.test("Controller looks again after the delay of a requeue, failures forgotten", async () => {
  const seen: string[] = [];
  const again = () => Promise.resolve(requeueAfter(30_000));
  await using world = startController(
    scriptedReconciler([fails(new Error("x")), again, settles], seen),
  );
  world.queue.add("node-1");
  await world.clock.advance(5);
  strictEqual(world.queue.failures("node-1"), 0);
  await world.clock.advance(29_999);
  deepStrictEqual(seen, ["/node-1", "/node-1"]);
  await world.clock.advance(1);
  strictEqual(seen.length, 3);
});

Deno.test("Q2 controller: a change during a reconcile leads to another one", async () => {
  const seen: number[] = [];
  let generation = 1;
  await using world = startController(async (_request, { signal }) => {
    seen.push(generation);
    await world.clock.sleep(1000, { signal });
    return SETTLED;
  }, { workers: 3 });
  world.queue.add("default/a");
  await world.clock.advance(500);
  generation = 2; // spec changed …
  world.queue.add("default/a");
  world.queue.add("default/a"); // … and our own status write came back
  await world.clock.advance(5000);
  deepStrictEqual(seen, [1, 2]);
});

Deno.test("Controller logs a conflict as ordinary, and no stack above debug", async () => {
  const conflict = new ApiError("the object has been modified", {
    status: 409,
    reason: "Conflict",
  });
  await using world = startController(
    scriptedReconciler([fails(conflict), fails(new Error("broken")), settles]),
  );
  world.queue.add("default/a");
  await world.clock.advance(100);
  const levels = world.records.filter(({ message }) => /conflict|failed/.test(message));
  deepStrictEqual(levels.map(({ level }) => level), ["info", "error"]);
  const stacks = world.records.filter(({ fields }) => JSON.stringify(fields).includes("_test.ts"));
  strictEqual(stacks.length, 2);
  ok(stacks.every(({ level }) => level === "debug"));
});

Deno.test("Controller tells its observer what the metrics count, also when it throws", async () => {
  const events: string[] = [];
  const observer: ControllerObserver = {
    started: ({ controller, workers }) => events.push(`${controller} ${workers}`),
    reconcileStarted: ({ key }) => events.push(`start ${key}`),
    reconcileEnded({ outcome, durationMs }) {
      events.push(`${outcome.type === "failed" ? outcome.reason : outcome.type} ${durationMs}`);
      throw new Error("metrics broken");
    },
  };
  await using world = startController(
    scriptedReconciler([
      fails(new Error("x")),
      fails(new TypeError("x")),
      () => world.clock.sleep(7, world.stop).then(() => requeueAfter(1000)),
      fails(new TerminalError("x")),
      settles,
    ]),
    { observer, workers: 2 },
  );
  world.queue.add("default/a");
  await world.clock.advance(2000);
  world.queue.add("default/a");
  await world.clock.settle();
  deepStrictEqual(events.filter((event) => !event.startsWith("start")), [
    "foo 2",
    "error 0",
    "panic 0",
    "requeue 7",
    "terminal 0",
    "settled 0",
  ]);
  strictEqual(events.filter((event) => event === "start default/a").length, 5);
});

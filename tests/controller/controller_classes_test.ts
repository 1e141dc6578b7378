/** What errors stand for, what a reconcile is told of its reasons, and how long caches are waited for. */
import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import {
  type ControllerObserver,
  IgnorableError,
  type ReconcileContext,
  requeueAfter,
  RequeueError,
  SETTLED,
  TerminalError,
} from "../../lib/controller/controller.ts";
import { classifyError, isTerminal } from "../../lib/controller/reconciler.ts";
import { STUCK_AFTER_MS } from "../../lib/controller/stuck_keys.ts";
import { SYNC_DEADLINE_MS } from "../../lib/controller/sync.ts";
import { AssertionError, DeadlineError } from "../../lib/core/errors.ts";
import { latch } from "../../lib/core/tasks.ts";
import {
  fails,
  scriptedReconciler,
  settles,
  startController,
} from "../support/running_controller.ts";

const wrapped = (cause: unknown) => new Error("Cannot reconcile", { cause });

Deno.test("classifyError() takes the first class from the outside in, and survives a cycle", () => {
  const ignorable = new IgnorableError("the namespace goes");
  const terminal = new TerminalError("bad spec", { cause: ignorable });
  const requeue = new RequeueError("waiting", { afterMs: 5, cause: terminal });
  deepStrictEqual(
    [ignorable, terminal, requeue, wrapped(requeue), wrapped(wrapped(terminal)), "text", undefined]
      .map((error) => classifyError(error).type),
    ["settled", "terminal", "requeue", "requeue", "terminal", "failed", "failed"],
  );
  deepStrictEqual([isTerminal(wrapped(terminal)), isTerminal(requeue)], [true, false]);
  const cycle = new Error("a");
  cycle.cause = wrapped(cycle);
  strictEqual(classifyError(cycle).type, "failed");
  throws(() => new RequeueError("waiting", { afterMs: NaN }), AssertionError);
});

Deno.test("Controller waits as a RequeueError asks, also a wrapped one, and forgets failures", async () => {
  const seen: string[] = [];
  const waits = new RequeueError("Waiting for Secret a/b", { afterMs: 5000 });
  const outcomes: string[] = [];
  await using world = startController(
    scriptedReconciler([fails(new Error("x")), fails(wrapped(waits)), settles], seen),
    { observer: observerOf(outcomes) },
  );
  world.queue.add("default/a", { priority: "low" });
  await world.clock.advance(5);
  strictEqual(world.queue.failures("default/a"), 0);
  await world.clock.advance(4999);
  strictEqual(seen.length, 2);
  await world.clock.advance(1);
  strictEqual(seen.length, 3);
  deepStrictEqual(outcomes, ["failed", "requeue", "settled"]);
  const line = world.records.find(({ level, message }) =>
    level === "info" && message === "Reconciled"
  );
  strictEqual(line?.fields.error, "Cannot reconcile: Waiting for Secret a/b");
});

Deno.test("Controller settles on an IgnorableError, and says so only at debug", async () => {
  const seen: string[] = [];
  const outcomes: string[] = [];
  await using world = startController(
    scriptedReconciler([fails(wrapped(new IgnorableError("the namespace goes")))], seen),
    { observer: observerOf(outcomes) },
  );
  world.queue.add("default/a");
  await world.clock.advance(3_600_000);
  deepStrictEqual([seen.length, outcomes, world.queue.failures("default/a")], [1, ["settled"], 0]);
  const lines = world.records.filter(({ fields }) =>
    JSON.stringify(fields).includes("namespace go")
  );
  deepStrictEqual(lines.map(({ level }) => level), ["debug"]);
});

Deno.test("Controller tells a reconcile why it runs, and keeps the priority of a key that it retries", async () => {
  const contexts: Pick<ReconcileContext, "priority" | "reasons">[] = [];
  await using world = startController((_request, { reasons, priority }) => {
    contexts.push({ reasons, priority });
    return contexts.length === 1 ? Promise.reject(new Error("x")) : Promise.resolve(SETTLED);
  });
  world.queue.add("default/a", { priority: "low", reason: { type: "initial", source: "foos" } });
  await world.clock.advance(5);
  world.queue.add("default/a", { reason: { type: "updated", source: "deployments" } });
  await world.clock.settle();
  deepStrictEqual(contexts, [
    { priority: "low", reasons: [{ type: "initial", source: "foos" }] },
    { priority: "low", reasons: [{ type: "retry", source: "foo" }] },
    { priority: "normal", reasons: [{ type: "updated", source: "deployments" }] },
  ]);
  ok(contexts.every(({ reasons }) => Object.isFrozen(reasons)));
  const lines = world.records.filter(({ message }) => message === "Reconciled");
  deepStrictEqual(lines.map(({ fields }) => fields.reasons), ["retry foo", "updated deployments"]);
});

Deno.test("Controller keeps the priority of a key that it looks at again, and says why", async () => {
  const contexts: Pick<ReconcileContext, "priority" | "reasons">[] = [];
  await using world = startController((_request, { reasons, priority }) => {
    contexts.push({ reasons, priority });
    return Promise.resolve(contexts.length < 3 ? requeueAfter(60_000) : SETTLED);
  });
  world.queue.add("default/a", { priority: "low" });
  await world.clock.advance(120_000);
  const again = { priority: "low", reasons: [{ type: "requeue", source: "foo" }] };
  deepStrictEqual(contexts, [{ priority: "low", reasons: [] }, again, again]);
});

Deno.test("S5 controller: caches that don't sync in time are named, and the run can be repeated", async () => {
  const foos = latch();
  const world = startController(settles, {
    waitFor: [
      { name: "foos", synced: foos.wait },
      { name: "deployments", synced: latch().wait },
    ],
    syncDeadlineMs: SYNC_DEADLINE_MS,
  });
  foos.open();
  await world.clock.advance(SYNC_DEADLINE_MS - 1);
  strictEqual(world.hasEnded(), false);
  const failed = rejects(world.running, (error) => {
    ok(error instanceof DeadlineError);
    strictEqual(
      error.message,
      "Deadline passed: waiting for caches (deployments) took longer than 120000 ms",
    );
    return true;
  });
  await world.clock.advance(1);
  await failed;
  strictEqual(world.queue.isShutDown, false);
  strictEqual(world.clock.pendingTimers, 0);
});

Deno.test("Q1 controller: a reconcile that runs very long is told of before its deadline", async () => {
  const stuck: unknown[] = [];
  await using world = startController(
    (_request, { signal }) => world.clock.sleep(Infinity, { signal }).then(() => SETTLED),
    { observer: { ...observerOf([]), keyStuck: (event) => stuck.push(event) } },
  );
  world.queue.add("default/a");
  await world.clock.advance(STUCK_AFTER_MS * 1.5);
  deepStrictEqual(stuck, [{ controller: "foo", key: "default/a", forMs: STUCK_AFTER_MS * 1.25 }]);
  strictEqual(world.records.filter(({ message }) => message.includes("stuck")).length, 1);
});

Deno.test("Controller ends when somebody else shuts its queue down", async () => {
  const world = startController(settles, { workers: 3 });
  await world.clock.settle();
  world.queue.shutDown();
  await world.running;
  strictEqual(world.clock.pendingTimers, 0);
});

function observerOf(outcomes: string[]): ControllerObserver {
  return {
    started() {},
    reconcileStarted() {},
    reconcileEnded: ({ outcome }) => void outcomes.push(outcome.type),
  };
}

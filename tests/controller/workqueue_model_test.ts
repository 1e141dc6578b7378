/**
 * The queue against a model made of two sets and some tables, under any sequence of calls and time.
 *
 * The model says for each call what must be handed out, in which order, and the invariants are
 * checked after each step. It is the contract in its plainest form: no heap, no timer, no promise.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { PASSES_MAX, type Priority } from "../../lib/controller/ready_keys.ts";
import { type Reason, type WorkItem, Workqueue } from "../../lib/controller/workqueue.ts";
import { ExponentialRateLimiter } from "../../lib/core/rate_limiter.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

const { signal } = new AbortController();
const BACKOFF = { baseMs: 5, maxMs: 300, jitter: 0, random: () => 0 };

interface Need {
  priority: Priority;
  /** Sources of the reasons, in order. */
  sources: Set<string>;
}

interface Model {
  nowMs: number;
  /** Namespaces in the order of their turns, each with its keys. */
  ready: Record<Priority, { group: string; keys: string[] }[]>;
  passes: number;
  dirty: Map<string, Need>;
  processing: Set<string>;
  /** Due times, in order of arrival. */
  delayed: Map<string, Need & { atMs: number }>;
  retrying: Set<string>;
  failures: Map<string, number>;
  isShutDown: boolean;
}

interface Real {
  clock: SimClock;
  queue: Workqueue<string>;
  held: Map<string, WorkItem<string>>;
  released: WorkItem<string>[];
}

type Command = fc.AsyncCommand<Model, Real>;

function makeReady(model: Model, key: string, priority: Priority): void {
  const group = key.includes("/") ? key.replace(/\/.*/, "") : "";
  const turn = model.ready[priority].find((turn) => turn.group === group);
  if (turn === undefined) model.ready[priority].push({ group, keys: [key] });
  else turn.keys.push(key);
}

function readyKeys(model: Model, priority?: Priority): string[] {
  const lanes = priority === undefined
    ? [...model.ready.normal, ...model.ready.low]
    : model.ready[priority];
  return lanes.flatMap(({ keys }) => keys);
}

/** Takes `key` out of the lane of `low`. True if it was there. */
function leaveLow(model: Model, key: string): boolean {
  const turn = model.ready.low.find(({ keys }) => keys.includes(key));
  if (turn === undefined) return false;
  turn.keys.splice(turn.keys.indexOf(key), 1);
  model.ready.low = model.ready.low.filter(({ keys }) => keys.length > 0);
  return true;
}

function shift(model: Model): string | undefined {
  const isLow = model.ready.normal.length === 0 ||
    (model.ready.low.length > 0 && model.passes >= PASSES_MAX);
  model.passes = isLow || model.ready.low.length === 0 ? 0 : model.passes + 1;
  const lane = isLow ? model.ready.low : model.ready.normal;
  const turn = lane.shift();
  const key = turn?.keys.shift();
  if (turn !== undefined && turn.keys.length > 0) lane.push(turn);
  return key;
}

/** What `add` means in sets; the whole contract. */
function add(model: Model, key: string, { priority, sources }: Need): void {
  if (model.isShutDown) return;
  const need = model.dirty.get(key);
  if (need === undefined) {
    model.dirty.set(key, { priority, sources: new Set(sources) });
    if (!model.processing.has(key)) makeReady(model, key, priority);
    return;
  }
  for (const source of sources) need.sources.add(source);
  if (priority === "low" || need.priority === "normal") return;
  need.priority = "normal";
  if (leaveLow(model, key)) makeReady(model, key, "normal");
}

function addAfter(model: Model, key: string, ms: number, { priority, sources }: Need): void {
  if (model.isShutDown) return;
  if (ms <= 0) return add(model, key, { priority, sources });
  const before = model.delayed.get(key) ?? { atMs: Infinity, priority, sources: [] };
  model.delayed.set(key, {
    atMs: Math.min(model.nowMs + ms, before.atMs),
    priority: priority === "normal" ? priority : before.priority,
    sources: new Set([...before.sources, ...sources]),
  });
}

function compare(model: Model, { queue, clock }: Real): void {
  const ready = readyKeys(model);
  ok(ready.every((key) => model.dirty.has(key)), "ready is part of dirty");
  ok(ready.every((key) => !model.processing.has(key)), "no ready key is in processing");
  strictEqual(queue.depth, model.dirty.size);
  for (const priority of ["normal", "low"] as const) {
    const keys = [...model.dirty].filter(([, need]) => need.priority === priority);
    strictEqual(queue.depthOf(priority), keys.length);
  }
  strictEqual(queue.delayed, model.delayed.size);
  strictEqual(clock.pendingTimers, model.delayed.size > 0 ? 1 : 0);
  deepStrictEqual(queue.running().map(({ key }) => key), [...model.processing]);
}

/** A command that always may run, made of what it does to the model and to the queue. */
function command(name: string, run: (model: Model, real: Real) => Promise<void> | void): Command {
  return {
    check: () => true,
    async run(model, real) {
      await run(model, real);
      compare(model, real);
    },
    toString: () => name,
  };
}

const key = fc.constantFrom("x/a", "x/b", "x/c", "y/a", "y/b", "node");
const how = fc.record({
  priority: fc.constantFrom<Priority>("normal", "low", "low"),
  source: fc.constantFrom("foos", "deployments"),
});

function options({ priority, source }: { priority: Priority; source: string }) {
  const reason: Reason = { type: "updated", source };
  return { priority, reason };
}

const commands: fc.Arbitrary<Command>[] = [
  fc.tuple(key, how).map(([key, how]) =>
    command(`add(${key}, ${how.priority} ${how.source})`, (model, { queue }) => {
      add(model, key, { priority: how.priority, sources: new Set([how.source]) });
      queue.add(key, options(how));
    })
  ),
  fc.tuple(key, fc.integer({ min: -5, max: 200 }), how).map(([key, ms, how]) =>
    command(`addAfter(${key}, ${ms}, ${how.priority} ${how.source})`, (model, { queue }) => {
      addAfter(model, key, ms, { priority: how.priority, sources: new Set([how.source]) });
      queue.addAfter(key, ms, options(how));
    })
  ),
  key.map((key) =>
    command(`addRateLimited(${key})`, (model, { queue }) => {
      const isQueued = model.dirty.has(key) && !model.processing.has(key);
      if (!model.isShutDown && !isQueued && !model.retrying.has(key)) {
        const failures = model.failures.get(key) ?? 0;
        model.failures.set(key, failures + 1);
        model.retrying.add(key);
        const delayMs = Math.min(BACKOFF.maxMs, BACKOFF.baseMs * 2 ** failures);
        addAfter(model, key, delayMs, { priority: "normal", sources: new Set() });
      }
      const expectedMs = model.isShutDown
        ? Infinity
        : isQueued
        ? 0
        : (model.delayed.get(key)?.atMs ?? NaN) - model.nowMs;
      strictEqual(queue.addRateLimited(key), expectedMs);
      strictEqual(queue.failures(key), model.failures.get(key) ?? 0);
    })
  ),
  key.map((key) =>
    command(`forget(${key})`, (model, { queue }) => {
      model.failures.delete(key);
      model.retrying.delete(key);
      queue.forget(key);
      strictEqual(queue.failures(key), 0);
    })
  ),
  fc.integer({ min: 1, max: 250 }).map((ms) =>
    command(`advance(${ms})`, async (model, { clock }) => {
      model.nowMs += ms;
      const due = [...model.delayed].filter(([, { atMs }]) => atMs <= model.nowMs)
        .sort(([, a], [, b]) => a.atMs - b.atMs); // stable: equal times stay in order of arrival
      for (const [key, need] of due) {
        model.delayed.delete(key);
        model.retrying.delete(key);
        add(model, key, need);
      }
      await clock.advance(ms);
    })
  ),
  fc.constant(
    command("take()", async (model, { queue, held }) => {
      if (!model.isShutDown && readyKeys(model).length === 0) return; // would wait
      const expected = model.isShutDown ? undefined : shift(model);
      const item = await queue.take({ signal });
      strictEqual(item?.key, expected);
      if (item === undefined) return;
      strictEqual(model.processing.has(item.key), false);
      const need = model.dirty.get(item.key);
      strictEqual(item.priority, need?.priority);
      deepStrictEqual(item.reasons.map(({ source }) => source), [...need?.sources ?? []]);
      model.dirty.delete(item.key);
      model.processing.add(item.key);
      held.set(item.key, item);
    }),
  ),
  key.map((key) =>
    command(`release(${key})`, (model, { held, released }) => {
      const item = held.get(key);
      if (item === undefined) return;
      held.delete(key);
      model.processing.delete(key);
      const need = model.dirty.get(key);
      if (need !== undefined) makeReady(model, key, need.priority);
      item[Symbol.dispose]();
      released.push(item);
    })
  ),
  fc.constant(
    command("release again", (_model, { released }) => {
      for (const item of released) item[Symbol.dispose]();
    }),
  ),
];

const shutDown = command("shutDown()", (model, { queue }) => {
  model.isShutDown = true;
  model.ready = { normal: [], low: [] };
  model.dirty.clear();
  model.delayed.clear();
  model.retrying.clear();
  queue.shutDown();
});

Deno.test("Workqueue does what two sets say, whatever is called in whatever order", async () => {
  // Shutting down is rare, or most runs would test a dead queue.
  const weighted = fc.oneof(
    { weight: 30, arbitrary: fc.oneof(...commands) },
    { weight: 1, arbitrary: fc.constant(shutDown) },
  );
  await fc.assert(
    fc.asyncProperty(fc.commands([weighted], { maxCommands: 120, size: "+1" }), async (steps) => {
      await fc.asyncModelRun(() => {
        const clock = new SimClock();
        const rateLimiter = new ExponentialRateLimiter<string>(BACKOFF);
        const queue = new Workqueue<string>({ name: "model", clock, rateLimiter });
        const model: Model = {
          nowMs: 0,
          ready: { normal: [], low: [] },
          passes: 0,
          dirty: new Map(),
          processing: new Set(),
          delayed: new Map(),
          retrying: new Set(),
          failures: new Map(),
          isShutDown: false,
        };
        return { model, real: { clock, queue, held: new Map(), released: [] } };
      }, steps);
    }),
    { numRuns: 300 },
  );
});

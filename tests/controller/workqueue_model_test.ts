/**
 * The queue against a model made of two sets and two tables, under any sequence of calls and time.
 *
 * The model says for each call what must be handed out, in which order, and the invariants are
 * checked after each step. It is the contract in its plainest form: no heap, no timer, no promise.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type WorkItem, Workqueue } from "../../lib/controller/workqueue.ts";
import { ExponentialRateLimiter } from "../../lib/core/rate_limiter.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

const { signal } = new AbortController();
const BACKOFF = { baseMs: 5, maxMs: 300, jitter: 0, random: () => 0 };

interface Model {
  nowMs: number;
  ready: string[];
  dirty: Set<string>;
  processing: Set<string>;
  /** Due times, in order of arrival. */
  delayed: Map<string, number>;
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

/** What `add` means in sets; the whole contract. */
function add(model: Model, key: string): void {
  if (model.isShutDown || model.dirty.has(key)) return;
  model.dirty.add(key);
  if (!model.processing.has(key)) model.ready.push(key);
}

function addAfter(model: Model, key: string, ms: number): void {
  if (model.isShutDown) return;
  if (ms <= 0) return add(model, key);
  model.delayed.set(key, Math.min(model.nowMs + ms, model.delayed.get(key) ?? Infinity));
}

function compare(model: Model, { queue, clock }: Real): void {
  ok(model.ready.every((key) => model.dirty.has(key)), "ready is part of dirty");
  ok(model.ready.every((key) => !model.processing.has(key)), "no ready key is in processing");
  strictEqual(queue.depth, model.dirty.size);
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

const key = fc.constantFrom("a", "b", "c", "d");

const commands: fc.Arbitrary<Command>[] = [
  key.map((key) =>
    command(`add(${key})`, (model, { queue }) => {
      add(model, key);
      queue.add(key);
    })
  ),
  fc.tuple(key, fc.integer({ min: -5, max: 200 })).map(([key, ms]) =>
    command(`addAfter(${key}, ${ms})`, (model, { queue }) => {
      addAfter(model, key, ms);
      queue.addAfter(key, ms);
    })
  ),
  key.map((key) =>
    command(`addRateLimited(${key})`, (model, { queue }) => {
      const isQueued = model.dirty.has(key) && !model.processing.has(key);
      if (!model.isShutDown && !isQueued && !model.retrying.has(key)) {
        const failures = model.failures.get(key) ?? 0;
        model.failures.set(key, failures + 1);
        model.retrying.add(key);
        addAfter(model, key, Math.min(BACKOFF.maxMs, BACKOFF.baseMs * 2 ** failures));
      }
      const expectedMs = model.isShutDown
        ? Infinity
        : isQueued
        ? 0
        : (model.delayed.get(key) ?? NaN) - model.nowMs;
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
      const due = [...model.delayed].filter(([, atMs]) => atMs <= model.nowMs)
        .sort(([, a], [, b]) => a - b); // stable: equal times stay in order of arrival
      for (const [key] of due) {
        model.delayed.delete(key);
        model.retrying.delete(key);
        add(model, key);
      }
      await clock.advance(ms);
    })
  ),
  fc.constant(
    command("take()", async (model, { queue, held }) => {
      if (!model.isShutDown && model.ready.length === 0) return; // would wait
      const expected = model.isShutDown ? undefined : model.ready.shift();
      const item = await queue.take({ signal });
      strictEqual(item?.key, expected);
      if (item === undefined) return;
      strictEqual(model.processing.has(item.key), false);
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
      if (model.dirty.has(key)) model.ready.push(key);
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
  model.ready = [];
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
          ready: [],
          dirty: new Set(),
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

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { AssertionError } from "../../lib/core/errors.ts";
import type { KubeObject } from "../../lib/core/objects.ts";
import {
  type ChangeHandler,
  SharedInformer,
  type SharedInformerOptions,
} from "../../lib/cache/shared_informer.ts";
import type { StoreChange } from "../../lib/cache/store.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { type Thing, thing } from "./objects.ts";
import {
  failing,
  listOf,
  modified,
  open,
  refusal,
  type Script,
  scripted,
  summary,
} from "./scripted_source.ts";

/** An informer at work on a script; leaving the scope stops it. */
function informing(
  clock: SimClock,
  script: Script,
  options: Partial<SharedInformerOptions<Thing>> = {},
) {
  const { log, records } = recordingLogger();
  const { source, calls } = scripted(clock, script);
  const informer = new SharedInformer<Thing>({
    name: "things.example.com",
    source,
    clock,
    random: seededRandom(1),
    log,
    ...options,
  });
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  return {
    informer,
    records,
    calls,
    start() {
      running = informer.run(stop);
    },
    async [Symbol.asyncDispose]() {
      stop.abort("the test is over");
      await running;
      strictEqual(clock.pendingTimers, 0);
    },
  };
}

/** A handler that keeps what it was told. */
function keeping(): ChangeHandler<Thing> & { readonly told: string[] } {
  const told: string[] = [];
  return {
    told,
    onChange(change) {
      const initial = change.type === "added" && change.initial ? " initially" : "";
      told.push(summary(change) + initial);
    },
  };
}

const { signal } = new AbortController();

Deno.test("SharedInformer tells all handlers of all changes, after the lister has them", async () => {
  const clock = new SimClock();
  const deletion = { type: "DELETED", object: thing("a", { version: 12 }) } as const;
  await using run = informing(clock, {
    watch: (call) => open(clock, call, [modified("a", 11), deletion]),
  });
  const [first, second] = [keeping(), keeping()];
  const seen: (string | undefined)[] = [];
  const looking: ChangeHandler<Thing> = {
    onChange: () => void seen.push(run.informer.lister.find("default/a")?.metadata.resourceVersion),
  };
  for (const handler of [first, looking, second]) run.informer.addHandler(handler, { name: "x" });
  strictEqual(run.calls.length, 0);
  run.start();
  await clock.settle();
  deepStrictEqual(first.told, ["added a@10 initially", "updated a@11", "deleted a@12"]);
  deepStrictEqual(second.told, first.told);
  deepStrictEqual(seen, ["10", "11", undefined]);
});

Deno.test("SharedInformer hands over old and new object, both frozen, the new one from the lister", async () => {
  const clock = new SimClock();
  await using run = informing(clock, { watch: (call) => open(clock, call, [modified("a", 11)]) });
  const changes: StoreChange<Thing>[] = [];
  const handler = { onChange: (change: StoreChange<Thing>) => void changes.push(change) };
  run.informer.addHandler(handler, { name: "x" });
  run.start();
  await clock.settle();
  const [added, updated] = changes;
  ok(added?.type === "added" && updated?.type === "updated");
  strictEqual(updated.previous, added.object);
  strictEqual(updated.object, run.informer.lister.find("default/a"));
  ok(Object.isFrozen(updated.object.metadata) && Object.isFrozen(updated.previous.metadata));
});

Deno.test("S2 SharedInformer isolates a handler that throws, logs and counts it", async () => {
  const clock = new SimClock();
  const failures: string[] = [];
  await using run = informing(clock, {
    list: () => listOf([["a", 8], ["b", 9], ["c", 10]], "10"),
    watch: (call) => open(clock, call, [modified("a", 11)]),
  }, { observer: { handlerFailed: ({ handler }) => void failures.push(handler) } });
  const broken = run.informer.addHandler({
    onChange() {
      throw new Error("broken handler");
    },
  }, { name: "broken" });
  const fine = keeping();
  run.informer.addHandler(fine, { name: "fine" });
  run.start();
  await clock.settle();
  strictEqual(fine.told.length, 4);
  strictEqual(broken.failures, 4);
  strictEqual(broken.hasSynced, true);
  deepStrictEqual(failures, Array.from({ length: 4 }, () => "broken"));
  // Once for the list and once for the event: 10,000 objects must not mean 10,000 lines.
  const told = run.records.filter(({ level }) => level === "error");
  deepStrictEqual(told.map(({ fields }) => [fields.handler, fields.object, fields.error]), [
    ["broken", "default/a", "broken handler"],
    ["broken", "default/a", "broken handler"],
  ]);
});

Deno.test("S2 SharedInformer counts the rejection of a handler that is async by mistake", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {});
  const broken = run.informer.addHandler({
    onChange: async () => await Promise.reject(new Error("late")),
  }, { name: "broken" });
  run.start();
  await clock.settle();
  strictEqual(broken.failures, 1);
});

Deno.test("S2 SharedInformer tells deletions it only inferred, with the last known state", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {
    list: (_, turn) => turn === 0 ? listOf([["a", 9], ["x", 10]], "10") : listOf([["a", 9]], "20"),
    watch: (call, turn) => turn === 0 ? failing(refusal(410)) : open(clock, call),
  });
  const handler = keeping();
  run.informer.addHandler(handler, { name: "x" });
  run.start();
  await clock.advance(10_000);
  deepStrictEqual(handler.told.slice(2), ["deleted x@10?"]);
});

Deno.test("S5 SharedInformer has synced when its handlers were told the first list", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {
    async list({ signal }) {
      await clock.sleep(5000, { signal });
      return listOf([], "10");
    },
  });
  const registration = run.informer.addHandler(keeping(), { name: "x" });
  run.start();
  let isSynced = 0;
  const waits = [run.informer.synced({ signal }), registration.synced({ signal })]
    .map((wait) => wait.then(() => isSynced++));
  await clock.advance(4999);
  deepStrictEqual([isSynced, run.informer.hasSynced, registration.hasSynced], [0, false, false]);
  await clock.advance(1);
  deepStrictEqual([isSynced, run.informer.hasSynced, registration.hasSynced], [2, true, true]);
  await Promise.all(waits);
});

Deno.test("S5 SharedInformer.synced() rejects with the signal's reason while it waits", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {});
  const stop = new AbortController();
  const registration = run.informer.addHandler(keeping(), { name: "x" });
  const refused = rejects(registration.synced(stop), (reason) => reason === "too slow");
  stop.abort("too slow");
  await refused;
  strictEqual(run.informer.hasSynced, false);
});

Deno.test("S5 SharedInformer.addHandler() tells a late handler the state, then only changes", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {
    list: () => listOf([["a", 9], ["b", 10]], "10"),
    async *watch(call) {
      await clock.sleep(60_000, call);
      yield modified("b", 11);
      yield* open(clock, call);
    },
  });
  run.start();
  await clock.advance(30_000);
  const late = keeping();
  const registration = run.informer.addHandler(late, { name: "late" });
  deepStrictEqual(late.told, ["added a@9 initially", "added b@10 initially"]);
  strictEqual(registration.hasSynced, true);
  await clock.advance(30_000);
  deepStrictEqual(late.told.slice(2), ["updated b@11"]);
});

Deno.test("S5 SharedInformer.addHandler() inside a handler misses and repeats nothing", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {
    list: () => listOf([["a", 9], ["b", 10]], "10"),
    watch: (call) => open(clock, call, [modified("a", 11)]),
  });
  const inner = keeping();
  let isAdded = false;
  run.informer.addHandler({
    onChange() {
      if (!isAdded) run.informer.addHandler(inner, { name: "inner" });
      isAdded = true;
    },
  }, { name: "outer" });
  run.start();
  await clock.settle();
  deepStrictEqual(inner.told, ["added a@9 initially", "added b@10 initially", "updated a@11"]);
});

Deno.test("SharedInformer tells a disposed handler nothing more, also within a round", async () => {
  const clock = new SimClock();
  await using run = informing(clock, { list: () => listOf([["a", 9], ["b", 10]], "10") });
  const told: string[] = [];
  const registration = run.informer.addHandler({
    onChange(change) {
      told.push(summary(change));
      registration[Symbol.dispose]();
    },
  }, { name: "x" });
  const other = keeping();
  run.informer.addHandler(other, { name: "other" });
  run.start();
  await clock.settle();
  deepStrictEqual(told, ["added a@9"]);
  strictEqual(other.told.length, 2);
});

Deno.test("SharedInformer resyncs when asked to: every object again, with nothing different", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {
    async list({ signal }) {
      await clock.sleep(20_000, { signal });
      return listOf([["a", 10]], "10");
    },
  }, { resyncMs: 60_000 });
  const changes: StoreChange<Thing>[] = [];
  const handler = { onChange: (change: StoreChange<Thing>) => void changes.push(change) };
  run.informer.addHandler(handler, { name: "x" });
  run.start();
  await clock.advance(80_000); // Counted from the first list, and a little late by chance.
  strictEqual(changes.length, 1);
  await clock.advance(6000);
  strictEqual(changes.length, 2);
  const [, resync] = changes;
  ok(resync?.type === "updated" && resync.object === resync.previous);
  await clock.advance(600_000);
  ok(changes.length >= 10 && changes.length <= 12, `${changes.length}`);
});

Deno.test("SharedInformer does not resync unless asked to", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {});
  const handler = keeping();
  run.informer.addHandler(handler, { name: "x" });
  run.start();
  await clock.advance(24 * 3_600_000);
  deepStrictEqual(handler.told, ["added a@10 initially"]);
});

Deno.test("SharedInformer calls no handler for a list of 10,000 objects without news", async () => {
  const clock = new SimClock();
  const objects = Array.from({ length: 10_000 }, (_, i) => [`n${i}`, i + 1] as const);
  await using run = informing(clock, {
    list: (_, turn) => listOf(objects, String(20_000 + turn)),
    watch: (call, turn) => turn === 0 ? failing(refusal(410)) : open(clock, call),
  });
  const handler = keeping();
  run.informer.addHandler(handler, { name: "x" });
  run.start();
  await clock.settle();
  const before: readonly KubeObject[] = run.informer.lister.all();
  await clock.advance(10_000);
  strictEqual(run.informer.health.lists, 2);
  strictEqual(handler.told.length, 10_000);
  strictEqual(run.informer.lister.all(), before);
});

Deno.test("W5 SharedInformer.run() runs once", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {});
  run.start();
  await rejects(run.informer.run({ signal }), AssertionError);
  await clock.settle();
  strictEqual(run.calls.length, 2);
});

Deno.test("SharedInformer offers its indexes through the lister", async () => {
  const clock = new SimClock();
  await using run = informing(clock, {}, {
    indexers: { name: (object) => [object.metadata.name] },
  });
  run.start();
  await run.informer.synced({ signal });
  strictEqual(run.informer.lister.byIndex("name", "a")[0], run.informer.lister.find("default/a"));
});

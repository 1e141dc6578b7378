import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { approximateBytes, type CacheUsage } from "../../lib/cache/budget.ts";
import { SharedInformer } from "../../lib/cache/shared_informer.ts";
import { Store } from "../../lib/cache/store.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { type Thing, thing } from "./objects.ts";
import { added, listOf, scripted, silence, type ThingEvent } from "./scripted_source.ts";

Deno.test("approximateBytes() grows with each text, item and field", () => {
  strictEqual(approximateBytes("é".repeat(100)) - approximateBytes(""), 100);
  strictEqual(approximateBytes("漢".repeat(100)) - approximateBytes(""), 200);
  strictEqual(approximateBytes([1, 2]) - approximateBytes([1]), 8);
  ok(approximateBytes({ a: { b: "c" } }) > approximateBytes({ a: "c" }));
  for (const empty of [null, true, 7, undefined]) strictEqual(approximateBytes(empty), 0);
});

Deno.test("Store counts the bytes of what it keeps, through every way in and out", () => {
  const store = new Store<Thing>({
    measuresBytes: true,
    transform: ({ spec: _dropped, ...rest }) => rest,
  });
  const big = (name: string, version: number) => thing(name, { version, note: "x".repeat(5000) });
  store.set(big("a", 1));
  const one = store.bytes;
  ok(one > 200 && one < 1000, `${one} B, without the note that is not kept`);
  store.set(big("a", 2));
  strictEqual(store.bytes, one);
  store.set(big("b", 3));
  strictEqual(store.bytes, 2 * one);
  store.remove(big("a", 4));
  strictEqual(store.bytes, one);
  store.replaceAll([big("c", 5), big("d", 6), big("b", 3)], "6");
  strictEqual(store.bytes, 3 * one);
  store.replaceAll([], "7");
  strictEqual(store.bytes, 0);
  const uncounted = new Store<Thing>();
  uncounted.set(big("a", 1));
  strictEqual(uncounted.bytes, 0);
});

function informer(clock: SimClock, events: readonly ThingEvent[], budget: object) {
  const { source } = scripted(clock, {
    list: () => listOf([["a", 1], ["b", 2]], "2"),
    async *watch(call) {
      for (const event of events) {
        await clock.sleep(1000, call);
        yield event;
      }
      yield* silence(clock, call);
    },
  });
  const { log, records } = recordingLogger();
  const told: CacheUsage[] = [];
  const made = new SharedInformer<Thing>({
    name: "things",
    source,
    clock,
    random: seededRandom(1),
    log,
    budget,
    observer: { budgetCrossed: (usage) => void told.push(usage) },
  });
  return { made, records, told };
}

Deno.test("SharedInformer warns once when its budget is exceeded, and tells when it is kept again", async () => {
  const clock = new SimClock();
  const gone = (name: string, version: number): ThingEvent => {
    return { type: "DELETED", object: thing(name, { version }) };
  };
  const events = [added("c", 3), added("d", 4), gone("d", 5), gone("c", 6)];
  const { made, records, told } = informer(clock, events, { objects: 2 });
  const stop = new AbortController();
  const running = made.run(stop);
  await clock.settle();
  deepStrictEqual(made.usage, { objects: 2, bytes: undefined, isOverBudget: false });
  await clock.advance(2000);
  deepStrictEqual(made.usage, { objects: 4, bytes: undefined, isOverBudget: true });
  await clock.advance(2000);
  // At its limit the budget is kept, but not so well that it is worth telling.
  strictEqual(made.usage.isOverBudget, true);
  deepStrictEqual(told.map(({ objects }) => objects), [3]);
  const warnings = records.filter(({ level }) => level === "warn");
  deepStrictEqual(warnings.map(({ fields }) => [fields.informer, fields.objects]), [["things", 3]]);
  stop.abort();
  await running;
});

Deno.test("SharedInformer counts bytes if its budget has a limit for them", async () => {
  const clock = new SimClock();
  const { made, told } = informer(clock, [], { bytes: 1000 });
  const stop = new AbortController();
  const running = made.run(stop);
  await clock.settle();
  ok((made.usage.bytes ?? 0) > 400);
  strictEqual(made.usage.isOverBudget, false);
  stop.abort();
  await running;

  const small = informer(clock, [{ type: "DELETED", object: thing("a", { version: 9 }) }], {
    bytes: 400,
  });
  const stopSmall = new AbortController();
  const runningSmall = small.made.run(stopSmall);
  await clock.settle();
  strictEqual(small.made.usage.isOverBudget, true);
  await clock.advance(1000);
  strictEqual(small.made.usage.isOverBudget, false);
  deepStrictEqual(small.told.map(({ isOverBudget }) => isOverBudget), [true, false]);
  strictEqual(told.length, 0);
  stopSmall.abort();
  await runningSmall;
});

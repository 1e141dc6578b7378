import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { PASSES_MAX } from "../../lib/controller/ready_keys.ts";
import { mergeReasons, REASONS_MAX, reasonsOf } from "../../lib/controller/reasons.ts";
import { STUCK_AFTER_MS, watchStuckKeys } from "../../lib/controller/stuck_keys.ts";
import { Workqueue, type WorkqueueOptions } from "../../lib/controller/workqueue.ts";
import { DeadlineError } from "../../lib/core/errors.ts";
import { defaultRateLimiter } from "../../lib/core/rate_limiter.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

const { signal } = new AbortController();

function testQueue(options: Partial<WorkqueueOptions<string>> = {}) {
  const clock = new SimClock();
  const rateLimiter = defaultRateLimiter<string>({ clock, random: () => 0 });
  return { clock, queue: new Workqueue({ name: "test", clock, rateLimiter, ...options }) };
}

/** Takes and releases all that is ready. */
async function handleAll(queue: Workqueue<string>): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    using item = await queue.take({ signal });
    keys.push(item?.key ?? "");
  }
  return keys;
}

Deno.test("Workqueue hands out live changes before the first list, and the list in between", async () => {
  const { queue } = testQueue();
  for (let n = 0; n < 1000; n++) queue.add(`default/${n}`, { priority: "low" });
  for (let n = 0; n < 20; n++) queue.add(`default/live${n}`);
  queue.add("default/999"); // changed while it waits as part of the list
  deepStrictEqual([queue.depth, queue.depthOf("low"), queue.depthOf("normal")], [1020, 999, 21]);
  const keys = await handleAll(queue);
  strictEqual(keys.length, 1020);
  ok(keys.indexOf("default/999") <= 20 + Math.ceil(21 / PASSES_MAX));
  strictEqual(keys.indexOf("default/0"), PASSES_MAX);
});

Deno.test("Workqueue lets no namespace wait for another's flood", async () => {
  const { queue } = testQueue();
  for (let n = 0; n < 10_000; n++) queue.add(`flood/${n}`);
  queue.add("quiet/a");
  queue.add("quiet/b");
  queue.add("node-1");
  deepStrictEqual((await handleAll(queue)).slice(0, 6), [
    "flood/0",
    "quiet/a",
    "node-1",
    "flood/1",
    "quiet/b",
    "flood/2",
  ]);
});

Deno.test("Workqueue takes turns by the groups that it is told of", async () => {
  const { queue } = testQueue({ groupOf: (key) => key.slice(-1) });
  for (const key of ["a/1", "b/1", "c/2"]) queue.add(key);
  deepStrictEqual(await handleAll(queue), ["a/1", "c/2", "b/1"]);
});

Deno.test("Workqueue keeps priority and reasons of a key that waits for later", async () => {
  const { clock, queue } = testQueue();
  queue.addAfter("a", 10, { priority: "low", reason: { type: "requeue", source: "foo" } });
  queue.addAfter("a", 50, { priority: "low", reason: { type: "external", source: "poll" } });
  queue.addAfter("b", 10, { priority: "low" });
  queue.addAfter("b", 20, { priority: "normal" });
  await clock.advance(10);
  queue.add("a", { priority: "low", reason: { type: "requeue", source: "foo" } });
  const items = [await queue.take({ signal }), await queue.take({ signal })];
  deepStrictEqual(
    items.map((item) => [item?.key, item?.priority, item?.reasons]),
    [
      ["b", "normal", []],
      ["a", "low", [{ type: "requeue", source: "foo" }, { type: "external", source: "poll" }]],
    ],
  );
});

Deno.test("mergeReasons() keeps each reason once, and no more than the limit", () => {
  const reason = (n: number) => ({ type: "updated", source: `${n}` } as const);
  let reasons = mergeReasons([], reasonsOf(reason(0)));
  strictEqual(mergeReasons(reasons, [reason(0)]), reasons);
  for (let n = 0; n < 100; n++) reasons = mergeReasons(reasons, [reason(n), reason(n + 1)]);
  strictEqual(reasons.length, REASONS_MAX);
  deepStrictEqual(reasons[7], reason(7));
  ok(Object.isFrozen(reasons));
});

Deno.test("Q3 workqueue: drain() gives up after its limit and names what still runs", async () => {
  const { clock, queue } = testQueue();
  queue.add("default/a");
  const item = await queue.take({ signal });
  const drained = queue.drain({ signal, limitMs: 30_000 });
  let failure: unknown;
  drained.catch((error) => failure = error);
  await clock.advance(29_999);
  strictEqual(failure, undefined);
  await clock.advance(1);
  await rejects(drained, (error) => {
    ok(error instanceof DeadlineError && error.message.includes("default/a"));
    return true;
  });
  strictEqual(clock.pendingTimers, 0);
  const second = queue.drain({ signal, limitMs: 30_000 });
  item?.[Symbol.dispose]();
  await second;
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("Q1 watchStuckKeys() tells once of each hold that lasts too long", async () => {
  const { clock, queue } = testQueue();
  const { log, records } = recordingLogger();
  const stop = new AbortController();
  const stuck: string[] = [];
  const running = watchStuckKeys(
    { queue, clock, log, onStuck: ({ key }) => stuck.push(key) },
    stop,
  );
  queue.add("default/a");
  queue.add("default/b");
  const a = await queue.take({ signal });
  await clock.advance(STUCK_AFTER_MS - 1000);
  const b = await queue.take({ signal });
  deepStrictEqual(stuck, []);
  await clock.advance(1000 + STUCK_AFTER_MS / 4);
  deepStrictEqual(stuck, ["default/a"]);
  b?.[Symbol.dispose]();
  await clock.advance(4 * STUCK_AFTER_MS);
  deepStrictEqual(stuck, ["default/a"]); // once, and not what was let go
  a?.[Symbol.dispose]();
  queue.add("default/a");
  using _again = await queue.take({ signal });
  await clock.advance(2 * STUCK_AFTER_MS);
  deepStrictEqual(stuck, ["default/a", "default/a"]); // another hold
  deepStrictEqual(
    records.map(({ level, message, fields }) => [level, message, fields.key]),
    stuck.map((key) => ["warn", "A key is stuck with its worker", key]),
  );
  stop.abort(new Error("enough"));
  await rejects(running, { message: "enough" });
  strictEqual(clock.pendingTimers, 0);
});

import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import {
  Workqueue,
  type WorkqueueObserver,
  type WorkqueueOptions,
} from "../../lib/controller/workqueue.ts";
import { realClock } from "../../lib/core/clock.ts";
import { AssertionError } from "../../lib/core/errors.ts";
import { defaultRateLimiter } from "../../lib/core/rate_limiter.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

const { signal } = new AbortController();

function testQueue(options: Partial<WorkqueueOptions<string>> = {}) {
  const clock = new SimClock();
  const rateLimiter = defaultRateLimiter<string>({ clock, random: () => 0 });
  const queue = new Workqueue<string>({ name: "test", clock, rateLimiter, ...options });
  return { clock, queue };
}

/** Takes the next key and releases it. */
async function handle(queue: Workqueue<string>): Promise<string | undefined> {
  using item = await queue.take({ signal });
  return item?.key;
}

Deno.test("Workqueue.add() hands out each key once, in order of becoming ready", async () => {
  const { queue } = testQueue();
  for (const key of ["b", "a", "b", "c", "a"]) queue.add(key);
  strictEqual(queue.depth, 3);
  deepStrictEqual([await handle(queue), await handle(queue), await handle(queue)], ["b", "a", "c"]);
  strictEqual(queue.depth, 0);
});

Deno.test("Q2 workqueue: a key that changes while it is processed is handed out again", async () => {
  const { queue } = testQueue();
  queue.add("a");
  const first = await queue.take({ signal });
  queue.add("a");
  queue.add("a");
  let second: string | undefined;
  const waiting = handle(queue).then((key) => second = key);
  await new SimClock().settle();
  strictEqual(second, undefined); // never in two workers
  first?.[Symbol.dispose]();
  await waiting;
  strictEqual(second, "a");
  strictEqual(queue.depth, 0);
});

Deno.test("Workqueue releases an item once, also when disposed twice", async () => {
  const { queue } = testQueue();
  queue.add("a");
  const first = await queue.take({ signal });
  first?.[Symbol.dispose]();
  queue.add("a");
  using second = await queue.take({ signal });
  first?.[Symbol.dispose](); // must not release the second holder's key
  deepStrictEqual(queue.running().map(({ key }) => key), [second?.key]);
});

Deno.test("Q1 workqueue: the key is released when its holder throws", async () => {
  const { queue } = testQueue();
  queue.add("a");
  await rejects(async () => {
    using _item = await queue.take({ signal });
    throw new Error("broken");
  }, { message: "broken" });
  deepStrictEqual(queue.running(), []);
  queue.add("a");
  strictEqual(await handle(queue), "a");
});

Deno.test("Workqueue.take() serves callers in order and forgets one that aborted", async () => {
  const { queue } = testQueue();
  const stop = new AbortController();
  const got: string[] = [];
  const takers = [1, 2, 3].map((n) =>
    queue.take({ signal: n === 2 ? stop.signal : signal }).then((item) => {
      got.push(`${n} ${item?.key}`);
    })
  );
  stop.abort(new Error("enough"));
  await rejects(() => takers[1] ?? Promise.resolve(), { message: "enough" });
  queue.add("a");
  queue.add("b");
  await Promise.all([takers[0], takers[2]]);
  deepStrictEqual(got, ["1 a", "3 b"]);
  await rejects(queue.take({ signal: stop.signal }), { message: "enough" });
});

Deno.test("Workqueue.addAfter() keeps the earliest time and one timer", async () => {
  const { clock, queue } = testQueue();
  queue.addAfter("a", 5000);
  queue.addAfter("b", 3000);
  queue.addAfter("a", 1000);
  queue.addAfter("a", 9000);
  strictEqual(clock.pendingTimers, 1);
  deepStrictEqual([queue.depth, queue.delayed], [0, 2]);
  await clock.advance(999);
  strictEqual(queue.depth, 0);
  await clock.advance(1);
  strictEqual(await handle(queue), "a");
  await clock.advance(2000);
  strictEqual(await handle(queue), "b");
  await clock.advance(60_000);
  deepStrictEqual([queue.depth, queue.delayed, clock.pendingTimers], [0, 0, 0]);
});

Deno.test("Workqueue.addAfter() leaves the wait in place when the key runs before", async () => {
  const { clock, queue } = testQueue();
  queue.addAfter("a", 1000);
  queue.add("a");
  strictEqual(await handle(queue), "a");
  await clock.advance(1000);
  strictEqual(await handle(queue), "a");
});

Deno.test("Workqueue.addAfter() takes 0 and less as now, Infinity as never, NaN as a bug", async () => {
  const { clock, queue } = testQueue();
  queue.addAfter("a", 0);
  queue.addAfter("b", -5);
  queue.addAfter("c", Infinity);
  deepStrictEqual([queue.depth, queue.delayed, clock.pendingTimers], [2, 0, 0]);
  deepStrictEqual([await handle(queue), await handle(queue)], ["a", "b"]);
  throws(() => queue.addAfter("d", NaN), AssertionError);
});

Deno.test("Q6 workqueue: a delay above 2^31 ms neither fires at once nor early", async () => {
  const { clock, queue } = testQueue();
  const days30Ms = 30 * 24 * 3_600_000;
  queue.addAfter("a", days30Ms);
  await clock.advance(days30Ms - 1);
  strictEqual(queue.depth, 0);
  await clock.advance(1);
  strictEqual(queue.depth, 1);
  queue.shutDown();

  const rateLimiter = defaultRateLimiter<string>({ clock: realClock, random: () => 0 });
  const real = new Workqueue<string>({ name: "real", clock: realClock, rateLimiter });
  real.addAfter("a", days30Ms);
  real.addAfter("b", 2 ** 32 + 50);
  // The native timers would fire within a millisecond; twenty turns of a timer loop show it.
  for (let turn = 0; turn < 20; turn++) await realClock.sleep(1, { signal });
  deepStrictEqual([real.depth, real.delayed], [0, 2]);
  real.shutDown(); // the sanitizer would tell of a timer left
});

Deno.test("Q4 workqueue: changes never count as failures", async () => {
  const { queue } = testQueue();
  for (let n = 0; n < 50; n++) {
    queue.add("a");
    strictEqual(await handle(queue), "a");
  }
  strictEqual(queue.failures("a"), 0);
});

Deno.test("Q4 workqueue: a key that waits for its retry takes no second token", async () => {
  const { clock, queue } = testQueue({
    rateLimiter: defaultRateLimiter<string>({ clock: { monotonicMs: () => 0 }, random: () => 0 }),
  });
  strictEqual(queue.addRateLimited("a"), 5);
  await clock.advance(2);
  for (let n = 0; n < 1000; n++) strictEqual(queue.addRateLimited("a"), 3);
  strictEqual(queue.failures("a"), 1);
  strictEqual(queue.addRateLimited("b"), 5); // a drained bucket would say 14 s
  await clock.advance(5);
  strictEqual(queue.addRateLimited("a"), 0); // ready to be taken
  strictEqual(queue.failures("a"), 1);
  strictEqual(await handle(queue), "a");
  strictEqual(queue.addRateLimited("a"), 10);
});

Deno.test("Q4 workqueue: forget() starts the delays anew, also while a long retry waits", async () => {
  const { clock, queue } = testQueue();
  for (let n = 0; n < 17; n++) {
    queue.addRateLimited("a");
    if (n === 16) break;
    await clock.advance(300_000);
    strictEqual(await handle(queue), "a");
  }
  strictEqual(queue.failures("a"), 17);
  queue.forget("a"); // the spec changed
  queue.add("a");
  strictEqual(await handle(queue), "a");
  strictEqual(queue.addRateLimited("a"), 5);
  await clock.advance(5);
  strictEqual(queue.depth, 1);
});

Deno.test("Q3 workqueue: shutDown() wakes takers, drops what waits and leaves no timer", async () => {
  const { clock, queue } = testQueue();
  const takers = [1, 2, 3, 4].map(() => queue.take({ signal }));
  for (let n = 0; n < 100; n++) queue.addAfter(`k${n}`, 60_000);
  queue.shutDown();
  deepStrictEqual(await Promise.all(takers), [undefined, undefined, undefined, undefined]);
  strictEqual(clock.pendingTimers, 0);
  queue.add("a");
  queue.addAfter("a", 5);
  strictEqual(queue.addRateLimited("a"), Infinity);
  deepStrictEqual([queue.depth, queue.delayed, queue.isShutDown], [0, 0, true]);
  strictEqual(await queue.take({ signal }), undefined);
});

Deno.test("Q3 workqueue: drain() waits for keys in work, as long as its signal lets it", async () => {
  const { queue } = testQueue();
  queue.add("a");
  queue.add("b");
  const item = await queue.take({ signal });
  queue.add("a"); // dirty in a worker's hands: dropped too
  const stop = new AbortController();
  const impatient = queue.drain({ signal: stop.signal });
  let isDrained = false;
  const drained = queue.drain({ signal }).then(() => isDrained = true);
  stop.abort(new Error("budget spent"));
  await rejects(impatient, { message: "budget spent" });
  strictEqual(isDrained, false);
  item?.[Symbol.dispose]();
  await drained;
  strictEqual(queue.depth, 0);
  await queue.drain({ signal });
});

Deno.test("Workqueue tells its observer what the metrics count, and when", async () => {
  const events: string[] = [];
  const observer: WorkqueueObserver = {
    added: ({ queue, key }) => events.push(`${queue} added ${key}`),
    taken: ({ key, waitedMs }) => events.push(`taken ${key} ${waitedMs}`),
    released: ({ key, workedMs }) => events.push(`released ${key} ${workedMs}`),
    retried: ({ key, delayMs }) => events.push(`retried ${key} ${delayMs}`),
  };
  const { clock, queue } = testQueue({ observer });
  queue.addAfter("a", 0); // no delay: no retry
  await clock.advance(10);
  queue.add("a");
  const item = await queue.take({ signal });
  await clock.advance(20);
  queue.add("a"); // the time in another's hands counts as waiting
  deepStrictEqual([queue.depth, queue.unfinishedMs, queue.longestRunningMs], [1, 20, 20]);
  await clock.advance(5);
  item?.[Symbol.dispose]();
  await handle(queue);
  queue.addAfter("b", 1000);
  await clock.advance(1000);
  deepStrictEqual(events, [
    "test added a",
    "taken a 10",
    "test added a",
    "released a 25",
    "taken a 5",
    "released a 0",
    "retried b 1000",
    "test added b",
  ]);
});

Deno.test("Workqueue measures the keys in work, longest first", async () => {
  const { clock, queue } = testQueue();
  queue.add("a");
  using _a = await queue.take({ signal });
  await clock.advance(30);
  queue.add("b");
  using _b = await queue.take({ signal });
  await clock.advance(12);
  deepStrictEqual(queue.running(), [{ key: "a", forMs: 42 }, { key: "b", forMs: 12 }]);
  deepStrictEqual([queue.unfinishedMs, queue.longestRunningMs], [54, 42]);
});

Deno.test("Workqueue goes on when its observer throws", async () => {
  const fail = () => {
    throw new Error("metrics broken");
  };
  const errors: unknown[] = [];
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (_: string, f?: object) => errors.push(f),
  };
  const observer = { added: fail, taken: fail, released: fail, retried: fail };
  const { queue } = testQueue({ observer, log });
  queue.add("a");
  strictEqual(await handle(queue), "a");
  queue.add("a");
  strictEqual(await handle(queue), "a");
  ok(errors.length === 6);
  deepStrictEqual(errors[0], { queue: "test", error: "metrics broken" });
});

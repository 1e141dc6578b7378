import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import {
  everyInterval,
  type ExternalSource,
  fromStream,
  type StreamOptions,
} from "../../lib/controller/external_source.ts";
import type { AddOptions } from "../../lib/controller/workqueue.ts";
import { AssertionError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

/** Runs a source on a simulated clock; leaving the scope stops it. */
function start(make: (parts: Parts) => ExternalSource) {
  const clock = new SimClock();
  const { log, records } = recordingLogger();
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const source = make({ clock, log, random: () => 0, onError });
  const stop = new AbortController();
  const keys: string[] = [];
  const options: (AddOptions | undefined)[] = [];
  const queue = {
    add(key: string, how?: AddOptions) {
      keys.push(key);
      options.push(how);
    },
  };
  const running = source.run(queue, stop);
  return {
    clock,
    records,
    errors,
    keys,
    options,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("enough"));
      await rejects(running, { message: "enough" });
      strictEqual(clock.pendingTimers, 0);
    },
  };
}

type Parts = Pick<StreamOptions<unknown>, "clock" | "log" | "random" | "onError">;

Deno.test("P6 fromStream() opens a stream again that failed, and one that just ended", async () => {
  let opened = 0;
  await using world = start((parts) =>
    fromStream({
      ...parts,
      name: "uploads",
      async *open() {
        opened += 1;
        yield opened;
        if (opened === 2) throw new Error("connection lost");
      },
      mapper: (n) => [`default/${n}`],
    })
  );
  await world.clock.advance(999);
  deepStrictEqual(world.keys, ["default/1"]);
  await world.clock.advance(1); // the first ended after nothing
  deepStrictEqual(world.keys, ["default/1", "default/2"]);
  await world.clock.advance(2000);
  deepStrictEqual(world.keys, ["default/1", "default/2", "default/3"]);
  deepStrictEqual(world.options[0], {
    priority: "normal",
    reason: { type: "external", source: "uploads" },
  });
  deepStrictEqual(
    world.records.slice(0, 2).map(({ level, fields }) => [level, fields]),
    [
      ["warn", { source: "uploads", retryAfterMs: 1000 }],
      ["warn", { source: "uploads", retryAfterMs: 2000, error: "connection lost" }],
    ],
  );
  strictEqual(world.errors.length, 1);
});

Deno.test("fromStream() starts anew from the first delay after a stream that lasted", async () => {
  let opened = 0;
  await using world = start((parts) =>
    fromStream<string>({
      ...parts,
      name: "uploads",
      async *open({ signal }) {
        opened += 1;
        if (opened === 6) await world.clock.sleep(60_000, { signal });
        yield "a";
      },
      mapper: (key) => [key],
    })
  );
  await world.clock.advance(1000 + 2000 + 4000 + 8000 + 16_000 + 60_000);
  const delays = world.records.map(({ fields }) => fields.retryAfterMs);
  deepStrictEqual(delays, [1000, 2000, 4000, 8000, 16_000, 1000]);
});

Deno.test("fromStream() loses one message to a mapper that throws, and no more", async () => {
  await using world = start((parts) =>
    fromStream({
      ...parts,
      name: "uploads",
      async *open({ signal }) {
        yield* ["a", "bad", "b"];
        await parts.clock.sleep(Infinity, { signal });
      },
      mapper(key: string) {
        if (key === "bad") throw new Error("no such bucket");
        return [key];
      },
    })
  );
  await world.clock.settle();
  deepStrictEqual(world.keys, ["a", "b"]);
  strictEqual(world.errors.length, 1);
});

Deno.test("fromStream() stops at once, also when the stream heeds no signal", async () => {
  let isReturned = false;
  await using world = start((parts) =>
    fromStream<string>({
      ...parts,
      name: "deaf",
      open: () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => {}),
          return() {
            isReturned = true;
            return new Promise(() => {});
          },
        }),
      }),
      mapper: () => [],
    })
  );
  await world.clock.advance(1000);
  await world[Symbol.asyncDispose]();
  strictEqual(isReturned, true);
});

Deno.test("fromStream() is stopped by a message, and leaves no failure of its stream behind", async () => {
  const stop = new AbortController();
  const source = fromStream<string>({
    name: "last",
    clock: new SimClock(),
    random: () => 0,
    log: recordingLogger().log,
    open: ({ signal }) => ({
      [Symbol.asyncIterator]: () => ({
        next: () =>
          signal.aborted
            ? Promise.reject(signal.reason)
            : Promise.resolve({ done: false, value: "stop" }),
      }),
    }),
    mapper() {
      stop.abort("told to");
      return [];
    },
  });
  await rejects(source.run({ add: () => {} }, stop), (error) => error === "told to");
});

Deno.test("fromStream() lets timers pass in a flood of messages", async () => {
  let told = 0;
  await using world = start((parts) =>
    fromStream<number>({
      ...parts,
      name: "flood",
      async *open() {
        for (let n = 0; n < 10_000; n++) yield n;
      },
      mapper() {
        told += 1;
        return ["default/a"];
      },
    })
  );
  let toldAtTick = Infinity;
  world.clock.sleep(1, { signal: new AbortController().signal }).then(() => toldAtTick = told);
  await world.clock.advance(200);
  strictEqual(told, 10_000);
  ok(toldAtTick <= 1000, `${toldAtTick} messages before a timer`);
});

Deno.test("everyInterval() asks for a round of looks now and then, behind what is urgent", async () => {
  let round = 0;
  await using world = start((parts) =>
    everyInterval({
      ...parts,
      name: "poll",
      everyMs: 60_000,
      keys() {
        round += 1;
        if (round === 2) throw new Error("lister broken");
        return [`r${round}/a`, `r${round}/b`];
      },
    })
  );
  await world.clock.advance(59_999);
  deepStrictEqual(world.keys, []);
  await world.clock.advance(1 + 120_000);
  deepStrictEqual(world.keys, ["r1/a", "r1/b", "r3/a", "r3/b"]);
  deepStrictEqual(world.options[0], {
    priority: "low",
    reason: { type: "external", source: "poll" },
  });
  strictEqual(world.errors.length, 1);
});

Deno.test("everyInterval() refuses an interval that would be a hot loop", () => {
  const parts = { clock: new SimClock(), random: () => 0, log: recordingLogger().log };
  for (const everyMs of [0, -1, NaN]) {
    throws(
      () => everyInterval({ ...parts, name: "poll", everyMs, keys: () => [] }),
      AssertionError,
    );
  }
});

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { latch, runTogether, unlessAborted } from "../../lib/core/tasks.ts";

/** A task that notes its end and then does what `end` says. */
function waiting(log: string[], name: string, end: (signal: AbortSignal) => void) {
  return (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => {
        log.push(name);
        try {
          end(signal);
          resolve();
        } catch (error) {
          reject(error);
        }
      }, { once: true });
    });
}

Deno.test("P6 runTogether() stops the others on a failure, waits for them and names the task", async () => {
  const log: string[] = [];
  const cause = new Error("broken");
  await rejects(
    runTogether({
      broken: () => Promise.reject(cause),
      quiet: waiting(log, "quiet", () => {}),
      rethrows: waiting(log, "rethrows", (signal) => signal.throwIfAborted()),
    }, { signal: new AbortController().signal }),
    (error: Error) => error.message === 'Task "broken" failed' && error.cause === cause,
  );
  deepStrictEqual(log, ["quiet", "rethrows"]);
});

Deno.test("runTogether() resolves when its signal aborts and the tasks end by it", async () => {
  const stop = new AbortController();
  const done = runTogether({
    a: waiting([], "a", (signal) => signal.throwIfAborted()),
    b: waiting([], "b", () => {}),
  }, { signal: stop.signal });
  stop.abort(new Error("stop"));
  await done;
});

Deno.test("runTogether() tells a task that fails while stopping", async () => {
  const stop = new AbortController();
  const done = runTogether({
    a: waiting([], "a", () => {
      throw new Error("could not flush");
    }),
  }, { signal: stop.signal });
  stop.abort();
  await rejects(done, { message: 'Task "a" failed' });
});

Deno.test("runTogether() takes a synchronous throw as the task's failure", async () => {
  await rejects(
    runTogether({
      a: () => {
        throw new Error("at once");
      },
    }, { signal: new AbortController().signal }),
    { message: 'Task "a" failed' },
  );
});

Deno.test("unlessAborted() rejects with the unchanged reason and removes its listener", async () => {
  const stop = new AbortController();
  const never = Promise.withResolvers<void>();
  const wait = unlessAborted(never.promise, stop.signal);
  const reason = { why: "test" };
  stop.abort(reason);
  await rejects(wait, (error) => error === reason);
  strictEqual(await unlessAborted(Promise.resolve(1), new AbortController().signal), 1);
});

Deno.test("latch() lets present and future waiters go on, once opened", async () => {
  const gate = latch();
  const { signal } = new AbortController();
  const early = gate.wait({ signal });
  strictEqual(gate.isOpen, false);
  gate.open();
  gate.open();
  await early;
  await gate.wait({ signal });
  strictEqual(gate.isOpen, true);
});

Deno.test("latch() wait rejects with the reason of its signal", async () => {
  await rejects(latch().wait({ signal: AbortSignal.abort("stop") }), (error) => error === "stop");
});

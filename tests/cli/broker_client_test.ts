import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import {
  BrokeredCredentials,
  CREDENTIAL_MAX_AGE_MS,
  serveBroker,
  type WorkerScope,
} from "../../lib/cli/broker_client.ts";
import type { FromWorker, OperatorStart, ToWorker } from "../../lib/cli/broker_messages.ts";
import type { Credential } from "../../lib/client/connection.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

const { signal } = new AbortController();

/** Credentials whose questions are kept for the test to answer. */
function brokered() {
  const clock = new SimClock();
  const asked: FromWorker[] = [];
  const credentials = new BrokeredCredentials({ post: (message) => asked.push(message), clock });
  const answer = (id: number, credential: Credential) =>
    credentials.hear({ type: "credential", id, credential });
  return { clock, asked, credentials, answer };
}

Deno.test("BrokeredCredentials.current() asks once, and again when the answer is old", async () => {
  const { clock, asked, credentials, answer } = brokered();
  const both = Promise.all([credentials.current({ signal }), credentials.current({ signal })]);
  deepStrictEqual(asked, [{ type: "current", id: 0 }]);
  answer(0, { generation: 1, token: "t" });
  deepStrictEqual((await both).map(({ token }) => token), ["t", "t"]);

  await clock.advance(CREDENTIAL_MAX_AGE_MS - 1);
  await credentials.current({ signal });
  strictEqual(asked.length, 1, "kept");
  await clock.advance(1);
  const next = credentials.current({ signal });
  deepStrictEqual(asked.at(-1), { type: "current", id: 1 });
  answer(1, { generation: 2 });
  strictEqual((await next).generation, 2);
});

Deno.test("BrokeredCredentials.current() asks again when the credential is due", async () => {
  const { clock, asked, credentials, answer } = brokered();
  const first = credentials.current({ signal });
  answer(0, { generation: 1, expiresAtMs: clock.wallMs() + 1000 });
  await first;
  await clock.advance(1000);
  const second = credentials.current({ signal });
  strictEqual(asked.length, 2);
  // The main thread has no newer one: then it is asked by age, not before every request.
  answer(1, { generation: 1, expiresAtMs: clock.wallMs() - 1 });
  await second;
  await credentials.current({ signal });
  strictEqual(asked.length, 2);
});

Deno.test("BrokeredCredentials.refresh() asks once a generation, and gives what is newer", async () => {
  const { asked, credentials, answer } = brokered();
  const both = [1, 1].map((generation) => credentials.refresh(generation, { signal }));
  deepStrictEqual(asked, [{ type: "refresh", id: 0, generation: 1 }]);
  answer(0, { generation: 2 });
  deepStrictEqual((await Promise.all(both)).map(({ generation }) => generation), [2, 2]);
  strictEqual((await credentials.refresh(1, { signal })).generation, 2);
  strictEqual((await credentials.current({ signal })).generation, 2);
  strictEqual(asked.length, 1);
});

Deno.test("BrokeredCredentials never goes back to an older credential", async () => {
  const { credentials, answer } = brokered();
  const current = credentials.current({ signal });
  const refreshed = credentials.refresh(1, { signal });
  answer(1, { generation: 2 });
  answer(0, { generation: 1 });
  await Promise.all([current, refreshed]);
  strictEqual((await credentials.current({ signal })).generation, 2);
});

Deno.test("BrokeredCredentials: who gives up leaves the answer to the others", async () => {
  const { asked, credentials, answer } = brokered();
  const leaving = new AbortController();
  const left = credentials.current({ signal: leaving.signal });
  const stayed = credentials.current({ signal });
  leaving.abort(new Error("left"));
  await rejects(left, { message: "left" });
  answer(0, { generation: 1 });
  strictEqual((await stayed).generation, 1);
  strictEqual(asked.length, 1);
});

Deno.test("BrokeredCredentials: a failure is told to all who wait, and the next asks again", async () => {
  const { asked, credentials, answer } = brokered();
  const waiting = [credentials.current({ signal }), credentials.current({ signal })];
  const failure = { message: "Cannot run the plugin", isConfig: true };
  credentials.hear({ type: "no-credential", id: 0, failure });
  for (const each of waiting) {
    await rejects(each, (error: unknown) => error instanceof ConfigError);
  }
  const next = credentials.current({ signal });
  answer(1, { generation: 1 });
  strictEqual((await next).generation, 1);
  strictEqual(asked.length, 2);
});

/** A worker's scope in this thread. */
function scope() {
  const said: FromWorker[] = [];
  const target = new EventTarget();
  // Boundary: the listeners' events are made below, of the very shapes that are declared.
  const asWorker = {
    postMessage: (message: FromWorker) => said.push(message),
    addEventListener: target.addEventListener.bind(target),
  } as unknown as WorkerScope;
  const dispatch = (type: string, fields: object) => {
    const event = Object.assign(new Event(type, { cancelable: true }), fields);
    target.dispatchEvent(event);
    return event;
  };
  const tell = (data: ToWorker) => dispatch("message", { data });
  return { said, asWorker, dispatch, tell };
}

// The operator in these tests looks at nothing in it.
const START = {} as OperatorStart;

Deno.test("serveBroker() runs the operator when told, and tells of its end", async () => {
  const { said, asWorker, tell } = scope();
  const clock = new SimClock();
  serveBroker(asWorker, {
    clock,
    operate: async (_start, { writeLog, signal }) => {
      writeLog("works\n");
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve());
      await promise;
    },
  });
  deepStrictEqual(said, [{ type: "ready" }]);
  tell({ type: "start", start: START });
  tell({ type: "ping" });
  tell({ type: "stop" });
  await clock.settle();
  deepStrictEqual(said.slice(1), [
    { type: "log", line: "works\n" },
    { type: "pong" },
    { type: "ended" },
  ]);
});

Deno.test("serveBroker() tells what failed, without secrets", async () => {
  const { said, asWorker, tell } = scope();
  const clock = new SimClock();
  serveBroker(asWorker, {
    clock,
    operate: () => Promise.reject(new ConfigError("Cannot list: Bearer SECRET-abc")),
  });
  tell({ type: "start", start: START });
  await clock.settle();
  const last = said.at(-1);
  strictEqual(last?.type === "ended" && last.failure?.isConfig, true);
  strictEqual(JSON.stringify(said).includes("SECRET"), false);
});

Deno.test("serveBroker() ends by an error that nothing catches, in its own words", () => {
  const { said, asWorker, dispatch } = scope();
  serveBroker(asWorker, { clock: new SimClock(), operate: () => Promise.resolve() });
  const error = dispatch("error", { error: new Error("boom"), message: "Uncaught boom" });
  const rejection = dispatch("unhandledrejection", { reason: new Error("lost") });
  // Else the runtime prints its own text beside ours.
  deepStrictEqual([error.defaultPrevented, rejection.defaultPrevented], [true, true]);
  deepStrictEqual(
    said.slice(1).map((each) => each.type === "ended" && each.failure?.message),
    ["boom", "lost"],
  );
});

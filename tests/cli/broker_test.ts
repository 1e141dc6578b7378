import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import {
  Broker,
  PING_EVERY_MS,
  PINGS_MISSED_MAX,
  QUESTIONS_MAX,
  SandboxError,
} from "../../lib/cli/broker.ts";
import type { FromWorker, OperatorStart, ToWorker } from "../../lib/cli/broker_messages.ts";
import type { CredentialSource } from "../../lib/client/connection.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { Redactor } from "../../lib/core/redact.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

const START: OperatorStart = {
  settings: {
    connection: { server: "https://127.0.0.1:1", namespace: "default", userAgent: "test" },
    namespaces: [],
    workers: 1,
    resyncMs: 0,
    instance: "test",
    gracePeriodMs: 0,
  },
  log: { level: "info", format: "json", color: false },
};

const STOP_LIMIT_MS = 60_000;

/** A broker, with the test in the worker's place. */
class Talk {
  readonly clock = new SimClock();
  readonly stop = new AbortController();
  /** What the worker was told, pings left out. */
  readonly told: ToWorker[] = [];
  readonly lines: string[] = [];
  answersPings = true;
  readonly ended: Promise<void>;
  #listener: Parameters<
    ConstructorParameters<typeof Broker>[0]["channel"]["listen"]
  >[0] = { message: () => {}, failure: () => {} };

  constructor(credentials: CredentialSource, beforeStart = () => Promise.resolve()) {
    const broker = new Broker({
      channel: {
        post: (message) => {
          if (message.type !== "ping") this.told.push(message);
          else if (this.answersPings) this.says({ type: "pong" });
        },
        listen: (listener) => {
          this.#listener = listener;
        },
      },
      credentials,
      writeLog: (line) => this.lines.push(line),
      redactor: new Redactor(),
      clock: this.clock,
      stopLimitMs: STOP_LIMIT_MS,
    });
    this.ended = broker.run(START, { beforeStart, signal: this.stop.signal });
    // Looked at by each test; a rejection before that is no accident.
    this.ended.catch(() => {});
  }

  /** The worker says something. */
  says(message: FromWorker | object): void {
    this.#listener.message(message);
  }

  /** Nothing in the worker caught an error. */
  dies(message: string): void {
    this.#listener.failure(message);
  }

  /** The operator ends well. */
  async close(): Promise<void> {
    this.stop.abort();
    this.says({ type: "ended" });
    await this.clock.settle();
    await this.ended;
    strictEqual(this.clock.pendingTimers, 0, "no timer is left");
  }
}

/** Gives generation 1, and one more at each renewal. */
function countingSource(): CredentialSource & { calls: string[] } {
  let generation = 1;
  const calls: string[] = [];
  return {
    calls,
    current: () => {
      calls.push("current");
      return Promise.resolve({ generation });
    },
    refresh: (refused) => {
      calls.push(`refresh ${refused}`);
      return Promise.resolve({ generation: ++generation });
    },
  };
}

Deno.test("Broker.run() starts the operator once it is loaded and the rights are dropped", async () => {
  const dropped = Promise.withResolvers<void>();
  const talk = new Talk(countingSource(), () => dropped.promise);
  await talk.clock.settle();
  deepStrictEqual(talk.told, []);
  talk.says({ type: "ready" });
  await talk.clock.settle();
  deepStrictEqual(talk.told, [], "not before the rights are dropped");
  dropped.resolve();
  await talk.clock.settle();
  deepStrictEqual(talk.told, [{ type: "start", start: START }]);
  await talk.close();
});

Deno.test("Broker.run() answers questions from its source, and writes log lines in order", async () => {
  const source = countingSource();
  const talk = new Talk(source);
  talk.says({ type: "log", line: "a\n" });
  talk.says({ type: "current", id: 7 });
  talk.says({ type: "refresh", id: 8, generation: 1 });
  talk.says({ type: "log", line: "b\n" });
  await talk.clock.settle();
  deepStrictEqual(talk.lines, ["a\n", "b\n"]);
  deepStrictEqual(talk.told, [
    { type: "credential", id: 7, credential: { generation: 1 } },
    { type: "credential", id: 8, credential: { generation: 2 } },
  ]);
  deepStrictEqual(source.calls, ["current", "refresh 1"]);
  await talk.close();
});

Deno.test("P8 Broker.run() answers a failure without its secrets", async () => {
  const error = new ConfigError("Cannot run the plugin: it said token=SECRET-abc");
  const fail = () => Promise.reject(error);
  const talk = new Talk({ current: fail, refresh: fail });
  talk.says({ type: "current", id: 1 });
  await talk.clock.settle();
  const [answer] = talk.told;
  strictEqual(answer?.type, "no-credential");
  strictEqual(answer?.type === "no-credential" && answer.failure.isConfig, true);
  strictEqual(JSON.stringify(answer).includes("SECRET"), false);
  await talk.close();
});

Deno.test("Broker.run() bounds how often the sandbox makes it renew", async () => {
  const source = countingSource();
  const talk = new Talk(source);
  for (let id = 0; id < QUESTIONS_MAX; id++) talk.says({ type: "refresh", id, generation: id });
  await talk.clock.settle();
  strictEqual(source.calls.length, 5, "the burst");
  await talk.clock.advance(3000);
  strictEqual(source.calls.length, 8, "then one a second");
  await talk.clock.advance(60_000);
  strictEqual(source.calls.length, QUESTIONS_MAX);
  await talk.close();
});

Deno.test("Broker.run() fails when more questions are open than an operator has", async () => {
  const talk = new Talk(countingSource());
  for (let id = 0; id <= QUESTIONS_MAX; id++) talk.says({ type: "refresh", id, generation: 0 });
  await talk.clock.settle();
  await rejects(talk.ended, /asks for credentials faster than it may/);
  strictEqual(talk.clock.pendingTimers, 0);
});

Deno.test("Broker.run() fails on a message that no operator sends, and hears no more", async () => {
  const source = countingSource();
  const talk = new Talk(source);
  talk.says({ type: "current", id: 1, path: "/etc/shadow" });
  await talk.clock.settle();
  await rejects(talk.ended, SandboxError);
  talk.says({ type: "log", line: "late\n" });
  talk.says({ type: "current", id: 2 });
  await talk.clock.settle();
  deepStrictEqual([talk.lines, source.calls], [[], []]);
});

Deno.test("Broker.run() fails with what the operator failed with", async () => {
  const failure = { message: "No right to list foos", isConfig: true, stack: "Error\n  at x" };
  const talk = new Talk(countingSource());
  talk.says({ type: "ended", failure });
  await rejects(talk.ended, (error: unknown) => {
    strictEqual(error instanceof ConfigError && error.message, failure.message);
    strictEqual(error instanceof Error && error.stack, failure.stack);
    return true;
  });
});

Deno.test("Broker.run() fails when the operator ends though nobody told it to", async () => {
  for (const started of [true, false]) {
    const talk = new Talk(countingSource());
    if (started) talk.says({ type: "ready" });
    await talk.clock.settle();
    talk.says({ type: "ended" });
    await rejects(talk.ended, {
      name: "SandboxError",
      message: "The operator in its sandbox ended without having been told to",
    });
    strictEqual(talk.clock.pendingTimers, 0, "no timer is left");
  }
});

Deno.test("Broker.run() fails when the worker dies of an error that nothing caught", async () => {
  const talk = new Talk(countingSource());
  talk.dies("Uncaught Error: boom");
  await rejects(talk.ended, { name: "SandboxError", message: /died in its sandbox: .*boom/ });
});

Deno.test("Broker.run() fails when the worker has closed itself: no ping is answered", async () => {
  const talk = new Talk(countingSource());
  await talk.clock.advance(10 * PING_EVERY_MS);
  talk.answersPings = false;
  await talk.clock.advance((PINGS_MISSED_MAX - 1) * PING_EVERY_MS);
  talk.answersPings = true;
  await talk.clock.advance(2 * PING_EVERY_MS);
  talk.answersPings = false;
  await talk.clock.advance((PINGS_MISSED_MAX + 1) * PING_EVERY_MS);
  await rejects(talk.ended, /has not answered for 60 s/);
});

Deno.test("Broker.run() passes the stop on, and answers while the operator ends", async () => {
  const talk = new Talk(countingSource());
  talk.says({ type: "ready" });
  await talk.clock.settle();
  talk.stop.abort();
  await talk.clock.settle();
  strictEqual(talk.told.at(-1)?.type, "stop");
  talk.says({ type: "current", id: 1 });
  await talk.clock.settle();
  strictEqual(talk.told.at(-1)?.type, "credential");
  await talk.close();
});

Deno.test("Broker.run() fails when the operator does not stop in its time", async () => {
  const talk = new Talk(countingSource());
  talk.says({ type: "ready" });
  await talk.clock.settle();
  talk.stop.abort();
  await talk.clock.advance(STOP_LIMIT_MS + 1);
  await rejects(talk.ended, /did not stop within 60 s/);
});

Deno.test("Broker.run() ends at once if told to stop while the worker loads", async () => {
  const talk = new Talk(countingSource());
  talk.stop.abort();
  await talk.clock.settle();
  await talk.ended;
  deepStrictEqual(talk.told, []);
});

Deno.test("Broker.run() does not start the operator if rights can't be dropped", async () => {
  const talk = new Talk(countingSource(), () => Promise.reject(new Error("no such permission")));
  talk.says({ type: "ready" });
  await talk.clock.settle();
  await rejects(talk.ended, (error: unknown) => {
    match(String(error), /no such permission/);
    return true;
  });
  deepStrictEqual(talk.told, []);
});

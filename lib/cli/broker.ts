/**
 * The main thread's end of the conversation with the operator in its sandbox.
 *
 * It hands in the start, answers questions for credentials from the one source that the
 * configuration gave, writes log lines, passes the stop on, and tells how it all ended. Promises:
 *
 * - A message that is none of ours ends the conversation as a failure: code that speaks otherwise
 *   is not the operator that we started.
 * - Questions are answered at a bounded rate, however fast they come: what a question costs here, a
 *   file read or a plugin run, the sandbox can't multiply.
 * - An operator that ends in any way ends the conversation: by its last word, by an error that
 *   nobody caught, by closing its thread (then no ping is answered), by not stopping when told.
 * - Only one that was told to stop has ended well: who says so unasked has left its work.
 *
 * @module
 */

import type { CredentialSource } from "../client/connection.ts";
import type { Clock } from "../core/clock.ts";
import { TokenBucketRateLimiter } from "../core/rate_limiter.ts";
import type { Redactor } from "../core/redact.ts";
import { latch, unlessAborted } from "../core/tasks.ts";
import {
  type FromWorker,
  type OperatorStart,
  readFromWorker,
  type ToWorker,
} from "./broker_messages.ts";
import { errorOf, failureOf } from "./failures.ts";

/** The way to a worker and back. */
export interface WorkerChannel {
  /** Sends a message in. */
  post(message: ToWorker): void;
  /** Sets who hears what comes out, and who hears of an error that nothing in there caught. */
  listen(listener: { message(data: unknown): void; failure(message: string): void }): void;
}

/** What a {@linkcode Broker} has to give and to keep to. */
export interface BrokerOptions {
  readonly channel: WorkerChannel;
  /** The only source of credentials; nothing that the worker says changes where it looks. */
  readonly credentials: CredentialSource;
  /** Takes one line for standard error. */
  readonly writeLog: (line: string) => void;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** How long the operator may take to stop once told, in milliseconds. */
  readonly stopLimitMs: number;
}

/**
 * Questions for the present credential: 10 a second after a burst of 20. An operator asks every few
 * seconds, since it keeps the answer; the burst is its start.
 */
const CURRENT_RATE = { perSecond: 10, burst: 20 };

/**
 * Renewals after a refusal: one a second after a burst of 5. Each may run a plugin. The server
 * refuses a credential once in its life, so an operator asks some times an hour.
 */
const REFRESH_RATE = { perSecond: 1, burst: 5 };

/**
 * Most questions open. An operator has one of each kind open at a time, and a renewal for each of
 * the few generations that overlap.
 */
export const QUESTIONS_MAX = 16;

/**
 * How often the worker is asked whether it is there, in milliseconds, and how many times in a row it
 * may not answer. A minute is far beyond what decoding the largest list takes, and counting answers,
 * not time, forgives a machine that slept.
 */
export const PING_EVERY_MS = 10_000;
/** See {@linkcode PING_EVERY_MS}. */
export const PINGS_MISSED_MAX = 6;

/** What ended in the sandbox was not the operator's own end. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
}

/** One conversation; see the module. */
export class Broker {
  readonly #options: BrokerOptions;
  readonly #limits: Readonly<Record<"current" | "refresh", TokenBucketRateLimiter<string>>>;
  readonly #ready = latch();
  readonly #end = Promise.withResolvers<void>();
  readonly #answers = new Set<Promise<void>>();
  #isPingOpen = false;

  /** Only stores. */
  constructor(options: BrokerOptions) {
    const { clock } = options;
    this.#options = options;
    this.#limits = {
      current: new TokenBucketRateLimiter({ ...CURRENT_RATE, clock }),
      refresh: new TokenBucketRateLimiter({ ...REFRESH_RATE, clock }),
    };
  }

  /**
   * Talks until the operator has ended.
   *
   * @param options.beforeStart Done once the worker is loaded, before it is started.
   * @param options.signal Its abort tells the operator to stop.
   * @throws {SandboxError} If the operator died, or broke the rules.
   * @throws What the operator failed with; a `ConfigError` if it was one.
   */
  async run(
    start: OperatorStart,
    { beforeStart, signal }: { beforeStart: () => Promise<void>; signal: AbortSignal },
  ): Promise<void> {
    const talk = new AbortController();
    const { channel } = this.#options;
    channel.listen({
      message: (data) => this.#hear(data, { talk: talk.signal, stop: signal }),
      failure: (message) => this.#fail(`The operator died in its sandbox: ${message}`),
    });
    const attendance = Promise.all([
      this.#begin(start, { beforeStart, signal: talk.signal }),
      this.#keepPulse(talk.signal),
      this.#passStop(signal, talk.signal),
    ]).then(() => {}, (error) => {
      if (!talk.signal.aborted) this.#end.reject(error);
    });
    try {
      await this.#end.promise;
    } finally {
      talk.abort(TALK_ENDED);
      await attendance;
      await Promise.all(this.#answers);
    }
  }

  async #begin(
    start: OperatorStart,
    { beforeStart, signal }: { beforeStart: () => Promise<void>; signal: AbortSignal },
  ): Promise<void> {
    await this.#ready.wait({ signal });
    await beforeStart();
    this.#options.channel.post({ type: "start", start });
  }

  #hear(data: unknown, { talk, stop }: { talk: AbortSignal; stop: AbortSignal }): void {
    if (talk.aborted) return;
    const message = readFromWorker(data);
    if (message === undefined) {
      return this.#fail("The operator in its sandbox sent a message that no operator sends");
    }
    switch (message.type) {
      case "ready":
        return this.#ready.open();
      case "log":
        return this.#options.writeLog(message.line);
      case "pong":
        this.#isPingOpen = false;
        return;
      case "ended":
        if (message.failure !== undefined) return this.#end.reject(errorOf(message.failure));
        if (stop.aborted) return this.#end.resolve();
        return this.#fail("The operator in its sandbox ended without having been told to");
      case "current":
      case "refresh":
        return this.#take(message, talk);
      default:
        return message satisfies never;
    }
  }

  #take(question: FromWorker & { type: "current" | "refresh" }, talk: AbortSignal): void {
    if (this.#answers.size >= QUESTIONS_MAX) {
      return this.#fail("The operator in its sandbox asks for credentials faster than it may");
    }
    const answer = this.#answer(question, talk);
    this.#answers.add(answer);
    const forget = () => void this.#answers.delete(answer);
    answer.then(forget, forget);
  }

  /** Never rejects: a failure is an answer too. */
  async #answer(
    question: FromWorker & { type: "current" | "refresh" },
    talk: AbortSignal,
  ): Promise<void> {
    const { channel, credentials, clock, redactor } = this.#options;
    const { type, id } = question;
    try {
      await clock.sleep(this.#limits[type].next(type), { signal: talk });
      const credential = type === "current"
        ? await credentials.current({ signal: talk })
        : await credentials.refresh(question.generation, { signal: talk });
      channel.post({ type: "credential", id, credential });
    } catch (error) {
      if (talk.aborted) return;
      channel.post({ type: "no-credential", id, failure: failureOf(error, redactor) });
    }
  }

  async #keepPulse(talk: AbortSignal): Promise<void> {
    const { channel, clock } = this.#options;
    for (let missed = 0; missed < PINGS_MISSED_MAX;) {
      this.#isPingOpen = true;
      channel.post({ type: "ping" });
      await clock.sleep(PING_EVERY_MS, { signal: talk });
      missed = this.#isPingOpen ? missed + 1 : 0;
    }
    const seconds = PINGS_MISSED_MAX * PING_EVERY_MS / 1000;
    throw new SandboxError(`The operator in its sandbox has not answered for ${seconds} s`);
  }

  /** Once told to stop, the operator has its time, and no more. */
  async #passStop(signal: AbortSignal, talk: AbortSignal): Promise<void> {
    const { channel, clock, stopLimitMs } = this.#options;
    await unlessAborted(aborted(signal, talk), talk);
    // An operator that was not started yet has nothing to end.
    if (!this.#ready.isOpen) return this.#end.resolve();
    channel.post({ type: "stop" });
    await clock.sleep(stopLimitMs, { signal: talk });
    throw new SandboxError(
      `The operator in its sandbox did not stop within ${stopLimitMs / 1000} s`,
    );
  }

  #fail(message: string): void {
    this.#end.reject(new SandboxError(message));
  }
}

const TALK_ENDED = new DOMException("The conversation with the sandbox has ended", "AbortError");

/** Resolves when `signal` aborts; lets go of it when `until` does. */
function aborted(signal: AbortSignal, until: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener("abort", () => resolve(), { once: true, signal: until });
  return promise;
}

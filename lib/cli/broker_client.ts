/**
 * The sandbox's end of the conversation with the main thread.
 *
 * In here there are no files, no variables, no subprocesses: credentials are asked for, log lines
 * are handed out. {@linkcode serveBroker} makes of the messages what an operator takes: a
 * {@linkcode CredentialSource}, a signal and a function for log lines.
 *
 * @module
 */

import type { Credential, CredentialSource } from "../client/connection.ts";
import type { Clock } from "../core/clock.ts";
import { Redactor } from "../core/redact.ts";
import { unlessAborted } from "../core/tasks.ts";
import type { FromWorker, OperatorStart, ToWorker } from "./broker_messages.ts";
import { errorOf, failureOf } from "./failures.ts";

/**
 * How long an answer is used before the main thread is asked again, in milliseconds. A request
 * costs no question then, and a token that was replaced is noticed as soon as the main thread reads
 * its file, which is at most once a minute, plus this.
 */
export const CREDENTIAL_MAX_AGE_MS = 5_000;

/** Credentials by question and answer; see {@linkcode CREDENTIAL_MAX_AGE_MS}. */
export class BrokeredCredentials implements CredentialSource {
  readonly #post: (message: FromWorker) => void;
  readonly #clock: Clock;
  readonly #open = new Map<number, PromiseWithResolvers<Credential>>();
  readonly #renewals = new Map<number, Promise<Credential>>();
  #current: Promise<Credential> | undefined;
  #held: { credential: Credential; untilMs: number; untilWallMs: number } | undefined;
  #questions = 0;

  /** Only stores; `post` sends a message to the main thread. */
  constructor({ post, clock }: { post: (message: FromWorker) => void; clock: Clock }) {
    this.#post = post;
    this.#clock = clock;
  }

  /** The credential held, if it is young enough, else the main thread's. */
  async current({ signal }: { signal: AbortSignal }): Promise<Credential> {
    signal.throwIfAborted();
    if (this.#held !== undefined && this.#isFresh(this.#held)) return this.#held.credential;
    this.#current ??= this.#ask((id) => ({ type: "current", id }), () => {
      this.#current = undefined;
    });
    return await unlessAborted(this.#current, signal);
  }

  /** Asks once for each generation, however many were refused with it. */
  async refresh(generation: number, { signal }: { signal: AbortSignal }): Promise<Credential> {
    signal.throwIfAborted();
    const credential = this.#held?.credential;
    if (credential !== undefined && credential.generation > generation) return credential;
    let renewal = this.#renewals.get(generation);
    if (renewal === undefined) {
      renewal = this.#ask((id) => ({ type: "refresh", id, generation }), () => {
        this.#renewals.delete(generation);
      });
      this.#renewals.set(generation, renewal);
    }
    return await unlessAborted(renewal, signal);
  }

  /** Takes an answer of the main thread. */
  hear(answer: ToWorker & { type: "credential" | "no-credential" }): void {
    const question = this.#open.get(answer.id);
    this.#open.delete(answer.id);
    if (answer.type === "credential") question?.resolve(answer.credential);
    else question?.reject(errorOf(answer.failure));
  }

  /** The question goes on when those who asked have given up: the answer serves the next one. */
  async #ask(question: (id: number) => FromWorker, done: () => void): Promise<Credential> {
    const id = this.#questions++;
    const answer = Promise.withResolvers<Credential>();
    this.#open.set(id, answer);
    this.#post(question(id));
    try {
      const credential = await answer.promise;
      this.#hold(credential);
      return credential;
    } finally {
      done();
    }
  }

  #hold(credential: Credential): void {
    if (credential.generation < (this.#held?.credential.generation ?? 0)) return;
    const { expiresAtMs } = credential;
    // One that came after its time is the best there is: it is asked for again by age only.
    const isLate = expiresAtMs === undefined || expiresAtMs <= this.#clock.wallMs();
    this.#held = {
      credential,
      untilMs: this.#clock.monotonicMs() + CREDENTIAL_MAX_AGE_MS,
      untilWallMs: isLate ? Infinity : expiresAtMs,
    };
  }

  #isFresh({ untilMs, untilWallMs }: { untilMs: number; untilWallMs: number }): boolean {
    return this.#clock.monotonicMs() < untilMs && this.#clock.wallMs() < untilWallMs;
  }
}

/** A worker's global scope, as far as it is needed. */
export interface WorkerScope {
  postMessage(message: FromWorker): void;
  addEventListener(type: "message", listener: (event: { data: ToWorker }) => void): void;
  addEventListener(
    type: "error",
    listener: (event: { error: unknown; message: string; preventDefault(): void }) => void,
  ): void;
  addEventListener(
    type: "unhandledrejection",
    listener: (event: { reason: unknown; preventDefault(): void }) => void,
  ): void;
}

/** What {@linkcode serveBroker} gives an operator. */
export interface OperatorContext {
  readonly credentials: CredentialSource;
  /** Takes one log line, newline included. */
  readonly writeLog: (line: string) => void;
  /** Knows every secret that `credentials` gave, if told; failures go through it. */
  readonly redactor: Redactor;
  /** Aborts when the operator is to stop. */
  readonly signal: AbortSignal;
}

/**
 * Runs `operate` when the main thread says so, and tells how it ended. An error that nothing
 * catches ends it too: what state it left behind, nobody knows.
 */
export function serveBroker(
  scope: WorkerScope,
  { clock, operate }: {
    clock: Clock;
    operate: (start: OperatorStart, context: OperatorContext) => Promise<void>;
  },
): void {
  const post = (message: FromWorker) => scope.postMessage(message);
  const credentials = new BrokeredCredentials({ post, clock });
  const redactor = new Redactor();
  const stop = new AbortController();
  const end = (error: unknown) => post({ type: "ended", failure: failureOf(error, redactor) });
  const begin = (start: OperatorStart) => {
    const writeLog = (line: string) => post({ type: "log", line });
    operate(start, { credentials, writeLog, redactor, signal: stop.signal })
      .then(() => post({ type: "ended" }), end);
  };
  scope.addEventListener("error", (event) => {
    event.preventDefault();
    end(event.error ?? new Error(event.message));
  });
  scope.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    end(event.reason);
  });
  scope.addEventListener("message", ({ data }) => {
    switch (data.type) {
      case "start":
        return begin(data.start);
      case "credential":
      case "no-credential":
        return credentials.hear(data);
      case "stop":
        return stop.abort(new DOMException("The operator was told to stop", "AbortError"));
      case "ping":
        return post({ type: "pong" });
      default:
        return data satisfies never;
    }
  });
  post({ type: "ready" });
}

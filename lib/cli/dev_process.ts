/**
 * The operator as a child process: `foo-operator run`, its output line by line, and its end.
 *
 * It is not in the terminal's process group, so Ctrl-C reaches it from us alone, and once: to the
 * operator a second signal means to drop its work.
 *
 * @module
 */

import { type Clock, withDeadline } from "../core/clock.ts";
import { DeadlineError } from "../core/errors.ts";
import { unlessAborted } from "../core/tasks.ts";

/** How an operator ended. */
export interface OperatorEnd {
  /** Exit code; 128 and more for a signal. */
  readonly code: number;
  /** False if its sources can't be loaded: it ended before there was an operator. */
  readonly wasLoaded: boolean;
}

/** A running operator. */
export interface OperatorRun {
  /** Resolves when it has ended and all its output was handed on. Never rejects. */
  readonly ended: Promise<OperatorEnd>;
  /** Has it end well, or by force if it takes too long. Again is fine, and so is once it ended. */
  stop(): Promise<void>;
  /** Ends it at once, without waiting: for when this process exits. */
  kill(): void;
}

/** What to start. */
export interface OperatorProcessOptions {
  /** Program and first arguments. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  /** Variables on top of this process' own. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Takes each line of its output.
   *
   * @returns The message, if the line is a log record.
   */
  readonly onLine: (line: string) => string | undefined;
  readonly clock: Clock;
}

/** What a stop may take, in milliseconds. A developer who saved a file waits for no more. */
export const STOP_MAX_MS = 5000;

/**
 * A shell that becomes the program, and has a reader of our end of a pipe beside it. If this process
 * goes without a word, as by SIGKILL, the pipe closes and the reader stops the program: else it would
 * call for a server that is gone, for ever. A line means that the program has ended, and that its pid
 * may be another's by now.
 */
const GUARD = `
program=$$
exec 3<&0
{ trap '' HUP INT TERM; read -r _ <&3 || kill -TERM "$program"; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null
`;

/** Windows has no such shell; there, a program is left to itself. */
function guarded(command: readonly string[]): readonly string[] {
  return Deno.build.os === "windows" ? command : ["/bin/sh", "-c", GUARD, "guard", ...command];
}

/** Starts it; does not wait for anything it does. */
export function startOperator(options: OperatorProcessOptions): OperatorRun {
  const { command, args, environment, onLine, clock } = options;
  const [program = "", ...words] = guarded([...command, ...args]);
  const child = new Deno.Command(program, {
    args: words,
    env: { ...environment },
    detached: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let hasEnded = false;
  const judge = new LoadJudge();
  const take = (line: string) => judge.hear(line, onLine(line));
  const finish = async (): Promise<OperatorEnd> => {
    const [{ code }] = await Promise.all([
      child.status.then(async (status) => {
        hasEnded = true;
        await dismissGuard(child.stdin);
        return status;
      }),
      readLines(child.stdout, take),
      readLines(child.stderr, take),
    ]);
    return { code, wasLoaded: judge.wasLoaded };
  };
  const ended = finish();
  const kill = (signal: Deno.Signal) => {
    if (!hasEnded) killIfThere(child, signal);
  };
  return {
    ended,
    kill: () => kill("SIGKILL"),
    async stop() {
      kill("SIGTERM");
      try {
        await withDeadline((limit) => unlessAborted(ended, limit), {
          action: "the operator's stop",
          limitMs: STOP_MAX_MS,
          clock,
          // Nothing cuts it shorter: what follows relies on the process being gone.
          signal: new AbortController().signal,
        });
      } catch (error) {
        if (!(error instanceof DeadlineError)) throw error;
        kill("SIGKILL");
        await ended;
      }
    },
  };
}

function killIfThere(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch (error) {
    // It ended, and we have not heard of it yet.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The one record of `run` that comes before the operator's own sources are loaded. */
const BEFORE_LOADING = "Starting";

/** What `run` ends with if the worker can't load them, or breaks later. */
const WORKER_DIED = /^error: The operator died in its sandbox\b/;

/**
 * Tells a program that can't be loaded from one that fails. Two parts are loaded: `run` itself, which
 * says nothing if that fails, and the operator, in its sandbox, which then says nothing of its own.
 */
export class LoadJudge {
  #spoke: "nobody" | "run" | "operator" = "nobody";
  #didWorkerDie = false;

  /** Takes a line of output, and the message if it is a log record. */
  hear(line: string, message: string | undefined): void {
    if (message === undefined) this.#didWorkerDie ||= WORKER_DIED.test(line);
    else if (message !== BEFORE_LOADING) this.#spoke = "operator";
    else if (this.#spoke === "nobody") this.#spoke = "run";
  }

  /** What can be said by now. */
  get wasLoaded(): boolean {
    return this.#spoke === "operator" || (this.#spoke === "run" && !this.#didWorkerDie);
  }
}

async function dismissGuard(stdin: WritableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode("\n"));
    await writer.close();
  } catch (error) {
    // The program ended before the shell had made the reader: nobody is there.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

async function readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? "";
    lines.forEach(take);
  }
  if (rest !== "") take(rest);
}

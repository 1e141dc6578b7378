/**
 * Runs the operator as its users do, as a process, and reads what it says.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { realClock, withDeadline } from "../../lib/core/clock.ts";
import { DeadlineError } from "../../lib/core/errors.ts";
import { unlessAborted } from "../../lib/core/tasks.ts";

/** One JSON log line; the names of the fixed fields are the sink's. */
export type LogRecord = Record<string, unknown>;

/** What to run. */
export interface OperatorOptions {
  /** Arguments after the program, e.g. `["run", "--kubeconfig", path]`. */
  readonly args: readonly string[];
  /** The whole environment; nothing is inherited. */
  readonly environment?: Record<string, string>;
  /** A compiled binary; default: `main` of this checkout. */
  readonly binary?: string;
  /** The module to run from source, as a path. @default `main.ts` */
  readonly main?: string;
  readonly cwd?: string;
}

/** How a process ended. */
export interface Ended {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  /** All of stdout and stderr, as lines. */
  readonly lines: readonly string[];
}

/** Longest wait for a line, in milliseconds: many times what a loaded machine needs. */
const SAYS_MAX_MS = 60_000;

const FOREVER = new AbortController().signal;

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Program and first arguments that run the operator from source. */
export function fromSource(main: string = MAIN): string[] {
  return [Deno.execPath(), "run", "--quiet", "--no-prompt", "--cached-only", "-A", main];
}

/** A running operator. Leaving the scope kills it. */
export class OperatorProcess implements AsyncDisposable {
  /** Lines of stdout and stderr so far, in the order of arrival. */
  readonly lines: string[] = [];
  /** Resolves when the process has ended and all its output was read. */
  readonly ended: Promise<Ended>;
  readonly pid: number;
  #isEnded = false;
  readonly #child: Deno.ChildProcess;
  #waiters: { claim: (line: string) => boolean; resolve: (line: string) => void }[] = [];

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.pid = child.pid;
    this.ended = this.#finish();
  }

  /** Starts the process; does not wait for anything it does. */
  static start(options: OperatorOptions): OperatorProcess {
    const [program, ...first] = options.binary === undefined
      ? fromSource(options.main)
      : [options.binary];
    return new OperatorProcess(
      new Deno.Command(program ?? "", {
        args: [...first, ...options.args],
        clearEnv: true,
        // The runtime, not the product, wants a home for its module cache when run from source.
        env: options.binary === undefined
          ? { HOME: Deno.env.get("HOME") ?? "/", ...denoDir(), ...options.environment }
          : { ...options.environment },
        cwd: options.cwd ?? ROOT,
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn(),
    );
  }

  /** Runs to the end. */
  static run(options: OperatorOptions): Promise<Ended> {
    return OperatorProcess.start(options).ended;
  }

  /** True once the process has ended and its output was read. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** JSON log records so far; lines that are not JSON are left out. */
  get records(): LogRecord[] {
    return this.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  }

  /**
   * Waits for a line, past ones included, that contains `text`.
   *
   * Throws if the process ends first, or says nothing of the kind within a minute.
   */
  async line(text: string): Promise<string> {
    const past = this.lines.find((line) => line.includes(text));
    if (past !== undefined) return past;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiters.push({ claim: (line) => line.includes(text), resolve });
    const fails = (why: string): never => {
      throw new Error(`${why} before saying "${text}":\n${this.lines.join("\n")}`);
    };
    return await withDeadline(
      (signal) => {
        const ended = this.ended.then(({ code }) => fails(`ended with ${code}`));
        return unlessAborted(Promise.race([promise, ended]), signal);
      },
      { action: `saying "${text}"`, limitMs: SAYS_MAX_MS, clock: realClock, signal: FOREVER },
    ).catch((error) =>
      error instanceof DeadlineError ? fails(error.message) : Promise.reject(error)
    );
  }

  /** Sends `signal`. */
  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Sends `signal` and waits for the end. */
  stop(signal: Deno.Signal = "SIGTERM"): Promise<Ended> {
    this.#child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // Ended already: what we wanted.
      if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
    }
    await this.ended;
  }

  async #finish(): Promise<Ended> {
    const [status] = await Promise.all([
      this.#child.status,
      this.#read(this.#child.stdout),
      this.#read(this.#child.stderr),
    ]);
    this.#isEnded = true;
    return { code: status.code, signal: status.signal, lines: this.lines };
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      lines.forEach((line) => this.#tell(line));
    }
    if (rest !== "") this.#tell(rest);
  }

  #tell(line: string): void {
    this.lines.push(line);
    this.#waiters = this.#waiters.filter((waiter) => {
      if (!waiter.claim(line)) return true;
      waiter.resolve(line);
      return false;
    });
  }
}

function denoDir(): Record<string, string> {
  const names = ["DENO_DIR", "DENO_TLS_CA_STORE", "XDG_CACHE_HOME"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

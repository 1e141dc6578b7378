/**
 * A subprocess that can't outlive the test that started it, however that ends.
 *
 * The program runs below a small shell that also reads our end of a pipe. When this process goes
 * away, even by SIGKILL, the pipe closes and the shell kills the program: no test run leaves an API
 * server behind.
 *
 * @module
 */

/** What to run. */
export interface GuardedOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** File that gets stdout and stderr, appended. */
  readonly logFile: string;
}

/**
 * The reader holds the pipe as descriptor 3 (a background job's stdin is not ours), the program has
 * none of it. The reader ignores what a terminal or a timeout sends to the whole group, since the
 * program may hang while it ends by that. `exec` makes the program take the shell's pid, so that our
 * child is the program itself. A line instead of an end of file tells the reader that the program
 * was waited for, and that its pid may be another process' by now.
 */
const GUARD = `
log="$1"; shift; program=$$
exec 3<&0
{ trap '' HUP INT TERM; read -r _ <&3 || kill -KILL "$program"; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null >>"$log" 2>&1
`;

/** A running program; see the module. Leaving the scope kills it. */
export class GuardedProcess implements AsyncDisposable {
  readonly pid: number;
  /** Resolves when the program has ended. */
  readonly ended: Promise<Deno.CommandStatus>;
  readonly #child: Deno.ChildProcess;
  #hasEnded = false;

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.pid = child.pid;
    this.ended = this.#watch();
  }

  /** Starts the program; does not wait for anything it does. */
  static start({ program, args, logFile }: GuardedOptions): GuardedProcess {
    return new GuardedProcess(
      new Deno.Command("/bin/sh", {
        args: ["-c", GUARD, "guard", logFile, program, ...args],
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      }).spawn(),
    );
  }

  /** True once the program has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sends `signal`, unless the program has ended, and waits for its end. */
  async stop(signal: Deno.Signal): Promise<Deno.CommandStatus> {
    if (!this.#hasEnded) this.#child.kill(signal);
    return await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }

  async #watch(): Promise<Deno.CommandStatus> {
    const status = await this.#child.status;
    this.#hasEnded = true;
    try {
      const writer = this.#child.stdin.getWriter();
      await writer.write(new TextEncoder().encode("\n"));
      await writer.close();
    } catch (error) {
      // Ended before the shell had made its reader: nobody is there to be told.
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    }
    return status;
  }
}

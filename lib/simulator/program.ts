/**
 * The program under simulation: started, crashed, stopped and started again, as Kubernetes does with
 * a container.
 *
 * @module
 */

import type { Clock, Random } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { LogFields, Logger, LogLevel } from "../core/log.ts";
import { seededUuid, type SimClock } from "./sim_clock.ts";
import type { Trace } from "./trace.ts";
import type { CrashingProgram, SimTransport, Weather } from "./weather.ts";

/** What a program gets of the outside, each time it is started. */
export interface ProgramParts {
  /** Sends requests through the weather. Fits the client's `Transport`. */
  readonly transport: SimTransport;
  /** Simulated time: moves only while nothing in the simulation has work to do. */
  readonly clock: Clock;
  /** The program's own chance, drawn from the seed; a restart gets another part of it. */
  readonly random: Random;
  /** Makes UUIDs, drawn from the seed too. */
  readonly uuid: () => string;
  /** What is logged becomes part of the trace. */
  readonly log: Logger;
  /** Aborts when the program is to stop, or has crashed. */
  readonly signal: AbortSignal;
}

/** A program: runs until its signal aborts, then resolves, or rejects with the signal's reason. */
export type Program = (parts: ProgramParts) => Promise<void>;

/** What a {@linkcode Supervisor} is made of. */
export interface SupervisorOptions {
  /** What is started, and after each crash started again. */
  readonly program: Program;
  /** What stands between the program and its server. */
  readonly weather: Weather;
  /** The time of program and supervisor, restart pauses among it. */
  readonly clock: SimClock;
  /** Where the program's chance is drawn from. */
  readonly random: Random;
  /** Is told starts, ends and what the program logs. */
  readonly trace: Trace;
  /** May the program end by itself with this error? It is started again then. */
  readonly mayFail: (error: unknown) => boolean;
  /** Told of ends that are bugs. */
  readonly fail: (problem: string) => void;
}

/** Longest pause before a program that ended is started again, in milliseconds. */
const RESTART_PAUSE_MAX_MS = 20_000;

const CRASHED = new DOMException("The program has crashed", "AbortError");
const STOPPED = new DOMException("The program is stopped", "AbortError");

/** One life of the program, from a start to an end. Its memory ends with it. */
class Life implements CrashingProgram {
  readonly #stop = new AbortController();
  isAlive = true;

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  crash(): void {
    this.isAlive = false;
    this.#stop.abort(CRASHED);
  }

  stop(): void {
    this.#stop.abort(STOPPED);
  }
}

/** Keeps the program running. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #stop = new AbortController();
  /** Lives that have not ended: a crashed one may take a while to notice. */
  readonly #running = new Set<Promise<void>>();
  #life: Life | undefined;
  #supervision: Promise<void> = Promise.resolve();
  #starts = 0;

  /** Only stores. */
  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** How often the program was started. */
  get starts(): number {
    return this.#starts;
  }

  /** True if no life of it runs, not even one that has crashed and does not know yet. */
  get hasEnded(): boolean {
    return this.#running.size === 0;
  }

  /** Starts the program, and again whenever it ends, until {@linkcode Supervisor.stop}. */
  start(): void {
    this.#supervision = this.#supervise(this.#stop.signal);
  }

  /** Ends the running life at once, as `kill -9` does. It is started again after a pause. */
  crash(): void {
    this.#options.trace.add("program is killed");
    this.#life?.crash();
  }

  /** Asks the running life to stop, as a rolling update does. It is started again after its end. */
  restart(): void {
    this.#options.trace.add("program is restarted");
    this.#life?.stop();
  }

  /** Asks the program to stop for good. Drive the clock until {@linkcode Supervisor.hasEnded}. */
  stop(): void {
    this.#options.trace.add("program is stopped");
    this.#stop.abort(STOPPED);
    this.#life?.stop();
  }

  /** Resolves once the supervision has ended. Throws what broke it. */
  async ended(): Promise<void> {
    await this.#supervision;
  }

  async #supervise(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      const life = new Life();
      this.#life = life;
      const crashed = new Promise<void>((resolve) => {
        life.signal.addEventListener("abort", () => life.isAlive || resolve(), { once: true });
      });
      const running = this.#live(life).finally(() => this.#running.delete(running));
      this.#running.add(running);
      await Promise.race([running, crashed]);
      try {
        await clock.sleep(1000 + random() * RESTART_PAUSE_MAX_MS, { signal });
      } catch (error) {
        if (error !== signal.reason) throw error;
      }
    }
  }

  /** One life. Never rejects: an end that is a bug is told. */
  async #live(life: Life): Promise<void> {
    const { program, weather, clock, random, trace, mayFail, fail } = this.#options;
    this.#starts += 1;
    trace.add(`program starts (${this.#starts})`);
    try {
      await program({
        transport: weather.transportFor(life),
        clock,
        random,
        uuid: seededUuid(random),
        log: tracingLogger(trace),
        signal: life.signal,
      });
      if (!life.signal.aborted) fail("the program ended by itself");
    } catch (error) {
      const isStop = life.signal.aborted && error === life.signal.reason;
      const isExcused = !life.isAlive || (!life.signal.aborted && mayFail(error));
      trace.add(`program ends: ${messageOf(error)}`);
      if (!isStop && !isExcused) fail(`the program failed: ${messageOf(error)}`);
    }
    trace.add("program has ended");
  }
}

/** A logger whose records become lines of `trace`. */
function tracingLogger(trace: Trace): Logger {
  const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
    trace.add(`${level} ${message} ${JSON.stringify(fields, plain)}`);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Errors have no fields that JSON shows. */
function plain(_name: string, value: unknown): unknown {
  return value instanceof Error ? messageOf(value) : value;
}

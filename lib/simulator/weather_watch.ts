/**
 * A watch in bad weather: its stream is cut, falls silent, ends inside a line, lags behind, or tells
 * things twice.
 *
 * Apart from the weather of requests because a watch has a fate over time, drawn when it opens.
 *
 * @module
 */

import type { Clock, Random } from "../core/clock.ts";
import { brokenBody } from "./weather_answers.ts";

/** What becomes of a watch. */
export interface WatchFate {
  /** Lines that are told before the server's own. */
  readonly prefix: readonly Uint8Array<ArrayBuffer>[];
  /** How late everything arrives, in milliseconds. */
  readonly lagMs: number;
  /** Share of lines that come twice. */
  readonly repeats: number;
  /** Lines come in pieces. */
  readonly isBroken: boolean;
  /** How it ends before its time, if it does. */
  readonly end: "none" | "clean" | "reset" | "silent" | "torn";
  /** When that is, in milliseconds after it opened; a torn watch ends in the next line after it. */
  readonly endsAfterMs: number;
}

/** True if `fate` leaves a watch as it is. */
export function isUneventful({ prefix, lagMs, repeats, isBroken, end }: WatchFate): boolean {
  return prefix.length === 0 && lagMs === 0 && repeats === 0 && !isBroken && end === "none";
}

/** The watch `body` under its `fate`. */
export class WeatheredWatch {
  /** What the client reads. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #fate: WatchFate;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #stop = new AbortController();
  readonly #late = new Set<Promise<void>>();
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  #isSilent = false;
  #isTorn = false;
  #isOver = false;

  /** Takes `body` over; nothing is read of it before {@linkcode WeatheredWatch.run}. */
  constructor(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    { fate, clock, random }: { fate: WatchFate; clock: Clock; random: Random },
  ) {
    this.#fate = fate;
    this.#clock = clock;
    this.#random = random;
    this.#reader = body.getReader();
    this.stream = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.#over(() => {}),
    });
  }

  /** Passes on what comes, until the watch has ended one way or the other. */
  async run(): Promise<void> {
    for (const line of this.#fate.prefix) this.#arrive(line);
    const striking = this.#strike();
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#arrive(value);
      }
      await this.#afterLag(() => this.#over((controller) => controller.close()));
    } catch (error) {
      this.#over((controller) => controller.error(error));
    }
    await striking;
    await Promise.all(this.#late);
  }

  /** Lets its end come when its time has come. */
  async #strike(): Promise<void> {
    const { end, endsAfterMs } = this.#fate;
    if (end === "none" || !await this.#sleep(endsAfterMs)) return;
    switch (end) {
      case "clean":
        return this.#over((controller) => controller.close());
      case "reset":
        return this.#over((controller) => controller.error(brokenBody()));
      case "silent":
        this.#isSilent = true;
        return;
      case "torn":
        this.#isTorn = true;
        return;
      default:
        return end satisfies never;
    }
  }

  #arrive(line: Uint8Array<ArrayBuffer>): void {
    const pass = this.#afterLag(() => this.#pass(line)).finally(() => this.#late.delete(pass));
    this.#late.add(pass);
  }

  /** At once if there is no lag, so that the order of lines stays; timers keep it too. */
  async #afterLag(act: () => void): Promise<void> {
    const { lagMs } = this.#fate;
    if (lagMs === 0 || await this.#sleep(lagMs)) act();
  }

  #pass(line: Uint8Array<ArrayBuffer>): void {
    if (this.#isOver || this.#isSilent) return;
    if (this.#isTorn) {
      this.#controller?.enqueue(line.slice(0, tearAt(line)));
      const isClean = this.#random() < 0.5;
      return this.#over((controller) =>
        isClean ? controller.close() : controller.error(brokenBody())
      );
    }
    const times = this.#random() < this.#fate.repeats ? 2 : 1;
    for (let time = 0; time < times; time++) {
      if (!this.#fate.isBroken) {
        this.#controller?.enqueue(line);
        continue;
      }
      for (let from = 0; from < line.length;) {
        const to = from + 1 + Math.floor(this.#random() * line.length);
        this.#controller?.enqueue(line.slice(from, to));
        from = to;
      }
    }
  }

  /** Ends it for its reader by `tell`, and for the server. Once. */
  #over(
    tell: (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) => void,
  ): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#controller !== undefined) tell(this.#controller);
    this.#stop.abort();
    // Its failure is that of the body, which whoever reads us was told of.
    this.#late.add(this.#reader.cancel().catch(() => {}));
  }

  /** False if the watch was over before. */
  async #sleep(ms: number): Promise<boolean> {
    const { signal } = this.#stop;
    try {
      await this.#clock.sleep(ms, { signal });
      return true;
    } catch (error) {
      if (error !== signal.reason) throw error;
      return false;
    }
  }
}

/** Inside a character of several bytes if `line` has one, else in its middle. */
function tearAt(line: Uint8Array): number {
  const continuation = line.findIndex((byte) => (byte & 0xc0) === 0x80);
  return continuation > 0 ? continuation : line.length >> 1;
}

/**
 * What happened in a simulation, line by line: to replay a failure, and to prove that the same seed
 * gives the same history.
 *
 * @module
 */

/** Lines kept when not all are: enough to see what led to a failure. */
const TAIL_LINES = 400;

/**
 * Where a {@linkcode Trace} takes the time of its lines from, and whether it keeps all of them.
 */
export interface TraceOptions {
  /** Stamps the lines, in simulated milliseconds. */
  readonly nowMs: () => number;
  /**
   * Keep all lines, for a replay; else only the last ones.
   * @default {false}
   */
  readonly keepAll?: boolean;
}

/**
 * A history as lines of text, and a running hash over all of them.
 *
 * @example
 * ```ts
 * import { notStrictEqual, strictEqual } from "node:assert/strict";
 * const [a, b] = [new Trace({ nowMs: () => 1500 }), new Trace({ nowMs: () => 1500 })];
 * a.add("create foo");
 * b.add("create foo");
 * strictEqual(a.lines[0], "1.500 create foo");
 * strictEqual(a.hash, b.hash);
 * b.add("delete foo");
 * notStrictEqual(a.hash, b.hash);
 * ```
 */
export class Trace {
  readonly #options: TraceOptions;
  #lines: string[] = [];
  #count = 0;
  #a = 0x811c9dc5;
  #b = 0x2f0b4c47;

  /** Only stores. */
  constructor(options: TraceOptions) {
    this.#options = options;
  }

  /** Adds one line under the time of now, in seconds. */
  add(line: string): void {
    const stamped = `${(this.#options.nowMs() / 1000).toFixed(3)} ${line}`;
    this.#count += 1;
    this.#mix(stamped);
    this.#lines.push(stamped);
    if (this.#options.keepAll !== true && this.#lines.length > 2 * TAIL_LINES) {
      this.#lines = this.#lines.slice(-TAIL_LINES);
    }
  }

  /** Number of lines that were added. */
  get count(): number {
    return this.#count;
  }

  /** The lines, or the last of them if not all are kept. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** A 64-bit hash of all lines, as hexadecimal digits. Against accidents, not against attackers. */
  get hash(): string {
    return [this.#a, this.#b].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /** FNV-1a in two lanes that start apart and have different primes. */
  #mix(text: string): void {
    let [a, b] = [this.#a, this.#b];
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b ^ unit, 0x01000197);
    }
    // The end of a line counts, so that "ab" and "a", "b" differ.
    this.#a = Math.imul(a ^ 0x0a, 0x01000193);
    this.#b = Math.imul(b ^ 0x0a, 0x01000197);
  }
}

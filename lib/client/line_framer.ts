/**
 * Finds lines in bytes that come in pieces.
 *
 * Framing happens on bytes, before any decoding, so a piece may end inside a character, a line or
 * anywhere (field case W10).
 *
 * @module
 */

import { ProtocolError } from "../core/errors.ts";

const LINE_FEED = 0x0a;

/**
 * Collects pieces and gives the lines in them.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * const framer = new LineFramer({ lineBytesMax: 1024 });
 * const bytes = (text: string) => new TextEncoder().encode(text);
 * deepStrictEqual([...framer.push(bytes("a\nb"))], ["a"]);
 * deepStrictEqual([...framer.push(bytes("c\n\nd"))], ["bc", ""]);
 * strictEqual(framer.rest(), "d");
 * ```
 */
export class LineFramer {
  readonly #lineBytesMax: number;
  readonly #decoder = new TextDecoder();
  /** Parts of the line that no line feed has ended yet, and their length. */
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  /** Only stores. */
  constructor({ lineBytesMax }: { lineBytesMax: number }) {
    this.#lineBytesMax = lineBytesMax;
  }

  /**
   * Yields the lines that `chunk` completes, without their line feeds. Bytes that are not UTF-8
   * become U+FFFD. Must be read to its end before the next chunk.
   *
   * @throws {ProtocolError} If a line is longer than the limit.
   */
  *push(chunk: Uint8Array): Generator<string, void, void> {
    let start = 0;
    for (
      let end = chunk.indexOf(LINE_FEED);
      end >= 0;
      start = end + 1, end = chunk.indexOf(LINE_FEED, start)
    ) {
      yield this.#decoder.decode(this.#take(chunk.subarray(start, end)));
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** What came after the last line feed; `undefined` if nothing did. */
  rest(): string | undefined {
    return this.#partBytes === 0 ? undefined : this.#decoder.decode(this.#take(new Uint8Array()));
  }

  /** The whole line that ends with `tail`. */
  #take(tail: Uint8Array): Uint8Array {
    this.#check(tail);
    if (this.#partBytes === 0) return tail;
    const line = new Uint8Array(this.#partBytes + tail.length);
    let at = 0;
    for (const part of [...this.#parts, tail]) {
      line.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#partBytes = 0;
    return line;
  }

  #keep(part: Uint8Array): void {
    this.#check(part);
    this.#parts.push(part);
    this.#partBytes += part.length;
  }

  #check(more: Uint8Array): void {
    if (this.#partBytes + more.length <= this.#lineBytesMax) return;
    throw new ProtocolError(`Cannot read a line of more than ${this.#lineBytesMax} bytes`);
  }
}

/**
 * Lines of JSON from a stream of bytes, however those are cut.
 *
 * Lines are framed on bytes, before any decoding, so a chunk may end inside a character, a line or
 * anywhere (field case W10). What is read of a stream is never lost silently: it ends in a complete
 * line or throws.
 *
 * @module
 */

import { ConnectionError, ProtocolError } from "../core/errors.ts";
import { parseJson } from "../core/json_text.ts";

/**
 * Longest watch line accepted, in bytes. etcd refuses objects above 1.5 MiB by default; five times
 * that leaves room for their JSON form and for servers configured higher.
 */
export const WATCH_LINE_BYTES_MAX = 8 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * Yields the value of each line of `chunks`; empty lines are skipped. Bytes that are not UTF-8
 * become U+FFFD. Leaving the loop early ends `chunks` too.
 *
 * @throws {ConnectionError} If `chunks` ends inside a line: the connection was cut.
 * @throws {ProtocolError} If a complete line is not JSON, or is longer than `lineBytesMax`.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * async function* chunks() {
 *   for (const text of ['{"a":', '1}\n{"a":2}', "\n"]) yield new TextEncoder().encode(text);
 * }
 * deepStrictEqual(await Array.fromAsync(ndjson(chunks())), [{ a: 1 }, { a: 2 }]);
 * ```
 */
export async function* ndjson(
  chunks: AsyncIterable<Uint8Array>,
  { lineBytesMax = WATCH_LINE_BYTES_MAX }: { lineBytesMax?: number } = {},
): AsyncGenerator<unknown, void, void> {
  const decoder = new TextDecoder();
  /** Parts of the line that no line feed has ended yet, and their length. */
  let parts: Uint8Array[] = [];
  let partBytes = 0;

  for await (const chunk of chunks) {
    let start = 0;
    for (
      let end = chunk.indexOf(LINE_FEED);
      end >= 0;
      start = end + 1, end = chunk.indexOf(LINE_FEED, start)
    ) {
      const tail = chunk.subarray(start, end);
      checkLength(partBytes + tail.length, lineBytesMax);
      const line = parts.length === 0 ? tail : joined([...parts, tail], partBytes + tail.length);
      parts = [];
      partBytes = 0;
      if (line.length > 0) yield parseLine(decoder.decode(line));
    }
    if (start === chunk.length) continue;
    const rest = chunk.subarray(start);
    checkLength(partBytes + rest.length, lineBytesMax);
    parts.push(rest);
    partBytes += rest.length;
  }
  if (partBytes > 0) {
    throw new ConnectionError("The stream ended inside a line", { stage: "body" });
  }
}

function checkLength(lineBytes: number, lineBytesMax: number): void {
  if (lineBytes <= lineBytesMax) return;
  throw new ProtocolError(`Cannot read a line of more than ${lineBytesMax} bytes`);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function parseLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    // Without the cause: its message quotes the line, which may hold a Secret.
    throw new ProtocolError(`Cannot read a line of ${line.length} characters: it is not JSON`);
  }
}

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
import { LineFramer } from "./line_framer.ts";

/**
 * Longest watch line accepted, in bytes. etcd refuses objects above 1.5 MiB by default; five times
 * that leaves room for their JSON form and for servers configured higher.
 */
export const WATCH_LINE_BYTES_MAX = 8 * 1024 * 1024;

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
  const framer = new LineFramer({ lineBytesMax });
  for await (const chunk of chunks) {
    for (const line of framer.push(chunk)) if (line !== "") yield parseLine(line);
  }
  if (framer.rest() !== undefined) {
    throw new ConnectionError("The stream ended inside a line", { stage: "body" });
  }
}

function parseLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    // Without the cause: its message quotes the line, which may hold a Secret.
    throw new ProtocolError(`Cannot read a line of ${line.length} characters: it is not JSON`);
  }
}

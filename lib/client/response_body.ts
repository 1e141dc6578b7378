/**
 * Reading a response's body, so that it has always been read to its end or cancelled when the
 * reader is left: what is neither keeps its connection for ever (field cases P4, P5).
 *
 * @module
 */

import { ConnectionError, ProtocolError } from "../core/errors.ts";
import { unlessAborted } from "../core/tasks.ts";
import type { RequestDeadlines } from "./deadlines.ts";

/** How a body is read. */
export interface BodyOptions {
  /** Names the request, for errors. */
  readonly action: string;
  /** Told of every wait for bytes; its signal ends the reading. */
  readonly deadlines: RequestDeadlines;
  /** Told of the number of bytes that were read, once the body has ended or was given up. */
  readonly onEnd?: (bytes: number) => void;
}

/**
 * Yields the body's chunks as they come.
 *
 * @throws {ConnectionError} If the body was cut, stage `body`.
 * @throws `deadlines.signal.reason`, if that aborted.
 */
export async function* bodyChunks(
  response: Response,
  { action, deadlines, onEnd }: BodyOptions,
): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) {
    onEnd?.(0);
    return;
  }
  const { signal } = deadlines;
  const reader = response.body.getReader();
  // For bodies that do not follow the signal of their request by themselves.
  const abort = () => cancelQuietly(reader);
  signal.addEventListener("abort", abort, { once: true });
  let isComplete = false;
  let bytes = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      deadlines.expect("bytes");
      const { done, value } = await readChunk(reader, { action, signal });
      deadlines.expect("nothing");
      if (done) {
        isComplete = true;
        return;
      }
      bytes += value.length;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    onEnd?.(bytes);
    if (!isComplete) await cancelQuietly(reader);
  }
}

async function readChunk(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  { action, signal }: { action: string; signal: AbortSignal },
): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    const result = await reader.read();
    // A body that was cancelled under the read looks like one that ended.
    signal.throwIfAborted();
    return result;
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConnectionError(`Cannot ${action}: the answer was cut`, { cause, stage: "body" });
  }
}

async function cancelQuietly(reader: ReadableStreamDefaultReader): Promise<void> {
  try {
    await reader.cancel();
  } catch {
    // The body had failed already, and whoever reads it is told by the read.
  }
}

/**
 * Longest body that is read in one step, in bytes, if the server says its length beforehand. An API
 * server does so for single objects; reading chunk by chunk costs several times as much. It must come
 * within the limit of one wait for bytes: a small body does, also over a slow line.
 */
const WHOLE_BODY_BYTES_MAX = 128 * 1024;

/**
 * The whole body as text.
 *
 * @throws {ProtocolError} If it is longer than `bytesMax`.
 * @throws What {@linkcode bodyChunks} throws.
 */
export async function bodyText(
  response: Response,
  { bytesMax, ...options }: BodyOptions & { readonly bytesMax: number },
): Promise<string> {
  const length = response.headers.get("content-length");
  if (length !== null && Number(length) <= Math.min(bytesMax, WHOLE_BODY_BYTES_MAX)) {
    return await wholeText(response, options);
  }
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of bodyChunks(response, options)) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      throw new ProtocolError(
        `Cannot ${options.action}: the answer is longer than ${bytesMax} bytes`,
      );
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** {@linkcode bodyText} in one step. The body ends with the signal of its request. */
async function wholeText(
  response: Response,
  { action, deadlines, onEnd }: BodyOptions,
): Promise<string> {
  const { signal } = deadlines;
  deadlines.expect("bytes");
  try {
    const bytes = await unlessAborted(response.bytes(), signal);
    onEnd?.(bytes.length);
    return new TextDecoder().decode(bytes);
  } catch (cause) {
    onEnd?.(0);
    signal.throwIfAborted();
    throw new ConnectionError(`Cannot ${action}: the answer was cut`, { cause, stage: "body" });
  } finally {
    deadlines.expect("nothing");
    keepAlive(response);
  }
}

/** Marks a last use: the runtime forgets to end the body of a collected response on an abort. */
function keepAlive(_response: Response): void {}

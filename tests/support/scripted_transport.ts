/**
 * A `Transport` that a test scripts: answers in the order given, requests kept for reading.
 *
 * For tests of the client itself. What uses the client is better tested against the simulated API
 * server, which knows how a real one behaves.
 *
 * @module
 */

import { RestClient, type RestOptions } from "../../lib/client/rest.ts";
import type { Transport } from "../../lib/client/transport.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

/** A request as it came to the transport. */
export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly text: string | undefined;
  readonly signal: AbortSignal;
}

/** Answers one request. */
export type Answer = (request: ScriptedRequest) => Response | Promise<Response>;

/** A transport that gives `answers` in turn, and fails the request after the last. */
export function scripted(
  ...answers: Answer[]
): { transport: Transport; requests: ScriptedRequest[] } {
  const requests: ScriptedRequest[] = [];
  const transport: Transport = async (url, { method, headers, body, signal }) => {
    signal.throwIfAborted();
    const { pathname, searchParams } = new URL(url);
    const query = Object.fromEntries(searchParams);
    const request = { method, path: pathname, query, headers, text: body, signal };
    requests.push(request);
    const answer = answers[requests.length - 1];
    if (answer === undefined) throw new Error(`No answer was scripted to ${method} ${pathname}`);
    return await answer(request);
  };
  return { transport, requests };
}

/** A request layer on scripted answers and a clock that stands still. */
export function scriptedRest(
  answers: Answer[],
  options: Partial<RestOptions> = {},
): { rest: RestClient; requests: ScriptedRequest[]; clock: SimClock } {
  const { transport, requests } = scripted(...answers);
  const clock = new SimClock();
  const connection = { server: "https://test:6443", userAgent: "test/1" };
  const rest = new RestClient({ transport, connection, clock, ...options });
  return { rest, requests, clock };
}

/** Answers with JSON. */
export function json(value: unknown, init: ResponseInit = {}): Answer {
  return () => Response.json(value, init);
}

/** Answers with a Status, as API servers do. */
export function status(
  code: number,
  fields: { reason?: string; message?: string; details?: unknown; headers?: HeadersInit } = {},
): Answer {
  const { headers = {}, ...rest } = fields;
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, ...rest };
  return () => Response.json(body, { status: code, headers });
}

/** Never answers; ends with the request. */
export function silence(): Answer {
  return ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
}

/** A body whose every step a test sees. */
export interface ScriptedBody {
  readonly answer: Answer;
  /** Sends text or bytes. */
  send(data: string | Uint8Array): void;
  /** Ends the body well. */
  end(): void;
  /** Cuts the body, as a broken connection does. */
  cut(): void;
  /** True once the reader gave it up. */
  readonly isCancelled: boolean;
}

/** An answer of 200 whose body the test sends piece by piece. It ignores the request's signal. */
export function scriptedBody(init: ResponseInit = {}): ScriptedBody {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  return {
    answer: () => new Response(stream, init),
    send: (data) =>
      controller?.enqueue(typeof data === "string" ? new TextEncoder().encode(data) : data),
    end: () => controller?.close(),
    cut: () => controller?.error(new TypeError("error reading a body from connection")),
    get isCancelled() {
      return isCancelled;
    },
  };
}

/**
 * What only Pods have: eviction, and logs.
 *
 * @module
 */

import { PODS } from "./kinds.ts";
import { LineFramer } from "./line_framer.ts";
import type { DeleteCallOptions, ObjectPlace } from "./resource_options.ts";
import { objectPath } from "./resource_path.ts";
import { deleteBody } from "./resource_query.ts";
import type { RestClient } from "./rest.ts";

/** Longest line of a log that is read as one, in bytes. Container runtimes cut at 16 KiB. */
export const LOG_LINE_BYTES_MAX = 1024 * 1024;

/** Options of {@linkcode evictPod}. */
export interface EvictOptions extends Required<ObjectPlace>, DeleteCallOptions {}

/**
 * Asks for a Pod's deletion in a way that respects its PodDisruptionBudgets.
 *
 * @throws {ApiError} With status 429, if a budget forbids it now: try again later. With
 * `isNotFound`, if there is none; with `isConflict`, if a precondition does not hold, which the
 * server says only after it has tried for about 10 s itself.
 *
 * @example What an eviction looks like to the server
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { realClock } from "../core/clock.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const asked: string[] = [];
 * const transport = (url: string) => {
 *   asked.push(new URL(url).pathname);
 *   return Promise.resolve(Response.json({ kind: "Status", status: "Success" }));
 * };
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const rest = new RestClient({ transport, connection, clock: realClock });
 *
 * const { signal } = new AbortController();
 * await evictPod(rest, { name: "web-0", namespace: "default", signal });
 * strictEqual(asked[0], "/api/v1/namespaces/default/pods/web-0/eviction");
 * ```
 */
export async function evictPod(rest: RestClient, options: EvictOptions): Promise<void> {
  const { name, namespace, signal } = options;
  await rest.request({
    verb: "create",
    method: "POST",
    path: objectPath(PODS, { name, namespace, subresource: "eviction" }),
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace },
      deleteOptions: deleteBody(options),
    },
    signal,
  });
}

/** Options of {@linkcode podLog}. */
export interface PodLogOptions extends Required<ObjectPlace> {
  /** Which container; may be absent for a Pod of one. */
  readonly container?: string;
  /** Go on with what is written later, until the container ends. @default {false} */
  readonly follow?: boolean;
  /** The log of the container that ran before its last restart. @default {false} */
  readonly previous?: boolean;
  /** Only what is not older, in seconds. */
  readonly sinceSeconds?: number;
  /** Only what is not older than this RFC 3339 time. Not together with `sinceSeconds`. */
  readonly sinceTime?: string;
  /** Only the last lines. */
  readonly tailLines?: number;
  /** At most about so many bytes. */
  readonly limitBytes?: number;
  /** Put an RFC 3339 time before each line. @default {false} */
  readonly timestamps?: boolean;
  /**
   * Longest silence, in milliseconds.
   *
   * @default {30_000} but for `follow`, where a container may be silent for good: `Infinity`.
   */
  readonly inactivityMs?: number;
  /** Called once the server has accepted the request. */
  readonly onOpen?: () => void;
  /** Ends the log, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * Yields a container's log as it comes, as bytes, until it ends. Leaving the loop ends the request.
 *
 * @throws {ApiError} If the server refuses: `isNotFound` without such a Pod, BadRequest while the
 * container is not there yet.
 * @throws {ConnectionError} If the connection broke.
 * @throws {DeadlineError} If nothing came for `inactivityMs`.
 */
export async function* podLog(
  rest: RestClient,
  options: PodLogOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const { name, namespace, inactivityMs, onOpen, signal, ...query } = options;
  const silenceMs = inactivityMs ?? (options.follow ? Infinity : undefined);
  // A kubelet sends the headers with the first line that the container writes, however late.
  yield* rest.stream({
    verb: "get",
    method: "GET",
    path: objectPath(PODS, { name, namespace, subresource: "log" }),
    query,
    signal,
  }, {
    ...(silenceMs !== undefined && { inactivityMs: silenceMs, headersMs: silenceMs }),
    ...(onOpen && { onOpen }),
  });
}

/**
 * As {@linkcode podLog}, line by line, without line feeds. The last line need not have had one.
 *
 * @throws {ProtocolError} If a line is longer than `lineBytesMax`.
 */
export async function* podLogLines(
  rest: RestClient,
  { lineBytesMax = LOG_LINE_BYTES_MAX, ...options }: PodLogOptions & {
    /** Longest line, in bytes. @default {1_048_576} */
    readonly lineBytesMax?: number;
  },
): AsyncGenerator<string, void, void> {
  const framer = new LineFramer({ lineBytesMax });
  for await (const chunk of podLog(rest, options)) yield* framer.push(chunk);
  const last = framer.rest();
  if (last !== undefined) yield last;
}

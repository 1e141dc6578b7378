/**
 * What requests are made of, apart from sending them: options, limits, and what metrics are told.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { ConnectionSettings } from "./connection.ts";
import type { DeadlineLimits } from "./deadlines.ts";
import type { RateLimit } from "./request_throttle.ts";
import type { Transport } from "./transport.ts";

/** Limits of a {@linkcode RestClient}. */
export interface RestLimits extends DeadlineLimits {
  /**
   * Wait for the headers of a read, in milliseconds. Twice what a request may queue in the API
   * server (a quarter of its 60 s). A write may wait for webhooks: only `totalMs` limits it.
   *
   * @default {30_000}
   */
  readonly headersMs: number;
  /** Wait for each piece of a body, in milliseconds. @default {30_000} */
  readonly inactivityMs: number;
  /**
   * One attempt as a whole, in milliseconds. The API server itself gives up after 60 s
   * (`--request-timeout`), and says so if we still listen.
   *
   * @default {65_000}
   */
  readonly totalMs: number;
  /** Longest `Retry-After` that is waited for here, in milliseconds. @default {30_000} */
  readonly retryAfterMaxMs: number;
  /** How often one request is repeated for a `Retry-After`. @default {4} */
  readonly retriesMax: number;
  /**
   * Longest body read as a whole, in bytes. A page of 500 objects of etcd's 1.5 MiB would be longer
   * but would not fit into memory either.
   *
   * @default {268_435_456}
   */
  readonly bodyBytesMax: number;
}

/** Defaults of {@linkcode RestLimits}. */
export const REST_LIMITS: RestLimits = {
  headersMs: 30_000,
  inactivityMs: 30_000,
  totalMs: 65_000,
  retryAfterMaxMs: 30_000,
  retriesMax: 4,
  bodyBytesMax: 256 * 1024 * 1024,
};

/** One attempt at a request, for metrics. */
export interface RequestRecord {
  /** Kubernetes' verb: `get`, `list`, `watch`, `create`, … */
  readonly verb: string;
  /** HTTP method. */
  readonly method: string;
  /** Host and port of the API server. */
  readonly host: string;
  /** HTTP status as text, or `<error>` if no answer came, as client-go's metrics have it. */
  readonly code: string;
  /** Time until the headers were in, or the failure. */
  readonly durationMs: number;
  /** 0 for the first attempt, 1 for the first repetition, … */
  readonly attempt: number;
  /** Time that this attempt waited before it was sent, for the client's own rate limit. */
  readonly throttledMs: number;
}

/** The sizes of one request and its answer, for metrics. */
export interface TransferRecord {
  /** Kubernetes' verb. */
  readonly verb: string;
  /** Host and port of the API server. */
  readonly host: string;
  /** Length of the request's body, in bytes. */
  readonly requestBytes: number;
  /** Bytes of the answer's body that were read: of a watch, all that came while it was open. */
  readonly responseBytes: number;
}

/** What a {@linkcode RestClient} is made of. */
export interface RestOptions {
  /** Sends what is asked for. */
  readonly transport: Transport;
  /** Where to, and as what program. */
  readonly connection: Pick<ConnectionSettings, "server" | "userAgent">;
  /** For the deadlines and the waits. */
  readonly clock: Clock;
  /** What differs from {@linkcode REST_LIMITS}. */
  readonly limits?: Partial<RestLimits>;
  /**
   * Longest run of requests. Off if absent: the server's own API Priority and Fairness knows better
   * what it can take.
   */
  readonly rateLimit?: RateLimit;
  /**
   * Told of every attempt once its headers are in, or it failed. Must not throw. Has what
   * controller-runtime's metrics need: `rest_client_requests_total` (code, method, host),
   * `rest_client_request_duration_seconds` and `rest_client_rate_limiter_duration_seconds` (verb,
   * host), `rest_client_request_retries_total` (code, verb, host; attempts above 0).
   */
  readonly onRequest?: (record: RequestRecord) => void;
  /**
   * Told of every answer once its body has been read, or given up. Must not throw. For
   * `rest_client_request_size_bytes` and `rest_client_response_size_bytes` (verb, host).
   */
  readonly onTransfer?: (record: TransferRecord) => void;
  /** Told of the server's warnings, e.g. that a version is deprecated. Must not throw. */
  readonly onWarning?: (warning: { text: string; verb: string; path: string }) => void;
}

/** One request. */
export interface RestRequest {
  /** Kubernetes' verb, for errors and metrics. */
  readonly verb: string;
  /** HTTP method. Only GET is taken for a read. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute path, its parts already percent-encoded. */
  readonly path: string;
  /** Parameters; `undefined` ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of `body`. @default {"application/json"} */
  readonly contentType?: string;
  /** Media types of the answer, the best first. @default {"application/json"} */
  readonly accept?: string;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/**
 * Requests to the API server: what is common to all, whatever they ask for.
 *
 * Promises:
 * - Separate deadlines for the headers, for each piece of the body and for the whole; a stream has
 *   no limit over the whole. A limit that passes is a `DeadlineError`.
 * - Every body is read to its end or cancelled, on every path.
 * - An answer that is no success is an `ApiError`, whatever its body is; one that makes no sense is
 *   a `ProtocolError`.
 * - `Retry-After` of 429 and 503 is honoured here, and nowhere else, within bounds. Such a request
 *   was not carried out, so writes are repeated as well.
 * - A read whose connection died before any byte of an answer is sent once more: an idle connection
 *   may be closed by the other side at the very moment that it is used again. Nothing else is
 *   retried: that is the caller's, who knows what the request was for.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ApiError, ConnectionError, ProtocolError } from "../core/errors.ts";
import { parseJson, stringifyJson } from "../core/json_text.ts";
import { apiErrorOf } from "./api_status.ts";
import type { ConnectionSettings } from "./connection.ts";
import { type DeadlineLimits, type RequestDeadlines, startDeadlines } from "./deadlines.ts";
import { bodyChunks, bodyText } from "./response_body.ts";
import type { Transport } from "./transport.ts";
import { parseWarnings } from "./warnings.ts";

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

/** Longest body read of an answer that is no success, in bytes. A Status has a few hundred. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

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
  /** Told of every attempt once its headers are in, or it failed. Must not throw. */
  readonly onRequest?: (record: RequestRecord) => void;
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
  /** Ends the request. */
  readonly signal: AbortSignal;
}

/** Sends requests to one API server. */
export class RestClient {
  readonly #transport: Transport;
  readonly #connection: Pick<ConnectionSettings, "server" | "userAgent">;
  readonly #clock: Clock;
  readonly #limits: RestLimits;
  readonly #host: string;
  readonly #onRequest: RestOptions["onRequest"];
  readonly #onWarning: RestOptions["onWarning"];

  /** Only stores. */
  constructor({ transport, connection, clock, limits, onRequest, onWarning }: RestOptions) {
    this.#transport = transport;
    this.#connection = connection;
    this.#clock = clock;
    this.#limits = { ...REST_LIMITS, ...limits };
    this.#host = new URL(connection.server).host;
    this.#onRequest = onRequest;
    this.#onWarning = onWarning;
  }

  /**
   * Sends `request` and gives its answer's JSON. `T` is the caller's claim: it is not checked.
   *
   * @throws {ApiError} If the answer is no success.
   * @throws {ConnectionError} If no answer, or not all of it, came.
   * @throws {DeadlineError} If a limit passed.
   * @throws {ProtocolError} If the answer is not JSON or too long.
   */
  async request<T = unknown>(request: RestRequest): Promise<T> {
    const text = await this.requestText(request);
    try {
      // The boundary: what the server sends is what its API promises.
      return parseJson(text) as T;
    } catch {
      // Without the cause: its message quotes the text, which may hold a Secret.
      throw new ProtocolError(`Cannot ${actionOf(request)}: the answer is not JSON`);
    }
  }

  /** As {@linkcode RestClient.request}, for the few paths that answer with plain text. */
  async requestText(request: RestRequest): Promise<string> {
    const action = actionOf(request);
    const { bodyBytesMax, inactivityMs, totalMs } = this.#limits;
    const headersMs = request.method === "GET" ? this.#limits.headersMs : totalMs;
    return await this.#repeat(request, async (attempt) => {
      using deadlines = startDeadlines({
        action,
        limits: { headersMs, inactivityMs, totalMs },
        clock: this.#clock,
        signal: request.signal,
      });
      const response = await this.#send(request, { attempt, deadlines });
      return await bodyText(response, { action, deadlines, bytesMax: bodyBytesMax });
    });
  }

  /**
   * Sends `request` when first asked for a chunk, and yields its answer as it comes, for as long as
   * it comes. Leaving the loop ends the request. `onOpen` is called once it has been accepted.
   *
   * @throws What {@linkcode RestClient.request} throws, but for the JSON.
   */
  async *stream(
    request: RestRequest,
    { inactivityMs = this.#limits.inactivityMs, onOpen }: {
      inactivityMs?: number;
      onOpen?: () => void;
    } = {},
  ): AsyncGenerator<Uint8Array, void, void> {
    const action = actionOf(request);
    using deadlines = startDeadlines({
      action,
      limits: { headersMs: this.#limits.headersMs, inactivityMs, totalMs: Infinity },
      clock: this.#clock,
      signal: request.signal,
    });
    const response = await this.#repeat(
      request,
      (attempt) => this.#send(request, { attempt, deadlines }),
    );
    onOpen?.();
    yield* bodyChunks(response, { action, deadlines });
  }

  /** Runs attempts until one succeeds or its failure is none that is repeated here. */
  async #repeat<R>(
    request: RestRequest,
    attemptOnce: (attempt: number) => Promise<R>,
  ): Promise<R> {
    let isResent = request.method !== "GET";
    let throttled = 0;
    for (let attempt = 0;; attempt++) {
      try {
        return await attemptOnce(attempt);
      } catch (error) {
        if (request.signal.aborted) throw error;
        if (!isResent && error instanceof ConnectionError && error.stage === "send") {
          isResent = true;
          continue;
        }
        const waitMs = this.#retryAfterMs(error);
        if (waitMs === undefined || throttled >= this.#limits.retriesMax) throw error;
        throttled++;
        await this.#clock.sleep(waitMs, { signal: request.signal });
      }
    }
  }

  #retryAfterMs(error: unknown): number | undefined {
    if (!(error instanceof ApiError) || error.retryAfterMs === undefined) return undefined;
    if (error.status !== 429 && error.status !== 503) return undefined;
    // Never sooner than asked: what is too long for here is the caller's to wait for.
    return error.retryAfterMs <= this.#limits.retryAfterMaxMs ? error.retryAfterMs : undefined;
  }

  /** One attempt, up to the headers of a success. Any other answer is read and thrown. */
  async #send(
    request: RestRequest,
    { attempt, deadlines }: { attempt: number; deadlines: RequestDeadlines },
  ): Promise<Response> {
    const { verb, method, path } = request;
    const startedMs = this.#clock.monotonicMs();
    const tell = (code: string) =>
      this.#onRequest?.({
        verb,
        method,
        host: this.#host,
        code,
        durationMs: this.#clock.monotonicMs() - startedMs,
        attempt,
      });
    deadlines.expect("headers");
    let response: Response;
    try {
      response = await this.#transport(
        `${this.#connection.server}${path}${queryOf(request.query)}`,
        this.#initOf(request, deadlines.signal),
      );
    } catch (error) {
      tell("<error>");
      throw error;
    } finally {
      deadlines.expect("nothing");
    }
    tell(String(response.status));
    this.#warn(request, response);
    if (response.ok) return response;
    const text = await bodyText(response, {
      action: actionOf(request),
      deadlines,
      bytesMax: ERROR_BODY_BYTES_MAX,
    });
    throw apiErrorOf({
      verb,
      method,
      path,
      text,
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      contentType: response.headers.get("content-type"),
    });
  }

  #initOf({ method, body, contentType = "application/json" }: RestRequest, signal: AbortSignal) {
    const headers: Record<string, string> = {
      accept: "application/json",
      "user-agent": this.#connection.userAgent,
    };
    if (body === undefined) return { method, headers, signal };
    headers["content-type"] = contentType;
    return { method, headers, body: stringifyJson(body), signal };
  }

  #warn({ verb, path }: RestRequest, { headers }: Response): void {
    if (this.#onWarning === undefined) return;
    for (const text of parseWarnings(headers.get("warning"))) {
      this.#onWarning({ text, verb, path });
    }
  }
}

/** Completes "Cannot …" and "Deadline passed: …". */
function actionOf({ verb, path }: RestRequest): string {
  return `${verb} ${path}`;
}

function queryOf(query: RestRequest["query"]): string {
  let text = "";
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    text += `${text === "" ? "?" : "&"}${name}=${encodeURIComponent(String(value))}`;
  }
  return text;
}

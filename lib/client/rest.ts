/**
 * Requests to the API server: what is common to all, whatever they ask for.
 *
 * What it promises stands at {@linkcode RestClient}.
 *
 * @module
 */

import { ApiError, ConnectionError, ProtocolError } from "../core/errors.ts";
import { parseJson, stringifyJson } from "../core/json_text.ts";
import { apiErrorOf } from "./api_status.ts";
import { DeadlineWatch, type RequestDeadlines } from "./deadlines.ts";
import { RequestThrottle } from "./request_throttle.ts";
import { bodyChunks, type BodyOptions, bodyText } from "./response_body.ts";
import {
  REST_LIMITS,
  type RestLimits,
  type RestOptions,
  type RestRequest,
} from "./rest_options.ts";
import type { TransportInit } from "./transport.ts";
import { withComponent } from "./user_agent.ts";
import { parseWarnings } from "./warnings.ts";

export * from "./rest_options.ts";

/** Longest body read of an answer that is no success, in bytes. A Status has a few hundred. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

/**
 * Sends requests to one API server.
 *
 * What it promises:
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
 */
export class RestClient {
  readonly #options: RestOptions;
  readonly #limits: RestLimits;
  readonly #host: string;
  readonly #deadlines: DeadlineWatch;
  readonly #throttle: RequestThrottle | undefined;

  /** Only stores. */
  constructor(options: RestOptions) {
    const { limits, connection, rateLimit, clock } = options;
    this.#options = options;
    this.#limits = { ...REST_LIMITS, ...limits };
    this.#host = new URL(connection.server).host;
    this.#deadlines = new DeadlineWatch(clock);
    this.#throttle = rateLimit === undefined ? undefined : new RequestThrottle(rateLimit, clock);
  }

  /**
   * A client like this one for a component of the program: its user agent says so, and a rate limit
   * is its own, so that the others' requests do not delay it.
   */
  forComponent(component: string): RestClient {
    const { connection } = this.#options;
    const userAgent = withComponent(connection.userAgent, component);
    return new RestClient({ ...this.#options, connection: { ...connection, userAgent } });
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
    return await this.#repeat(request, async (attempt, throttledMs) => {
      using deadlines = this.#deadlines.start({
        action,
        limits: { headersMs, inactivityMs, totalMs },
        signal: request.signal,
      });
      const response = await this.#send(request, { attempt, throttledMs, deadlines });
      const body = this.#bodyOptions(request, deadlines);
      return await bodyText(response, { ...body, bytesMax: bodyBytesMax });
    });
  }

  /**
   * Sends `request` when first asked for a chunk, and yields its answer as it comes, for as long as
   * it comes. Leaving the loop ends the request. `onOpen` is called once it has been accepted.
   * `inactivityMs` and `headersMs` stand in for the client's limits.
   *
   * @throws What {@linkcode RestClient.request} throws, but for the JSON.
   */
  async *stream(
    request: RestRequest,
    { inactivityMs, headersMs, onOpen }: {
      inactivityMs?: number;
      headersMs?: number;
      onOpen?: () => void;
    } = {},
  ): AsyncGenerator<Uint8Array, void, void> {
    const action = actionOf(request);
    using deadlines = this.#deadlines.start({
      action,
      limits: {
        headersMs: headersMs ?? this.#limits.headersMs,
        inactivityMs: inactivityMs ?? this.#limits.inactivityMs,
        totalMs: Infinity,
      },
      signal: request.signal,
    });
    const response = await this.#repeat(
      request,
      (attempt, throttledMs) => this.#send(request, { attempt, throttledMs, deadlines }),
    );
    onOpen?.();
    yield* bodyChunks(response, this.#bodyOptions(request, deadlines));
  }

  /** Runs attempts until one succeeds or its failure is none that is repeated here. */
  async #repeat<R>(
    request: RestRequest,
    attemptOnce: (attempt: number, throttledMs: number) => Promise<R>,
  ): Promise<R> {
    let isResent = request.method !== "GET";
    let throttled = 0;
    for (let attempt = 0;; attempt++) {
      const throttledMs = await this.#throttle?.admit(request) ?? 0;
      try {
        return await attemptOnce(attempt, throttledMs);
      } catch (error) {
        if (request.signal.aborted) throw error;
        if (!isResent && error instanceof ConnectionError && error.stage === "send") {
          isResent = true;
          continue;
        }
        const waitMs = this.#retryAfterMs(error);
        if (waitMs === undefined || throttled >= this.#limits.retriesMax) throw error;
        throttled++;
        await this.#options.clock.sleep(waitMs, { signal: request.signal });
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
    { attempt, throttledMs, deadlines }: {
      attempt: number;
      throttledMs: number;
      deadlines: RequestDeadlines;
    },
  ): Promise<Response> {
    const { verb, method, path } = request;
    const startedMs = this.#options.clock.monotonicMs();
    const tell = (code: string) =>
      this.#options.onRequest?.({
        verb,
        method,
        host: this.#host,
        code,
        durationMs: this.#options.clock.monotonicMs() - startedMs,
        attempt,
        throttledMs,
      });
    deadlines.expect("headers");
    let response: Response;
    try {
      response = await this.#options.transport(
        `${this.#options.connection.server}${path}${queryOf(request.query)}`,
        this.#initOf(request, deadlines.signal),
      );
    } catch (error) {
      tell("<error>");
      throw error instanceof ConnectionError ? namedAfter(request, error) : error;
    } finally {
      deadlines.expect("nothing");
    }
    tell(String(response.status));
    this.#warn(request, response);
    if (response.ok) return response;
    const text = await bodyText(response, {
      ...this.#bodyOptions(request, deadlines),
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

  #initOf(request: RestRequest, signal: AbortSignal): TransportInit {
    const { method, body, contentType = "application/json", accept = "application/json" } = request;
    const headers: Record<string, string> = {
      accept,
      "user-agent": this.#options.connection.userAgent,
    };
    if (body === undefined) return { method, headers, signal };
    headers["content-type"] = contentType;
    return { method, headers, body: stringifyJson(body), signal };
  }

  /** How the answer's body is read. Sizes are counted only for who wants them: it takes time. */
  #bodyOptions(request: RestRequest, deadlines: RequestDeadlines): BodyOptions {
    const options = { action: actionOf(request), deadlines };
    const { onTransfer } = this.#options;
    if (onTransfer === undefined) return options;
    const { verb, body } = request;
    const requestBytes = body === undefined
      ? 0
      : new TextEncoder().encode(stringifyJson(body)).length;
    return {
      ...options,
      onEnd: (responseBytes) => onTransfer({ verb, host: this.#host, requestBytes, responseBytes }),
    };
  }

  #warn({ verb, path }: RestRequest, { headers }: Response): void {
    if (this.#options.onWarning === undefined) return;
    for (const text of parseWarnings(headers.get("warning"))) {
      this.#options.onWarning({ text, verb, path });
    }
  }
}

/** Completes "Cannot …" and "Deadline passed: …". */
function actionOf({ verb, path }: RestRequest): string {
  return `${verb} ${path}`;
}

/** `error` with what was asked for, which the transport does not tell. */
function namedAfter(request: RestRequest, error: ConnectionError): ConnectionError {
  const { stage } = error;
  return new ConnectionError(
    `Cannot ${actionOf(request)} by ${request.method}: ${error.message}`,
    { cause: error, ...(stage !== undefined && { stage }) },
  );
}

function queryOf(query: RestRequest["query"]): string {
  let text = "";
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    text += `${text === "" ? "?" : "&"}${name}=${encodeURIComponent(String(value))}`;
  }
  return text;
}

/**
 * What a client sees when the weather strikes: the errors and answers that a real connection, a real
 * API server and what stands in between give.
 *
 * @module
 */

import { ConnectionError } from "../core/errors.ts";
import { tooLargeVersion } from "./api_status.ts";

/**
 * Nothing was sent: nobody listens there, or the network is gone. Stage `connect`, as the client's
 * transport tells it.
 */
export function refused(): ConnectionError {
  const cause = new TypeError("error sending request: client error (Connect): Connection refused");
  return new ConnectionError("Cannot reach the simulated server: nothing listens there", {
    cause,
    stage: "connect",
  });
}

/** No byte of an answer came: the request may or may not have had its effect. Stage `send`. */
export function reset(): ConnectionError {
  const cause = new TypeError("error sending request: connection closed before message completed");
  return new ConnectionError("Cannot reach the simulated server", { cause, stage: "send" });
}

/** What reading a body throws when its connection breaks, as Deno's `fetch` words it. */
export function brokenBody(): TypeError {
  return new TypeError("error reading a body from connection");
}

/** Failures that any request may meet. */
export type StruckStatus = 429 | 500 | 503 | 504;

/** An answer that is no success: a Status, or, every other 503 and 504, a proxy's page. */
export function struckAnswer(
  status: StruckStatus,
  { retryAfterSeconds, isProxy = false }: { retryAfterSeconds?: number; isProxy?: boolean } = {},
): Response {
  const headers = new Headers();
  if (retryAfterSeconds !== undefined) headers.set("retry-after", String(retryAfterSeconds));
  if (isProxy) {
    headers.set("content-type", "text/html");
    return new Response("<html><body>upstream connect error</body></html>", { status, headers });
  }
  headers.set("content-type", "application/json");
  const { reason, message } = STRUCK[status];
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  return new Response(JSON.stringify({ ...body, message, reason, ...details, code: status }), {
    status,
    headers,
  });
}

const STRUCK: Readonly<Record<StruckStatus, { reason: string; message: string }>> = {
  429: {
    reason: "TooManyRequests",
    message: "The server has received too many requests and has asked us to try again later",
  },
  500: { reason: "InternalError", message: "Internal error occurred: etcdserver: leader changed" },
  503: { reason: "ServiceUnavailable", message: "The server is currently unable to handle it" },
  504: { reason: "Timeout", message: "Timeout: request did not complete within the allotted time" },
};

/** What a server says that has not seen `version` yet. */
export function laggingAnswer(version: string, current: number): Response {
  const { status } = tooLargeVersion(version, String(current));
  return new Response(JSON.stringify(status), {
    status: status.code,
    headers: { "content-type": "application/json" },
  });
}

/** What a person reads when a request fails: method, path, status, reason and what to do. */
import { doesNotMatch, match, rejects, strictEqual } from "node:assert/strict";
import { apiErrorOf } from "../../lib/client/api_status.ts";
import { ConnectionError, messageOf } from "../../lib/core/errors.ts";
import { scriptedRest } from "../support/scripted_transport.ts";

const answer = (status: number, body: unknown) =>
  apiErrorOf({
    verb: "list",
    method: "GET",
    path: "/apis/example.com/v1/crons",
    status,
    retryAfter: null,
    contentType: "application/json",
    text: JSON.stringify(body),
  });

const failure = (fields: object) => ({ kind: "Status", status: "Failure", ...fields });

Deno.test("apiErrorOf() says what was asked, what was answered, and what to do", () => {
  strictEqual(
    answer(403, failure({ reason: "Forbidden", message: 'crons is forbidden: User "a"' })).message,
    'Cannot list /apis/example.com/v1/crons: crons is forbidden: User "a" ' +
      "(GET was answered with 403 Forbidden; bind a role that allows it to this user)",
  );
  match(answer(401, failure({ reason: "Unauthorized", message: "m" })).message, /credentials/);
  match(answer(409, failure({ reason: "Conflict", message: "m" })).message, /409 Conflict; read/);
  match(answer(410, failure({ reason: "Expired", message: "m" })).message, /list anew/);
  match(answer(429, {}).message, /429 TooManyRequests; try again later/);
  match(answer(418, {}).message, /\(GET was answered with 418 Unknown\)$/);
});

Deno.test("apiErrorOf() tells a missing kind from a missing object", () => {
  const kind = failure({ reason: "NotFound", message: "not found", details: {} });
  match(answer(404, kind).message, /CustomResourceDefinition installed/);
  const object = failure({ reason: "NotFound", message: "not found", details: { name: "a" } });
  doesNotMatch(answer(404, object).message, /CustomResourceDefinition/);
});

Deno.test("apiErrorOf() keeps whether a Status says it", () => {
  strictEqual(answer(404, failure({ reason: "NotFound" })).hasStatus, true);
  strictEqual(answer(404, { message: "default backend" }).hasStatus, false);
});

Deno.test("apiErrorOf() quotes nothing of an answer that is no Status", () => {
  const { message } = answer(500, { password: "hunter2" });
  doesNotMatch(message, /hunter2/);
  match(message, /the answer has application\/json and is no Status/);
});

Deno.test("RestClient names the request in the error of a connection, and keeps its stage", async () => {
  const lost = new ConnectionError("Cannot reach https://test:6443: it refuses connections", {
    stage: "connect",
  });
  const { rest } = scriptedRest([() => Promise.reject(lost)]);
  const { signal } = new AbortController();
  const path = "/api/v1/pods";
  await rejects(rest.request({ verb: "list", method: "GET", path, signal }), (error) => {
    const text = "Cannot list /api/v1/pods by GET: " +
      "Cannot reach https://test:6443: it refuses connections";
    strictEqual(error instanceof ConnectionError && error.stage, "connect");
    strictEqual(messageOf(error), text); // and once only, though the cause says a part of it
    return true;
  });
});

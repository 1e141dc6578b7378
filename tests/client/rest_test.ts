import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { type RequestRecord, REST_LIMITS, type RestRequest } from "../../lib/client/rest.ts";
import { ApiError, ConnectionError, DeadlineError, ProtocolError } from "../../lib/core/errors.ts";
import {
  json,
  scriptedBody,
  scriptedRest,
  silence,
  status,
} from "../support/scripted_transport.ts";

const live = () => new AbortController().signal;
const get = (over: Partial<RestRequest> = {}): RestRequest => ({
  verb: "get",
  method: "GET",
  path: "/api/v1/namespaces/a",
  signal: live(),
  ...over,
});
const post = (over: Partial<RestRequest> = {}): RestRequest => ({
  verb: "create",
  method: "POST",
  path: "/api/v1/namespaces",
  body: { a: 1 },
  signal: live(),
  ...over,
});
const lost = () =>
  Promise.reject<Response>(new ConnectionError("Cannot reach it", { stage: "send" }));

Deno.test("RestClient.request() sends method, query, headers and body, and gives the JSON", async () => {
  const { rest, requests } = scriptedRest([json({ b: 2 })]);
  const query = { labelSelector: "a in (b,c)", dryRun: undefined, force: true };
  deepStrictEqual(await rest.request(post({ query })), { b: 2 });
  const [request] = requests;
  strictEqual(request?.method, "POST");
  deepStrictEqual(request?.query, { labelSelector: "a in (b,c)", force: "true" });
  strictEqual(request?.text, '{"a":1}');
  deepStrictEqual(request?.headers, {
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "test/1",
  });
});

Deno.test("S4 RestClient.request() carries an int64 both ways", async () => {
  const text = '{"status":{"n":9007199254740993}}';
  const { rest, requests } = scriptedRest([() => new Response(text), json({})]);
  await rest.request(post({ body: await rest.request(get()) }));
  strictEqual(requests[1]?.text, text);
});

Deno.test("RestClient.request() throws a Status as an ApiError", async () => {
  const causes = [{ reason: "FieldValueInvalid", message: "must be ≥ 0", field: "spec.replicas" }];
  const { rest } = scriptedRest([
    status(422, { reason: "Invalid", message: 'Foo "a" is invalid', details: { causes } }),
  ]);
  await rejects(rest.request(get()), (error) => {
    ok(error instanceof ApiError);
    strictEqual(error.status, 422);
    strictEqual(error.reason, "Invalid");
    strictEqual(error.verb, "get");
    strictEqual(error.path, "/api/v1/namespaces/a");
    deepStrictEqual(error.causes, causes);
    strictEqual(
      error.message,
      'Cannot get /api/v1/namespaces/a: Foo "a" is invalid ' +
        "(GET was answered with 422 Invalid; correct the fields that are named)",
    );
    return true;
  });
});

Deno.test("RestClient.request() throws answers that are no Status as ApiErrors too", async () => {
  const html = () =>
    new Response("<h1>token abc</h1>", { status: 502, headers: { "content-type": "text/html" } });
  const { rest } = scriptedRest([
    html,
    () => new Response(null, { status: 404 }),
    json(1, {
      status: 403,
    }),
  ]);
  await rejects(rest.request(get()), {
    name: "ApiError",
    status: 502,
    reason: "Unknown",
    message: "Cannot get /api/v1/namespaces/a: the answer has text/html and is no Status " +
      "(GET was answered with 502 Unknown)",
  });
  await rejects(rest.request(get()), { name: "ApiError", status: 404, reason: "NotFound" });
  await rejects(rest.request(get()), { name: "ApiError", status: 403, reason: "Forbidden" });
});

Deno.test("P8 RestClient.request() does not quote an answer that is not JSON", async () => {
  const { rest } = scriptedRest([() => new Response('{"data":{"password":"hunter2"')]);
  await rejects(rest.request(get()), (error) => {
    ok(error instanceof ProtocolError);
    ok(!Deno.inspect(error).includes("hunter2"));
    return true;
  });
});

Deno.test("W14 RestClient waits as long as Retry-After says, for writes too", async () => {
  const busy = status(429, { reason: "TooManyRequests", headers: { "retry-after": "3" } });
  const starting = status(503, { details: { retryAfterSeconds: 2 } });
  const { rest, requests, clock } = scriptedRest([busy, starting, json({ done: true })]);
  const answer = rest.request(post());
  await clock.advance(2999);
  strictEqual(requests.length, 1);
  await clock.advance(1);
  strictEqual(requests.length, 2);
  await clock.advance(1999);
  strictEqual(requests.length, 2);
  await clock.advance(1);
  deepStrictEqual(await answer, { done: true });
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("RestClient gives up on Retry-After within bounds, and never comes back too soon", async () => {
  const busy = status(429, { headers: { "retry-after": "1" } });
  const { rest, requests, clock } = scriptedRest(Array(9).fill(busy));
  const failed = rejects(rest.request(get()), { status: 429, retryAfterMs: 1000 });
  await clock.advance(60_000);
  await failed;
  strictEqual(requests.length, 1 + REST_LIMITS.retriesMax);

  for (
    const answer of [
      status(429, { headers: { "retry-after": "31" } }),
      status(429, { headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" } }),
      status(500, { headers: { "retry-after": "1" } }),
      status(429),
    ]
  ) {
    const other = scriptedRest([answer]);
    await rejects(other.rest.request(get()), ApiError);
    strictEqual(other.requests.length, 1);
  }
});

Deno.test("RestClient stops waiting for Retry-After when it is aborted", async () => {
  const { rest, requests, clock } = scriptedRest([
    status(503, { headers: { "retry-after": "9" } }),
  ]);
  const stop = new AbortController();
  const failed = rejects(rest.request(get({ signal: stop.signal })), { message: "stop" });
  await clock.advance(1000);
  stop.abort(new Error("stop"));
  await failed;
  strictEqual(requests.length, 1);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("RestClient sends a read once more if its connection died before any answer", async () => {
  const once = scriptedRest([lost, json({ a: 1 })]);
  deepStrictEqual(await once.rest.request(get()), { a: 1 });

  const twice = scriptedRest([lost, lost, json({ a: 1 })]);
  await rejects(twice.rest.request(get()), ConnectionError);

  const write = scriptedRest([lost, json({ a: 1 })]);
  await rejects(write.rest.request(post()), ConnectionError);

  const refused = scriptedRest([
    () => Promise.reject(new ConnectionError("Cannot reach it", { stage: "connect" })),
    json({}),
  ]);
  await rejects(refused.rest.request(get()), { stage: "connect" });
});

Deno.test("RestClient limits the wait for headers: 30 s for a read, the total for a write", async () => {
  for (
    const [request, limitMs] of [[get(), REST_LIMITS.headersMs], [
      post(),
      REST_LIMITS.totalMs,
    ]] as const
  ) {
    const { rest, requests, clock } = scriptedRest([silence()]);
    const failed = rejects(
      rest.request(request),
      (error) => error instanceof DeadlineError && error.limitMs === limitMs,
    );
    await clock.advance(limitMs - 1);
    strictEqual(requests[0]?.signal.aborted, false);
    await clock.advance(1);
    await failed;
    strictEqual(clock.pendingTimers, 0);
  }
});

Deno.test("W16 RestClient limits each wait for bytes, and cancels the body", async () => {
  const body = scriptedBody();
  const { rest, clock } = scriptedRest([body.answer]);
  const failed = rejects(rest.request(get()), { name: "DeadlineError", limitMs: 30_000 });
  await clock.advance(29_000);
  body.send("{");
  await clock.advance(29_999);
  strictEqual(body.isCancelled, false);
  await clock.advance(1);
  await failed;
  strictEqual(body.isCancelled, true);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("RestClient limits a trickling body by the total", async () => {
  const body = scriptedBody();
  const { rest, clock } = scriptedRest([body.answer]);
  const failed = rejects(rest.request(get()), { name: "DeadlineError", limitMs: 65_000 });
  for (let i = 0; i < 6; i++) {
    body.send(" ");
    await clock.advance(10_000);
  }
  strictEqual(body.isCancelled, false);
  await clock.advance(5000);
  await failed;
  strictEqual(body.isCancelled, true);
});

Deno.test("P5 RestClient leaves no body unread: abort, cut, too long, failure", async () => {
  const stop = new AbortController();
  const aborted = scriptedBody();
  const first = scriptedRest([aborted.answer]);
  const failed = rejects(first.rest.request(get({ signal: stop.signal })), { message: "stop" });
  await first.clock.settle();
  stop.abort(new Error("stop"));
  await failed;
  strictEqual(aborted.isCancelled, true);

  const cut = scriptedBody();
  const second = scriptedRest([cut.answer]);
  const cutFailed = rejects(second.rest.request(get()), { name: "ConnectionError", stage: "body" });
  await second.clock.settle();
  cut.cut();
  await cutFailed;

  const long = scriptedBody();
  const third = scriptedRest([long.answer], { limits: { bodyBytesMax: 3 } });
  long.send("1234");
  await rejects(third.rest.request(get()), ProtocolError);
  strictEqual(long.isCancelled, true);

  const refusal = scriptedBody({ status: 500 });
  const fourth = scriptedRest([refusal.answer]);
  const refused = rejects(fourth.rest.request(get()), { name: "DeadlineError" });
  await fourth.clock.advance(30_000);
  await refused;
  strictEqual(refusal.isCancelled, true);
});

Deno.test("RestClient tells of each attempt and of warnings", async () => {
  const records: RequestRecord[] = [];
  const warnings: string[] = [];
  const busy = status(429, { headers: { "retry-after": "1" } });
  const { rest, clock } = scriptedRest([
    lost,
    busy,
    json({}, { headers: { warning: '299 - "v1beta1 is deprecated"' } }),
  ], {
    onRequest: (record) => records.push(record),
    onWarning: ({ text, verb }) => warnings.push(`${verb}: ${text}`),
  });
  const answer = rest.request(get());
  await clock.advance(1000);
  await answer;
  deepStrictEqual(records.map(({ code, attempt }) => [code, attempt]), [
    ["<error>", 0],
    ["429", 1],
    ["200", 2],
  ]);
  const host = "test:6443";
  deepStrictEqual(records[2], {
    verb: "get",
    method: "GET",
    host,
    code: "200",
    durationMs: 0,
    attempt: 2,
    throttledMs: 0,
  });
  deepStrictEqual(warnings, ["get: v1beta1 is deprecated"]);
});

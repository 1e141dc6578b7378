import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { RequestThrottle } from "../../lib/client/request_throttle.ts";
import type { RequestRecord, RestRequest, TransferRecord } from "../../lib/client/rest.ts";
import { userAgentOf, withComponent } from "../../lib/client/user_agent.ts";
import { AssertionError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import {
  type Answer,
  json,
  scriptedBody,
  scriptedRest,
  status,
} from "../support/scripted_transport.ts";

const live = () => new AbortController().signal;
const get = (fields: Partial<RestRequest> = {}): RestRequest => ({
  verb: "get",
  method: "GET",
  path: "/a",
  signal: live(),
  ...fields,
});

Deno.test("RequestThrottle admits a burst, then in order and at its pace", async () => {
  const clock = new SimClock();
  const throttle = new RequestThrottle({ qps: 10, burst: 2 }, clock);
  const admitted: [name: string, atMs: number][] = [];
  const all = [..."abcd"].map(async (name) => {
    const waitedMs = await throttle.admit({ signal: live() });
    admitted.push([name, waitedMs]);
  });
  strictEqual(throttle.queued, 4);
  await clock.advance(199);
  strictEqual(admitted.length, 3);
  await clock.advance(1);
  await Promise.all(all);
  deepStrictEqual(admitted, [["a", 0], ["b", 0], ["c", 100], ["d", 200]]);
  strictEqual(throttle.queued, 0);
});

Deno.test("RequestThrottle lets an aborted request go, and gives its place to the next", async () => {
  const clock = new SimClock();
  const throttle = new RequestThrottle({ qps: 1, burst: 1 }, clock);
  await throttle.admit({ signal: live() });
  const stop = new AbortController();
  let lastMs = -1;
  const first = throttle.admit({ signal: live() });
  const aborted = Array.from({ length: 100 }, () => throttle.admit({ signal: stop.signal }));
  const last = throttle.admit({ signal: live() }).then((ms) => lastMs = ms);
  const failures = Promise.all(aborted.map((each) => rejects(each, { message: "stop" })));
  stop.abort(new Error("stop"));
  await failures; // at once, not when their turn comes
  strictEqual(clock.monotonicMs(), 0);
  await clock.advance(1000);
  strictEqual(await first, 1000);
  strictEqual(lastMs, -1); // it did not overtake the first by way of those that left
  await clock.advance(1000);
  await last;
  strictEqual(lastMs, 2000);
});

Deno.test("RestClient without a rate limit sends at once; with one, retries count as well", async () => {
  const answers = (): Answer[] => [json({}), status(429, { headers: { "retry-after": "1" } })];
  const free = scriptedRest([...answers(), json({})]);
  await free.rest.request(get());
  strictEqual(free.clock.monotonicMs(), 0);

  const records: RequestRecord[] = [];
  const { rest, clock } = scriptedRest([...answers(), json({})], {
    rateLimit: { qps: 0.5, burst: 1 },
    onRequest: (record) => records.push(record),
  });
  await rest.request(get());
  const second = rest.request(get());
  await clock.advance(4000);
  await second;
  deepStrictEqual(
    records.map(({ code, throttledMs, durationMs }) => [code, throttledMs, durationMs]),
    [
      ["200", 0, 0],
      ["429", 2000, 0],
      ["200", 1000, 0], // Retry-After took the other second of the two
    ],
  );
});

Deno.test("RestClient waits for its rate limit before the deadlines of a request begin", async () => {
  const { rest, clock, requests } = scriptedRest([
    json({}),
    json({ ok: 1 }),
    () => new Response("x"),
  ], {
    rateLimit: { qps: 0.001, burst: 1 },
    limits: { totalMs: 5000, headersMs: 5000, inactivityMs: 5000 },
  });
  await rest.request(get());
  const late = rest.request(get());
  await clock.advance(1_000_000);
  deepStrictEqual(await late, { ok: 1 });
  const stream = Array.fromAsync(rest.stream(get()));
  await clock.advance(1_000_000);
  strictEqual((await stream).length, 1);
  const stop = new AbortController();
  const aborted = rejects(rest.request(get({ signal: stop.signal })), { message: "stop" });
  stop.abort(new Error("stop"));
  await aborted;
  strictEqual(requests.length, 3);
});

Deno.test("RestClient.onTransfer tells the bytes of bodies, also of failures and of what was left", async () => {
  const records: TransferRecord[] = [];
  const body = scriptedBody();
  const { rest } = scriptedRest([
    () => new Response('{"a":"é"}'),
    () => new Response("no", { status: 500 }),
    body.answer,
    () => new Response(null),
  ], { onTransfer: (record) => records.push(record) });
  await rest.request(get({ method: "POST", verb: "create", body: { b: "é" } }));
  await rejects(rest.request(get()), { status: 500 });
  body.send("12345");
  for await (const _ of rest.stream(get({ verb: "watch" }))) break;
  await rest.requestText(get());
  const host = "test:6443";
  deepStrictEqual(records, [
    { verb: "create", host, requestBytes: 10, responseBytes: 10 },
    { verb: "get", host, requestBytes: 0, responseBytes: 2 },
    { verb: "watch", host, requestBytes: 0, responseBytes: 5 },
    { verb: "get", host, requestBytes: 0, responseBytes: 0 },
  ]);
});

Deno.test("RestClient.forComponent() says so in its user agent, and does not wait for the others", async () => {
  const { rest, requests, clock } = scriptedRest([json({}), json({})], {
    rateLimit: { qps: 0.001, burst: 1 },
  });
  await rest.request(get());
  await rest.forComponent("leader-election").request(get({ accept: "text/plain" }));
  strictEqual(clock.monotonicMs(), 0);
  deepStrictEqual(requests.map(({ headers }) => headers["user-agent"]), [
    "test/1",
    "test/1/leader-election",
  ]);
  deepStrictEqual(requests.map(({ headers }) => headers["accept"]), [
    "application/json",
    "text/plain",
  ]);
});

Deno.test("userAgentOf() refuses what would break the header or the field manager", () => {
  strictEqual(
    userAgentOf({ program: "a", version: "v1.0+x", platform: "linux/x86_64", component: "b" }),
    "a/v1.0+x (linux/x86_64)/b",
  );
  for (const program of ["", "a b", "a/b", "a\r\nx"]) {
    throws(() => userAgentOf({ program, version: "1" }), AssertionError);
  }
  strictEqual(withComponent("a/1", "b"), "a/1/b");
});

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { CONFIG_MAPS } from "../../lib/client/kinds.ts";
import { ResourceClient } from "../../lib/client/resource_client.ts";
import { WATCH_INACTIVITY_MS } from "../../lib/client/resource_options.ts";
import { ConnectionError, ProtocolError } from "../../lib/core/errors.ts";
import { type Answer, scriptedBody, scriptedRest, status } from "../support/scripted_transport.ts";

const live = () => new AbortController().signal;
const line = (type: string, object: unknown) => JSON.stringify({ type, object }) + "\n";
const map = (name: string) => ({ metadata: { name, resourceVersion: "5" } });

function configMaps(...answers: Answer[]) {
  const { rest, requests, clock } = scriptedRest(answers);
  return { client: new ResourceClient(rest, CONFIG_MAPS), requests, clock };
}

Deno.test("ResourceClient.watch() yields each kind of event, and ends as the server ends it", async () => {
  const body = scriptedBody();
  const { client, requests, clock } = configMaps(body.answer);
  body.send(line("ADDED", map("a")) + line("MODIFIED", map("a")) + line("DELETED", map("a")));
  body.send(line("BOOKMARK", { metadata: { resourceVersion: "8" } }));
  const annotations = { "k8s.io/initial-events-end": "true" };
  body.send(line("BOOKMARK", { metadata: { resourceVersion: "9", annotations } }));
  const gone = { kind: "Status", status: "Failure", code: 410, reason: "Expired" };
  body.send(line("ERROR", gone));
  body.end();
  const events = await Array.fromAsync(client.watch({
    namespace: "ns",
    resourceVersion: "4",
    timeoutSeconds: 200,
    labelSelector: "a=b",
    signal: live(),
  }));
  deepStrictEqual(events, [
    { type: "ADDED", object: map("a") },
    { type: "MODIFIED", object: map("a") },
    { type: "DELETED", object: map("a") },
    { type: "BOOKMARK", resourceVersion: "8", initialEventsEnd: false },
    { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true },
    {
      type: "ERROR",
      status: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        code: 410,
        reason: "Expired",
      },
    },
  ]);
  deepStrictEqual(requests[0]?.query, {
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: "4",
    labelSelector: "a=b",
    timeoutSeconds: "200",
  });
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("ResourceClient.watch() asks for initial events with the match that they need", async () => {
  const body = scriptedBody();
  const { client, requests } = configMaps(body.answer);
  body.end();
  const options = { resourceVersion: "0", sendInitialEvents: true, allowBookmarks: true };
  await Array.fromAsync(client.watch({ ...options, signal: live() }));
  strictEqual(requests[0]?.query["sendInitialEvents"], "true");
  strictEqual(requests[0]?.query["resourceVersionMatch"], "NotOlderThan");
});

Deno.test("ResourceClient.watch() says when the server has accepted it, and only then", async () => {
  const body = scriptedBody();
  const { client, clock } = configMaps(body.answer, status(403));
  let opened = 0;
  const options = { resourceVersion: "4", onOpen: () => void opened++, signal: live() };
  const watch = client.watch(options);
  const first = watch.next();
  await clock.settle();
  strictEqual(opened, 1);
  body.end();
  strictEqual((await first).done, true);
  await rejects(Array.fromAsync(client.watch(options)), { status: 403 });
  strictEqual(opened, 1);
});

Deno.test("W3 ResourceClient.watch() lives on for hours while something comes", async () => {
  const body = scriptedBody();
  const { client, requests, clock } = configMaps(body.answer);
  const names: string[] = [];
  const watch = (async () => {
    for await (const event of client.watch({ resourceVersion: "4", signal: live() })) {
      if (event.type === "ADDED") names.push(event.object.metadata.name);
    }
  })();
  for (let i = 0; i < 100; i++) {
    await clock.advance(WATCH_INACTIVITY_MS - 1);
    body.send(line("ADDED", map(`m${i}`)));
  }
  await clock.settle();
  strictEqual(names.length, 100);
  strictEqual(requests.length, 1);
  body.end();
  await watch;
});

Deno.test("W1 ResourceClient.watch() gives up a silent connection, and one half a line long", async () => {
  for (const sent of ["", '{"type":']) {
    const body = scriptedBody();
    const { client, clock } = configMaps(body.answer);
    const watch = client.watch({ resourceVersion: "4", inactivityMs: 1000, signal: live() });
    const failed = rejects(Array.fromAsync(watch), { name: "DeadlineError", limitMs: 1000 });
    await clock.advance(600);
    if (sent !== "") body.send(sent);
    await clock.advance(sent === "" ? 400 : 1000);
    await failed;
    strictEqual(body.isCancelled, true);
    strictEqual(clock.pendingTimers, 0);
  }
});

Deno.test("ResourceClient.watch() does not count the time that its reader takes", async () => {
  const body = scriptedBody();
  const { client, clock } = configMaps(body.answer);
  body.send(line("ADDED", map("a")));
  const watch = client.watch({ resourceVersion: "4", inactivityMs: 1000, signal: live() });
  strictEqual((await watch.next()).done, false);
  await clock.advance(60_000);
  body.send(line("ADDED", map("b")));
  strictEqual((await watch.next()).done, false);
  await watch.return();
  strictEqual(body.isCancelled, true);
});

Deno.test("ResourceClient.watch() ends with the signal's reason, and cancels the body", async () => {
  const body = scriptedBody();
  const { client, clock } = configMaps(body.answer);
  const stop = new AbortController();
  const watch = client.watch({ resourceVersion: "4", signal: stop.signal });
  const failed = rejects(Array.fromAsync(watch), { message: "stop" });
  await clock.settle();
  stop.abort(new Error("stop"));
  await failed;
  strictEqual(body.isCancelled, true);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("W10 ResourceClient.watch() tells a cut line from one that makes no sense", async () => {
  const cut = scriptedBody();
  cut.send(line("ADDED", map("a")) + '{"type":"ADD');
  cut.end();
  await rejects(
    Array.fromAsync(configMaps(cut.answer).client.watch({ resourceVersion: "4", signal: live() })),
    ConnectionError,
  );
  const senseless = [
    '{"type":"ADD\n',
    "{}\n",
    line("RENAMED", map("a")),
    '{"type":12345678901234567890}\n',
    line("ADDED", {}),
    line("BOOKMARK", { metadata: {} }),
    line("ERROR", "410"),
  ];
  for (const text of senseless) {
    const body = scriptedBody();
    body.send(text);
    const { client } = configMaps(body.answer);
    const watch = client.watch({ resourceVersion: "4", signal: live() });
    await rejects(Array.fromAsync(watch), ProtocolError);
    strictEqual(body.isCancelled, true);
  }
});

Deno.test("W7 ResourceClient.watch() throws a 410 that comes before the stream", async () => {
  const { client } = configMaps(status(410, { reason: "Expired" }));
  await rejects(Array.fromAsync(client.watch({ resourceVersion: "1", signal: live() })), {
    name: "ApiError",
    status: 410,
  });
});

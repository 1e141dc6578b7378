/** Subresources, eviction and logs. */
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { Client } from "../../lib/client/client.ts";
import { defineKind, DEPLOYMENTS, PODS, SERVICE_ACCOUNTS } from "../../lib/client/kinds.ts";
import { evictPod, podLog, podLogLines } from "../../lib/client/pods.ts";
import type { TokenRequest } from "../../lib/client/subresource_client.ts";
import { AssertionError, ProtocolError } from "../../lib/core/errors.ts";
import {
  type Answer,
  json,
  scriptedBody,
  scriptedRest,
  silence,
  status,
} from "../support/scripted_transport.ts";

const { signal } = new AbortController();
const place = { name: "a", namespace: "ns", signal };
const SCALE_PATH = "/apis/apps/v1/namespaces/ns/deployments/a/scale";

function clientOf(...answers: Answer[]) {
  const { rest, requests, clock } = scriptedRest(answers);
  return { client: new Client(rest), rest, requests, clock };
}

Deno.test("Client.scale() reads, replaces, patches and applies the size of a workload", async () => {
  const scale = {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "a", namespace: "ns", resourceVersion: "7", uid: "u", creationTimestamp: "" },
    spec: { replicas: 3 },
  };
  const { client, requests } = clientOf(...Array<Answer>(4).fill(json(scale)));
  const sizes = client.scale(DEPLOYMENTS);
  const read = await sizes.get(place);
  strictEqual(read.spec?.replicas, 3);
  await sizes.update({ ...read, spec: { replicas: 4 } }, { fieldManager: "m", signal });
  const patch = { type: "merge", body: { spec: { replicas: 5 } } } as const;
  await sizes.patch({ ...place, dryRun: true, patch });
  const body = { apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas: 6 } };
  await sizes.patch({ ...place, patch: { type: "apply", body, fieldManager: "f", force: true } });
  deepStrictEqual(requests.map(({ method, path, query }) => [method, path, query]), [
    ["GET", SCALE_PATH, {}],
    ["PUT", SCALE_PATH, { fieldManager: "m" }],
    ["PATCH", SCALE_PATH, { dryRun: "All" }],
    ["PATCH", SCALE_PATH, { fieldManager: "f", force: "true" }],
  ]);
  deepStrictEqual(JSON.parse(requests[1]?.text ?? ""), { ...scale, spec: { replicas: 4 } });
  deepStrictEqual(JSON.parse(requests[3]?.text ?? ""), {
    ...body,
    metadata: { name: "a", namespace: "ns" },
  });
  const unread = { ...read, metadata: { ...read.metadata, resourceVersion: "" } };
  await rejects(sizes.update(unread, { signal }), AssertionError);
});

Deno.test("Client.subresource() reaches those that the kind has, with any answer", async () => {
  const { client, requests } = clientOf(
    json({ status: { token: "t", expirationTimestamp: "" } }),
    json({ kind: "Status", status: "Success", metadata: {} }),
  );
  const tokens = client.subresource<TokenRequest>(SERVICE_ACCOUNTS, "token");
  const asked = { spec: { audiences: ["x"], expirationSeconds: 600 } };
  strictEqual((await tokens.create(asked, place)).status?.token, "t");
  deepStrictEqual(JSON.parse(requests[0]?.text ?? ""), asked);
  const target = { apiVersion: "v1", kind: "Binding", target: { name: "node" } };
  await client.subresource(PODS, "binding").create(target, place);
  strictEqual(requests[1]?.path, "/api/v1/namespaces/ns/pods/a/binding");
  await rejects(client.scale(SERVICE_ACCOUNTS).get(place), AssertionError);
});

Deno.test("R10 SubresourceClient.patch() refuses a strategic patch of a custom kind", async () => {
  const custom = defineKind({
    group: "example.com",
    version: "v1",
    kind: "Cron",
    plural: "crons",
    scope: "Namespaced",
    subresources: ["scale"],
  });
  const { client, requests } = clientOf();
  const patch = { type: "strategic", body: { spec: { replicas: 1 } } } as const;
  await rejects(client.scale(custom).patch({ ...place, patch }), AssertionError);
  strictEqual(requests.length, 0);
});

Deno.test("evictPod() sends its options inside an Eviction, and waits as the server says", async () => {
  const busy = status(429, { headers: { "retry-after": "10" }, reason: "TooManyRequests" });
  const { rest, requests, clock } = clientOf(busy, json({}), status(429, {}));
  const evicting = evictPod(rest, { ...place, preconditions: { uid: "u" }, gracePeriodSeconds: 5 });
  await clock.advance(10_000);
  await evicting;
  deepStrictEqual(JSON.parse(requests[1]?.text ?? ""), {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "a", namespace: "ns" },
    deleteOptions: {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "u" },
      gracePeriodSeconds: 5,
    },
  });
  // A budget that forbids it says no time: that is the caller's to decide.
  await rejects(evictPod(rest, place), { status: 429 });
});

Deno.test("podLogLines() gives the same lines wherever the bytes are cut", async () => {
  const text = fc.string({ unit: "grapheme", maxLength: 20 })
    .map((each) => each.replaceAll(/[\n\uFEFF]/g, "."));
  await fc.assert(fc.asyncProperty(
    fc.array(text, { maxLength: 6 }),
    fc.boolean(),
    fc.nat(9),
    async (lines, isComplete, step) => {
      const whole = lines.map((each) => each + "\n").join("") + (isComplete ? "" : "rest");
      const bytes = new TextEncoder().encode(whole);
      const body = scriptedBody();
      for (let at = 0; at < bytes.length; at += step + 1) {
        body.send(bytes.subarray(at, at + step + 1));
      }
      body.end();
      const { rest } = scriptedRest([body.answer]);
      const seen = await Array.fromAsync(podLogLines(rest, place));
      deepStrictEqual(seen, isComplete ? lines : [...lines, "rest"]);
    },
  ));
});

Deno.test("podLog() asks for what was said, and gives bytes as they are", async () => {
  const { rest, requests } = clientOf(() => new Response(new Uint8Array([0xff, 10])));
  const chunks = await Array.fromAsync(podLog(rest, {
    ...place,
    container: "c",
    follow: true,
    previous: false,
    sinceSeconds: 5,
    tailLines: 10,
    limitBytes: 100,
    timestamps: true,
  }));
  deepStrictEqual([...chunks[0] ?? []], [0xff, 10]);
  strictEqual(requests[0]?.path, "/api/v1/namespaces/ns/pods/a/log");
  deepStrictEqual(requests[0]?.query, {
    container: "c",
    follow: "true",
    previous: "false",
    sinceSeconds: "5",
    tailLines: "10",
    limitBytes: "100",
    timestamps: "true",
  });
});

Deno.test("podLogLines() refuses an endless line, and ends the request when it is left", async () => {
  const long = scriptedBody();
  const left = scriptedBody();
  const { rest } = clientOf(long.answer, left.answer);
  long.send("ok\n12345");
  const seen: string[] = [];
  await rejects(async () => {
    for await (const line of podLogLines(rest, { ...place, lineBytesMax: 4 })) seen.push(line);
  }, ProtocolError);
  deepStrictEqual(seen, ["ok"]);
  strictEqual(long.isCancelled, true);
  left.send("a\nb\n");
  for await (const _ of podLogLines(rest, { ...place, follow: true })) break;
  strictEqual(left.isCancelled, true);
});

Deno.test("podLog() waits for good for a silent container that it follows, else not", async () => {
  const { rest, clock } = clientOf(silence(), silence());
  const late = rejects(Array.fromAsync(podLog(rest, place)), { name: "DeadlineError" });
  await clock.advance(30_000);
  await late;
  const stop = new AbortController();
  let isOver = false;
  const following = rejects(
    Array.fromAsync(podLog(rest, { ...place, follow: true, signal: stop.signal })),
    { message: "stop" },
  ).then(() => isOver = true);
  await clock.advance(24 * 3600_000);
  strictEqual(isOver, false);
  stop.abort(new Error("stop"));
  await following;
});

/** What the client holds after long use: no more descriptors, sockets and memory than before. */
import { ok, strictEqual } from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import type { LeakReport, LeakTask } from "../support/leak_process.ts";
import { createPki } from "../support/pki.ts";
import { type ServedRequest, startTlsServer } from "../support/tls_server.ts";

const PROCESS = fileURLToPath(new URL("../support/leak_process.ts", import.meta.url));

/** Descriptors that may come and go by themselves. */
const DESCRIPTORS_SLACK = 5;

/** Heap after collection, as a share of that at the start. */
const HEAP_MAX = 1.1;

const map = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "default", resourceVersion: "5" },
  data: { text: "x".repeat(2000) },
};
const LIST = JSON.stringify({ metadata: { resourceVersion: "5" }, items: Array(5).fill(map) });
const OBJECT = JSON.stringify(map);
const EVENT = `${JSON.stringify({ type: "ADDED", object: map })}\n`;

/** Answers as `leak_process.ts` asks: each way for a watch to end, and a token that has expired. */
function answerer(): (request: ServedRequest, response: ServerResponse) => void {
  let refused = "";
  return ({ url, headers: { authorization = "" } }, response) => {
    if (url.includes("watch=true")) {
      response.write(EVENT);
      if (url.includes("ended")) response.end(EVENT);
      // Once it has been written: else nothing of it would come.
      else if (url.includes("cut")) response.write('{"type":', () => response.destroy());
      return;
    }
    if (url.endsWith("/missing")) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
    } else if (url.endsWith("/expired") && refused !== "again") {
      // The next one, with a newer token, is answered.
      ok(authorization !== "");
      refused = "again";
      response.writeHead(401, { "content-type": "application/json" }).end("{}");
    } else {
      refused = "";
      response.end(url.endsWith("configmaps?limit=500") ? LIST : OBJECT);
    }
  };
}

async function drive(task: LeakTask): Promise<LeakReport> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--v8-flags=--expose-gc", PROCESS],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Response(JSON.stringify(task)).body?.pipeTo(child.stdin);
  const { success, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  ok(success, text(stderr));
  return JSON.parse(text(stdout));
}

Deno.test({
  name:
    "P3 P4 P5 FetchTransport and RestClient hold nothing of what is over, for thousands of requests",
  // Descriptors are counted in /proc.
  ignore: Deno.build.os !== "linux",
  async fn() {
    const pki = await createPki("leak tests");
    await using server = await startTlsServer(pki, answerer());
    const { idle, start, end, closed, rotations } = await drive({
      server: server.url,
      caPem: pki.caPem,
      requests: 10_000,
      watches: 500,
      rotations: 50,
    });
    const seen = JSON.stringify({ idle, start, end, closed, open: server.openConnections });
    strictEqual(rotations, 50);
    ok(server.requests.length > 11_000, `${server.requests.length} requests were served`);
    ok(Math.abs(end.descriptors - start.descriptors) <= DESCRIPTORS_SLACK, seen);
    ok(Math.abs(end.sockets - start.sockets) <= DESCRIPTORS_SLACK, seen);
    ok(end.heapBytes <= start.heapBytes * HEAP_MAX, seen);
    ok(closed.sockets <= idle.sockets + DESCRIPTORS_SLACK, seen);
    ok(closed.descriptors <= idle.descriptors + DESCRIPTORS_SLACK, seen);
    strictEqual(server.openConnections, 0);
  },
});

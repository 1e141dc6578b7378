/**
 * What the contract suite can't ask of a real server: expiry at will, refusals by an authorizer, the
 * administrative methods, and determinism.
 *
 * @module
 */

import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { ADMIN, ApiServer, type ApiServerOptions } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";
import type { Json } from "../support/kube.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";

/** A server on a simulated clock, and short ways to ask it. */
class Stage implements AsyncDisposable {
  readonly clock = new SimClock();
  readonly server: ApiServer;

  constructor(options: Partial<ApiServerOptions> = {}) {
    this.server = new ApiServer({ clock: this.clock, random: seededRandom(1), ...options });
  }

  fetch(method: string, path: string, body?: Json, headers: Record<string, string> = {}) {
    return this.server.fetch(`http://cluster${path}`, {
      method,
      headers: { "content-type": "application/json", "user-agent": "test/1", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async send(method: string, path: string, body?: Json, headers: Record<string, string> = {}) {
    const response = await this.fetch(method, path, body, headers);
    return { status: response.status, body: await response.json() as Json };
  }

  async secrets(...names: string[]): Promise<void> {
    for (const name of names) {
      strictEqual((await this.send("POST", SECRETS, { metadata: { name } })).status, 201);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

/** Events of a watch that has ended. */
async function eventsOf(response: Response): Promise<Json[]> {
  const text = await response.text();
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

Deno.test("ApiServer.compact() makes older watches end with an ERROR event of code 410", async () => {
  await using stage = new Stage();
  await stage.secrets("a");
  const { body } = await stage.send("GET", SECRETS);
  await stage.secrets("b");
  stage.server.compact();
  const oldest = stage.server.storage.compactedRevision;
  const version = body.metadata.resourceVersion;
  const response = await stage.fetch("GET", `${SECRETS}?watch=1&resourceVersion=${version}`);
  strictEqual(response.status, 200);
  deepStrictEqual(await eventsOf(response), [{
    type: "ERROR",
    object: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `too old resource version: ${version} (${oldest})`,
      reason: "Expired",
      code: 410,
    },
  }]);
});

Deno.test("ApiServer with expiredWatches http answers a watch that is too old by 410", async () => {
  await using stage = new Stage({ expiredWatches: "http" });
  const { status, body } = await stage.send("GET", `${SECRETS}?watch=1&resourceVersion=1`);
  strictEqual(status, 410);
  strictEqual(body.reason, "Expired");
});

Deno.test("ApiServer expires continue tokens, and goes on inconsistently with the one it gives", async () => {
  await using stage = new Stage();
  await stage.secrets("a", "b", "d");
  const first = (await stage.send("GET", `${SECRETS}?limit=1`)).body;
  await stage.secrets("c");
  stage.server.compact();
  const token = encodeURIComponent(first.metadata.continue);
  const { status, body } = await stage.send("GET", `${SECRETS}?limit=1&continue=${token}`);
  strictEqual(status, 410);
  strictEqual(body.reason, "Expired");
  ok(body.message.startsWith("The provided continue parameter is too old to display"));
  const onward = encodeURIComponent(body.metadata.continue);
  const rest = (await stage.send("GET", `${SECRETS}?limit=9&continue=${onward}`)).body;
  deepStrictEqual(rest.items.map((item: Json) => item.metadata.name), ["b", "c", "d"]);
  strictEqual(rest.metadata.resourceVersion, String(stage.server.storage.revision));
});

Deno.test("ApiServer refuses exact lists of compacted versions by 410", async () => {
  await using stage = new Stage();
  await stage.secrets("a");
  stage.server.compact();
  const { status, body } = await stage.send(
    "GET",
    `${SECRETS}?resourceVersion=2&resourceVersionMatch=Exact`,
  );
  strictEqual(status, 410);
  strictEqual(body.message, "The resourceVersion for the provided list is too old.");
});

Deno.test("ApiServer.cutWatches() ends watches cleanly, or as a broken connection", async () => {
  await using stage = new Stage();
  const open = () => stage.fetch("GET", `${SECRETS}?watch=1`);
  const clean = await open();
  strictEqual(stage.server.cutWatches({ table: "configmaps" }), 0);
  strictEqual(stage.server.cutWatches({ table: "secrets" }), 1);
  deepStrictEqual(await eventsOf(clean), []);
  const broken = await open();
  const reset = new TypeError("connection reset");
  strictEqual(stage.server.cutWatches({ error: reset }), 1);
  await rejects(broken.text(), reset);
  strictEqual(stage.server.openWatches, 0);
});

Deno.test("ApiServer ends a watch when its request is aborted, with the signal's reason", async () => {
  await using stage = new Stage();
  const stop = new AbortController();
  const response = await stage.server.fetch(`http://cluster${SECRETS}?watch=1`, {
    signal: stop.signal,
  });
  const reading = response.text();
  const reason = new Error("enough");
  stop.abort(reason);
  await rejects(reading, reason);
  strictEqual(stage.server.openWatches, 0);
  await rejects(stage.server.fetch(`http://cluster${SECRETS}`, { signal: stop.signal }), reason);
});

Deno.test("ApiServer leaves no timer and no watch behind when a reader cancels", async () => {
  await using stage = new Stage();
  const response = await stage.fetch("GET", `${SECRETS}?watch=1&allowWatchBookmarks=true`);
  strictEqual(stage.server.openWatches, 1);
  await response.body?.cancel();
  await stage.clock.settle();
  strictEqual(stage.server.openWatches, 0);
  strictEqual(stage.clock.pendingTimers, 0);
});

Deno.test("ApiServer sends a bookmark a minute, but only if there is news", async () => {
  await using stage = new Stage();
  const response = await stage.fetch(
    "GET",
    `${SECRETS}?watch=1&allowWatchBookmarks=true&resourceVersion=` +
      `${stage.server.storage.revision}&timeoutSeconds=400`,
  );
  const reading = eventsOf(response);
  await stage.clock.advance(150_000);
  await stage.send("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "x" } });
  await stage.clock.advance(260_000);
  const events = await reading;
  deepStrictEqual(events.map((event) => event.type), ["BOOKMARK"]);
  strictEqual(events[0].object.metadata.resourceVersion, String(stage.server.storage.revision));
});

Deno.test("ApiServer knows its users by token, and answers 401 to others", async () => {
  const user = { username: "jane", groups: ["people"] };
  await using stage = new Stage({ users: new Map([["secret", user]]) });
  const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const known = await stage.send("POST", review, {}, { authorization: "Bearer secret" });
  deepStrictEqual(known.body.status.userInfo, user);
  for (const headers of [{}, { authorization: "Bearer other" }]) {
    const { status, body } = await stage.send("POST", review, {}, headers);
    strictEqual(status, 401);
    strictEqual(body.reason, "Unauthorized");
  }
});

Deno.test("ApiServer asks its authorizer, in the words of RBAC", async () => {
  await using stage = new Stage({
    authorizer: (_user, { verb, resource }) => verb !== "delete" || resource !== "secrets",
  });
  await stage.secrets("a");
  const { status, body } = await stage.send("DELETE", `${SECRETS}/a`);
  strictEqual(status, 403);
  strictEqual(
    body.message,
    `secrets "a" is forbidden: User "${ADMIN.username}" cannot delete resource "secrets" in API ` +
      'group "" in the namespace "default"',
  );
  const review = await stage.send(
    "POST",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    { spec: { resourceAttributes: { verb: "delete", resource: "secrets", namespace: "default" } } },
  );
  strictEqual(review.body.status.allowed, false);
});

Deno.test("ApiServer.statistics counts writes by agent and what was asked for", async () => {
  await using stage = new Stage();
  await stage.secrets("a", "b");
  await stage.send("GET", `${SECRETS}/a`);
  await stage.send("POST", SECRETS, { metadata: { name: "a" } }, { "user-agent": "other/2" });
  deepStrictEqual([...stage.server.statistics.writesByAgent()], [["test", 2], ["other", 1]]);
  strictEqual(stage.server.statistics.writes, 3);
  const common = { group: "", resource: "secrets", subresource: "", namespace: "default" };
  deepStrictEqual(stage.server.statistics.seen(), [
    { verb: "create", ...common },
    { verb: "get", ...common },
  ]);
  stage.server.statistics.reset();
  strictEqual(stage.server.statistics.requests, 0);
});

Deno.test("ApiServer gives the same answers for the same seed, byte for byte", async () => {
  const run = async () => {
    await using stage = new Stage({ workloads: { readyAfterMs: 500 } });
    let trace = "";
    const tell = async (response: Promise<Response>) => trace += await (await response).text();
    const watch = await stage.fetch("GET", "/api/v1/pods?watch=1&timeoutSeconds=30");
    await tell(stage.fetch("POST", "/apis/apps/v1/namespaces/default/deployments", {
      metadata: { name: "d" },
      spec: {
        replicas: 3,
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { containers: [{ name: "c", image: "i" }] },
        },
      },
    }));
    await stage.clock.advance(31_000);
    await tell(Promise.resolve(watch));
    await tell(stage.fetch("GET", "/apis/apps/v1/deployments"));
    return trace;
  };
  const first = await run();
  ok(first.includes('"availableReplicas":3'), first.slice(-400));
  strictEqual(await run(), first);
});

Deno.test("ApiServer with workloads rolls to a new template and scales down", async () => {
  await using stage = new Stage({ workloads: { readyAfterMs: 1000 } });
  const path = "/apis/apps/v1/namespaces/default/deployments";
  const made = (image: string) => ({
    metadata: { name: "d" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image }] } },
    },
  });
  await stage.send("POST", path, made("one"));
  await stage.clock.advance(1000);
  strictEqual((await stage.send("GET", `${path}/d`)).body.status.availableReplicas, 2);
  await stage.send("PUT", `${path}/d`, made("two"));
  const middle = (await stage.send("GET", "/api/v1/pods")).body.items;
  strictEqual(middle.length, 4, "the old Pods stay until the new ones serve");
  await stage.clock.advance(5000);
  const after = (await stage.send("GET", "/api/v1/pods")).body.items;
  deepStrictEqual(after.map((pod: Json) => pod.spec.containers[0].image), ["two", "two"]);
  const patched = { ...made("two"), spec: { ...made("two").spec, replicas: 0 } };
  await stage.send("PUT", `${path}/d`, patched);
  await stage.clock.advance(5000);
  const { status } = (await stage.send("GET", `${path}/d`)).body;
  strictEqual(status.replicas, undefined);
  strictEqual(status.observedGeneration, 3);
});

Deno.test("ApiServer delays its controllers by controllerDelayMs", async () => {
  await using stage = new Stage({ controllerDelayMs: 1000 });
  await stage.secrets("owner");
  const { body } = await stage.send("GET", `${SECRETS}/owner`);
  const { name, uid } = body.metadata;
  await stage.send("POST", SECRETS, {
    metadata: {
      name: "child",
      ownerReferences: [{ apiVersion: "v1", kind: "Secret", name, uid }],
    },
  });
  await stage.clock.advance(2000);
  await stage.send("DELETE", `${SECRETS}/owner`);
  strictEqual((await stage.send("GET", `${SECRETS}/child`)).status, 200);
  await stage.clock.advance(1000);
  strictEqual((await stage.send("GET", `${SECRETS}/child`)).status, 404);
});

Deno.test("ApiServer refuses a body over the real server's limit", async () => {
  await using stage = new Stage();
  const { status, body } = await stage.send("POST", SECRETS, {
    metadata: { name: "a" },
    stringData: { x: "y".repeat(3 * 1024 * 1024) },
  });
  strictEqual(status, 413);
  strictEqual(body.reason, "RequestEntityTooLarge");
});

Deno.test("ApiServer says that its Pods have no logs and run nothing", async () => {
  await using stage = new Stage();
  const pods = "/api/v1/namespaces/default/pods";
  const spec = { containers: [{ name: "c", image: "i" }] };
  strictEqual((await stage.send("POST", pods, { metadata: { name: "a" }, spec })).status, 201);
  const refusalOf = async (method: string, path: string) => {
    const { status, body } = await stage.send(method, `${pods}/${path}`);
    return [status, body.reason, body.message];
  };
  const no = (what: string) => [405, "MethodNotAllowed", `simulated Pods ${what}`];
  deepStrictEqual(await refusalOf("GET", "a/log?container=c&follow=true"), no("have no logs"));
  const nothing = "run nothing, so there is nothing to execute a command in";
  for (const method of ["GET", "POST"]) {
    deepStrictEqual(await refusalOf(method, "a/exec?command=ls"), no(nothing));
  }
  match((await refusalOf("POST", "a/portforward"))[2], /run nothing/);
  deepStrictEqual(await refusalOf("GET", "b/log"), [404, "NotFound", 'pods "b" not found']);
  strictEqual((await refusalOf("GET", "a/unknown"))[0], 404);
});

Deno.test("ApiServer advises a way around protobuf only where there is one", async () => {
  await using stage = new Stage();
  const protobuf = { "content-type": "application/vnd.kubernetes.protobuf" };
  const stored = await stage.send("POST", SECRETS, {}, protobuf);
  strictEqual(stored.status, 415);
  match(stored.body.message, /kubectl apply -f -$/);
  const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const asked = await stage.send("POST", reviews, {}, protobuf);
  strictEqual(asked.status, 415);
  match(asked.body.message, /simulated API server does not read protobuf$/);
});

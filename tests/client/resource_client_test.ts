import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { ListWatch } from "../../lib/cache/list_watch.ts";
import { Client } from "../../lib/client/client.ts";
import { defineKind, type Deployment, DEPLOYMENTS, NAMESPACES } from "../../lib/client/kinds.ts";
import type { Patch } from "../../lib/client/patch.ts";
import { ResourceClient } from "../../lib/client/resource_client.ts";
import { AssertionError, ProtocolError } from "../../lib/core/errors.ts";
import type { KubeObject } from "../../lib/core/objects.ts";
import { type Answer, json, scriptedRest, status } from "../support/scripted_transport.ts";

interface Foo extends KubeObject {
  spec: { replicas?: number };
  status?: { ready?: number };
}

const FOOS = defineKind<Foo>({
  group: "samplecontroller.k8s.io",
  version: "v1alpha1",
  kind: "Foo",
  plural: "foos",
  scope: "Namespaced",
  subresources: ["status"],
});
const FOO_PATH = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/ns/foos";

const signal = new AbortController().signal;
const meta = (name: string) => ({
  name,
  namespace: "ns",
  uid: `uid-${name}`,
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
});
const foo = (name: string): Foo => ({
  apiVersion: "samplecontroller.k8s.io/v1alpha1",
  kind: "Foo",
  metadata: meta(name),
  spec: { replicas: 1 },
});

function foos(...answers: Answer[]) {
  const { rest, requests } = scriptedRest(answers);
  return { foos: new Client(rest).resource(FOOS), requests };
}

Deno.test("ResourceClient builds the path of each scope and group", async () => {
  const answers = Array<Answer>(3).fill(json({ metadata: { name: "a" } }));
  const { rest, requests } = scriptedRest(answers);
  const client = new Client(rest);
  await client.resource(NAMESPACES).get({ name: "a", signal });
  await client.resource(DEPLOYMENTS).get({ name: "a:b", namespace: "ns", signal });
  await client.resource(FOOS).get({ name: "a", namespace: "ns", resourceVersion: "0", signal });
  deepStrictEqual(requests.map(({ path }) => path), [
    "/api/v1/namespaces/a",
    "/apis/apps/v1/namespaces/ns/deployments/a%3Ab",
    `${FOO_PATH}/a`,
  ]);
  deepStrictEqual(requests[2]?.query, { resourceVersion: "0" });
});

Deno.test("ResourceClient never sends what would reach a collection instead of an object", async () => {
  const { foos: client, requests } = foos();
  for (
    const place of [{ name: "", namespace: "ns" }, { name: "a" }, { name: "..", namespace: "n" }]
  ) {
    await rejects(client.delete({ ...place, signal }), AssertionError);
    await rejects(client.get({ ...place, signal }), AssertionError);
  }
  await rejects(client.create({ metadata: { name: "a" }, spec: {} }, { signal }), AssertionError);
  const { rest } = scriptedRest([]);
  const namespaces = new ResourceClient(rest, NAMESPACES);
  await rejects(namespaces.get({ name: "a", namespace: "ns", signal }), AssertionError);
  strictEqual(requests.length, 0);
});

Deno.test("E4 ResourceClient.list() fills in apiVersion and kind, and reads all pages", async () => {
  const bare = (name: string) => ({ metadata: meta(name), spec: {} });
  const { foos: client, requests } = foos(
    json({
      metadata: { resourceVersion: "9", continue: "next", remainingItemCount: 1 },
      items: [bare("a"), bare("b")],
    }),
    json({ metadata: { resourceVersion: "9" }, items: [bare("c")] }),
  );
  const list = await client.list({
    namespace: "ns",
    labelSelector: "x=y",
    resourceVersion: "5",
    pageSize: 2,
    signal,
  });
  strictEqual(list.resourceVersion, "9");
  strictEqual(list.continue, undefined);
  deepStrictEqual(
    list.items.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name]),
    [
      ["samplecontroller.k8s.io/v1alpha1", "Foo", "a"],
      ["samplecontroller.k8s.io/v1alpha1", "Foo", "b"],
      ["samplecontroller.k8s.io/v1alpha1", "Foo", "c"],
    ],
  );
  deepStrictEqual(requests.map(({ path, query }) => [path, query]), [
    [FOO_PATH, {
      labelSelector: "x=y",
      limit: "2",
      resourceVersion: "5",
      resourceVersionMatch: "NotOlderThan",
    }],
    // A version together with a token would be refused.
    [FOO_PATH, { labelSelector: "x=y", limit: "2", continue: "next" }],
  ]);
});

Deno.test("ResourceClient.listWatch() is what a reflector needs, for one selection", async () => {
  const list = json({ metadata: { resourceVersion: "9" }, items: [] });
  const { foos: client, requests } = foos(list, list, () => new Response(""));
  const source: ListWatch<Foo> = client.listWatch({ namespace: "ns", labelSelector: "a=b" });
  await source.list({ signal });
  await source.list({ resourceVersion: "", signal });
  const call = { resourceVersion: "9", timeoutSeconds: 200, onOpen: () => {}, signal };
  await Array.fromAsync(source.watch(call));
  deepStrictEqual(requests.map(({ path }) => path), [FOO_PATH, FOO_PATH, FOO_PATH]);
  deepStrictEqual(requests.map(({ query }) => query["labelSelector"]), ["a=b", "a=b", "a=b"]);
  strictEqual(requests[1]?.query["resourceVersionMatch"], undefined);
});

Deno.test("ResourceClient.list() starts anew once if its pages expire, and leaves the old ones out", async () => {
  const page = (name: string, next?: string) =>
    json({ metadata: { resourceVersion: "9", continue: next }, items: [foo(name)] });
  const expired = status(410, { reason: "Expired" });

  const once = foos(page("old", "t1"), expired, page("a", "t2"), page("b"));
  const list = await once.foos.list({ signal });
  deepStrictEqual(list.items.map(({ metadata }) => metadata.name), ["a", "b"]);
  strictEqual(once.requests[2]?.query["continue"], undefined);
  strictEqual(once.requests[2]?.query["limit"], "500");

  const twice = foos(page("old", "t1"), expired, page("a", "t2"), expired);
  await rejects(twice.foos.list({ signal }), { status: 410 });

  const first = foos(expired);
  await rejects(first.foos.list({ resourceVersion: "1", signal }), { status: 410 });
  strictEqual(first.requests.length, 1);
});

Deno.test("ResourceClient.list() gives up on pages that lead back to themselves", async () => {
  const page = json({ metadata: { resourceVersion: "9", continue: "next" }, items: [foo("a")] });
  const listed = foos(page, page, page);
  await rejects(listed.foos.list({ namespace: "ns", signal }), ProtocolError);
  strictEqual(listed.requests.length, 2);
  const paged = foos(page, page, page);
  await rejects(Array.fromAsync(paged.foos.pages({ namespace: "ns", signal })), ProtocolError);
  strictEqual(paged.requests.length, 2);
});

Deno.test("ResourceClient.list() takes null for no items and refuses what is no list", async () => {
  const { foos: client } = foos(
    json({ metadata: { resourceVersion: "1" }, items: null }),
    json({ metadata: { resourceVersion: "1" } }),
    json({ items: [] }),
    json({ metadata: { resourceVersion: "1" }, items: [{ spec: {} }] }),
    json([]),
  );
  deepStrictEqual((await client.list({ signal })).items, []);
  for (let i = 0; i < 4; i++) await rejects(client.list({ signal }), ProtocolError);
});

Deno.test("R10 ResourceClient.patch() sends each kind of patch with its own Content-Type", async () => {
  const cases: [Patch<Deployment>, string, unknown][] = [
    [{ type: "merge", body: { spec: { replicas: 2 } } }, "application/merge-patch+json", {
      spec: { replicas: 2 },
    }],
    [
      {
        type: "strategic",
        body: { spec: { template: { spec: { containers: [{ name: "n", image: "i" }] } } } },
      },
      "application/strategic-merge-patch+json",
      { spec: { template: { spec: { containers: [{ name: "n", image: "i" }] } } } },
    ],
    [
      { type: "json", body: [{ op: "remove", path: "/spec/replicas" }] },
      "application/json-patch+json",
      [{ op: "remove", path: "/spec/replicas" }],
    ],
    [
      {
        type: "apply",
        body: { metadata: { labels: { a: "b" } } },
        fieldManager: "me",
        force: true,
      },
      "application/apply-patch+yaml",
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { labels: { a: "b" }, name: "d", namespace: "ns" },
      },
    ],
  ];
  for (const [patch, contentType, body] of cases) {
    const { rest, requests } = scriptedRest([json({ metadata: { name: "d" } })]);
    const client = new ResourceClient(rest, DEPLOYMENTS);
    await client.patch({ name: "d", namespace: "ns", patch, dryRun: true, signal });
    const [request] = requests;
    strictEqual(request?.method, "PATCH");
    strictEqual(request?.headers["content-type"], contentType);
    deepStrictEqual(JSON.parse(request?.text ?? ""), body);
    deepStrictEqual(
      request?.query,
      patch.type === "apply"
        ? { dryRun: "All", fieldManager: "me", force: "true" }
        : { dryRun: "All" },
    );
  }
});

Deno.test("R10 ResourceClient.patch() refuses a strategic patch of a custom resource", async () => {
  const { foos: client, requests } = foos();
  const patch = { type: "strategic", body: { spec: { replicas: 2 } } } as const;
  await rejects(client.patch({ name: "a", namespace: "ns", patch, signal }), AssertionError);
  strictEqual(requests.length, 0);
});

Deno.test("R9 ResourceClient.updateStatus() and patch() reach a subresource only if the kind has it", async () => {
  const answers = [json(foo("a")), json(foo("a"))];
  const { foos: client, requests } = foos(...answers);
  await client.updateStatus({ ...foo("a"), status: { ready: 1 } }, { signal });
  const patch = { type: "merge", body: { status: { ready: 1 } } } as const;
  await client.patch({ name: "a", namespace: "ns", subresource: "status", patch, signal });
  deepStrictEqual(requests.map(({ method, path }) => `${method} ${path}`), [
    `PUT ${FOO_PATH}/a/status`,
    `PATCH ${FOO_PATH}/a/status`,
  ]);
  await rejects(
    client.patch({ name: "a", namespace: "ns", subresource: "scale", patch, signal }),
    AssertionError,
  );
});

Deno.test("ResourceClient.create() and update() send the whole object, kind filled in", async () => {
  const { foos: client, requests } = foos(json(foo("a")), json(foo("a")));
  const draft = { metadata: { name: "a", namespace: "ns" }, spec: {} };
  const created = await client.create(draft, {
    fieldManager: "me",
    fieldValidation: "Strict",
    signal,
  });
  await client.update(Object.freeze(created), { signal });
  deepStrictEqual(requests.map(({ method, path }) => `${method} ${path}`), [
    `POST ${FOO_PATH}`,
    `PUT ${FOO_PATH}/a`,
  ]);
  deepStrictEqual(requests[0]?.query, { fieldManager: "me", fieldValidation: "Strict" });
  deepStrictEqual(JSON.parse(requests[0]?.text ?? ""), {
    ...draft,
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
  });
  deepStrictEqual(JSON.parse(requests[1]?.text ?? ""), foo("a"));

  const unversioned = { ...foo("a"), metadata: { ...meta("a"), resourceVersion: "" } };
  await rejects(client.update(unversioned, { signal }), AssertionError);
});

Deno.test("S4 ResourceClient.updateStatus() leaves fields that it does not know as they came", async () => {
  const stored = `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo",` +
    `"metadata":${JSON.stringify(meta("a"))},"spec":{"extra":{"nested":[1,{"a":null}]}},` +
    `"status":{"big":9007199254740993}}`;
  const { foos: client, requests } = foos(() => new Response(stored), json(foo("a")));
  const read = await client.get({ name: "a", namespace: "ns", signal });
  await client.updateStatus(read, { signal });
  strictEqual(requests[1]?.text, stored);
});

Deno.test("ResourceClient.delete() sends preconditions and takes any answer", async () => {
  const { foos: client, requests } = foos(
    json({ kind: "Status", status: "Success" }),
    json(foo("a")),
  );
  await client.delete({
    name: "a",
    namespace: "ns",
    preconditions: { uid: "u", resourceVersion: "7" },
    propagationPolicy: "Foreground",
    signal,
  });
  await client.delete({ name: "a", namespace: "ns", gracePeriodSeconds: 0, dryRun: true, signal });
  const options = { apiVersion: "v1", kind: "DeleteOptions" };
  deepStrictEqual(requests.map(({ text }): unknown => JSON.parse(text ?? "")), [
    {
      ...options,
      preconditions: { uid: "u", resourceVersion: "7" },
      propagationPolicy: "Foreground",
    },
    { ...options, gracePeriodSeconds: 0, dryRun: ["All"] },
  ]);
  ok(requests.every(({ method }) => method === "DELETE"));
});

/** Lists in pages, metadata alone, tables, selections, and kinds that are asked and not stored. */
import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { Client } from "../../lib/client/client.ts";
import {
  CONFIG_MAPS,
  NAMESPACES,
  SECRETS,
  SELF_SUBJECT_ACCESS_REVIEWS,
} from "../../lib/client/kinds.ts";
import {
  fieldsAre,
  fieldsAreNot,
  labelExists,
  labelIn,
  labelIsAbsent,
  labelNotIn,
  labelsAre,
  labelsAreNot,
} from "../../lib/client/selectors.ts";
import { AssertionError, ProtocolError } from "../../lib/core/errors.ts";
import { type Answer, json, scriptedRest, status } from "../support/scripted_transport.ts";

const { signal } = new AbortController();
const meta = (name: string) => ({ name, namespace: "ns", resourceVersion: "5" });
const line = (type: string, object: unknown) => JSON.stringify({ type, object }) + "\n";

function clientOf(...answers: Answer[]) {
  const { rest, requests } = scriptedRest(answers);
  return { client: new Client(rest), requests };
}

Deno.test("ResourceClient.pages() asks for a page when it is wanted, and ends with the last", async () => {
  const page = (name: string, next?: string) =>
    json({ metadata: { resourceVersion: "9", continue: next }, items: [{ metadata: meta(name) }] });
  const { client, requests } = clientOf(page("a", "t"), page("b"), page("a", "t"));
  const pages = client.resource(CONFIG_MAPS).pages({ namespace: "ns", pageSize: 1, signal });
  strictEqual((await pages.next()).value?.items[0]?.metadata.name, "a");
  strictEqual(requests.length, 1);
  const rest = await Array.fromAsync(pages);
  deepStrictEqual(rest.map(({ items }) => items[0]?.metadata.name), ["b"]);
  strictEqual(requests[1]?.query["continue"], "t");
  for await (const _ of client.resource(CONFIG_MAPS).pages({ signal })) break;
  strictEqual(requests.length, 3);
});

Deno.test("ResourceClient.pages() says that its version was forgotten: what it gave can't be taken back", async () => {
  const { client } = clientOf(
    json({ metadata: { resourceVersion: "9", continue: "t" }, items: [] }),
    status(410, { reason: "Expired" }),
  );
  await rejects(Array.fromAsync(client.resource(CONFIG_MAPS).pages({ signal })), { status: 410 });
});

Deno.test("Client.metadata() asks every verb for metadata, and keeps nothing else of any answer", async () => {
  const whole = { kind: "Secret", metadata: meta("a"), data: { key: "aHVudGVyMg==" } };
  const { client, requests } = clientOf(
    json(whole),
    json({ metadata: { resourceVersion: "9" }, items: [whole] }),
    () => new Response(line("ADDED", { ...whole, kind: "PartialObjectMetadata" })),
    json(whole),
  );
  const secrets = client.metadata(SECRETS);
  const partial = { apiVersion: "v1", kind: "Secret", metadata: meta("a") };
  const place = { name: "a", namespace: "ns", signal };
  deepStrictEqual<unknown>(await secrets.get(place), partial);
  deepStrictEqual<unknown>((await secrets.list({ signal })).items, [partial]);
  const events = await Array.fromAsync(secrets.watch({ resourceVersion: "9", signal }));
  deepStrictEqual<unknown>(events, [{ type: "ADDED", object: partial }]);
  const patch = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
  deepStrictEqual<unknown>(await secrets.patch({ ...place, patch }), partial);
  const accept = requests.map(({ headers }) => headers["accept"]?.split(";")[1]);
  deepStrictEqual(accept, [
    "as=PartialObjectMetadata",
    "as=PartialObjectMetadataList",
    "as=PartialObjectMetadata",
    "as=PartialObjectMetadata",
  ]);
  strictEqual(secrets.kind.gvk, SECRETS.gvk);
});

Deno.test("TableClient reads tables, their pages and what a watch says of them", async () => {
  const columns = [{ name: "Name", type: "string", format: "name", description: "", priority: 0 }];
  const row = (name: string) => ({ cells: [name], object: { metadata: meta(name) } });
  const table = (fields: object) => ({
    kind: "Table",
    metadata: { resourceVersion: "7" },
    columnDefinitions: columns,
    rows: [row("a")],
    ...fields,
  });
  const bookmark = {
    metadata: { resourceVersion: "8", annotations: { "k8s.io/initial-events-end": "true" } },
  };
  const { client, requests } = clientOf(
    json(table({})),
    json(table({ metadata: { resourceVersion: "7", continue: "t" }, rows: null })),
    () =>
      new Response(
        line("ADDED", table({ columnDefinitions: null })) +
          line("BOOKMARK", table({ rows: [{ cells: [""], object: bookmark }] })) +
          line("ERROR", { kind: "Status", status: "Failure", code: 410 }),
      ),
    json({ kind: "ConfigMapList", metadata: {}, items: [] }),
  );
  const tables = client.table(CONFIG_MAPS);
  deepStrictEqual<unknown>(
    await tables.get({ name: "a", namespace: "ns", includeObject: "None", signal }),
    { columns, rows: [row("a")], resourceVersion: "7" },
  );
  deepStrictEqual<unknown>(await tables.list({ namespace: "ns", pageSize: 3, signal }), {
    columns,
    rows: [],
    resourceVersion: "7",
    continue: "t",
  });
  const events = await Array.fromAsync(tables.watch({ resourceVersion: "7", signal }));
  deepStrictEqual<unknown>(events.slice(0, 2), [
    { type: "ADDED", object: { columns: [], rows: [row("a")], resourceVersion: "7" } },
    { type: "BOOKMARK", resourceVersion: "8", initialEventsEnd: true },
  ]);
  strictEqual(events[2]?.type, "ERROR");
  await rejects(tables.list({ signal }), ProtocolError);
  deepStrictEqual(requests.map(({ query }) => query["includeObject"]), [
    "None",
    undefined,
    undefined,
    undefined,
  ]);
  strictEqual(requests[0]?.headers["accept"], "application/json;as=Table;g=meta.k8s.io;v=v1");
});

Deno.test("selectors are sent as the server reads them, and one that selects all is left out", async () => {
  const empty = json({ metadata: { resourceVersion: "9" }, items: [] });
  const { client, requests } = clientOf(empty, empty, () => new Response(""));
  const configMaps = client.resource(CONFIG_MAPS);
  const labelSelector = [
    ...labelsAre({ app: "web" }),
    ...labelsAreNot({ env: "dev" }),
    ...labelIn("tier", ["b", "a"]),
    ...labelNotIn("zone", ["c"]),
    ...labelExists("example.com/owner"),
    ...labelIsAbsent("legacy"),
  ];
  const fieldSelector = [
    ...fieldsAre({ "metadata.name": "a,b=c" }),
    ...fieldsAreNot({ type: "Opaque" }),
  ];
  await configMaps.list({ labelSelector, fieldSelector, signal });
  await configMaps.list({ labelSelector: [], fieldSelector: "", signal });
  await Array.fromAsync(configMaps.watch({ labelSelector, resourceVersion: "9", signal }));
  const text = "app=web,env!=dev,tier in (a,b),zone notin (c),example.com/owner,!legacy";
  deepStrictEqual(requests.map(({ query }) => query["labelSelector"]), [text, undefined, text]);
  strictEqual(requests[0]?.query["fieldSelector"], "metadata.name=a\\,b\\=c,type!=Opaque");
  strictEqual(requests[1]?.query["fieldSelector"], undefined);
});

Deno.test("selector helpers refuse what the server would refuse, or read as something else", () => {
  throws(() => labelsAre({ "a b": "c" }), RangeError);
  throws(() => labelsAre({ a: "b,c" }), RangeError);
  throws(() => labelIn("a", []), RangeError);
  throws(() => labelNotIn("a", ["b)"]), RangeError);
  throws(() => labelExists("!a"), RangeError);
  throws(() => labelIsAbsent(""), RangeError);
});

Deno.test("ResourceClient.deleteCollection() sends selection and options, never to all namespaces", async () => {
  const { client, requests } = clientOf(json({}), json({}));
  await client.resource(CONFIG_MAPS).deleteCollection({
    namespace: "ns",
    labelSelector: "a=b",
    preconditions: { uid: "u" },
    propagationPolicy: "Foreground",
    gracePeriodSeconds: 0,
    dryRun: true,
    signal,
  });
  await client.resource(NAMESPACES).deleteCollection({ fieldSelector: "metadata.name=x", signal });
  deepStrictEqual(requests.map(({ method, path, query }) => [method, path, query]), [
    ["DELETE", "/api/v1/namespaces/ns/configmaps", { labelSelector: "a=b" }],
    ["DELETE", "/api/v1/namespaces", { fieldSelector: "metadata.name=x" }],
  ]);
  deepStrictEqual(JSON.parse(requests[0]?.text ?? ""), {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions: { uid: "u" },
    propagationPolicy: "Foreground",
    gracePeriodSeconds: 0,
    dryRun: ["All"],
  });
  await rejects(client.resource(CONFIG_MAPS).deleteCollection({ signal }), AssertionError);
});

Deno.test("ResourceClient.create() takes an answer without a name only if none was sent", async () => {
  const review = { spec: { resourceAttributes: { verb: "get" } }, status: { allowed: true } };
  const { client } = clientOf(json(review), json({ metadata: {} }), json([]));
  const reviews = client.resource(SELF_SUBJECT_ACCESS_REVIEWS);
  const draft = { metadata: {}, spec: review.spec };
  strictEqual((await reviews.create(draft, { signal })).status?.allowed, true);
  const named = { metadata: { generateName: "a-", namespace: "ns" } };
  await rejects(client.resource(CONFIG_MAPS).create(named, { signal }), ProtocolError);
  await rejects(reviews.create(draft, { signal }), ProtocolError);
});

/**
 * @module
 */

import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { objectOfJson } from "../../lib/simulator/api_object.ts";
import { Storage, type StoredChange } from "../../lib/simulator/storage.ts";

function object(name: string, data: string) {
  return objectOfJson({
    apiVersion: "v1",
    kind: "Thing",
    metadata: { name, namespace: "n", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" },
    data,
  });
}

/** One random step: sets or removes a key. */
const STEP = fc.record({
  key: fc.constantFrom("a", "b", "c", "a-b"),
  table: fc.constantFrom("one", "two"),
  data: fc.option(fc.string({ maxLength: 3 }), { nil: undefined }),
});

type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** Does the step, if it can be done. */
function take(storage: Storage, { key, table, data }: Step): void {
  const exists = storage.find(table, `n/${key}`) !== undefined;
  if (data === undefined) {
    if (exists) storage.remove(table, `n/${key}`);
  } else if (exists) storage.replace(table, object(key, data));
  else storage.add(table, object(key, data));
}

/** The table as keys with data and version. */
function shown(objects: readonly object[]): string {
  return JSON.stringify(objects);
}

Deno.test("Storage.allAt() gives each kept revision as it was", () => {
  fc.assert(fc.property(fc.array(STEP, { maxLength: 40 }), (steps) => {
    const storage = new Storage();
    const seen = new Map<number, string>([[storage.revision, shown(storage.all("one"))]]);
    for (const step of steps) {
      take(storage, step);
      seen.set(storage.revision, shown(storage.all("one")));
    }
    for (const [revision, state] of seen) strictEqual(shown(storage.allAt("one", revision)), state);
  }));
});

Deno.test("Storage.changesAfter() replayed on an old state gives the newest one", () => {
  fc.assert(fc.property(
    fc.array(STEP, { maxLength: 40 }),
    fc.nat({ max: 40 }),
    (steps, from) => {
      const storage = new Storage();
      for (const step of steps.slice(0, from)) take(storage, step);
      const replay = new Map(storage.all("one").map((each) => [each.metadata.name, each]));
      const start = storage.revision;
      for (const step of steps.slice(from)) take(storage, step);
      let last = start;
      for (const { type, object, revision } of storage.changesAfter("one", start)) {
        ok(revision > last, "revisions rise");
        last = revision;
        strictEqual(object.metadata.resourceVersion, String(revision));
        if (type === "DELETED") replay.delete(object.metadata.name);
        else replay.set(object.metadata.name, object);
      }
      const names = [...replay.keys()].sort();
      deepStrictEqual(storage.all("one").map((each) => each.metadata.name), names);
      for (const each of storage.all("one")) strictEqual(replay.get(each.metadata.name), each);
    },
  ));
});

Deno.test("Storage numbers writes of all tables by one revision, without gaps", () => {
  const storage = new Storage({ revision: 10 });
  const first = storage.add("one", object("a", "1"));
  const second = storage.add("two", object("a", "1"));
  const gone = storage.remove("one", "n/a");
  deepStrictEqual(
    [first, second, gone].map(({ metadata }) => metadata.resourceVersion),
    ["11", "12", "13"],
  );
});

Deno.test("Storage keeps objects frozen and tells listeners inside the write", () => {
  const storage = new Storage();
  const told: StoredChange[] = [];
  using _listening = storage.listen((change) => told.push(change));
  const stored = storage.add("one", object("a", "1"));
  strictEqual(told[0]?.object, stored);
  throws(() => {
    stored.metadata.labels = {};
  }, TypeError);
  const replaced = storage.replace("one", object("a", "2"));
  strictEqual(told[1]?.previous, stored);
  strictEqual(told[1]?.object, replaced);
});

Deno.test("Storage.compact() forgets what was before, and only that", () => {
  const storage = new Storage();
  storage.add("one", object("a", "1"));
  const middle = storage.revision;
  storage.replace("one", object("a", "2"));
  storage.compact(middle);
  strictEqual(storage.compactedRevision, middle);
  strictEqual(storage.allAt("one", middle)[0]?.["data"], "1");
  throws(() => storage.allAt("one", middle - 1), { name: "AssertionError" });
  storage.compact(middle - 1);
  strictEqual(storage.compactedRevision, middle, "compaction never goes back");
});

Deno.test("Storage bounds its history by compacting the oldest changes", () => {
  const storage = new Storage({ historyLimit: 10 });
  storage.add("one", object("a", "0"));
  for (let at = 1; at <= 100; at++) storage.replace("one", object("a", String(at)));
  const kept = storage.changesAfter("one", storage.compactedRevision);
  ok(kept.length >= 10 && kept.length <= 11, String(kept.length));
  ok(storage.compactedRevision > 80);
});

Deno.test("Storage.all() is in etcd's order of whole keys", () => {
  const storage = new Storage();
  const place = (namespace: string, name: string) =>
    objectOfJson({
      apiVersion: "v1",
      kind: "Thing",
      metadata: { name, namespace, uid: name, creationTimestamp: "" },
    });
  for (const [namespace, name] of [["a", "x"], ["a-b", "x"], ["a", "b"]]) {
    storage.add("one", place(namespace ?? "", name ?? ""));
  }
  deepStrictEqual(
    storage.all("one").map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    ["a-b/x", "a/b", "a/x"],
  );
});

import { deepStrictEqual, notStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { AssertionError } from "../../lib/core/errors.ts";
import { deepFreeze, keyOf, type ObjectKey } from "../../lib/core/objects.ts";
import { Store, type StoreChange } from "../../lib/cache/store.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import { type Thing, thing } from "./objects.ts";

const byTag = { indexers: { tag: (object: Thing) => object.spec?.tags ?? [] } };

function summary(changes: readonly StoreChange<Thing>[]): string[] {
  return changes.map((change) => {
    switch (change.type) {
      case "added":
        return `added ${change.object.metadata.name}${change.initial ? " initially" : ""}`;
      case "updated":
        return `updated ${change.object.metadata.name}`;
      case "deleted":
        return `deleted ${change.last.metadata.name}${change.certain ? "" : " uncertain"}`;
    }
  });
}

Deno.test("Store.set() tells additions and updates with both states, and nothing for a repeat", () => {
  const store = new Store<Thing>();
  const first = thing("a", { version: 5 });
  deepStrictEqual(store.set(first), [{ type: "added", object: first, initial: false }]);
  const second = thing("a", { version: 6, note: "new" });
  deepStrictEqual(store.set(second), [{ type: "updated", object: second, previous: first }]);
  deepStrictEqual(store.set(thing("a", { version: 6 })), []);
  strictEqual(store.find("default/a"), second);
  strictEqual(store.resourceVersion, "6");
});

Deno.test("Store.set() ignores an older version, also of another width, and keeps its version", () => {
  const store = new Store<Thing>();
  store.set(thing("a", { version: 10 }));
  deepStrictEqual(store.set(thing("a", { version: 9, note: "stale" })), []);
  deepStrictEqual(store.remove(thing("a", { version: 9 })), []);
  strictEqual(store.find("default/a")?.metadata.resourceVersion, "10");
  strictEqual(store.resourceVersion, "10");
});

Deno.test("Store takes versions it can't order in the order they are told", () => {
  const store = new Store<Thing>();
  store.set(thing("a", { version: "x9" }));
  strictEqual(store.set(thing("a", { version: "x1" })).length, 1);
  strictEqual(store.resourceVersion, "x1");
  store.advanceTo("");
  strictEqual(store.resourceVersion, "x1");
});

Deno.test("Store.set() tells another object under the same key as deleted and added", () => {
  const store = new Store<Thing>(byTag);
  store.set(thing("a", { version: 5, uid: "one", tags: ["old"] }));
  const changes = store.set(thing("a", { version: 8, uid: "two", tags: ["new"] }));
  deepStrictEqual(summary(changes), ["deleted a uncertain", "added a"]);
  deepStrictEqual(store.indexValues("tag"), ["new"]);
  // A late deletion of the first must not take the second.
  deepStrictEqual(store.remove(thing("a", { version: 9, uid: "one" })), []);
  strictEqual(store.size, 1);
});

Deno.test("Store.remove() tells the deletion's own object as certain last state", () => {
  const store = new Store<Thing>();
  store.set(thing("a", { version: 5 }));
  const last = thing("a", { version: 7, note: "on its way out" });
  deepStrictEqual(store.remove(last), [{ type: "deleted", last, certain: true }]);
  deepStrictEqual(store.remove(last), []);
  strictEqual(store.size, 0);
  strictEqual(store.resourceVersion, "7");
});

Deno.test("S1 Store.replaceAll() removes what the list lacks, from its indexes too", () => {
  const store = new Store<Thing>(byTag);
  store.replaceAll([
    thing("a", { version: 1, tags: ["red", "round"] }),
    thing("b", { version: 2, tags: ["red"] }),
  ], "2");
  const changes = store.replaceAll([thing("b", { version: 2, tags: ["red"] })], "9");
  deepStrictEqual(summary(changes), ["deleted a uncertain"]);
  deepStrictEqual(store.indexValues("tag"), ["red"]); // No empty bucket "round".
  deepStrictEqual(store.byIndex("tag", "red"), [thing("b", { version: 2, tags: ["red"] })]);
  deepStrictEqual(store.byIndex("tag", "round"), []);
  strictEqual(store.resourceVersion, "9");
});

Deno.test("S1 Store leaves no trace of 10,000 values that came and went", () => {
  const store = new Store<Thing>(byTag);
  for (let turn = 0; turn < 10_000; turn++) {
    store.replaceAll([thing(`n${turn}`, { version: turn, tags: [`t${turn}`] })], String(turn));
  }
  strictEqual(store.size, 1);
  deepStrictEqual(store.indexValues("tag"), ["t9999"]);
});

Deno.test("Store.replaceAll() tells only the first list's objects as initial", () => {
  const store = new Store<Thing>();
  deepStrictEqual(summary(store.replaceAll([thing("a", { version: 1 })], "1")), [
    "added a initially",
  ]);
  const relist = [thing("a", { version: 4 }), thing("b", { version: 3 })];
  deepStrictEqual(summary(store.replaceAll(relist, "4")), ["updated a", "added b"]);
});

Deno.test("Store.replaceAll() keeps what is newer than a stale list, present or absent", () => {
  const store = new Store<Thing>();
  store.replaceAll([thing("a", { version: 9 }), thing("b", { version: 12 })], "12");
  deepStrictEqual(store.replaceAll([thing("a", { version: 8 })], "10"), []);
  strictEqual(store.resourceVersion, "12");
  const restored = store.replaceAll([thing("a", { version: 8 })], "10", { mayGoBack: true });
  deepStrictEqual(summary(restored), ["deleted b uncertain", "updated a"]);
  strictEqual(store.resourceVersion, "10");
});

Deno.test("Store.replaceAll() survives an object that is twice in a list", () => {
  const store = new Store<Thing>();
  const items = [3, 5, 4, 5].map((version) => thing("a", { version }));
  deepStrictEqual(summary(store.replaceAll(items, "5")), ["added a initially", "updated a"]);
  strictEqual(store.find("default/a")?.metadata.resourceVersion, "5");
  store.set(thing("b", { version: 6 }));
  deepStrictEqual(summary(store.replaceAll(items, "7")), ["deleted b uncertain"]);
});

Deno.test("Store.replaceAll() without news runs no user code and keeps every object", () => {
  let calls = 0;
  const counted = <R>(result: R): R => (calls++, result);
  const store = new Store<Thing>({
    indexers: { name: (object) => counted([object.metadata.name]) },
    transform: (object) => counted(object),
  });
  const list = () => Array.from({ length: 100 }, (_, i) => thing(`n${i}`, { version: i }));
  store.replaceAll(list(), "100");
  const before = store.all();
  strictEqual(calls, 200);
  deepStrictEqual(store.replaceAll(list(), "200"), []);
  strictEqual(calls, 200);
  strictEqual(store.all(), before); // The same array, so the same objects.
});

Deno.test("S4 Store freezes to the bottom, so that no reader can spoil an object", () => {
  const store = new Store<Thing>();
  store.set(thing("a", { version: 1, tags: ["x"] }));
  const held = store.find("default/a");
  throws(() => held?.spec?.tags?.push("y"), TypeError);
  throws(() => held && (held.metadata.name = "b"), TypeError);
  ok(Object.isFrozen(store.all()));
});

Deno.test("Store drops managedFields before caching unless told to keep them", () => {
  const managed = () => {
    const object = thing("a", { version: 1 });
    object.metadata.managedFields = [{ manager: "kubectl" }];
    return object;
  };
  const store = new Store<Thing>();
  store.set(managed());
  deepStrictEqual(store.find("default/a"), thing("a", { version: 1 }));
  const keeping = new Store<Thing>({ keepManagedFields: true });
  keeping.set(managed());
  deepStrictEqual(keeping.find("default/a"), managed());
});

Deno.test("Store keeps an object as it came if its transform throws or changes its identity", () => {
  const { log, records } = recordingLogger();
  const store = new Store<Thing>({
    log,
    transform(object) {
      if (object.metadata.name === "bad") throw new Error("no such field");
      if (object.metadata.name === "thief") {
        return { ...object, metadata: { ...object.metadata, uid: "stolen" } };
      }
      return { ...object, spec: { note: "made" } };
    },
  });
  for (const name of ["good", "bad", "thief"]) store.set(thing(name, { version: 1 }));
  strictEqual(store.find("default/good")?.spec?.note, "made");
  deepStrictEqual(store.find("default/bad"), thing("bad", { version: 1 }));
  strictEqual(store.find("default/thief")?.metadata.uid, "uid-thief");
  deepStrictEqual(records.map(({ level, fields }) => [level, fields.object]), [
    ["error", "default/bad"],
    ["error", "default/thief"],
  ]);
});

Deno.test("Store files an object under nothing if its index function throws, and goes on", () => {
  const { log, records } = recordingLogger();
  const store = new Store<Thing>({
    log,
    indexers: {
      tag: (object) => {
        if (object.spec?.tags === undefined) throw new Error("no tags");
        return object.spec.tags;
      },
    },
  });
  store.set(thing("bad", { version: 1 }));
  store.set(thing("good", { version: 2, tags: ["x"] }));
  strictEqual(store.size, 2);
  strictEqual(store.byIndex("tag", "x").length, 1);
  deepStrictEqual(records.map(({ fields }) => fields.index), ["tag"]);
});

Deno.test("Store.byIndex() refuses an index that nobody declared, and says which there are", () => {
  throws(() => new Store<Thing>(byTag).byIndex("owner", "x"), (error) => {
    return error instanceof AssertionError && error.message.includes("(tag)");
  });
});

Deno.test("Store.byIndex() gives an object once though its index function named a value twice", () => {
  const store = new Store<Thing>(byTag);
  store.set(thing("a", { version: 1, tags: ["x", "x"] }));
  strictEqual(store.byIndex("tag", "x").length, 1);
  store.remove(thing("a", { version: 2 }));
  deepStrictEqual(store.indexValues("tag"), []);
});

type Step =
  | { type: "set" | "remove"; name: string; uid: string; tags: string[]; age: number }
  | { type: "replaceAll"; names: string[]; tags: string[]; age: number };

const NAMES = ["a", "b", "c", "d"];
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    type: fc.constantFrom<"set" | "remove">("set", "remove"),
    name: fc.constantFrom(...NAMES),
    uid: fc.constantFrom("one", "two"),
    tags: fc.subarray(["x", "y", "z"]),
    age: fc.integer({ min: -3, max: 2 }),
  }),
  fc.record({
    type: fc.constant<"replaceAll">("replaceAll"),
    names: fc.subarray(NAMES),
    tags: fc.subarray(["x", "y", "z"]),
    age: fc.integer({ min: -3, max: 2 }),
  }),
);

Deno.test("Store equals a Map that its own changes are applied to, under any sequence", () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    const store = new Store<Thing>(byTag);
    const model = new Map<ObjectKey, Thing>();
    let version = 10;
    for (const next of steps) {
      // Mostly newer, at times a repeat of an old version.
      version = Math.max(1, version + 1);
      const at = Math.max(1, version + Math.min(0, next.age));
      const before = new Map([...model].map(([key, { metadata }]) => [key, metadata]));
      const changes = next.type === "replaceAll"
        ? store.replaceAll(
          next.names.map((name) => thing(name, { version: at, uid: "one", tags: next.tags })),
          String(at),
        )
        : store[next.type](thing(next.name, { version: at, uid: next.uid, tags: next.tags }));
      for (const change of changes) follow(model, change);
      for (const [key, { metadata }] of model) {
        const was = before.get(key);
        ok(!was || Number(was.resourceVersion) <= Number(metadata.resourceVersion), "went back");
      }
      checkAgainst(model, store);
    }
  }));
});

/** Applies a change to the model, which refuses what contradicts its state. */
function follow(model: Map<ObjectKey, Thing>, change: StoreChange<Thing>): void {
  const subject = change.type === "deleted" ? change.last : change.object;
  const key = keyOf(subject.metadata);
  const held = model.get(key);
  switch (change.type) {
    case "added":
      strictEqual(held, undefined);
      model.set(key, subject);
      break;
    case "updated":
      strictEqual(held, change.previous);
      strictEqual(held.metadata.uid, subject.metadata.uid);
      notStrictEqual(held, subject);
      model.set(key, subject);
      break;
    case "deleted":
      strictEqual(held?.metadata.uid, subject.metadata.uid);
      model.delete(key);
  }
}

function checkAgainst(model: Map<ObjectKey, Thing>, store: Store<Thing>): void {
  deepStrictEqual([...store.keys()].sort(), [...model.keys()].sort());
  strictEqual(store.size, model.size);
  for (const [key, object] of model) strictEqual(store.find(key), object);
  deepStrictEqual(new Set(store.all()), new Set(model.values()));
  const expected = new Map<string, Set<Thing>>();
  for (const object of model.values()) {
    for (const tag of object.spec?.tags ?? []) {
      expected.set(tag, (expected.get(tag) ?? new Set()).add(object));
    }
  }
  deepStrictEqual([...store.indexValues("tag")].sort(), [...expected.keys()].sort());
  for (const [tag, objects] of expected) {
    deepStrictEqual(new Set(store.byIndex("tag", tag)), objects);
  }
}

Deno.test("Store.replaceAll() makes the list its content, whatever it held", () => {
  const objects = fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMES), uid: fc.constantFrom("one", "two") }),
    { selector: ({ name }) => name },
  );
  fc.assert(fc.property(fc.array(objects, { maxLength: 6 }), (lists) => {
    const store = new Store<Thing>();
    lists.forEach((list, turn) => {
      const items = list.map(({ name, uid }) => thing(name, { uid, version: turn + 1 }));
      store.replaceAll(items, String(turn + 1));
      const bare = ({ metadata }: Thing) => `${metadata.name} ${metadata.uid}`;
      deepStrictEqual(store.all().map(bare).sort(), items.map(bare).sort());
    });
  }));
});

Deno.test("Store takes objects that are frozen already", () => {
  const store = new Store<Thing>();
  const object = deepFreeze(thing("a", { version: 1 }));
  store.set(object);
  strictEqual(store.find("default/a"), object);
});

/** Waiting for a version, and indexes that come later. */
import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { AssertionError } from "../../lib/core/errors.ts";
import { Store } from "../../lib/cache/store.ts";
import { type Thing, thing } from "./objects.ts";

const live = new AbortController().signal;

/** Whether `promise` has resolved by now, after all promise work. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  return await Promise.race([promise.then(() => true), Promise.resolve(pending)]) === true;
}

Deno.test("S6 Store.reached() waits for an event, a bookmark or a list that has the version", async () => {
  const ways: ((store: Store<Thing>) => void)[] = [
    (store) => void store.set(thing("a", { version: 12 })),
    (store) => void store.remove(thing("a", { version: 12 })),
    (store) => store.advanceTo("12"),
    (store) => void store.replaceAll([], "13"),
    (store) => void store.replaceAll([], "12", { mayGoBack: true }),
  ];
  for (const way of ways) {
    const store = new Store<Thing>();
    store.replaceAll([], "10");
    const waiting = store.reached("12", { signal: live });
    store.advanceTo("11");
    strictEqual(await isDone(waiting), false);
    way(store);
    await waiting;
  }
});

Deno.test("S6 Store.reached() lets a reader go on only when the change is in", async () => {
  const store = new Store<Thing>();
  store.replaceAll([], "10");
  const seen = store.reached("12", { signal: live }).then(() => store.find("default/a"));
  store.set(thing("a", { version: 12 }));
  strictEqual((await seen)?.metadata.resourceVersion, "12");
});

Deno.test("Store.reached() is at once for what is there, or can't be ordered; not before a list", async () => {
  const store = new Store<Thing>();
  const early = store.reached("5", { signal: live });
  strictEqual(await isDone(early), false);
  store.replaceAll([], "10");
  await early;
  await store.reached("9", { signal: live });
  await store.reached("abc", { signal: live });
});

Deno.test("Store.reached() rejects with the signal's reason, and forgets who waited", async () => {
  const store = new Store<Thing>();
  store.replaceAll([], "10");
  const stop = new AbortController();
  const waiting = store.reached("12", stop);
  stop.abort("enough");
  await rejects(waiting, (reason) => reason === "enough");
});

Deno.test("Store.addIndexers() files what is there, now and later, as an index from the start would", () => {
  const byNote = (object: Thing) => [object.spec?.note ?? ""];
  const byTag = (object: Thing) => object.spec?.tags ?? [];
  const step = fc.record({
    name: fc.constantFrom("a", "b", "c"),
    note: fc.constantFrom("n", "m"),
    tags: fc.uniqueArray(fc.constantFrom("s", "t")),
    isRemoval: fc.boolean(),
  });
  fc.assert(fc.property(fc.array(step), fc.nat(10), (steps, addAt) => {
    const from = new Store<Thing>({ indexers: { byNote, byTag } });
    const later = new Store<Thing>({ indexers: { byNote } });
    steps.forEach(({ name, isRemoval, ...rest }, at) => {
      if (at === addAt) later.addIndexers({ byTag, byNote });
      for (const store of [from, later]) {
        const object = thing(name, { version: at + 1, ...rest });
        if (isRemoval) store.remove(object);
        else store.set(object);
      }
    });
    later.addIndexers({ byTag });
    for (const index of ["byNote", "byTag"]) {
      const values = [...from.indexValues(index)].sort();
      deepStrictEqual([...later.indexValues(index)].sort(), values);
      for (const value of values) {
        const names = (store: Store<Thing>) =>
          store.byIndex(index, value).map(({ metadata }) => metadata.name).sort();
        deepStrictEqual(names(later), names(from));
      }
    }
  }));
});

Deno.test("Store.addIndexers() refuses a second function under a name", () => {
  const store = new Store<Thing>({ indexers: { note: () => ["1"] } });
  throws(() => store.addIndexers({ note: () => ["2"] }), AssertionError);
});

Deno.test("Store.staged() transforms each object once, and one that the store has not again", () => {
  let transformed = 0;
  const store = new Store<Thing>({
    transform({ spec: _dropped, ...rest }) {
      transformed += 1;
      return rest;
    },
  });
  const list = () => ["a", "b"].map((name) => thing(name, { version: 5, note: "long" }));
  const staged = list().map((item) => store.staged(item));
  deepStrictEqual([transformed, store.size], [2, 0]);
  ok(staged.every(({ object }) => object.spec === undefined && Object.isFrozen(object)));
  strictEqual(store.replaceStaged(staged, "6").length, 2);

  const again = list().map((item) => store.staged(item));
  strictEqual(again[0]?.object, store.find("default/a"));
  deepStrictEqual(store.replaceStaged(again, "7"), []);
  deepStrictEqual([transformed, store.resourceVersion], [2, "7"]);
});

Deno.test("Store.addIndexers() files objects also that were staged before", () => {
  const byNote = ({ spec }: Thing) => [spec?.note ?? "none"];
  const store = new Store<Thing>({ indexers: { first: byNote } });
  store.set(thing("old", { version: 3, note: "x" }));
  store.set(thing("kept", { version: 4, note: "x" }));
  const staged = [
    thing("old", { version: 5, note: "y" }),
    thing("kept", { version: 4, note: "x" }),
    thing("new", { version: 6, note: "y" }),
  ].map((item) => store.staged(item));
  store.addIndexers({ second: byNote });
  store.replaceStaged(staged, "7");
  const under = (index: string, value: string) =>
    store.byIndex(index, value).map(({ metadata }) => metadata.name).sort();
  for (const index of ["first", "second"]) {
    deepStrictEqual([under(index, "x"), under(index, "y")], [["kept"], ["new", "old"]], index);
  }
});

Deno.test("Store keeps whose object it is, also if a transform changes that in place", () => {
  const store = new Store<Thing>({
    transform(object) {
      Object.assign(object.metadata, { name: "stolen", uid: "stolen" });
      if (object.spec?.note === "throws") throw new Error("no such field");
      return object;
    },
  });
  const things = () => ["throws", "returns"].map((note) => thing(note, { version: 5, note }));
  store.replaceAll(things(), "6");
  deepStrictEqual(store.keys(), ["default/throws", "default/returns"]);
  deepStrictEqual(store.all().map(({ metadata }) => metadata.uid), ["uid-throws", "uid-returns"]);
  for (const gone of things()) store.remove(gone);
  strictEqual(store.size, 0);
});

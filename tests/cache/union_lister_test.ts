import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { Store } from "../../lib/cache/store.ts";
import { UnionLister } from "../../lib/cache/union_lister.ts";
import { type Thing, thing } from "./objects.ts";

function union() {
  const indexers = { note: (object: Thing) => [object.spec?.note ?? "none"] };
  const [a, b] = [new Store<Thing>({ indexers }), new Store<Thing>({ indexers })];
  return { a, b, lister: new UnionLister(new Map([["a", a], ["b", b]])) };
}

Deno.test("UnionLister reads all its parts, and an object from the part of its namespace", () => {
  const { a, b, lister } = union();
  a.set(thing("x", { version: 1, namespace: "a", note: "n" }));
  b.set(thing("x", { version: 2, namespace: "b", note: "n" }));
  b.set(thing("y", { version: 3, namespace: "b" }));
  deepStrictEqual(lister.keys(), ["a/x", "b/x", "b/y"]);
  deepStrictEqual(lister.all().map(({ metadata }) => metadata.resourceVersion), ["1", "2", "3"]);
  strictEqual(lister.find("b/x")?.metadata.resourceVersion, "2");
  strictEqual(lister.find("c/x"), undefined);
  strictEqual(lister.find("x"), undefined);
  strictEqual(lister.size, 3);
  strictEqual(lister.byIndex("note", "n").length, 2);
  deepStrictEqual(lister.indexValues("note"), ["n", "none"]);
});

Deno.test("UnionLister.all() is one frozen array until a part changes", () => {
  const { a, lister } = union();
  const before = lister.all();
  strictEqual(lister.all(), before);
  strictEqual(Object.isFrozen(before), true);
  a.set(thing("x", { version: 1, namespace: "a" }));
  const after = lister.all();
  notStrictEqual(after, before);
  strictEqual(after.length, 1);
  strictEqual(lister.all(), after);
});

Deno.test("UnionLister has the version that all its parts have reached", () => {
  const { a, b, lister } = union();
  a.replaceAll([], "10");
  strictEqual(lister.resourceVersion, ""); // b was not listed yet
  b.replaceAll([], "9");
  strictEqual(lister.resourceVersion, "9");
  b.advanceTo("11");
  strictEqual(lister.resourceVersion, "10");
});

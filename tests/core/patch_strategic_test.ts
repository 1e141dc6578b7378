import { deepStrictEqual, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import type { Json, JsonObject } from "../../lib/core/json.ts";
import { deepFreeze } from "../../lib/core/objects.ts";
import { PatchError } from "../../lib/core/patch_error.ts";
import { applyMergePatch } from "../../lib/core/patch_merge.ts";
import { applyStrategicPatch, type StrategicSchema } from "../../lib/core/patch_strategic.ts";

/** Nothing is known: objects merge, lists are replaced. */
const PLAIN: StrategicSchema = {
  member: () => undefined,
  items: undefined,
  patchStrategies: [],
  patchMergeKey: undefined,
};

/** An object whose member `byName` merges by name, and `values` by value. */
const SCHEMA: StrategicSchema = {
  ...PLAIN,
  member: (name) =>
    name === "byName"
      ? { ...PLAIN, items: PLAIN, patchStrategies: ["merge"], patchMergeKey: "name" }
      : name === "values"
      ? { ...PLAIN, items: PLAIN, patchStrategies: ["merge"] }
      : undefined,
};

/** Objects whose keys hold no directive and whose values hold no null. */
function plainObjects(): fc.Arbitrary<JsonObject> {
  const { node } = fc.letrec<{ node: JsonObject; value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.integer(),
      fc.string(),
      fc.array(fc.integer()),
      tie("node"),
    ),
    node: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { noNullPrototype: true }),
  }));
  return node;
}

Deno.test("applyStrategicPatch() without a schema is a merge patch", () => {
  fc.assert(fc.property(plainObjects(), plainObjects(), (document, patch) => {
    deepStrictEqual(
      applyStrategicPatch(deepFreeze(document), deepFreeze(patch), undefined),
      applyMergePatch(document, patch),
    );
  }));
});

Deno.test("applyStrategicPatch() merges each item once, whatever the patch's items", () => {
  const items = fc.uniqueArray(
    fc.record({ name: fc.constantFrom("a", "b", "c", "d", "e"), v: fc.integer() }),
    { selector: ({ name }) => name },
  );
  fc.assert(fc.property(items, items, (before, patch) => {
    const merged = applyStrategicPatch({ byName: before }, { byName: patch }, SCHEMA)["byName"];
    ok(Array.isArray(merged));
    const wanted = new Map(before.map(({ name, v }) => [name, v]));
    for (const { name, v } of patch) wanted.set(name, v);
    const found = new Map(merged.map((item) => [String(Object(item).name), Object(item).v]));
    deepStrictEqual(found.size, merged.length);
    deepStrictEqual([...found].sort(), [...wanted].sort());
    const order = merged.map((item) => String(Object(item).name));
    const patched: string[] = patch.map(({ name }) => name);
    deepStrictEqual(order.filter((name) => patched.includes(name)), patched);
  }));
});

Deno.test("applyStrategicPatch() is idempotent on lists by key and by value", () => {
  const patch = {
    byName: [{ name: "c", v: 3 }, { name: "a", $patch: "delete" }],
    values: ["x", "y"],
    "$setElementOrder/values": ["y", "x"],
  };
  const document = { byName: [{ name: "a", v: 1 }, { name: "b", v: 2 }], values: ["x", "z"] };
  const once = applyStrategicPatch(document, patch, SCHEMA);
  deepStrictEqual(applyStrategicPatch(once, patch, SCHEMA), once);
});

Deno.test("applyStrategicPatch() strips directives from what is new, as the server does", () => {
  // A new member: items that were to be deleted are not there.
  deepStrictEqual(
    applyStrategicPatch(
      {},
      { byName: [{ name: "a", $patch: "delete" }, { name: "b", v: null, w: { $retainKeys: [] } }] },
      SCHEMA,
    ),
    { byName: [{ name: "b", w: {} }] },
  );
  // A new item of a list is taken as it stands.
  deepStrictEqual(
    applyStrategicPatch(
      { byName: [] },
      { byName: [{ name: "b", v: [{ name: "a", $patch: "delete" }] }] },
      SCHEMA,
    ),
    { byName: [{ name: "b", v: [{ name: "a" }] }] },
  );
});

Deno.test("applyStrategicPatch() refuses what it can't understand", () => {
  const refused: [JsonObject, JsonObject, string][] = [
    [{}, { $patch: "merge" }, "malformed"],
    [{ byName: [] }, { byName: [{ v: 1 }] }, "missing"],
    [{ a: {} }, { a: { $retainKeys: ["b"], c: 1 } }, "malformed"],
    [{ a: {} }, { a: { $retainKeys: "b" } }, "malformed"],
    [{ values: [] }, { "$setElementOrder/values": "x" }, "malformed"],
    [{ values: [] }, { "$deleteFromPrimitiveList/values": "x" }, "malformed"],
  ];
  for (const [document, patch, code] of refused) {
    throws(
      () => applyStrategicPatch(document, patch, SCHEMA),
      (error) => error instanceof PatchError && error.code === code,
      JSON.stringify(patch),
    );
  }
});

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import type { Json } from "../../lib/core/json.ts";
import { deepFreeze } from "../../lib/core/objects.ts";
import { PatchError } from "../../lib/core/patch_error.ts";
import { applyMergePatch, diffMergePatch } from "../../lib/core/patch_merge.ts";

const KEYS = fc.constantFrom("a", "b", "c", "toString", "__proto__");

/** JSON whose objects have members of `leaf`; `null` among the leaves makes it a patch. */
function jsonOf(leaf: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "medium" },
      leaf,
      fc.array(fc.integer(), { maxLength: 2 }),
      fc.array(fc.tuple(KEYS, tie("value")), { maxLength: 4 }).map((pairs) =>
        JSON.parse(
          `{${
            [...new Map(pairs)].map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join()
          }}`,
        )
      ),
    ),
  }));
  return value;
}

const DOCUMENTS = jsonOf(fc.constantFrom<Json>(true, 0, 1, "x"));
const PATCHES = jsonOf(fc.constantFrom<Json>(null, true, 0, "x"));

Deno.test("diffMergePatch() makes what applyMergePatch() needs, for any two null-free values", () => {
  fc.assert(fc.property(DOCUMENTS, DOCUMENTS, (before, after) => {
    const patch = diffMergePatch(deepFreeze(before), deepFreeze(after));
    deepStrictEqual(applyMergePatch(before, patch), after);
  }));
});

Deno.test("applyMergePatch() is idempotent", () => {
  fc.assert(fc.property(DOCUMENTS, PATCHES, (document, patch) => {
    const once = applyMergePatch(deepFreeze(document), deepFreeze(patch));
    deepStrictEqual(applyMergePatch(once, patch), once);
  }));
});

Deno.test("applyMergePatch() with an empty object changes no object", () => {
  fc.assert(fc.property(fc.dictionary(KEYS, DOCUMENTS, { noNullPrototype: true }), (document) => {
    deepStrictEqual(applyMergePatch(document, {}), document);
  }));
});

Deno.test("applyMergePatch() does what the RFC's test cases say", () => {
  const cases: [Json, Json, Json][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a", "b"], ["c", "d"], ["c", "d"]],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, expected] of cases) {
    deepStrictEqual(applyMergePatch(deepFreeze(target), deepFreeze(patch)), expected);
  }
});

Deno.test("diffMergePatch() is empty for equal objects, and says removals by null", () => {
  deepStrictEqual(diffMergePatch({ a: { b: [1] } }, { a: { b: [1] } }), {});
  deepStrictEqual(diffMergePatch({ a: 1, b: { c: 1 } }, { b: {} }), { a: null, b: { c: null } });
});

Deno.test("diffMergePatch() refuses to set null, which a merge patch can't", () => {
  throws(
    () => diffMergePatch({ a: { b: 1 } }, { a: { b: null } }),
    (error) =>
      error instanceof PatchError && error.code === "inexpressible" &&
      error.message.includes("/a/b"),
  );
  deepStrictEqual(diffMergePatch({ a: null, b: 1 }, { a: null, b: 2 }), { b: 2 });
});

Deno.test("applyMergePatch() never reaches a prototype", () => {
  const patched = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}'));
  strictEqual(Object.getPrototypeOf(patched), Object.prototype);
  strictEqual(JSON.stringify(patched), '{"__proto__":{"polluted":1}}');
});

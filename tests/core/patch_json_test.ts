import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import type { Json } from "../../lib/core/json.ts";
import { deepFreeze } from "../../lib/core/objects.ts";
import { PatchError } from "../../lib/core/patch_error.ts";
import {
  applyJsonPatch,
  diffJsonPatch,
  escapePointer,
  type JsonPatchOperation,
  parseJsonPatch,
  parsePointer,
} from "../../lib/core/patch_json.ts";

/** Any JSON, with keys that need escaping and that name inherited members. */
function anyJson(): fc.Arbitrary<Json> {
  const keys = fc.constantFrom("a", "b", "a/b", "m~n", "~1", "", "__proto__", "toString", "0");
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "medium" },
      fc.constantFrom<Json>(null, true, 0, 1, "", "x"),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.array(fc.tuple(keys, tie("value")), { maxLength: 5 }).map((pairs) =>
        // Through text, since only a parser makes an own member named "__proto__".
        JSON.parse(`{${
          [...new Map(pairs)].map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join()
        }}`)
      ),
    ),
  }));
  return value;
}

Deno.test("diffJsonPatch() makes what applyJsonPatch() needs, for any two values", () => {
  fc.assert(fc.property(anyJson(), anyJson(), (before, after) => {
    const operations = diffJsonPatch(deepFreeze(before), deepFreeze(after));
    deepStrictEqual(applyJsonPatch(before, operations), after);
    deepStrictEqual(parseJsonPatch(JSON.parse(JSON.stringify(operations))), operations);
  }));
});

Deno.test("diffJsonPatch() of equal values is empty", () => {
  fc.assert(fc.property(anyJson(), (value) => {
    deepStrictEqual(diffJsonPatch(value, JSON.parse(JSON.stringify(value))), []);
  }));
});

Deno.test("diffJsonPatch() says one insertion or removal in a list with one operation", () => {
  deepStrictEqual(diffJsonPatch([1, 2, 4], [1, 2, 3, 4]), [{ op: "add", path: "/2", value: 3 }]);
  deepStrictEqual(diffJsonPatch([1, 2, 3], [1, 3]), [{ op: "remove", path: "/1" }]);
});

Deno.test("parsePointer() reads what escapePointer() wrote", () => {
  fc.assert(fc.property(fc.array(fc.string()), (parts) => {
    const pointer = parts.map((part) => `/${escapePointer(part)}`).join("");
    deepStrictEqual(parsePointer(pointer), parts);
  }));
});

Deno.test("applyJsonPatch() does each operation as the RFC's examples do", () => {
  const cases: [Json, JsonPatchOperation, Json][] = [
    [{ foo: "bar" }, { op: "add", path: "/baz", value: "q" }, { foo: "bar", baz: "q" }],
    [{ foo: [1, 3] }, { op: "add", path: "/foo/1", value: 2 }, { foo: [1, 2, 3] }],
    [{ foo: [1] }, { op: "add", path: "/foo/-", value: [2] }, { foo: [1, [2]] }],
    [{ a: 1 }, { op: "add", path: "", value: 2 }, 2],
    [{ foo: 1, b: 2 }, { op: "remove", path: "/b" }, { foo: 1 }],
    [[1, 2, 3], { op: "remove", path: "/1" }, [1, 3]],
    [{ a: null }, { op: "replace", path: "/a", value: 1 }, { a: 1 }],
    [{ a: { b: 1 }, c: {} }, { op: "move", from: "/a/b", path: "/c/d" }, { a: {}, c: { d: 1 } }],
    [[1, 2, 3, 4], { op: "move", from: "/1", path: "/3" }, [1, 3, 4, 2]],
    [{ a: [1] }, { op: "copy", from: "/a", path: "/b" }, { a: [1], b: [1] }],
    [{ "/": 9, "~1": 10 }, { op: "test", path: "/~01", value: 10 }, { "/": 9, "~1": 10 }],
    [{ a: { x: 1, y: [null] } }, { op: "test", path: "/a", value: { y: [null], x: 1 } }, {
      a: { x: 1, y: [null] },
    }],
  ];
  for (const [document, operation, expected] of cases) {
    deepStrictEqual(applyJsonPatch(deepFreeze(document), [operation]), expected);
  }
});

Deno.test("applyJsonPatch() refuses what can't be applied, and says why", () => {
  const cases: [Json, JsonPatchOperation, string][] = [
    [{}, { op: "add", path: "/metadata/labels/a", value: 1 }, "missing"],
    [{ metadata: {} }, { op: "add", path: "/metadata/labels/a", value: 1 }, "missing"],
    [{}, { op: "remove", path: "/a" }, "missing"],
    [{}, { op: "replace", path: "/a", value: 1 }, "missing"],
    [{}, { op: "remove", path: "/toString" }, "missing"],
    [[1], { op: "add", path: "/2", value: 1 }, "missing"],
    [[1], { op: "remove", path: "/1" }, "missing"],
    [[1], { op: "remove", path: "/-" }, "malformed"],
    [[1], { op: "replace", path: "/01", value: 1 }, "malformed"],
    ["text", { op: "add", path: "/a", value: 1 }, "missing"],
    [{ a: 1 }, { op: "remove", path: "" }, "malformed"],
    [{ a: {} }, { op: "move", from: "/a", path: "/a/b" }, "malformed"],
    [{ a: 1 }, { op: "test", path: "/a", value: "1" }, "test-failed"],
    [{ a: 1 }, { op: "test", path: "a", value: 1 }, "malformed"],
    [{ a: 1 }, { op: "test", path: "/~2", value: 1 }, "malformed"],
  ];
  for (const [document, operation, code] of cases) {
    throws(
      () => applyJsonPatch(document, [operation]),
      (error) => error instanceof PatchError && error.code === code,
      JSON.stringify(operation),
    );
  }
});

Deno.test("applyJsonPatch() leaves the document as it was when a later operation fails", () => {
  const document = deepFreeze({ a: [1] });
  throws(() =>
    applyJsonPatch(document, [
      { op: "add", path: "/a/-", value: 2 },
      { op: "test", path: "/a/0", value: 2 },
    ]), PatchError);
  deepStrictEqual(document, { a: [1] });
});

Deno.test("applyJsonPatch() never reaches a prototype", () => {
  const patched = applyJsonPatch({}, [{ op: "add", path: "/__proto__", value: { polluted: 1 } }]);
  strictEqual(Object.getPrototypeOf(patched), Object.prototype);
  strictEqual(JSON.stringify(patched), '{"__proto__":{"polluted":1}}');
});

Deno.test("parseJsonPatch() refuses what is no list of operations", () => {
  const refused: unknown[] = [
    {},
    [1],
    [{ op: "add", path: "/a" }],
    [{ op: "zap", path: "/a" }],
    [{ op: "move", path: "/a" }],
    [{ op: "remove", path: "a" }],
    [{ op: "remove" }],
  ];
  for (const patch of refused) {
    throws(
      () => parseJsonPatch(patch),
      (error) => error instanceof PatchError && error.code === "malformed",
    );
  }
});

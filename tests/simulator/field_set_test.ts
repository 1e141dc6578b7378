import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { FieldSet, pathText } from "../../lib/simulator/field_set.ts";

/** A set of paths, written as the texts of its paths: the model that `FieldSet` must behave like. */
type Model = ReadonlySet<string>;

const ELEMENTS = fc.constantFrom("f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "f:__proto__");

function anySet(): fc.Arbitrary<FieldSet> {
  const paths = fc.array(fc.array(ELEMENTS, { minLength: 1, maxLength: 3 }), { maxLength: 8 });
  return paths.map((all) => all.reduce((set, path) => set.union(only(path)), FieldSet.EMPTY));
}

/** The set of just `path`. */
function only([first, ...rest]: readonly string[]): FieldSet {
  if (first === undefined) return FieldSet.EMPTY;
  return rest.length === 0 ? FieldSet.of([first], []) : FieldSet.of([], [[first, only(rest)]]);
}

function model(set: FieldSet): Model {
  return new Set(set.paths().map((path) => path.join("\n")));
}

Deno.test("FieldSet's union, intersection and difference are those of its paths", () => {
  fc.assert(fc.property(anySet(), anySet(), (a, b) => {
    const [left, right] = [model(a), model(b)];
    deepStrictEqual(model(a.union(b)), left.union(right));
    deepStrictEqual(model(a.intersection(b)), left.intersection(right));
    deepStrictEqual(model(a.difference(b)), left.difference(right));
  }));
});

Deno.test("FieldSet.parse() reads what toJson() wrote", () => {
  fc.assert(fc.property(anySet(), (set) => {
    const read = FieldSet.parse(JSON.parse(JSON.stringify(set.toJson())));
    ok(read.equals(set));
    deepStrictEqual(read.paths(), set.paths());
  }));
});

Deno.test("FieldSet is empty exactly when it has no path, whatever led there", () => {
  fc.assert(fc.property(anySet(), (set) => {
    strictEqual(set.isEmpty, set.paths().length === 0);
    strictEqual(set.difference(set).isEmpty, true);
    ok(set.difference(set).equals(FieldSet.EMPTY));
  }));
});

Deno.test("FieldSet.toJson() orders members before keys before values, as the server does", () => {
  const json = { 'v:"a"': {}, 'k:{"name":"x"}': { "f:b": {}, ".": {} }, "f:z": {}, "f:a": {} };
  const written = FieldSet.parse(json).toJson();
  strictEqual(
    JSON.stringify(written),
    '{"f:a":{},"f:z":{},"k:{\\"name\\":\\"x\\"}":{".":{},"f:b":{}},"v:\\"a\\"":{}}',
  );
});

Deno.test("FieldSet.parse() leaves out what is malformed", () => {
  deepStrictEqual(FieldSet.parse("x").paths(), []);
  deepStrictEqual(FieldSet.parse({ "f:a": 1, "f:b": {} }).paths(), [["f:b"]]);
});

Deno.test("pathText() prints each kind of element", () => {
  strictEqual(
    pathText(["f:spec", 'k:{"name":"a","port":1}', "f:x", 'v:"q"', "i:0"]),
    '.spec[name="a",port=1].x[="q"][0]',
  );
});

/**
 * @module
 */

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { jsonPath } from "../../lib/simulator/json_path.ts";
import { ageOf, humanDuration } from "../../lib/simulator/tables.ts";

Deno.test("humanDuration() picks units as kubectl does", () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
  const cases: [number, string][] = [
    [-5 * second, "<invalid>"],
    [-500, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [9 * minute + 59 * second, "9m59s"],
    [10 * minute + 59 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [7 * day + 23 * hour, "7d23h"],
    [8 * day + hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [3 * 365 * day + 5 * day, "3y5d"],
    [9 * 365 * day, "9y"],
  ];
  for (const [ms, text] of cases) strictEqual(humanDuration(ms), text);
});

Deno.test("ageOf() of no time is unknown", () => {
  strictEqual(ageOf(undefined, 0), "<unknown>");
  strictEqual(ageOf("2026-01-01T00:00:00Z", Date.UTC(2026, 0, 1, 0, 0, 42)), "42s");
});

Deno.test("jsonPath() follows members, indices, wildcards and filters", () => {
  const value = {
    a: { "b.c": 1, list: [{ t: "x", n: 1 }, { t: "y", n: 2 }, { n: 3 }] },
  };
  const cases: [string, unknown[]][] = [
    [".a.list[0].n", [1]],
    [".a.list[-1].n", [3]],
    [".a.list[*].n", [1, 2, 3]],
    ['.a.list[?(@.t=="y")].n', [2]],
    [".a.list[?(@.t=='y')].n", [2]],
    [".a.list[?(@.n>1)].n", [2, 3]],
    [".a.list[?(@.n<=2)].n", [1, 2]],
    ['.a.list[?(@.t!="y")].n', [1, 3]],
    [".a.list[?(@.t)].n", [1, 2]],
    [".a.b\\.c", [1]],
    ["{.a['b.c']}", [1]],
    [".a.none.below", []],
    [".toString", []],
  ];
  for (const [path, found] of cases) deepStrictEqual(jsonPath(value, path), found, path);
  throws(() => jsonPath(value, ".a["), SyntaxError);
  throws(() => jsonPath(value, ".a.list[?(@.t==y)]"), SyntaxError);
});

import { match, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { microTimeOf, parseTime, timeOf } from "../../lib/core/timestamps.ts";

const wallMs = fc.integer({ min: 0, max: Date.UTC(2300, 0, 1) });

Deno.test("L1 microTimeOf() has exactly six fraction digits and keeps the millisecond", () => {
  fc.assert(fc.property(wallMs, (ms) => {
    match(microTimeOf(ms), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    strictEqual(parseTime(microTimeOf(ms)), ms);
  }));
});

Deno.test("timeOf() has whole seconds", () => {
  fc.assert(fc.property(wallMs, (ms) => {
    match(timeOf(ms), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    strictEqual(parseTime(timeOf(ms)), Math.floor(ms / 1000) * 1000);
  }));
});

Deno.test("L1 parseTime() takes 0, 3, 6 and 9 fraction digits written by others", () => {
  for (const fraction of ["", ".678", ".678000", ".678000123"]) {
    const expected = Date.UTC(2026, 0, 2, 3, 4, 5, fraction === "" ? 0 : 678);
    strictEqual(parseTime(`2026-01-02T03:04:05${fraction}Z`), expected);
  }
});

Deno.test("parseTime() refuses what is no time and quotes it", () => {
  throws(() => parseTime("soon"), { name: "SyntaxError", message: 'Cannot parse time "soon"' });
});

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { deepFreeze } from "../../lib/core/objects.ts";
import { jsonEqual } from "../../lib/core/json.ts";
import { parseJson, stringifyJson } from "../../lib/core/json_text.ts";

Deno.test("S4 parseJson() and stringifyJson() keep every integer of any size", () => {
  fc.assert(fc.property(fc.bigInt(), fc.boolean(), (integer, inArray) => {
    const text = inArray ? `[0,${integer}]` : `{"a":{"b":${integer}},"c":"x"}`;
    strictEqual(stringifyJson(parseJson(text)), text);
  }));
});

Deno.test("parseJson() gives what JSON.parse gives where numbers fit", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    const plain: unknown = JSON.parse(text);
    // fast-check's numbers are doubles; those that are large whole numbers are the other case.
    if (!/\d{16}/.test(text)) deepStrictEqual(parseJson(text), plain);
  }));
  strictEqual(parseJson("1234567890123456"), 1234567890123456);
  strictEqual(parseJson("[1.2345678901234567]") instanceof Array, true);
  deepStrictEqual(parseJson('{"a":":1234567890123456789"}'), { a: ":1234567890123456789" });
  throws(() => parseJson('{"a":9007199254740993'), SyntaxError);
});

Deno.test("S4 a large integer survives freezing, comparing and cloning", () => {
  const read = () => parseJson('{"status":{"n":9007199254740993}}');
  const frozen = deepFreeze(read());
  strictEqual(jsonEqual(frozen, read()), true);
  strictEqual(jsonEqual(frozen, parseJson('{"status":{"n":9007199254740992}}')), false);
  strictEqual(stringifyJson(structuredClone(frozen)), '{"status":{"n":9007199254740993}}');
});

Deno.test("stringifyJson() throws on a cycle, with and without a large integer", () => {
  const cycle: Record<string, unknown> = { n: 1n };
  cycle["self"] = cycle;
  throws(() => stringifyJson(cycle), TypeError);
});

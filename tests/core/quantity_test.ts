import { strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { compareQuantities, quantityNanos } from "../../lib/core/quantity.ts";

Deno.test("quantityNanos() reads all suffixes, exponents and fractions", () => {
  const cases: [string, bigint | undefined][] = [
    ["0", 0n],
    ["1", 1_000_000_000n],
    ["-1", -1_000_000_000n],
    ["+1.", 1_000_000_000n],
    [".5", 500_000_000n],
    ["100m", 100_000_000n],
    ["1u", 1_000n],
    ["1n", 1n],
    ["0.1n", 1n],
    ["2k", 2_000n * 1_000_000_000n],
    ["1e3", 1_000n * 1_000_000_000n],
    ["1E3", 1_000n * 1_000_000_000n],
    ["1e-3", 1_000_000n],
    ["1E", 10n ** 18n * 1_000_000_000n],
    ["1Ei", 2n ** 60n * 1_000_000_000n],
    ["0.5Mi", 512n * 1024n * 1_000_000_000n],
    ["", undefined],
    [".", undefined],
    ["1K", undefined],
    ["1 Gi", undefined],
    ["Gi", undefined],
    ["1e", undefined],
    ["1e999", undefined],
    ["0x1", undefined],
  ];
  for (const [text, expected] of cases) strictEqual(quantityNanos(text), expected, text);
});

Deno.test("compareQuantities() orders integers as numbers, whatever their form", () => {
  const suffixes = fc.constantFrom(["", 1], ["k", 1e3], ["Ki", 1024], ["M", 1e6], ["m", 1e-3]);
  const amounts = fc.tuple(fc.integer({ min: -1000, max: 1000 }), suffixes);
  fc.assert(fc.property(amounts, amounts, ([a, [aSuffix, aUnit]], [b, [bSuffix, bUnit]]) => {
    const expected = Math.sign(a * Number(aUnit) * 1000 - b * Number(bUnit) * 1000);
    strictEqual(compareQuantities(`${a}${aSuffix}`, `${b}${bSuffix}`), expected + 0);
  }));
});

Deno.test("compareQuantities() refuses what is no quantity", () => {
  throws(() => compareQuantities("1", "one"), SyntaxError);
});

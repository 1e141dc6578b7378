/**
 * Kubernetes quantities: `500m`, `1.5Gi`, `2e3`. Exact: held in billionths (the smallest unit that
 * Kubernetes keeps; smaller amounts are rounded away from zero, as there).
 *
 * @module
 */

const FORM =
  /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;

const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Largest exponent that is read. Kubernetes caps quantities near 2^63, far below. */
const EXPONENT_MAX = 30;

const NANO = 1_000_000_000n;

/**
 * The quantity that `text` says, in billionths; `undefined` if it is none.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(quantityNanos("500m"), 500_000_000n);
 * strictEqual(quantityNanos("1.5Ki"), 1536n * 1_000_000_000n);
 * strictEqual(quantityNanos("1 Gi"), undefined);
 * ```
 */
export function quantityNanos(text: string): bigint | undefined {
  const [, sign, digits = "", exponent, suffix = ""] = FORM.exec(text) ?? [];
  if (digits === "") return undefined;
  const power = exponent === undefined ? DECIMAL[suffix] ?? 0 : Number(exponent);
  if (Math.abs(power) > EXPONENT_MAX) return undefined;
  const binary = BINARY.indexOf(suffix);

  const [whole = "", fraction = ""] = digits.split(".");
  let numerator = BigInt(`${whole}${fraction}`) * NANO;
  if (binary >= 0) numerator *= 1024n ** BigInt(binary + 1);
  const shift = power - fraction.length;
  const nanos = shift >= 0
    ? numerator * 10n ** BigInt(shift)
    : dividedUp(numerator, 10n ** BigInt(-shift));
  return sign === "-" ? -nanos : nanos;
}

/**
 * Orders two quantities: negative if `a` is less, 0 if they are the same amount.
 *
 * @throws {SyntaxError} If one of them is no quantity.
 *
 * @example
 * ```ts
 * import { ok, strictEqual } from "node:assert/strict";
 * ok(compareQuantities("1Gi", "1G") > 0);
 * strictEqual(compareQuantities("1", "1000m"), 0);
 * ```
 */
export function compareQuantities(a: string, b: string): number {
  const difference = nanosOf(a) - nanosOf(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function nanosOf(text: string): bigint {
  const nanos = quantityNanos(text);
  if (nanos === undefined) throw new SyntaxError(`Cannot parse quantity "${text}"`);
  return nanos;
}

function dividedUp(numerator: bigint, divisor: bigint): bigint {
  return (numerator + divisor - 1n) / divisor;
}

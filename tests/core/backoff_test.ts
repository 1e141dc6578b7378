import { ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { Backoff, backoffMs, jitter } from "../../lib/core/backoff.ts";
import { AssertionError } from "../../lib/core/errors.ts";

const limits = fc.record({ baseMs: fc.nat(10_000), maxMs: fc.nat(10_000_000) });

Deno.test("backoffMs() grows without falling back and stays within its limits", () => {
  fc.assert(fc.property(fc.nat(100_000), limits, (failures, { baseMs, maxMs }) => {
    const delayMs = backoffMs(failures, { baseMs, maxMs });
    ok(delayMs >= Math.min(baseMs, maxMs));
    ok(delayMs <= maxMs);
    ok(delayMs <= backoffMs(failures + 1, { baseMs, maxMs }));
  }));
});

Deno.test("backoffMs() doubles until the ceiling", () => {
  fc.assert(fc.property(fc.nat(20), (failures) => {
    strictEqual(backoffMs(failures, { baseMs: 5, maxMs: Infinity }), 5 * 2 ** failures);
  }));
  strictEqual(backoffMs(1e9, { baseMs: 5, maxMs: 300_000 }), 300_000);
  strictEqual(backoffMs(1e9, { baseMs: 0, maxMs: 300_000 }), 0);
});

Deno.test("backoffMs() refuses a count that cannot be", () => {
  throws(() => backoffMs(-1, { baseMs: 5, maxMs: 10 }), AssertionError);
  throws(() => backoffMs(NaN, { baseMs: 5, maxMs: 10 }), AssertionError);
});

Deno.test("jitter() only lengthens, by less than its factor", () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(fc.property(fc.nat(1e6), fc.nat(4), chance, (ms, factor, drawn) => {
    const spreadMs = jitter(ms, factor, () => drawn);
    ok(spreadMs >= ms && spreadMs <= ms * (1 + factor));
  }));
  strictEqual(jitter(100, 1, () => 0), 100);
  strictEqual(jitter(100, 1, () => 0.999), 199.9);
});

Deno.test("Backoff.nextMs() counts failures, applies factor and jitter, and starts anew", () => {
  const backoff = new Backoff({ baseMs: 10, maxMs: 90, factor: 3, jitter: 0.5, random: () => 0.5 });
  strictEqual(backoff.failures, 0);
  strictEqual(backoff.nextMs(), 12.5);
  strictEqual(backoff.nextMs(), 37.5);
  strictEqual(backoff.nextMs(), 112.5); // the ceiling is that of the delay before jitter
  strictEqual(backoff.nextMs(), 112.5);
  strictEqual(backoff.failures, 4);
  backoff.reset();
  strictEqual(backoff.failures, 0);
  strictEqual(backoff.nextMs(), 12.5);
});

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { DelayHeap } from "../../lib/controller/delay_heap.ts";

Deno.test("DelayHeap gives keys by time, equal times by arrival, each with its earliest time", () => {
  const add = fc.record({ key: fc.nat(60), atMs: fc.nat(40) });
  // `null` takes one out, so that the heap shrinks and grows in turn.
  const steps = fc.array(fc.oneof({ weight: 3, arbitrary: add }, fc.constant(null)), {
    maxLength: 400,
  });
  fc.assert(fc.property(steps, (steps) => {
    const heap = new DelayHeap<number>();
    const model = new Map<number, number>(); // in order of arrival
    const shiftBoth = () => {
      const first = [...model].sort(([, a], [, b]) => a - b)[0];
      const taken = heap.shift();
      deepStrictEqual(taken && [taken.key, taken.atMs], first);
      if (first !== undefined) model.delete(first[0]);
    };
    for (const step of steps) {
      if (step === null) shiftBoth();
      else {
        heap.add(step.key, step.atMs);
        model.set(step.key, Math.min(step.atMs, model.get(step.key) ?? Infinity));
        strictEqual(heap.find(step.key)?.atMs, model.get(step.key));
      }
      strictEqual(heap.size, model.size);
    }
    while (model.size > 0) shiftBoth();
    strictEqual(heap.shift(), undefined);
  }));
});

Deno.test("DelayHeap.clear() forgets keys and their times", () => {
  const heap = new DelayHeap<string>();
  heap.add("a", 1);
  heap.clear();
  deepStrictEqual([heap.size, heap.peek(), heap.find("a")], [0, undefined, undefined]);
  heap.add("a", 9);
  strictEqual(heap.peek()?.atMs, 9);
});

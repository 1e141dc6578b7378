import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  type Condition,
  type ConditionClaim,
  findCondition,
  isConditionTrue,
  withCondition,
} from "../../lib/core/conditions.ts";

const ready: ConditionClaim = { type: "Ready", status: "True", reason: "Done", message: "" };

Deno.test("R2 withCondition() moves the transition time when the status flips, and only then", () => {
  const claims = fc.array(
    fc.record({
      type: fc.constantFrom("Ready", "Synced"),
      status: fc.constantFrom<Condition["status"]>("True", "False", "Unknown"),
      reason: fc.constantFrom("A", "B"),
      message: fc.constantFrom("", "m"),
    }),
    { maxLength: 30 },
  );
  fc.assert(fc.property(claims, (claims) => {
    let conditions: Condition[] = [];
    claims.forEach((claim, n) => {
      const before = findCondition(conditions, claim.type);
      conditions = withCondition(conditions, claim, { now: `t${n}`, generation: n });
      const after = findCondition(conditions, claim.type);
      const flipped = before?.status !== claim.status;
      deepStrictEqual(after, {
        ...claim,
        observedGeneration: n,
        lastTransitionTime: flipped ? `t${n}` : before?.lastTransitionTime,
      });
      strictEqual(new Set(conditions.map(({ type }) => type)).size, conditions.length);
    });
  }));
});

Deno.test("withCondition() keeps the conditions of others, and every one in its place", () => {
  const theirs = { ...ready, type: "example.com/Audited", lastTransitionTime: "t0" };
  const first = withCondition([theirs], ready, { now: "t1", generation: undefined });
  deepStrictEqual(first, [theirs, { ...ready, lastTransitionTime: "t1" }]);
  const again = withCondition([...first].reverse(), ready, { now: "t2", generation: undefined });
  deepStrictEqual(again, [...first].reverse());
});

Deno.test("isConditionTrue() is false for what is absent, False or Unknown", () => {
  const with_ = (status: Condition["status"]) =>
    isConditionTrue([{ type: "Ready", status }], "Ready");
  deepStrictEqual([with_("True"), with_("False"), with_("Unknown")], [true, false, false]);
  deepStrictEqual([isConditionTrue([], "Ready"), isConditionTrue(undefined, "Ready")], [
    false,
    false,
  ]);
});

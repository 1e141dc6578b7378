/**
 * Conditions of a status, by Kubernetes' API conventions. Pure.
 *
 * `lastTransitionTime` moves when `status` flips and at no other time: a time that moves at each look
 * makes each look a write, and each write another look (field case R2).
 *
 * @module
 */

/** One aspect of an object's state, as it is on the wire (`metav1.Condition`). */
export interface Condition {
  /** What it is about: `Ready`. One condition a type. */
  type: string;
  /** Whether it is so. `Unknown` if it can't be told. */
  status: "True" | "False" | "Unknown";
  /** The `metadata.generation` that this is said of. */
  observedGeneration?: number;
  /** When `status` last flipped; a `metav1.Time`. */
  lastTransitionTime: string;
  /** Why, as one word for programs. Not empty. */
  reason: string;
  /** Why, as a sentence for people. */
  message: string;
}

/** What is to be said: a condition without its times. */
export type ConditionClaim = Omit<Condition, "lastTransitionTime" | "observedGeneration">;

/** The condition of this type, if there is one. */
export function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True if there is a condition of this type and it says `True`. */
export function isConditionTrue(
  conditions: readonly Pick<Condition, "type" | "status">[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * `conditions` in which that of the claim's type says `claim`. Others are kept, whoever wrote them,
 * and so is its place; a new one comes last.
 *
 * @param about `now` is a `metav1.Time`; `generation` is that of the object looked at.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const claim = { type: "Ready", status: "True", reason: "Available", message: "" } as const;
 * const first = withCondition([], claim, { now: "2026-01-01T00:00:00Z", generation: 1 });
 * const later = withCondition(first, claim, { now: "2026-01-02T00:00:00Z", generation: 2 });
 * deepStrictEqual(later, [
 *   { ...claim, lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 2 },
 * ]);
 * ```
 */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  claim: ConditionClaim,
  { now, generation }: { now: string; generation: number | undefined },
): Condition[] {
  const before = findCondition(conditions, claim.type);
  const condition: Condition = {
    ...claim,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: before?.status === claim.status ? before.lastTransitionTime : now,
  };
  if (before === undefined) return [...conditions ?? [], condition];
  return (conditions ?? []).map((other) => other.type === claim.type ? condition : other);
}

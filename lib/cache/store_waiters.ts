/**
 * Waiting for what a cache will have: how reads see one's own writes.
 *
 * @module
 */

import { compareResourceVersions, isOrderedVersion } from "../core/objects.ts";
import { type Latch, latch } from "../core/tasks.ts";

/**
 * True if a cache at version `reached` has what was written as `written`. True too if they can't be
 * ordered: then there is nothing to wait for. Only for versions of the same resource (KEP-5504).
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(hasReached("9", "10"), false);
 * strictEqual(hasReached("10", "10"), true);
 * ```
 */
export function hasReached(reached: string, written: string): boolean {
  // Before the first list nothing is there at all.
  if (reached === "") return false;
  if (!isOrderedVersion(reached) || !isOrderedVersion(written)) return true;
  return compareResourceVersions(reached, written) >= 0;
}

/** Those who wait for something to become true of one store. */
export class StoreWaiters {
  readonly #waiting = new Set<{ readonly claim: () => boolean; readonly latch: Latch }>();
  #isLookDue = false;

  /** Resolves once `claim` holds, which is looked at after each change of the store. */
  async wait(claim: () => boolean, { signal }: { signal: AbortSignal }): Promise<void> {
    const waiter = { claim, latch: latch() };
    this.#waiting.add(waiter);
    try {
      await waiter.latch.wait({ signal });
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  /**
   * The store changes. Claims are looked at when the change is whole, which is when the code that
   * makes it has returned. Costs nothing while nobody waits.
   */
  changing(): void {
    if (this.#waiting.size === 0 || this.#isLookDue) return;
    this.#isLookDue = true;
    queueMicrotask(() => this.#look());
  }

  #look(): void {
    this.#isLookDue = false;
    for (const { claim, latch } of this.#waiting) if (claim()) latch.open();
  }
}

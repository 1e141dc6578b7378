/**
 * Waiting until a cache has reached a version: how reads see one's own writes.
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

/** Those who wait for versions of one store. */
export class VersionWaiters {
  readonly #waiting = new Set<{ readonly version: string; readonly latch: Latch }>();

  /** Resolves once {@linkcode VersionWaiters.advanced} told this version or a newer one. */
  async wait(version: string, { signal }: { signal: AbortSignal }): Promise<void> {
    const waiter = { version, latch: latch() };
    this.#waiting.add(waiter);
    try {
      await waiter.latch.wait({ signal });
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  /** The store is at `version` now. Costs nothing while nobody waits. */
  advanced(version: string): void {
    for (const waiter of this.#waiting) {
      if (hasReached(version, waiter.version)) waiter.latch.open();
    }
  }
}

/**
 * The caches of a process as a part of its manager.
 *
 * @module
 */

import type { InformerReport } from "../cache/informer_set.ts";
import type { HealthReport, Runnable } from "./runnable.ts";
import { SYNC_DEADLINE_MS } from "./sync.ts";

/** All that is needed of the caches. An `InformerSet` fits. */
export interface RunnableCaches {
  /** Follows the server until `signal` aborts. */
  run(options: { signal: AbortSignal }): Promise<void>;
  /** Resolves when all are filled; after `limitMs` it throws, naming those that lag. */
  synced(options: { limitMs: number; signal: AbortSignal }): Promise<void>;
  /** How each informer is. */
  report(): readonly InformerReport[];
}

/**
 * `caches` as the part `caches`, for the group of this name: ready when all are filled.
 *
 * Healthy unless one has ended by a defect: a cache heals by itself, and a server that is away is no
 * reason to restart. What fails at present is in the message.
 *
 * @param options `syncDeadlineMs` is the longest wait for the first lists, in milliseconds.
 *   @default {120_000}
 */
export function cachesPart(
  caches: RunnableCaches,
  { syncDeadlineMs = SYNC_DEADLINE_MS }: { readonly syncDeadlineMs?: number } = {},
): Runnable {
  return {
    name: "caches",
    run: (options) => caches.run(options),
    ready: ({ signal }) => caches.synced({ limitMs: syncDeadlineMs, signal }),
    health: () => healthOf(caches.report()),
  };
}

function healthOf(reports: readonly InformerReport[]): HealthReport {
  const failures = reports.flatMap(({ name, failure }) =>
    failure === undefined ? [] : [`${name}: ${failure}`]
  );
  return {
    isHealthy: reports.every(({ isDead }) => !isDead),
    ...(failures.length === 0 ? {} : { message: failures.join("; ") }),
    details: Object.fromEntries(
      reports.map(({ name, hasSynced, objects }) => [name, hasSynced ? objects : "not synced"]),
    ),
  };
}

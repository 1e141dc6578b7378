/**
 * Keeps a store equal to what the server has: one list, then a watch from its version, for ever.
 *
 * What it promises stands at {@linkcode reflect}.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { KubeObject } from "../core/objects.ts";
import type { ListWatch } from "./list_watch.ts";
import { Reflection } from "./reflection.ts";
import type { ReflectOptions } from "./reflector_options.ts";
import type { Store } from "./store.ts";

export type { ListCall, ListWatch, WatchCall } from "./list_watch.ts";
export { UNSERVED_AFTER_MS, WATCH_INTERVAL_MIN_MS, WATCH_TIMEOUT_SECONDS } from "./reflection.ts";
export { type ReflectOptions, RELIST_MS, WATCH_INACTIVITY_MS } from "./reflector_options.ts";

/** Stores that have a reflector. A second one would undo the first one's work (W5). */
const reflected = new WeakSet<object>();

/**
 * Fills `store` from `source` and keeps it current until `signal` aborts; then resolves.
 *
 * What a reflector promises:
 * - **It never gives up and never stalls.** Only an abort ends it. A connection that died in silence
 *   is found by the absence of events and bookmarks (W1), each watch ends after a few minutes.
 * - **It does not list without need.** A watch that ended or was cut goes on from the last version
 *   seen, bookmarks included. It lists again when the server no longer has that history, or when a
 *   line was lost (see `recovery.ts`), and keeps the old state until the new one is whole.
 * - **It goes easy on the server.** One request at a time, at least a second between the starts of
 *   two watches (W5), growing delays after failures that shrink again only after a watch has worked
 *   for a while (W4), `Retry-After` followed (W14). Each reflector has its own delays.
 * - **It does not go back in time.** A new list must be at least as new as the last version seen,
 *   unless the server says it can't be; then the server's latest state counts, whatever its version.
 *
 * A source that has pages is read page by page, and of each only what is kept stays in memory. From
 * one that has none the first list may be seconds old (`resourceVersion=0`); the watch that follows
 * brings it up to date. If asked to, lists are streamed where the server offers it
 * (`initial_events.ts`).
 *
 * What it can't see at once: a server restored from a backup that neither ends its watches nor
 * refuses the version they ask for. The next periodic list shows it.
 *
 * @throws {AssertionError} If the store has, or ever had, a reflector.
 * @throws {Error} What `onChange` or an observer threw, and `AssertionError`s of `source`; never its
 * other failures.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock, realRandom } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 * import { Store } from "./store.ts";
 *
 * const metadata = { name: "a", uid: "u1", resourceVersion: "7", creationTimestamp: "" };
 * const pods = [{ apiVersion: "v1", kind: "Pod", metadata }];
 * const store = new Store();
 * const stop = new AbortController();
 * await reflect(
 *   {
 *     list: () => Promise.resolve({ items: pods, resourceVersion: "7" }),
 *     async *watch({ signal }) {
 *       await realClock.sleep(Infinity, { signal });
 *     },
 *   },
 *   store,
 *   {
 *     name: "pods",
 *     clock: realClock,
 *     random: realRandom,
 *     log: silentLogger,
 *     onChange: () => stop.abort(), // one list is enough here
 *     signal: stop.signal,
 *   },
 * );
 * deepStrictEqual(store.keys(), ["a"]);
 * ```
 */
export async function reflect<T extends KubeObject>(
  source: ListWatch<T>,
  store: Store<T>,
  options: ReflectOptions<T>,
): Promise<void> {
  assert(!reflected.has(store), `the store of ${options.name} has one reflector, ever`);
  reflected.add(store);
  await new Reflection(source, store, options).run(options.signal);
}

/**
 * Keeps a store equal to what the server has: one list, then a watch from its version, for ever.
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
 * The first list may come from the API server's cache (`resourceVersion=0`), as client-go's does:
 * cheap, and possibly seconds old. The watch that follows brings it up to date.
 *
 * What it can't see: a server restored from a backup that neither ends its watches nor refuses the
 * version they ask for. The next list shows it.
 *
 * @module
 */

import { Backoff, jitter } from "../core/backoff.ts";
import { type Clock, type Random, withDeadline } from "../core/clock.ts";
import {
  ApiError,
  assert,
  AssertionError,
  ConnectionError,
  isNotFound,
  messageOf,
  ProtocolError,
} from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { KubeObject } from "../core/objects.ts";
import { FailureLog } from "./failure_log.ts";
import type { ListWatch } from "./list_watch.ts";
import {
  type ListReason,
  listReasonOf,
  needsLatest,
  type ReflectorVerb,
  retryAfterOf,
} from "./recovery.ts";
import type { ReflectorObserver } from "./reflector_health.ts";
import { isOlderVersion, type Store, type StoreChange } from "./store.ts";
import { type NewsEvent, watchOnce, type WatchResult } from "./watch_once.ts";

export type { ListCall, ListWatch, WatchCall } from "./list_watch.ts";

/** Options of {@linkcode reflect}. */
export interface ReflectOptions<T> {
  /** What is reflected, for logs: `foos.samplecontroller.k8s.io`. */
  readonly name: string;
  /** For pauses, deadlines and intervals. */
  readonly clock: Clock;
  /** For jitter and the watch's length. */
  readonly random: Random;
  /** Takes what went wrong and when it was over. */
  readonly log: Logger;
  /**
   * Told all changes, in order, right after the store has them; once for the first list even if it
   * was empty. A throw ends the reflector: a change that was not told is lost.
   */
  readonly onChange: (changes: readonly StoreChange<T>[]) => void;
  /** Hooks for metrics and health. */
  readonly observer?: ReflectorObserver;
  /**
   * How long a watch may be silent, in milliseconds. Servers send a bookmark a minute; half as much
   * again forgives a late one. @default {90_000}
   */
  readonly inactivityMs?: number;
  /** Ends the reflector. */
  readonly signal: AbortSignal;
}

/** Shortest life that is asked for a watch, in seconds; chance adds up to a third (3 to 4 min). */
export const WATCH_TIMEOUT_SECONDS = 180;

/** Default of {@linkcode ReflectOptions.inactivityMs}. */
export const WATCH_INACTIVITY_MS = 90_000;

/** Least time between the starts of two watches, also after clean ends (W5). */
export const WATCH_INTERVAL_MIN_MS = 1000;

/** How long a watch has to have worked before delays start small again. */
const STABLE_AFTER_MS = 30_000;

/** Longest time for a whole list: some hundred pages from a slow server. */
const LIST_LIMIT_MS = 5 * 60_000;

/** After how long an absent resource counts as having no objects: its definition was deleted. */
export const UNSERVED_AFTER_MS = 30_000;

/** From client-go's 0.8 s to, with jitter, at most 30 s: what a recovery may take (W4). */
const BACKOFF = { baseMs: 800, maxMs: 20_000, jitter: 0.5 };

/** How much chance adds to a `Retry-After`, so that all who were told to wait don't come at once. */
const RETRY_AFTER_JITTER = 0.25;

/** Stores that have a reflector. A second one would undo the first one's work (W5). */
const reflected = new WeakSet<object>();

/**
 * Fills `store` from `source` and keeps it current until `signal` aborts; then resolves.
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

/** What is done next: read everything, or follow what changes. */
type Step = { type: "list"; reason: ListReason; resourceVersion: string } | { type: "watch" };

/** The loop's state. One instance lives in one call of {@linkcode reflect}. */
class Reflection<T extends KubeObject> {
  readonly #source: ListWatch<T>;
  readonly #store: Store<T>;
  readonly #options: ReflectOptions<T>;
  readonly #observer: ReflectorObserver;
  readonly #backoff: Backoff;
  /**
   * Delays of new lists, apart from those of failed requests: a server that comes back after an
   * outage answers the first watch with 410, and that list must not wait as long as the outage did.
   */
  readonly #listBackoff: Backoff;
  readonly #failures: FailureLog;
  #next: Step = { type: "list", reason: "start", resourceVersion: "0" };
  #watchStartedMs = -Infinity;
  #unservedSinceMs: number | undefined;
  #hasListed = false;

  constructor(source: ListWatch<T>, store: Store<T>, options: ReflectOptions<T>) {
    this.#source = source;
    this.#store = store;
    this.#options = options;
    this.#observer = options.observer ?? {};
    this.#backoff = new Backoff({ ...BACKOFF, random: options.random });
    this.#listBackoff = new Backoff({ ...BACKOFF, random: options.random });
    this.#failures = new FailureLog(options);
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const step = this.#next;
        const waitMs = step.type === "list"
          ? await this.#list(step, signal)
          : await this.#watch(signal);
        await this.#options.clock.sleep(waitMs, { signal });
      }
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
    }
  }

  /** Lists once. Resolves with how long to wait before the next step. */
  async #list(step: Step & { type: "list" }, signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const { reason, resourceVersion } = step;
    const startedMs = clock.monotonicMs();
    let result;
    try {
      result = await withDeadline((limited) =>
        this.#source.list({
          ...(resourceVersion === ""
            ? {}
            : { resourceVersion, resourceVersionMatch: "NotOlderThan" }),
          signal: limited,
        }), { action: `listing ${this.#options.name}`, limitMs: LIST_LIMIT_MS, clock, signal });
      if (result.resourceVersion === "") throw new ProtocolError("The list has no resourceVersion");
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AssertionError) throw error;
      return this.#listFailed(step, error);
    }
    this.#unservedSinceMs = undefined;
    this.#observer.signOfLife?.();

    const goesBack = isOlderVersion(result.resourceVersion, this.#store.resourceVersion);
    if (goesBack && resourceVersion !== "") {
      // Not what we asked for. Only the latest state can tell a lagging server from a restored one.
      this.#next = { type: "list", reason: "behind", resourceVersion: "" };
      return this.#failed("list", new ProtocolError(listIsBehind(result, this.#store)));
    }
    if (goesBack) {
      this.#options.log.warn("Versions on the server went back; taking its state as it is", {
        resource: this.#options.name,
        fromVersion: this.#store.resourceVersion,
        toVersion: result.resourceVersion,
      });
    }
    this.#replaceAll(result, { mayGoBack: resourceVersion === "" }, {
      reason,
      durationMs: clock.monotonicMs() - startedMs,
    });
    this.#failures.over("list");
    this.#next = { type: "watch" };
    return 0;
  }

  #replaceAll(
    { items, resourceVersion }: { items: T[]; resourceVersion: string },
    { mayGoBack }: { mayGoBack: boolean },
    list: { reason: ListReason; durationMs: number },
  ): void {
    const changes = this.#store.replaceAll(items, resourceVersion, { mayGoBack });
    const isFirst = !this.#hasListed;
    this.#hasListed = true;
    if (isFirst || changes.length > 0) this.#options.onChange(changes);
    const { name, log } = this.#options;
    const told = { ...list, items: items.length, changes: changes.length };
    log.debug("Listed", { resource: name, resourceVersion, ...told });
    this.#observer.listed?.(told);
  }

  #listFailed(step: Step & { type: "list" }, error: unknown): number {
    const latest = needsLatest(error);
    this.#next = latest ? { ...step, resourceVersion: "" } : step;
    if (isNotFound(error)) this.#unserved();
    else this.#unservedSinceMs = undefined;
    return this.#failed("list", error);
  }

  /** A resource that stays absent has no objects: tells them as deleted (W12). */
  #unserved(): void {
    const { clock, log, name, onChange } = this.#options;
    this.#unservedSinceMs ??= clock.monotonicMs();
    const forMs = clock.monotonicMs() - this.#unservedSinceMs;
    // Not at once: an API server that starts may not know yet what it serves.
    if (forMs < UNSERVED_AFTER_MS || this.#store.size === 0) return;
    log.warn("The resource is gone, and its objects with it", {
      resource: name,
      objects: this.#store.size,
    });
    onChange(this.#store.replaceAll([], this.#store.resourceVersion, { mayGoBack: true }));
  }

  /** Watches once. Resolves with how long to wait before the next step. */
  async #watch(signal: AbortSignal): Promise<number> {
    const { clock, random, name, inactivityMs = WATCH_INACTIVITY_MS } = this.#options;
    const notBeforeMs = this.#watchStartedMs + WATCH_INTERVAL_MIN_MS;
    await clock.sleep(notBeforeMs - clock.monotonicMs(), { signal });
    this.#watchStartedMs = clock.monotonicMs();

    const { resourceVersion } = this.#store;
    this.#observer.watchStarted?.({ resourceVersion });
    const result = await watchOnce(this.#source, {
      name,
      clock,
      resourceVersion,
      timeoutSeconds: Math.floor(jitter(WATCH_TIMEOUT_SECONDS, 1 / 3, random)),
      inactivityMs,
      onEvent: (event) => this.#take(event),
      onSign: () => this.#observer.signOfLife?.(),
      onWorked: () => {
        this.#failures.over("watch");
        this.#observer.watchWorked?.();
      },
      signal,
    });
    return this.#watchOver(result);
  }

  #take(event: NewsEvent<T>): void {
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
        return this.#tell(this.#store.set(event.object));
      case "DELETED":
        return this.#tell(this.#store.remove(event.object));
      case "BOOKMARK":
        return this.#store.advanceTo(event.resourceVersion);
      default:
        return event satisfies never;
    }
  }

  #tell(changes: readonly StoreChange<T>[]): void {
    if (changes.length > 0) this.#options.onChange(changes);
  }

  /** Decides how to go on after a watch. Returns how long to wait before. */
  #watchOver(result: WatchResult): number {
    const { end, events, lastedMs, hasWorked } = result;
    this.#observer.watchEnded?.({ end: end.type, events, durationMs: lastedMs });
    if (hasWorked && lastedMs >= STABLE_AFTER_MS) {
      this.#backoff.reset();
      this.#listBackoff.reset();
    }
    const reason = end.type === "failed" ? listReasonOf(end.error) : undefined;
    if (end.type === "failed" && reason !== undefined) {
      this.#next = { type: "list", reason, resourceVersion: this.#store.resourceVersion };
      return this.#failed("watch", end.error, this.#listBackoff);
    }
    if (isUsualEnd(result)) {
      const error = end.type === "ended" ? {} : { error: messageOf(end.error) };
      const fields = { resource: this.#options.name, events, lastedMs, ...error };
      this.#options.log.debug("Watch is over", fields);
      return 0;
    }
    return this.#failed(
      "watch",
      end.type === "ended" ? new ConnectionError(EMPTY_WATCH) : end.error,
    );
  }

  /** Tells a failure. Returns how long to wait before the next try. */
  #failed(verb: ReflectorVerb, error: unknown, backoff: Backoff = this.#backoff): number {
    const retryAfterMs = jitter(retryAfterOf(error), RETRY_AFTER_JITTER, this.#options.random);
    const retryInMs = Math.max(backoff.nextMs(), retryAfterMs);
    this.#failures.failed(verb, error, retryInMs);
    this.#observer.failed?.({ verb, error, retryInMs });
    return retryInMs;
  }
}

function listIsBehind(
  list: { readonly resourceVersion: string },
  store: { readonly resourceVersion: string },
): string {
  return `The list has version ${list.resourceVersion}, older than ${store.resourceVersion} asked for`;
}

const EMPTY_WATCH = "The server ended the watch at once and sent nothing";

/** True for the ends that each watch meets some day: by either side's timeout, or cut in full swing. */
function isUsualEnd({ end, hasWorked }: WatchResult): boolean {
  if (end.type === "deadline") return true;
  return hasWorked && !(end.type === "failed" && end.error instanceof ApiError);
}

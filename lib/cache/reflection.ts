/**
 * The loop of a reflector: list, watch, and what to do when either goes wrong.
 *
 * What it promises as a whole is said in `reflector.ts`, which is what others import. Decisions that
 * need no I/O are in `recovery.ts`, one watch with its deadlines in `watch_once.ts`.
 *
 * @module
 */

import { Backoff, jitter } from "../core/backoff.ts";
import { withDeadline } from "../core/clock.ts";
import {
  ApiError,
  AssertionError,
  ConnectionError,
  isNotFound,
  messageOf,
  ProtocolError,
} from "../core/errors.ts";
import type { KubeObject } from "../core/objects.ts";
import { FailureLog } from "./failure_log.ts";
import { InitialEvents } from "./initial_events.ts";
import type { ListWatch } from "./list_watch.ts";
import {
  afterStreamFailed,
  type ListReason,
  listReasonOf,
  needsLatest,
  type ReflectorVerb,
  retryAfterOf,
} from "./recovery.ts";
import type { ListedReport, ReflectorObserver } from "./reflector_health.ts";
import { type ReflectOptions, RELIST_MS, WATCH_INACTIVITY_MS } from "./reflector_options.ts";
import type { Staged, Store, StoreChange } from "./store.ts";
import { isOlderVersion } from "./versions.ts";
import {
  type NewsEvent,
  type WatchEnd,
  watchOnce,
  type WatchOnceOptions,
  type WatchResult,
} from "./watch_once.ts";

/** Shortest life that is asked for a watch, in seconds; chance adds up to a third (3 to 4 min). */
export const WATCH_TIMEOUT_SECONDS = 180;

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

/** How much chance adds to the time between periodic lists, so that informers don't do it in step. */
const RELIST_JITTER = 0.25;

/** How often a streamed list may stall before only pages are read. */
const STREAM_STALLS_MAX = 2;

/** Read everything. `resourceVersion` is how new it must be: `""` for the latest. */
interface ListStep {
  readonly type: "list";
  readonly reason: ListReason;
  readonly resourceVersion: string;
  /** Not streamed, though that is wanted: it just failed. */
  readonly inPages?: true;
}

/** What is done next: read everything, or follow what changes. */
type Step = ListStep | { readonly type: "watch" };

/** What a list brought, however it came. */
interface Listed<T> {
  readonly items: readonly Staged<T>[];
  readonly resourceVersion: string;
}

/** The loop and its state. One instance lives in one call of `reflect`. */
export class Reflection<T extends KubeObject> {
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
  /** Lists are streamed, as far as is known. */
  #streams: boolean;
  #streamStalls = 0;
  #watchStartedMs = -Infinity;
  #relistAtMs = Infinity;
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
    this.#streams = options.initialList === "stream";
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const waitMs = await this.#step(this.#next, signal);
        await this.#options.clock.sleep(waitMs, { signal });
      }
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
    }
  }

  /** Resolves with how long to wait before the next step. */
  async #step(step: Step, signal: AbortSignal): Promise<number> {
    if (step.type === "watch") return await this.#watch(signal);
    if (this.#streams && !step.inPages) return await this.#streamList(step, signal);
    return await this.#list(step, signal);
  }

  /** Lists once, in pages. */
  async #list(step: ListStep, signal: AbortSignal): Promise<number> {
    const { clock, name } = this.#options;
    const isPaged = this.#source.pages !== undefined;
    const resourceVersion = isPaged && step.resourceVersion === "0" ? "" : step.resourceVersion;
    const startedMs = clock.monotonicMs();
    let list;
    try {
      list = await withDeadline(
        (limited) => this.#read(resourceVersion, limited),
        { action: `listing ${name}`, limitMs: LIST_LIMIT_MS, clock, signal },
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AssertionError) throw error;
      return this.#listFailed(step, error);
    }
    const failure = this.#listed(list, { ...step, resourceVersion }, { by: "pages", startedMs });
    return failure === undefined ? 0 : this.#failed("list", failure);
  }

  /** Reads everything. Each page is reduced to what is kept before the next is asked for. */
  async #read(resourceVersion: string, signal: AbortSignal): Promise<Listed<T>> {
    const newest = resourceVersion === ""
      ? {}
      : { resourceVersion, resourceVersionMatch: "NotOlderThan" } as const;
    const call = { ...newest, signal };
    const items: Staged<T>[] = [];
    let version = "";
    for await (const page of this.#source.pages?.(call) ?? [this.#source.list(call)]) {
      for (const item of page.items) items.push(this.#store.staged(item));
      version = page.resourceVersion;
    }
    return { items, resourceVersion: version };
  }

  /** Lists by a watch that begins with all objects, and goes on with that watch. */
  async #streamList(step: ListStep, signal: AbortSignal): Promise<number> {
    // The latest rather than any state: servers that stream have it at hand.
    const resourceVersion = step.resourceVersion === "0" ? "" : step.resourceVersion;
    // Reduced as they come: a list is rarely in memory as the server sent it.
    const stage = (object: T) => this.#store.staged(object);
    const initial = new InitialEvents<T, Staged<T>>({ ...this.#options, stage });
    let failure: ProtocolError | undefined;
    const result = await this.#watchFrom(resourceVersion, {
      sendInitialEvents: true,
      limit: () => initial.limit,
      onEvent: (event) => {
        if (initial.limit === undefined) return this.#take(event);
        const list = initial.take(event);
        if (list === undefined) return;
        const listStep = { ...step, resourceVersion };
        const by = { by: "stream", startedMs: this.#watchStartedMs } as const;
        failure = this.#listed(list, listStep, by);
        if (failure !== undefined) return "enough";
      },
      signal,
    });
    if (failure !== undefined) return this.#failed("list", failure);
    if (initial.limit === undefined) return this.#watchOver(result);
    return this.#streamFailed(step, result.end);
  }

  #streamFailed(step: ListStep, end: WatchEnd): number {
    const error = end.type === "ended" ? new ConnectionError(UNFINISHED_STREAM) : end.error;
    const verdict = afterStreamFailed(error);
    if (verdict === "again" || verdict === "pages") {
      const waitMs = this.#listFailed(step, error);
      if (verdict === "pages" && this.#next.type === "list") {
        this.#next = { ...this.#next, inPages: true };
      }
      return waitMs;
    }
    if (verdict === "stalled") this.#streamStalls += 1;
    if (verdict === "never" || this.#streamStalls >= STREAM_STALLS_MAX) this.#streams = false;
    const { log, name } = this.#options;
    const fields = { resource: name, error: messageOf(error), tryAgain: this.#streams };
    log.info("Cannot stream the list; reading it in pages", fields);
    this.#next = { ...step, inPages: true };
    return 0;
  }

  /** Takes over a whole state. Returns what is wrong with it, if it can't be taken. */
  #listed(
    result: Listed<T>,
    { reason, resourceVersion }: ListStep,
    { by, startedMs }: { by: ListedReport["by"]; startedMs: number },
  ): ProtocolError | undefined {
    const { clock, random, relistMs = RELIST_MS } = this.#options;
    if (result.resourceVersion === "") {
      this.#next = { type: "list", reason, resourceVersion, inPages: true };
      return new ProtocolError("The list has no resourceVersion");
    }
    this.#unservedSinceMs = undefined;
    this.#observer.signOfLife?.();

    const goesBack = isOlderVersion(result.resourceVersion, this.#store.resourceVersion);
    if (goesBack && resourceVersion !== "") {
      // Not what we asked for. Only the latest state can tell a lagging server from a restored one.
      this.#next = { type: "list", reason: "behind", resourceVersion: "" };
      const versions = `${result.resourceVersion}, older than ${this.#store.resourceVersion}`;
      return new ProtocolError(`The list has version ${versions} asked for`);
    }
    if (goesBack) {
      this.#options.log.warn("Versions on the server went back; taking its state as it is", {
        resource: this.#options.name,
        fromVersion: this.#store.resourceVersion,
        toVersion: result.resourceVersion,
      });
    }
    const nowMs = clock.monotonicMs();
    const list = { reason, by, durationMs: nowMs - startedMs };
    this.#replaceAll(result, { mayGoBack: resourceVersion === "" }, list);
    this.#failures.over("list");
    this.#relistAtMs = relistMs > 0 ? nowMs + jitter(relistMs, RELIST_JITTER, random) : Infinity;
    this.#next = { type: "watch" };
    return undefined;
  }

  #replaceAll(
    { items, resourceVersion }: Listed<T>,
    { mayGoBack }: { mayGoBack: boolean },
    list: Pick<ListedReport, "reason" | "by" | "durationMs">,
  ): void {
    const changes = this.#store.replaceStaged(items, resourceVersion, { mayGoBack });
    const isFirst = !this.#hasListed;
    this.#hasListed = true;
    if (isFirst || changes.length > 0) this.#options.onChange(changes);
    const { name, log } = this.#options;
    const told = { ...list, items: items.length, changes: changes.length };
    log.debug("Listed", { resource: name, resourceVersion, ...told });
    this.#observer.listed?.(told);
  }

  #listFailed({ inPages: _tried, ...step }: ListStep, error: unknown): number {
    this.#next = needsLatest(error) ? { ...step, resourceVersion: "" } : step;
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

  /** Watches once, from where the store is. */
  async #watch(signal: AbortSignal): Promise<number> {
    const { resourceVersion } = this.#store;
    const onEvent = (event: NewsEvent<T>) => this.#take(event);
    return this.#watchOver(await this.#watchFrom(resourceVersion, { onEvent, signal }));
  }

  async #watchFrom(
    resourceVersion: string,
    watch: Pick<WatchOnceOptions<T>, "sendInitialEvents" | "limit" | "onEvent" | "signal">,
  ): Promise<WatchResult> {
    const { clock, random, name, inactivityMs = WATCH_INACTIVITY_MS } = this.#options;
    const notBeforeMs = this.#watchStartedMs + WATCH_INTERVAL_MIN_MS;
    await clock.sleep(notBeforeMs - clock.monotonicMs(), watch);
    this.#watchStartedMs = clock.monotonicMs();

    const seconds = Math.floor(jitter(WATCH_TIMEOUT_SECONDS, 1 / 3, random));
    // No longer than to the next periodic list; that one is never to be cut short by its own time.
    const relistAtMs = watch.sendInitialEvents ? Infinity : this.#relistAtMs;
    const leftSeconds = Math.ceil((relistAtMs - this.#watchStartedMs) / 1000);
    this.#observer.watchStarted?.({ resourceVersion });
    const result = await watchOnce(this.#source, {
      ...watch,
      name,
      clock,
      resourceVersion,
      timeoutSeconds: Math.max(1, Math.min(seconds, leftSeconds)),
      inactivityMs,
      onSign: () => this.#observer.signOfLife?.(),
      onWorked: () => {
        this.#failures.over("watch");
        this.#observer.watchWorked?.();
      },
    });
    const { end, events, lastedMs: durationMs } = result;
    this.#observer.watchEnded?.({ end: end.type, events, durationMs });
    return result;
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
    if (hasWorked && lastedMs >= STABLE_AFTER_MS) {
      this.#backoff.reset();
      this.#listBackoff.reset();
    }
    const reason = end.type === "failed" ? listReasonOf(end.error) : undefined;
    if (end.type === "failed" && reason !== undefined) {
      this.#next = { type: "list", reason, resourceVersion: this.#store.resourceVersion };
      return this.#failed("watch", end.error, this.#listBackoff);
    }
    if (this.#options.clock.monotonicMs() >= this.#relistAtMs) {
      this.#next = { type: "list", reason: "periodic", resourceVersion: "" };
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

const UNFINISHED_STREAM = "The watch ended before the initial state was whole";

const EMPTY_WATCH = "The server ended the watch at once and sent nothing";

/** True for the ends that each watch meets some day: by either side's timeout, or cut in full swing. */
function isUsualEnd({ end, hasWorked }: WatchResult): boolean {
  if (end.type === "deadline") return true;
  return hasWorked && !(end.type === "failed" && end.error instanceof ApiError);
}

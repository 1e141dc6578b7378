/**
 * A list that comes as a watch: all objects as ADDED events, then a marked bookmark (KEP-3157).
 *
 * It costs the server less than a list, and neither side holds the whole of it as one text. Two
 * things can go wrong that can't with a list, and a file of its own because of them (field case
 * W13): the mark may never come, as from servers and proxies that don't know it; and what has come
 * so far is no state of anything, so it is collected aside and handed over whole.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { DeadlineError } from "../core/errors.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../core/objects.ts";
import type { NewsEvent, WatchLimit } from "./watch_once.ts";

/**
 * How long a streamed list may go without a further object before it counts as one that will never
 * end, in milliseconds. A server that is busy catching up with etcd takes seconds, not tens of them;
 * and whoever waits for this cache should have it by pages half a minute after its start.
 */
export const INITIAL_EVENTS_SILENCE_MS = 20_000;

/**
 * The objects of a streamed list, as far as they have come. For one watch.
 *
 * @typeParam S What is kept of each until the list is whole.
 */
export class InitialEvents<T extends KubeObject, S> {
  readonly #name: string;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #stage: (object: T) => S;
  readonly #objects = new Map<ObjectKey, S>();
  #newestMs: number;
  #isWhole = false;

  /** `name` is what is listed, for the deadline's message. Time counts from here. */
  constructor(
    { name, clock, stage }: {
      name: string;
      clock: Pick<Clock, "monotonicMs">;
      stage: (object: T) => S;
    },
  ) {
    this.#name = name;
    this.#stage = stage;
    this.#clock = clock;
    this.#newestMs = clock.monotonicMs();
  }

  /** Takes the next event. Returns the whole state with the bookmark that ends it. */
  take(event: NewsEvent<T>): { items: S[]; resourceVersion: string } | undefined {
    switch (event.type) {
      case "ADDED":
        this.#newestMs = this.#clock.monotonicMs();
        this.#objects.set(keyOf(event.object.metadata), this.#stage(event.object));
        return undefined;
      // Not among initial events by the protocol, but harmless; and no progress.
      case "MODIFIED":
        this.#objects.set(keyOf(event.object.metadata), this.#stage(event.object));
        return undefined;
      case "DELETED":
        this.#objects.delete(keyOf(event.object.metadata));
        return undefined;
      case "BOOKMARK": {
        if (!event.initialEventsEnd) return undefined;
        const items = [...this.#objects.values()];
        this.#objects.clear();
        this.#isWhole = true;
        return { items, resourceVersion: event.resourceVersion };
      }
      default:
        return event satisfies never;
    }
  }

  /** When the watch has to end if no further object comes; none once the state is whole. */
  get limit(): WatchLimit | undefined {
    if (this.#isWhole) return undefined;
    return {
      atMs: this.#newestMs + INITIAL_EVENTS_SILENCE_MS,
      error: new DeadlineError(
        `waiting for the end of the initial events of ${this.#name}`,
        INITIAL_EVENTS_SILENCE_MS,
      ),
    };
  }
}

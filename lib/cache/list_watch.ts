/**
 * What the cache needs of the API: two functions. It knows no client; a client fits this.
 *
 * @module
 */

import type { WatchEvent } from "../core/watch_event.ts";

/** All that a reflector needs of the API. A client for one kind fits it. */
export interface ListWatch<T> {
  /**
   * The whole state, all pages. With `resourceVersion` at least as new as that (`NotOlderThan`; any
   * state for `"0"`), without it the latest. Must honour `signal`.
   */
  list(options: ListCall): Promise<{ items: T[]; resourceVersion: string }>;
  /**
   * As `list`, page by page and all of one version, from sources that can: then no list need be in
   * memory as the server sent it, and the first is of the latest state, since API servers answer
   * `"0"` with one page. Throws if the version is forgotten between two pages (410).
   */
  pages?(options: ListCall): AsyncIterable<{ items: T[]; resourceVersion: string }>;
  /**
   * Changes after `resourceVersion`, until the server ends it after about `timeoutSeconds`. Throws if
   * the connection breaks. Must honour `signal`.
   */
  watch(options: WatchCall): AsyncIterable<WatchEvent<T>>;
}

/** Options of {@linkcode ListWatch.list}. */
export interface ListCall {
  /** Where to start: `undefined` for the newest, `"0"` for whatever the server has at hand. */
  resourceVersion?: string;
  /**
   * Goes to the server as it is. Without it, a list in pages means exactly that version: the state
   * that is known already, or 410.
   */
  resourceVersionMatch?: "NotOlderThan";
  /** Ends the call. */
  signal: AbortSignal;
}

/** Options of {@linkcode ListWatch.watch}. */
export interface WatchCall {
  /** Version after which changes are asked for. */
  resourceVersion: string;
  /** How long the server should let the watch run, in seconds. */
  timeoutSeconds: number;
  /**
   * Ask for the whole state first, as ADDED events up to a bookmark with `initialEventsEnd`; then
   * `resourceVersion` says how new the state must be, `""` for the latest. A source that can't has
   * to fail as a server would that can't (400 or 422), or to ignore it.
   */
  sendInitialEvents?: true;
  /**
   * To be called when the server has accepted the watch (its headers are in), by sources that can
   * tell. Without it a quiet watch is known to work only by its first event or bookmark.
   */
  onOpen: () => void;
  /** Ends the watch. */
  signal: AbortSignal;
}

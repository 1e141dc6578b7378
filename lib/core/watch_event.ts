/**
 * What a list and a watch yield, as types that the client, the caches and the simulator share
 * without knowing each other.
 *
 * @module
 */

import type { Status } from "./errors.ts";
import type { KubeObject } from "./objects.ts";

/** One line of a watch, as the server sent it. */
export type WatchEvent<T> =
  | { type: "ADDED" | "MODIFIED" | "DELETED"; object: T }
  /** Only news about the version reached; `initialEventsEnd` closes a streamed initial list. */
  | { type: "BOOKMARK"; resourceVersion: string; initialEventsEnd: boolean }
  /** The server gave up on this watch, e.g. with code 410. */
  | { type: "ERROR"; status: Status };

/** One page, or all pages, of a list. */
export interface ListResult<T> {
  /** The objects. */
  items: T[];
  /** Version of the whole list: where a watch may start. */
  resourceVersion: string;
  /** Token of the next page; absent on the last one. */
  continue?: string;
  /** How many more items the server estimates; absent if it did not say. */
  remainingItemCount?: number;
}

/** Any object, for code that handles kinds it does not know. */
export type AnyObject = KubeObject & Record<string, unknown>;

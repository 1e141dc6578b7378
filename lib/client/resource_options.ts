/**
 * Options of the verbs, apart from the verbs: they are what a caller reads first, and what others
 * that pass them on refer to.
 *
 * @module
 */

import type { FieldSelector, LabelSelector } from "../core/selectors.ts";

/** Objects a page, as client-go's pager asks for. */
export const LIST_PAGE_SIZE = 500;

/**
 * How long a watch may be silent, in milliseconds. API servers send a bookmark once a minute; two
 * may be lost before the connection is taken for dead (field case W1).
 */
export const WATCH_INACTIVITY_MS = 150_000;

/** Which object. */
export interface ObjectPlace {
  /** `metadata.name`. */
  readonly name: string;
  /** Must be given exactly for namespaced kinds. */
  readonly namespace?: string;
}

/** Options of every verb. */
export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Options of `get`. */
export interface GetOptions extends ObjectPlace, CallOptions {
  /** `"0"`: whatever the server has at hand, perhaps old. The newest, if absent. */
  readonly resourceVersion?: string;
}

/** Options of verbs that write. */
export interface WriteOptions extends CallOptions {
  /** Who is noted as the owner of the changed fields. The user agent's first part, if absent. */
  readonly fieldManager?: string;
  /** Run everything but the storing. @default {false} */
  readonly dryRun?: boolean;
  /** What the server does about fields that the schema does not know. Its own default: `Warn`. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
}

/** Which objects of a kind. */
export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** By labels, e.g. `app=web,tier in (a,b)`, or as `selectors.ts` helps to write it. */
  readonly labelSelector?: string | LabelSelector;
  /** By fields, e.g. `metadata.name=web`. Which fields a kind has for it is the server's choice. */
  readonly fieldSelector?: string | FieldSelector;
}

/** Options of `list`, but for what is listed. */
export interface ListCallOptions extends CallOptions {
  /** `"0"`: whatever the server has at hand, perhaps old. The newest state, if absent or `""`. */
  readonly resourceVersion?: string;
  /** How `resourceVersion` is meant. @default {"NotOlderThan"} */
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** Objects asked for at once. @default {500} */
  readonly pageSize?: number;
}

/** Options of `list`. */
export interface ListOptions extends Selection, ListCallOptions {}

/** Options of `listPage`. */
export interface ListPageOptions extends ListOptions {
  /** Token of the page before. */
  readonly continue?: string;
}

/** Options of `watch`, but for what is watched. */
export interface WatchCallOptions extends CallOptions {
  /** From where: a list's version, or the last event's. */
  readonly resourceVersion: string;
  /** When the server should end the watch. Its own choice, 30 to 60 min, if absent. */
  readonly timeoutSeconds?: number;
  /** Longest silence, in milliseconds. @default {150_000} */
  readonly inactivityMs?: number;
  /** Ask for bookmarks. @default {true} */
  readonly allowBookmarks?: boolean;
  /** Begin with all present objects as ADDED, up to a bookmark with `initialEventsEnd`. */
  readonly sendInitialEvents?: boolean;
  /** Called once the server has accepted the watch, which may be long before an event. */
  readonly onOpen?: () => void;
}

/** Options of `watch`. */
export interface WatchOptions extends Selection, WatchCallOptions {}

/** Options of `create`. */
export interface CreateOptions extends WriteOptions {
  /** The draft's own, if absent. */
  readonly namespace?: string;
}

/** Options of deletions, but for what is deleted. */
export interface DeleteCallOptions extends CallOptions {
  /** Delete only if the object still has these; else a Conflict. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** What happens to dependents. The kind's own default, mostly `Background`, if absent. */
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan";
  /** Time that a Pod gets to end. The object's own, if absent. */
  readonly gracePeriodSeconds?: number;
  /** Run everything but the deleting. @default {false} */
  readonly dryRun?: boolean;
}

/** Options of `delete`. */
export interface DeleteOptions extends ObjectPlace, DeleteCallOptions {}

/** Options of `deleteCollection`. */
export interface DeleteCollectionOptions extends Selection, DeleteCallOptions {}

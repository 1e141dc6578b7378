/**
 * From the verbs' options to what stands in a query or a body.
 *
 * @module
 */

import {
  type FieldSelector,
  formatFieldSelector,
  formatLabelSelector,
  type LabelSelector,
} from "../core/selectors.ts";
import {
  type DeleteCallOptions,
  LIST_PAGE_SIZE,
  type ListPageOptions,
  type Selection,
  type WatchOptions,
  type WriteOptions,
} from "./resource_options.ts";
import type { RestRequest } from "./rest.ts";

type Query = NonNullable<RestRequest["query"]>;

/** The query of one page of a list. */
export function listQuery(options: ListPageOptions): Query {
  // A token stands for a version: the server refuses both together.
  const version = options.continue === undefined ? options.resourceVersion : undefined;
  // Said always: without it, a list in pages means exactly that version.
  const match = options.resourceVersionMatch ?? "NotOlderThan";
  return {
    ...selectionQuery(options),
    limit: options.pageSize ?? LIST_PAGE_SIZE,
    continue: options.continue,
    resourceVersion: version || undefined,
    resourceVersionMatch: version ? match : undefined,
  };
}

/** The query of a watch. */
export function watchQuery(options: WatchOptions): Query {
  const { sendInitialEvents } = options;
  return {
    watch: true,
    allowWatchBookmarks: options.allowBookmarks ?? true,
    resourceVersion: options.resourceVersion,
    ...selectionQuery(options),
    timeoutSeconds: options.timeoutSeconds,
    sendInitialEvents,
    // The only value that the server takes together with sendInitialEvents.
    resourceVersionMatch: sendInitialEvents === undefined ? undefined : "NotOlderThan",
  };
}

/** The selectors of a query; none for those that select everything. */
export function selectionQuery({ labelSelector, fieldSelector }: Selection): Query {
  return {
    labelSelector: labelText(labelSelector) || undefined,
    fieldSelector: fieldText(fieldSelector) || undefined,
  };
}

function labelText(selector: string | LabelSelector = ""): string {
  return typeof selector === "string" ? selector : formatLabelSelector(selector);
}

function fieldText(selector: string | FieldSelector = ""): string {
  return typeof selector === "string" ? selector : formatFieldSelector(selector);
}

/** The query of a write. */
export function writeQuery({ fieldManager, dryRun, fieldValidation }: WriteOptions): Query {
  return { fieldManager, dryRun: dryRun ? "All" : undefined, fieldValidation };
}

/** The body of a deletion. */
export function deleteBody(options: DeleteCallOptions): object {
  const { preconditions, propagationPolicy, gracePeriodSeconds, dryRun } = options;
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(preconditions && { preconditions }),
    ...(propagationPolicy && { propagationPolicy }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(dryRun && { dryRun: ["All"] }),
  };
}

/**
 * Why a key is looked at: for logs, and for reconcilers that want to say so.
 *
 * Never to decide by. A reconcile works on the present state; several causes fall together into one
 * look, the list of them is bounded, and after a restart everything is `initial`.
 *
 * @module
 */

/**
 * What happened: an object of a cache was there at the start (`initial`), was `added`, `updated` or
 * `deleted`, or came again unchanged (`resync`); something outside the cluster spoke (`external`);
 * the last reconcile failed (`retry`) or asked for another look (`requeue`); the last one is slowed
 * because it seems to cause itself (`hot-loop`).
 */
export type ReasonType =
  | "initial"
  | "added"
  | "updated"
  | "deleted"
  | "resync"
  | "external"
  | "retry"
  | "requeue"
  | "hot-loop";

/** One cause of a look. */
export interface Reason {
  /** What happened. */
  readonly type: ReasonType;
  /** The handler or external source that told; the controller's name for its own decisions. */
  readonly source: string;
}

/** Different reasons kept for a key; later ones are left out. More sources than this are rare. */
export const REASONS_MAX = 8;

/** No reason was given. */
export const NO_REASONS: readonly Reason[] = Object.freeze([]);

/** `reason` as a list of its own, if there is one. Frozen. */
export function reasonsOf(reason: Reason | undefined): readonly Reason[] {
  return reason === undefined ? NO_REASONS : Object.freeze([reason]);
}

/**
 * `reasons` with `more`, each once, the first {@linkcode REASONS_MAX} of them. Both are frozen lists
 * without repeats; one of them is given back where nothing of the other is new, so that a key which is
 * added a thousand times costs nothing.
 */
export function mergeReasons(
  reasons: readonly Reason[],
  more: readonly Reason[],
): readonly Reason[] {
  if (reasons.length === 0 || more.length === 0) return reasons.length === 0 ? more : reasons;
  const added = more.filter((reason) => !reasons.some((known) => isSame(known, reason)));
  if (added.length === 0 || reasons.length >= REASONS_MAX) return reasons;
  return Object.freeze([...reasons, ...added].slice(0, REASONS_MAX));
}

/** `updated deployments, retry foo`: the list as one field of a log record. */
export function describeReasons(reasons: readonly Reason[]): string {
  return reasons.map(({ type, source }) => `${type} ${source}`).join(", ");
}

function isSame(a: Reason, b: Reason): boolean {
  return a === b || (a.type === b.type && a.source === b.source);
}

/**
 * Which changes are worth a look.
 *
 * A predicate sees one change of a cached object and says whether to go on with it. It saves work,
 * no more: a reconciler must be right without it. Additions and deletions always pass, and so does
 * an object that was deleted and made anew under its name; only updates are judged.
 *
 * A resync (an "update" from an object to itself) changes nothing, so each predicate here stops it.
 * `or(generationChanged, not(resourceVersionChanged))` lets resyncs through.
 *
 * @module
 */

import type { StoreChange } from "../cache/store.ts";
import type { KubeObject } from "../core/objects.ts";

/** True for changes worth a look. Pure and quick: it runs for each change. */
export type Predicate<T> = (change: StoreChange<T>) => boolean;

/**
 * The spec changed, or deletion began. Not status, labels or annotations: of one's own kind this
 * leaves out what one's own status writes cause.
 *
 * Kinds without `metadata.generation` (ConfigMap, Secret, …) can't be judged: all their updates
 * with a new version pass.
 */
export function generationChanged<T extends KubeObject>(change: StoreChange<T>): boolean {
  return judgeUpdate(change, ({ metadata: now }, { metadata: before }) => {
    if (now.generation === undefined || before.generation === undefined) {
      return now.resourceVersion !== before.resourceVersion;
    }
    return now.generation !== before.generation ||
      now.deletionTimestamp !== before.deletionTimestamp;
  });
}

/** A label was added, removed or changed. */
export function labelsChanged<T extends KubeObject>(change: StoreChange<T>): boolean {
  return judgeUpdate(change, (now, before) => {
    return !areEqual(now.metadata.labels, before.metadata.labels);
  });
}

/** An annotation was added, removed or changed. */
export function annotationsChanged<T extends KubeObject>(change: StoreChange<T>): boolean {
  return judgeUpdate(change, (now, before) => {
    return !areEqual(now.metadata.annotations, before.metadata.annotations);
  });
}

/** Anything changed: all but resyncs. */
export function resourceVersionChanged<T extends KubeObject>(change: StoreChange<T>): boolean {
  return judgeUpdate(change, (now, before) => {
    return now.metadata.resourceVersion !== before.metadata.resourceVersion;
  });
}

/** True if all of `predicates` are; they are asked in order, up to the first that says no. */
export function and<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.every((predicate) => predicate(change));
}

/**
 * True if one of `predicates` is; they are asked in order, up to the first that says yes.
 *
 * @example Spec and label changes, but no status writes
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const isWorthALook = or(generationChanged, labelsChanged);
 * const metadata = { name: "a", uid: "u", creationTimestamp: "", generation: 1 };
 * const previous = {
 *   apiVersion: "example.com/v1",
 *   kind: "Foo",
 *   metadata: { ...metadata, resourceVersion: "1" },
 * };
 * const object = { ...previous, metadata: { ...metadata, resourceVersion: "2" } };
 * strictEqual(isWorthALook({ type: "updated", object, previous }), false);
 * ```
 */
export function or<T>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

/** True where `predicate` is not, also for additions and deletions. */
export function not<T>(predicate: Predicate<T>): Predicate<T> {
  return (change) => !predicate(change);
}

function judgeUpdate<T extends KubeObject>(
  change: StoreChange<T>,
  isChanged: (now: T, before: T) => boolean,
): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return object.metadata.uid !== previous.metadata.uid || isChanged(object, previous);
}

type StringMap = Readonly<Record<string, string>>;

/** Absent is empty: the server drops empty maps. */
function areEqual(a: StringMap = {}, b: StringMap = {}): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

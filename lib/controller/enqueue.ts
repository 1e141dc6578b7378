/**
 * From an informer's change to keys in a queue: predicate, then mapper, then `add`.
 *
 * The one place where user code runs inside an informer's delivery, so its errors end here: a change
 * is lost only if no key can be told for it. Changes are added without delay, never as failures
 * (field case Q4). What was there at the start, and resyncs, are added with low priority: nobody
 * waits for them, while someone waits for the answer to a change.
 *
 * @module
 */

import type { StoreChange } from "../cache/store.ts";
import { messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../core/objects.ts";
import type { Mapper } from "./mappers.ts";
import { generationChanged, type Predicate } from "./predicates.ts";
import type { Reason, ReasonType } from "./reasons.ts";
import type { AddOptions } from "./workqueue_options.ts";

/** All that is needed of an informer; `Registration` is what its handlers get. */
export interface ChangeSource<T, Registration> {
  /** Tells `handler` what the source holds and, from then on, each change. */
  addHandler(
    handler: { onChange(change: StoreChange<T>): void },
    options: { name: string },
  ): Registration;
}

/** All that is needed of a queue. */
export interface KeyQueue {
  /** The key needs work, now. */
  add(key: ObjectKey, options?: AddOptions): void;
  /** Past failures of the key count no more. */
  forget(key: ObjectKey): void;
}

/** What {@linkcode enqueueChanges} connects. */
export interface EnqueueOptions<T, Registration> {
  /** Names the handler in logs and metrics. */
  readonly name: string;
  /** Where changes come from: an informer. */
  readonly source: ChangeSource<T, Registration>;
  /** Where keys go: the controller's workqueue. */
  readonly queue: KeyQueue;
  /** Which keys a change concerns. */
  readonly mapper: Mapper<T>;
  /** Which changes to go on with. @default all */
  readonly predicate?: Predicate<T>;
  /**
   * Which changes of those make past failures of their keys void, so that the next retry is quick
   * again: for the reconciled kind, {@linkcode specChanged}. @default none
   */
  readonly resetsBackoff?: Predicate<T>;
  /** Gets one line for each error. */
  readonly log: Logger;
  /** Told of each error of predicates and mapper, besides the log: for counting. */
  onError?(error: unknown): void;
}

/**
 * The object's spec changed, or it is being or was deleted: what failed before says nothing about
 * what happens now. For `resetsBackoff` of the reconciled kind, if it has a generation: of kinds
 * without one each write counts, also those of the failing reconcile itself. Additions don't count,
 * since an object that was not there has no failures.
 */
export function specChanged<T extends KubeObject>(change: StoreChange<T>): boolean {
  return change.type !== "added" && generationChanged(change);
}

/**
 * Puts the keys that the changes of `source` concern into `queue`, from now on and, by the source's
 * rule, for what it holds already. For an update the keys of both states count.
 *
 * Errors are logged with the object's key and isolated: a predicate that throws counts as passed,
 * since a look too many is harmless; a mapper that throws loses this change only.
 *
 * @returns What the source gives for a handler: wait for it before working, dispose it to stop.
 *
 * @example A controller's own kind; `source` is an informer, `queue` a workqueue
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import type { StoreChange } from "../cache/store.ts";
 * import { silentLogger } from "../core/log.ts";
 * import type { KubeObject } from "../core/objects.ts";
 * import { toSelf } from "./mappers.ts";
 * import { generationChanged } from "./predicates.ts";
 *
 * const metadata = { name: "a", uid: "1", resourceVersion: "1", creationTimestamp: "" };
 * const object = { apiVersion: "example.com/v1", kind: "Foo", metadata };
 * const keys: string[] = [];
 * enqueueChanges({
 *   name: "foo/self",
 *   source: {
 *     addHandler(handler: { onChange(change: StoreChange<KubeObject>): void }) {
 *       handler.onChange({ type: "added", object, initial: true });
 *     },
 *   },
 *   queue: { add: (key) => keys.push(key), forget: () => {} },
 *   mapper: toSelf,
 *   predicate: generationChanged,
 *   resetsBackoff: specChanged,
 *   log: silentLogger,
 * });
 * deepStrictEqual(keys, ["a"]);
 * ```
 */
export function enqueueChanges<T extends KubeObject, Registration>(
  options: EnqueueOptions<T, Registration>,
): Registration {
  const { name, source } = options;
  return source.addHandler({ onChange: (change) => enqueue(change, options) }, { name });
}

function enqueue<T extends KubeObject>(
  change: StoreChange<T>,
  options: Omit<EnqueueOptions<T, unknown>, "source">,
): void {
  const { queue, mapper, predicate, resetsBackoff, name, log, onError } = options;
  const object = change.type === "deleted" ? change.last : change.object;
  const guarded = <R>(part: string, fallback: R, call: () => R): R => {
    try {
      return call();
    } catch (error) {
      const fields = { handler: name, part, key: keyOf(object.metadata), error: messageOf(error) };
      log.error("Cannot map a change to keys", fields);
      onError?.(error);
      return fallback;
    }
  };

  if (!guarded("predicate", true, () => predicate?.(change) ?? true)) return;
  const isReset = guarded("resetsBackoff", false, () => resetsBackoff?.(change) ?? false);

  // Each state by itself, so that an error for one does not hide the keys of the other.
  const states = change.type === "updated" && change.previous !== object
    ? [object, change.previous]
    : [object];
  const keys = new Set(states.flatMap((state) => guarded("mapper", [], () => [...mapper(state)])));
  const reason: Reason = { type: reasonType(change), source: name };
  const isUrgent = reason.type !== "initial" && reason.type !== "resync";
  for (const key of keys) {
    if (isReset) queue.forget(key);
    queue.add(key, { priority: isUrgent ? "normal" : "low", reason });
  }
}

function reasonType<T>(change: StoreChange<T>): ReasonType {
  if (change.type === "added") return change.initial ? "initial" : "added";
  return change.type === "updated" && change.object === change.previous ? "resync" : change.type;
}

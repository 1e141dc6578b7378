/**
 * Tells people what became of a Foo, as Events: each thing once, not at each look.
 *
 * The reasons and messages are sample-controller's, which its users have tools for.
 *
 * @module
 */

import type { Logger } from "../core/log.ts";
import { keyOf, type ObjectKey } from "../core/objects.ts";
import type { EventInput } from "../services/event_recorder.ts";
import { type Foo, FOOS } from "./schema.ts";
import { type FooOutcome, readyConditionOf } from "./status.ts";

/** All that is needed of an event recorder. */
export interface EventSink {
  record(event: EventInput): void;
}

/** Tells news, and remembers what obstacle it told last of each Foo that has one. */
export class FooNews {
  readonly #events: EventSink;
  readonly #obstacles = new Map<ObjectKey, string>();

  /** Only stores. */
  constructor(events: EventSink) {
    this.#events = events;
  }

  /** The Foo's Deployment was changed to what it wants, or its spec was found to be fulfilled. */
  synced(foo: Foo): void {
    this.#record(foo, { type: "Normal", reason: "Synced", note: "Foo synced successfully" });
  }

  /**
   * The Foo can't have its Deployment. Told once for each obstacle and generation, and, where its
   * condition can be stored, not again after a restart (field case R6).
   */
  blocked(
    foo: Foo,
    { outcome: { reason, message, note = message }, log }: {
      outcome: FooOutcome & { type: "blocked" };
      log: Logger;
    },
  ): void {
    const key = keyOf(foo.metadata);
    const { uid, generation } = foo.metadata;
    const obstacle = JSON.stringify([uid, generation, reason, note]);
    const before = readyConditionOf(foo);
    // A condition that says only what the event does counts too: an older release wrote that.
    const isStored = before?.reason === reason && [message, note].includes(before.message) &&
      before.observedGeneration === generation;
    if (this.#obstacles.get(key) === obstacle || isStored) return;
    this.#obstacles.set(key, obstacle);
    log.warn("Foo can't have its Deployment", { reason, problem: message });
    this.#record(foo, { type: "Warning", reason, note });
  }

  /** The obstacle, if there was one, is gone: should it come again, it is told again. */
  cleared(key: ObjectKey): void {
    this.#obstacles.delete(key);
  }

  #record({ metadata }: Foo, event: Pick<EventInput, "type" | "reason" | "note">): void {
    this.#events.record({ regarding: { gvk: FOOS.gvk, metadata }, action: "Reconcile", ...event });
  }
}

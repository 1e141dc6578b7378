/**
 * Says what a reflector can't do: loud enough to be found, seldom enough to be read.
 *
 * A file of its own because both halves go wrong in the field: a missing right that is only told at
 * debug level (W11), and a missing CRD that fills the log (W12).
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ApiError, isExpired, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { needsPerson, type ReflectorVerb } from "./recovery.ts";

/** How long the same failure stays untold after it was told; in between it goes to debug. */
export const FAILURE_LOG_INTERVAL_MS = 5 * 60_000;

/** The messages, constant so that they can be searched for. */
const CANNOT = { list: "Cannot list", watch: "Cannot watch" };
const CAN_AGAIN = { list: "Can list again", watch: "Can watch again" };

/** Tells the failures of one reflector. */
export class FailureLog {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** When each sort of failure was told last. As many entries as there are verbs and codes. */
  readonly #toldAtMs = new Map<string, number>();
  /** Since when each verb has failed, if that was told. */
  readonly #standing = new Map<ReflectorVerb, number>();

  /** Only stores. `name` is the resource, as a person knows it. */
  constructor({ name, clock, log }: { name: string; clock: Clock; log: Logger }) {
    this.#name = name;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * A failure, once per interval: an error record if a person has to act, else a warning; for an
   * expired version, which every outage of a server brings and a list cures, only information.
   */
  failed(verb: ReflectorVerb, error: unknown, retryInMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    const status = error instanceof ApiError ? { status: error.status } : {};
    const fields = {
      resource: this.#name,
      verb,
      ...status,
      error: messageOf(error),
      retryInMs: Math.round(retryInMs),
    };
    const sort = `${verb} ${status.status ?? (error instanceof Error ? error.name : "")}`;
    const toldAtMs = this.#toldAtMs.get(sort) ?? -Infinity;
    if (nowMs - toldAtMs < FAILURE_LOG_INTERVAL_MS) {
      this.#log.debug(CANNOT[verb], fields);
      return;
    }
    this.#toldAtMs.set(sort, nowMs);
    this.#standing.set(verb, this.#standing.get(verb) ?? nowMs);
    this.#log[needsPerson(error) ? "error" : isExpired(error) ? "info" : "warn"](
      CANNOT[verb],
      fields,
    );
  }

  /** It works. Told if the failure was told. */
  over(verb: ReflectorVerb): void {
    const sinceMs = this.#standing.get(verb);
    if (sinceMs === undefined) return;
    this.#standing.delete(verb);
    const forMs = Math.round(this.#clock.monotonicMs() - sinceMs);
    this.#log.info(CAN_AGAIN[verb], { resource: this.#name, verb, forMs });
  }
}

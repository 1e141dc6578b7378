/**
 * What the definition in the cluster lets us report, kept current, and said when it is too little.
 *
 * Two things tell: the definition, where we may read it, and the server's answers to our writes. A
 * single answer may come from one of several API servers that is not up to date, so none is believed
 * against a definition that is news, nor for good where there is no definition to correct it.
 *
 * @module
 */

import type { CustomResourceDefinition } from "../client/kinds.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import { FOO_CRD_NAME, FOOS, type FooStatus } from "./schema.ts";
import {
  OWN_SERVED_STATUS,
  type ServedStatus,
  servedStatusOf,
  STATUS_FIELDS,
  type StatusField,
} from "./status.ts";

/**
 * How long after a change of the definition an answer does not count that goes against it, in
 * milliseconds. Each API server learns of a change by a watch of its own, most within a second.
 */
export const DEFINITION_GRACE_MS = 30_000;

/**
 * How long `foos/status` counts as missing because an answer said so, in milliseconds, if there is no
 * definition that we may read. What it costs to ask again is two requests for all Foos together.
 */
export const MISSING_RECHECK_MS = 10 * 60_000;

/** Knows what is served. Until told otherwise it is what our own definition serves. */
export class ServedStatusSource {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #log: Logger;
  #current: ServedStatus = OWN_SERVED_STATUS;
  #wasTold = false;
  /** Monotonic time since which the definition, if we may read it, serves what it does. */
  #definedAtMs: number | undefined;
  /** Monotonic time at which an answer, and no definition, said that there is no `foos/status`. */
  #missingAtMs: number | undefined;

  /** Only stores. */
  constructor({ clock, log }: { clock: Pick<Clock, "monotonicMs">; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** What is served now, as far as we know. */
  get current(): ServedStatus {
    return this.recheckMs === 0 ? { ...this.#current, hasSubresource: true } : this.#current;
  }

  /**
   * Milliseconds until a Foo is worth another look because what only an answer said is to be asked
   * again; `undefined` if there is nothing of that kind.
   */
  get recheckMs(): number | undefined {
    if (this.#missingAtMs === undefined) return undefined;
    return Math.max(0, this.#missingAtMs + MISSING_RECHECK_MS - this.#clock.monotonicMs());
  }

  /**
   * Takes what `crd` serves.
   *
   * @returns True if that is something else than before, so that each Foo is worth a look.
   */
  set(crd: CustomResourceDefinition): boolean {
    const served = servedStatusOf(crd);
    if (served === undefined) {
      this.#log.warn(
        "The CustomResourceDefinition does not serve the version that this operator speaks",
        {
          customResourceDefinition: FOO_CRD_NAME,
          version: FOOS.gvk.version,
        },
      );
      return false;
    }
    this.#missingAtMs = undefined;
    const before = this.#current;
    const isNew = before.hasSubresource !== served.hasSubresource ||
      STATUS_FIELDS.some((field) => before.fields.has(field) !== served.fields.has(field));
    this.#current = served;
    if (isNew || this.#definedAtMs === undefined) this.#definedAtMs = this.#clock.monotonicMs();
    if (!served.hasSubresource) this.#tellMissing();
    else this.#wasTold = false;
    const missing = STATUS_FIELDS.filter((field) => !served.fields.has(field));
    if (isNew && served.hasSubresource && missing.length > 0) this.#tellDropped(missing);
    return isNew;
  }

  /**
   * A write of the fields of `sent` left the status as `stored`: what is missing there the server
   * does not keep. Without the right to read the definition this is the only way to know.
   *
   * @returns Milliseconds after which the Foo is worth another look, if the definition is too new for
   * the answer to count against it: a server that lags behind may have given it.
   */
  answered(
    { sent, stored = {} }: { sent: FooStatus; stored: FooStatus | undefined },
  ): number | undefined {
    if (this.#missingAtMs !== undefined) this.#found();
    const dropped = STATUS_FIELDS.filter((field) =>
      sent[field] !== undefined && stored[field] === undefined && this.#current.fields.has(field)
    );
    if (dropped.length === 0) return undefined;
    const graceMs = (this.#definedAtMs ?? -Infinity) + DEFINITION_GRACE_MS -
      this.#clock.monotonicMs();
    if (graceMs > 0) return graceMs;
    const fields = new Set(this.#current.fields);
    for (const field of dropped) fields.delete(field);
    this.#current = { ...this.#current, fields };
    this.#tellDropped(dropped);
    return undefined;
  }

  /**
   * A write found no `foos/status`.
   *
   * @returns Whether that is so. If the definition, as far as we may read it, has it, the server
   * that answered does not know the definition yet, or no more: worth another try.
   */
  lacksSubresource(): boolean {
    const isDefined = this.#definedAtMs !== undefined;
    if (isDefined && this.#current.hasSubresource) return false;
    this.#current = { ...this.#current, hasSubresource: false };
    if (!isDefined) this.#missingAtMs = this.#clock.monotonicMs();
    this.#tellMissing();
    return true;
  }

  /** A write went through, so there is a `foos/status` after all. */
  #found(): void {
    this.#missingAtMs = undefined;
    this.#current = { ...this.#current, hasSubresource: true };
    this.#wasTold = false;
  }

  #tellDropped(missing: readonly StatusField[]): void {
    this.#log.info("The served schema of Foo lacks fields of the status: they are not written", {
      customResourceDefinition: FOO_CRD_NAME,
      missing,
    });
  }

  /** Once, until it is there. The status is never written by a full update instead, which could undo the spec. */
  #tellMissing(): void {
    if (this.#wasTold) return;
    this.#wasTold = true;
    this.#log.error(
      "The CustomResourceDefinition has no status subresource: Deployments are reconciled, but no " +
        "status is written. Apply the one that `foo-operator manifests crd` prints",
      { customResourceDefinition: FOO_CRD_NAME, missing: `${FOOS.plural}/status` },
    );
  }
}

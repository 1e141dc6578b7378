/**
 * What the definition in the cluster lets us report, kept current, and said when it is too little.
 *
 * @module
 */

import type { CustomResourceDefinition } from "../client/kinds.ts";
import type { Logger } from "../core/log.ts";
import { FOO_CRD_NAME, FOOS, type FooStatus } from "./schema.ts";
import {
  OWN_SERVED_STATUS,
  type ServedStatus,
  servedStatusOf,
  STATUS_FIELDS,
  type StatusField,
} from "./status.ts";

/** Knows what is served. Until told otherwise it is what our own definition serves. */
export class ServedStatusSource {
  readonly #log: Logger;
  #current: ServedStatus = OWN_SERVED_STATUS;
  #wasTold = false;
  #isDefinitionKnown = false;

  /** Only stores. */
  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  /** What is served now. */
  get current(): ServedStatus {
    return this.#current;
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
    this.#isDefinitionKnown = true;
    const before = this.#current;
    const isNew = before.hasSubresource !== served.hasSubresource ||
      STATUS_FIELDS.some((field) => before.fields.has(field) !== served.fields.has(field));
    this.#current = served;
    if (!served.hasSubresource) this.#tellMissing();
    else this.#wasTold = false;
    const missing = STATUS_FIELDS.filter((field) => !served.fields.has(field));
    if (isNew && served.hasSubresource && missing.length > 0) this.#tellDropped(missing);
    return isNew;
  }

  /**
   * A write of the fields of `sent` left the status as `stored`: what is missing there the server
   * does not keep. Without the right to read the definition this is the only way to know.
   */
  answered({ sent, stored = {} }: { sent: FooStatus; stored: FooStatus | undefined }): void {
    const dropped = STATUS_FIELDS.filter((field) =>
      sent[field] !== undefined && stored[field] === undefined && this.#current.fields.has(field)
    );
    if (dropped.length === 0) return;
    const fields = new Set(this.#current.fields);
    for (const field of dropped) fields.delete(field);
    this.#current = { ...this.#current, fields };
    this.#tellDropped(dropped);
  }

  /**
   * A write found no `foos/status`.
   *
   * @returns Whether that is so. If the definition, as far as we may read it, has it, the server
   * that answered does not know the definition yet, or no more: worth another try.
   */
  lacksSubresource(): boolean {
    if (this.#isDefinitionKnown && this.#current.hasSubresource) return false;
    this.#current = { ...this.#current, hasSubresource: false };
    this.#tellMissing();
    return true;
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

/**
 * A registry of kinds: from the `apiVersion` and `kind` that an object carries to what the client
 * must know of them.
 *
 * Nothing global: a program makes the one that it needs, and hands it on. For kinds that a program
 * meets only at run time there is discovery.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import {
  apiVersionOf,
  type GroupVersionKind,
  type KubeObject,
  parseApiVersion,
} from "../core/objects.ts";
import { BUILT_IN_KINDS, type KindDefinition } from "./kinds.ts";

/** Any kind's definition. */
export type AnyKind = KindDefinition<KubeObject>;

/** A kind as an object names it, or in parts. */
export type KindName = GroupVersionKind | { readonly apiVersion: string; readonly kind: string };

/**
 * Kinds by group, version and kind. Several versions of a kind may be in it: the first one that was
 * added is preferred.
 *
 * @example Own kinds beside the built-in ones
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import type { KubeObject } from "../core/objects.ts";
 * import { defineKind, DEPLOYMENTS } from "./kinds.ts";
 *
 * const cron = (version: string) => defineKind<KubeObject>({
 *   group: "example.com", version, kind: "Cron", plural: "crons", scope: "Namespaced",
 * });
 * const scheme = builtInScheme().add(cron("v1"), cron("v1beta1"));
 *
 * strictEqual(scheme.find({ apiVersion: "apps/v1", kind: "Deployment" }), DEPLOYMENTS);
 * strictEqual(scheme.preferred({ group: "example.com", kind: "Cron" })?.gvk.version, "v1");
 * strictEqual(scheme.versions({ group: "example.com", kind: "Cron" }).length, 2);
 * ```
 */
export class Scheme {
  readonly #kinds = new Map<string, AnyKind>();
  /** By `group/Kind`, the preferred version first. */
  readonly #versions = new Map<string, AnyKind[]>();

  /**
   * Adds kinds. The same definition again is fine.
   *
   * @throws {AssertionError} If there is another definition of the same group, version and kind:
   * two parts of a program disagree about it.
   */
  add(...kinds: readonly AnyKind[]): this {
    for (const kind of kinds) {
      const name = nameOf(kind.gvk);
      const known = this.#kinds.get(name);
      if (known === kind) continue;
      assert(known === undefined, `${name} is defined once`);
      this.#kinds.set(name, kind);
      const group = `${kind.gvk.group}/${kind.gvk.kind}`;
      this.#versions.set(group, [...this.#versions.get(group) ?? [], kind]);
    }
    return this;
  }

  /** The kind of that name; `undefined` if it was not added. Takes an object, too. */
  find(name: KindName): AnyKind | undefined {
    return this.#kinds.get(nameOf(gvkOf(name)));
  }

  /** The kind whose path has these names: the preferred version, unless `version` is given. */
  findResource(
    { group, version, resource }: { group: string; version?: string; resource: string },
  ): AnyKind | undefined {
    return this.all().find(({ gvk, plural }) =>
      gvk.group === group && plural === resource &&
      (version === undefined || gvk.version === version)
    );
  }

  /** All versions of a kind, the preferred one first; none if it was not added. */
  versions({ group, kind }: { group: string; kind: string }): readonly AnyKind[] {
    return this.#versions.get(`${group}/${kind}`) ?? [];
  }

  /** The preferred version of a kind; `undefined` if it was not added. */
  preferred(name: { group: string; kind: string }): AnyKind | undefined {
    return this.versions(name)[0];
  }

  /** All kinds, in the order in which they were added. */
  all(): readonly AnyKind[] {
    return [...this.#kinds.values()];
  }
}

/** A new scheme with all built-in kinds. */
export function builtInScheme(): Scheme {
  return new Scheme().add(...BUILT_IN_KINDS);
}

/** Group, version and kind of what is named either way. */
export function gvkOf(name: KindName): GroupVersionKind {
  return "apiVersion" in name ? { ...parseApiVersion(name.apiVersion), kind: name.kind } : name;
}

function nameOf(gvk: GroupVersionKind): string {
  return `${apiVersionOf(gvk)} ${gvk.kind}`;
}

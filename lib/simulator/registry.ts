/**
 * Which kinds are served right now: the built-in ones for ever, custom ones while their definition
 * is established.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { GroupVersionResource } from "../core/objects.ts";
import type { Resource, ResourceType } from "./resource_type.ts";

/** A version of a group, as discovery lists it. */
export interface GroupVersions {
  readonly group: string;
  /** Preferred one first. */
  readonly versions: readonly string[];
}

/** The served kinds. */
export class Registry {
  readonly #types = new Map<string, ResourceType>();

  /** `builtins` are served from the start. */
  constructor(builtins: readonly ResourceType[]) {
    for (const type of builtins) this.#types.set(idOf(type.group, type.plural), type);
  }

  /** Serves `type`, in place of what had its group and plural name. */
  set(type: ResourceType): void {
    const old = this.#types.get(idOf(type.group, type.plural));
    assert(old === undefined || old.isCustom, `${type.plural}.${type.group} is not built in`);
    this.#types.set(idOf(type.group, type.plural), type);
  }

  /** Serves a custom kind no longer. */
  remove(group: string, plural: string): void {
    assert(this.#types.get(idOf(group, plural))?.isCustom !== false, "only custom kinds can go");
    this.#types.delete(idOf(group, plural));
  }

  /** The kind and version that a path names. */
  find({ group, version, resource }: GroupVersionResource): Resource | undefined {
    const type = this.#types.get(idOf(group, resource));
    const served = type?.versions.find((each) => each.name === version);
    return type === undefined || served === undefined ? undefined : { type, version: served };
  }

  /** The kind with this plural name. */
  findType(group: string, plural: string): ResourceType | undefined {
    return this.#types.get(idOf(group, plural));
  }

  /** The kind that an owner reference names; its version must be served. */
  findKind(group: string, version: string, kind: string): ResourceType | undefined {
    for (const type of this.#types.values()) {
      if (
        type.group === group && type.kind === kind &&
        type.versions.some((each) => each.name === version)
      ) return type;
    }
    return undefined;
  }

  /** All kinds, built-in ones first, in order of registration. */
  all(): ResourceType[] {
    return [...this.#types.values()];
  }

  /** A kind whose objects are stored in `table`. */
  ofTable(table: string): ResourceType | undefined {
    return this.all().find((type) => type.table === table);
  }

  /** Served groups but the core one, each with its versions in order of preference. */
  groups(): GroupVersions[] {
    const versions = new Map<string, Set<string>>();
    for (const type of this.#types.values()) {
      if (type.group === "") continue;
      const of = versions.get(type.group) ?? new Set();
      for (const version of type.versions) of.add(version.name);
      versions.set(type.group, of);
    }
    return [...versions].map(([group, names]) => ({
      group,
      versions: [...names].sort(compareVersionNames),
    }));
  }

  /** Kinds with a version `group/version`. */
  ofGroupVersion(group: string, version: string): Resource[] {
    return this.all().flatMap((type) => {
      const served = type.group === group
        ? type.versions.find((each) => each.name === version)
        : undefined;
      return served === undefined ? [] : [{ type, version: served }];
    });
  }
}

function idOf(group: string, plural: string): string {
  return `${group}/${plural}`;
}

/**
 * Kubernetes' order of versions, preferred first: stable before beta before alpha, higher numbers
 * first, other names last in alphabetical order.
 */
export function compareVersionNames(a: string, b: string): number {
  const [x, y] = [rankOf(a), rankOf(b)];
  if (x === undefined || y === undefined) {
    if (x !== undefined) return -1;
    if (y !== undefined) return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  for (let at = 0; at < 3; at++) {
    const difference = (y[at] ?? 0) - (x[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function rankOf(version: string): [number, number, number] | undefined {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return undefined;
  const [, major = "0", stage, minor = "0"] = match;
  const level = stage === undefined ? 2 : stage === "beta" ? 1 : 0;
  return [level, Number(major), Number(minor)];
}

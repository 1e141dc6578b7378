/**
 * What the client must know of a kind: its names, its scope, and its TypeScript type.
 *
 * A kind is a value, so that one generic client serves them all. The built-in ones are in
 * `builtin_kinds.ts`, a generated table.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { GroupVersionKind, KubeObject } from "../core/objects.ts";

/** Whether objects of a kind live in namespaces. */
export type Scope = "Namespaced" | "Cluster";

/** One kind, as {@linkcode defineKind} makes it. */
export interface KindDefinition<T extends KubeObject> {
  /** Group, version and kind. */
  readonly gvk: GroupVersionKind;
  /** Lower-case plural, as in the path: `deployments`. */
  readonly plural: string;
  /** Whether its objects have a namespace. */
  readonly scope: Scope;
  /** Names of the subresources that the kind has: `status`, `scale`. */
  readonly subresources: readonly string[];
  /** True if the API server itself serves it: only then is there strategic merge patch. */
  readonly isBuiltIn: boolean;
  /** Never there: carries the objects' type, so that a client infers it. */
  readonly __type?: T;
}

/** What {@linkcode defineKind} takes. */
export interface KindOptions {
  /** `""` for the core group. */
  readonly group: string;
  /** As in the path: `v1`. */
  readonly version: string;
  /** As in `kind:`. */
  readonly kind: string;
  /** As in the path. */
  readonly plural: string;
  /** Whether its objects have a namespace. */
  readonly scope: Scope;
  /** Names of its subresources. @default {[]} */
  readonly subresources?: readonly string[];
  /** True if the API server itself serves it. @default {false} */
  readonly isBuiltIn?: boolean;
}

/**
 * A kind whose objects are `T`s. `T` is the caller's claim: answers are not checked against it.
 *
 * @throws {AssertionError} If a name is empty or could leave its place in a path.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import type { KubeObject } from "../core/objects.ts";
 * interface Cron extends KubeObject { spec: { schedule: string } }
 * const CRONS = defineKind<Cron>({
 *   group: "example.com", version: "v1", kind: "Cron", plural: "crons", scope: "Namespaced",
 *   subresources: ["status"],
 * });
 * strictEqual(CRONS.gvk.kind, "Cron");
 * ```
 */
export function defineKind<T extends KubeObject>(options: KindOptions): KindDefinition<T> {
  const { group, version, kind, plural, scope, subresources = [], isBuiltIn = false } = options;
  for (const part of [version, plural, ...subresources]) {
    assert(/^[a-z0-9][a-z0-9-]*$/.test(part), `"${part}" is a version, plural or subresource`);
  }
  assert(/^([a-z0-9][a-z0-9.-]*)?$/.test(group), `"${group}" is an API group`);
  assert(/^[A-Z][A-Za-z0-9]*$/.test(kind), `"${kind}" is a kind`);
  return { gvk: { group, version, kind }, plural, scope, subresources, isBuiltIn };
}

/**
 * A type of `@kubernetes/client-node` as its objects are on the wire: dates are strings, and names
 * that client-node changed to be identifiers (`_from`, `x_kubernetes_…`) are Kubernetes' own.
 */
export type Jsonified<T> = 0 extends 1 & T ? unknown
  : T extends Date ? string
  : T extends readonly (infer E)[] ? Jsonified<E>[]
  : T extends object ? { [K in keyof T as WireName<K>]: Jsonified<T[K]> }
  : T;

/** A field's name on the wire, from its name in client-node. */
export type WireName<K> = K extends `_${infer Name}` ? Name
  : K extends `x_kubernetes_${infer Name}` ? `x-kubernetes-${Dashed<Name>}`
  : K;

/** A name with `-` in place of `_`. */
export type Dashed<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}-${Dashed<Tail>}`
  : Name;

/** The classes of `@kubernetes/client-node`, as types: nothing of it is loaded. */
export type NodeClasses = typeof import("@kubernetes/client-node");

/**
 * An object of the API, as the server returns it, from the name of its class in
 * `@kubernetes/client-node`. Objects are plain JSON, never instances of that class.
 */
export type BuiltIn<Name extends keyof NodeClasses> = NodeClasses[Name] extends
  new (...args: never) => infer T ? KubeObject & Jsonified<Omit<T, keyof KubeObject>> : never;

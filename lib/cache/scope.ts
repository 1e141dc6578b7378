/**
 * Which objects of a kind a cache holds: some namespaces, labels, fields, or metadata only.
 *
 * All of it is selected by the server, so what is left out costs neither memory nor work here. One
 * scope may take several sources, as a list can be of one namespace or of all, never of two.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { KubeObject } from "../core/objects.ts";
import {
  formatFieldSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../core/selectors.ts";

/** Which objects of a kind. */
export interface CacheScope {
  /** These, or all but these; all if absent. For namespaced kinds only. */
  readonly namespaces?: readonly string[] | { readonly allBut: readonly string[] };
  /** By labels, e.g. `app=web,tier in (a,b)`. @default all */
  readonly labelSelector?: string;
  /** By fields, as far as the kind has them, e.g. `metadata.name=web`. @default all */
  readonly fieldSelector?: string;
  /** Metadata without the rest. A cache of its own beside one of whole objects. @default {false} */
  readonly metadataOnly?: boolean;
}

/** What one source is to list and watch; a client's `Selection` fits. */
export interface SourceSelection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** See {@linkcode CacheScope.labelSelector}. */
  readonly labelSelector?: string;
  /** See {@linkcode CacheScope.fieldSelector}, with the namespaces that are left out. */
  readonly fieldSelector?: string;
}

/**
 * The sources that a scope takes, by namespace; `""` for a source of all namespaces.
 *
 * @throws {AssertionError} If it names no namespace at all, or `""` as one.
 * @throws {SyntaxError} If a selector is none.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(
 *   [...selectionsOf({ namespaces: { allBut: ["kube-system"] }, labelSelector: "app=web" })],
 *   [["", { labelSelector: "app=web", fieldSelector: "metadata.namespace!=kube-system" }]],
 * );
 * ```
 */
export function selectionsOf(scope: CacheScope): ReadonlyMap<string, SourceSelection> {
  const { namespaces, labelSelector, fieldSelector } = scope;
  // Parsed only for the error, here rather than in each later list.
  if (labelSelector !== undefined) parseLabelSelector(labelSelector);
  const common = {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
  if (namespaces === undefined) return new Map([["", common]]);
  const names = "allBut" in namespaces ? namespaces.allBut : namespaces;
  assert(names.length > 0 && !names.includes(""), "a scope's namespaces have names");
  if (!("allBut" in namespaces)) {
    return new Map(names.map((namespace) => [namespace, { ...common, namespace }]));
  }
  const others = formatFieldSelector([
    ...parseFieldSelector(fieldSelector ?? ""),
    ...[...new Set(names)].sort().map((value) => {
      return { field: "metadata.namespace", operator: "!=", value } as const;
    }),
  ]);
  return new Map([["", { ...common, fieldSelector: others }]]);
}

/** The same text for scopes of the same objects; for people too. */
export function textOfScope(scope: CacheScope): string {
  const { namespaces, labelSelector, fieldSelector, metadataOnly } = scope;
  const sorted = (names: readonly string[]) => [...new Set(names)].sort().join(",");
  const places = namespaces === undefined
    ? "all namespaces"
    : "allBut" in namespaces
    ? `all namespaces but ${sorted(namespaces.allBut)}`
    : `namespaces ${sorted(namespaces)}`;
  return [
    places,
    ...(labelSelector === undefined ? [] : [`labels ${labelSelector}`]),
    ...(fieldSelector === undefined ? [] : [`fields ${fieldSelector}`]),
    ...(metadataOnly ? ["metadata only"] : []),
  ].join(", ");
}

/** True if the scope has objects of `namespace` (`""` for cluster-scoped ones). */
export function hasNamespace({ namespaces }: CacheScope, namespace: string): boolean {
  if (namespaces === undefined) return true;
  if ("allBut" in namespaces) return !namespaces.allBut.includes(namespace);
  return namespaces.includes(namespace);
}

/**
 * Whether the scope has `object` as it is now; `undefined` if only the server knows, since fields
 * other than name and namespace differ by kind.
 */
export function inScope(scope: CacheScope, { metadata }: KubeObject): boolean | undefined {
  const { labelSelector, fieldSelector } = scope;
  if (!hasNamespace(scope, metadata.namespace ?? "")) return false;
  if (
    labelSelector !== undefined &&
    !matchesLabels(parseLabelSelector(labelSelector), metadata.labels)
  ) {
    return false;
  }
  if (fieldSelector === undefined) return true;
  const requirements = parseFieldSelector(fieldSelector);
  const known: Readonly<Record<string, string>> = {
    "metadata.name": metadata.name,
    "metadata.namespace": metadata.namespace ?? "",
  };
  const decidable = requirements.filter(({ field }) => field in known);
  if (!matchesFields(decidable, (field) => known[field] ?? "")) return false;
  return decidable.length === requirements.length ? true : undefined;
}

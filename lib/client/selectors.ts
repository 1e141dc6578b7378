/**
 * Selectors as a caller writes them: parts that are joined by spreading, checked where they are
 * written and not only where the server reads them.
 *
 * @module
 */

import {
  type FieldSelector,
  isLabelKey,
  isLabelValue,
  type LabelRequirement,
  type LabelSelector,
} from "../core/selectors.ts";

/**
 * Objects that have all of `labels`.
 *
 * @throws {RangeError} If a key or a value may be none.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { formatLabelSelector } from "../core/selectors.ts";
 * const selector = [...labelsAre({ app: "web" }), ...labelIn("tier", ["a", "b"])];
 * strictEqual(formatLabelSelector(selector), "app=web,tier in (a,b)");
 * ```
 */
export function labelsAre(labels: Readonly<Record<string, string>>): LabelSelector {
  return Object.entries(labels).map(([key, value]) => requirement(key, "=", [value]));
}

/**
 * Objects that have none of `labels`, but perhaps other values of them.
 *
 * @throws {RangeError} If a key or a value may be none.
 */
export function labelsAreNot(labels: Readonly<Record<string, string>>): LabelSelector {
  return Object.entries(labels).map(([key, value]) => requirement(key, "!=", [value]));
}

/**
 * Objects whose label `key` is one of `values`.
 *
 * @throws {RangeError} If there is no value, or the key or a value may be none.
 */
export function labelIn(key: string, values: readonly string[]): LabelSelector {
  return [requirement(key, "in", someOf(key, values))];
}

/**
 * Objects whose label `key` is absent or none of `values`.
 *
 * @throws {RangeError} If there is no value, or the key or a value may be none.
 */
export function labelNotIn(key: string, values: readonly string[]): LabelSelector {
  return [requirement(key, "notin", someOf(key, values))];
}

/**
 * Objects that have the label `key`, whatever its value.
 *
 * @throws {RangeError} If the key may be none.
 */
export function labelExists(key: string): LabelSelector {
  return [requirement(key, "exists", [])];
}

/**
 * Objects that do not have the label `key`.
 *
 * @throws {RangeError} If the key may be none.
 */
export function labelIsAbsent(key: string): LabelSelector {
  return [requirement(key, "!", [])];
}

/**
 * Objects whose fields are `fields`. Values may hold anything: they are escaped.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { formatFieldSelector } from "../core/selectors.ts";
 * const selector = [...fieldsAre({ "spec.nodeName": "a" }), ...fieldsAreNot({ "status.phase": "" })];
 * strictEqual(formatFieldSelector(selector), "spec.nodeName=a,status.phase!=");
 * ```
 */
export function fieldsAre(fields: Readonly<Record<string, string>>): FieldSelector {
  return Object.entries(fields).map(([field, value]) => ({ field, operator: "=", value }));
}

/** Objects whose fields are not `fields`. */
export function fieldsAreNot(fields: Readonly<Record<string, string>>): FieldSelector {
  return Object.entries(fields).map(([field, value]) => ({ field, operator: "!=", value }));
}

function someOf(key: string, values: readonly string[]): readonly string[] {
  if (values.length > 0) return values;
  throw new RangeError(`Cannot select by label "${key}": no value is given`);
}

function requirement(
  key: string,
  operator: LabelRequirement["operator"],
  values: readonly string[],
): LabelRequirement {
  if (!isLabelKey(key)) throw new RangeError(`Cannot select by label "${key}": no label key`);
  for (const value of values) {
    if (isLabelValue(value)) continue;
    throw new RangeError(`Cannot select by label "${key}": "${value}" is no label value`);
  }
  return { key, operator, values };
}

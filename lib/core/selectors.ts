/**
 * Label and field selectors: read, match, write. Client and simulated server share them, so that
 * both sides mean the same by `env in (a,b),!legacy`.
 *
 * @module
 */

/** One condition of a label selector. */
export interface LabelRequirement {
  /** Label key. */
  readonly key: string;
  /** How its value is compared. */
  readonly operator: "=" | "!=" | "in" | "notin" | "exists" | "!" | ">" | "<";
  /** Empty for `exists` and `!`; one value for `=`, `!=`, `>` and `<`. */
  readonly values: readonly string[];
}

/** All its requirements must hold; none matches everything. */
export type LabelSelector = readonly LabelRequirement[];

/** One condition of a field selector. */
export interface FieldRequirement {
  /** Path of the field, as `metadata.name`. */
  readonly field: string;
  /** How it is compared. */
  readonly operator: "=" | "!=";
  /** What it is compared with. */
  readonly value: string;
}

/** All its requirements must hold; none matches everything. */
export type FieldSelector = readonly FieldRequirement[];

/** The `LabelSelector` of the API: `spec.selector` of workloads. */
export interface LabelSelectorObject {
  /** Labels that must have exactly these values. */
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** Further requirements; all must hold. */
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Longest selector accepted, in characters: a URL of twice that is refused by most servers. */
export const SELECTOR_MAX_CHARS = 64 * 1024;

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** True if `key` may be a label key: an optional DNS prefix of up to 253 and a name of up to 63. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  const name = slash < 0 ? key : key.slice(slash + 1);
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  return name.length <= 63 && NAME.test(name) &&
    (prefix === undefined || (prefix.length <= 253 && DNS_SUBDOMAIN.test(prefix)));
}

/** True if `value` may be a label value: empty, or a name of up to 63 characters. */
export function isLabelValue(value: string): boolean {
  return value === "" || (value.length <= 63 && NAME.test(value));
}

/**
 * Reads a label selector in its string form.
 *
 * @throws {SyntaxError} With the API server's wording, if `text` is none.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(parseLabelSelector("app=nginx,tier in (a, b),!legacy"), [
 *   { key: "app", operator: "=", values: ["nginx"] },
 *   { key: "tier", operator: "in", values: ["a", "b"] },
 *   { key: "legacy", operator: "!", values: [] },
 * ]);
 * ```
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.length > SELECTOR_MAX_CHARS) {
    throw new SyntaxError(`Cannot parse a selector of ${text.length} characters: over the limit`);
  }
  const tokens = tokensOf(text);
  const requirements: LabelRequirement[] = [];
  let at = 0;
  const next = () => tokens[at++] ?? "";
  while (at < tokens.length) {
    requirements.push(parseRequirement(next, () => tokens[at] ?? ""));
    const separator = next();
    if (separator === "") break;
    if (separator !== ",") {
      throw new SyntaxError(`found '${separator}', expected: ',' or 'end of string'`);
    }
    const following = tokens[at] ?? "";
    if (following === "," || following === "") {
      throw new SyntaxError(`found '${following}', expected: identifier after ','`);
    }
  }
  return requirements;
}

/** Splits a label selector into its marks and words. Blanks separate and mean nothing else. */
function tokensOf(text: string): string[] {
  return text.match(/==|!=|[=!,()<>]|[^\s=!,()<>]+/g) ?? [];
}

function parseRequirement(next: () => string, peek: () => string): LabelRequirement {
  const first = next();
  if (first === "!") {
    const key = checkedKey(next());
    return { key, operator: "!", values: [] };
  }
  const key = checkedKey(first);
  const following = peek();
  if (following === "" || following === ",") return { key, operator: "exists", values: [] };
  const operator = next();
  switch (operator) {
    case "=":
    case "==":
      return { key, operator: "=", values: [checkedValue(key, word(next, peek))] };
    case "!=":
      return { key, operator: "!=", values: [checkedValue(key, word(next, peek))] };
    case "<":
    case ">": {
      const bound = word(next, peek);
      if (!/^-?\d+$/.test(bound)) {
        throw new SyntaxError(
          `values[0][${key}]: Invalid value: "${bound}": for 'Gt', 'Lt' operators, the value must be an integer`,
        );
      }
      return { key, operator, values: [bound] };
    }
    case "in":
    case "notin":
      return {
        key,
        operator,
        values: parseValues(next, peek).map((value) => checkedValue(key, value)),
      };
    default:
      throw new SyntaxError(
        `found '${operator}', expected: in, notin, =, ==, !=, gt, lt`,
      );
  }
}

/** A value that may be empty: `a=` and `a=,b` are fine. */
function word(next: () => string, peek: () => string): string {
  const following = peek();
  if (following === "" || following === ",") return "";
  const found = next();
  if (/^[=!()<>]/.test(found)) throw new SyntaxError(`found '${found}', expected: identifier`);
  return found;
}

function parseValues(next: () => string, peek: () => string): string[] {
  const open = next();
  if (open !== "(") throw new SyntaxError(`found '${open}', expected: '('`);
  const values: string[] = [];
  for (;;) {
    const following = peek();
    // An empty place between marks is the empty value, as the server reads it.
    values.push(following === "," || following === ")" ? "" : next());
    const separator = next();
    if (separator === ")") return values;
    if (separator !== ",") {
      throw new SyntaxError(`found '${separator}', expected: ',' or ')'`);
    }
  }
}

function checkedKey(key: string): string {
  if (key === "" || /^[=!,()<>]/.test(key)) {
    throw new SyntaxError(`found '${key}', expected: !, identifier, or 'end of string'`);
  }
  if (!isLabelKey(key)) throw new SyntaxError(`key: Invalid value: "${key}": not a label key`);
  return key;
}

function checkedValue(key: string, value: string): string {
  if (!isLabelValue(value)) {
    throw new SyntaxError(`values[0][${key}]: Invalid value: "${value}": not a label value`);
  }
  return value;
}

/** True if `labels` meet all requirements. */
export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return selector.every((requirement) => matchesLabel(requirement, labels ?? {}));
}

function matchesLabel(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "=":
    case "in":
      return value !== undefined && values.includes(value);
    // A label that is absent is different from every value.
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case ">":
    case "<": {
      if (value === undefined || !/^-?\d+$/.test(value)) return false;
      const [bound] = values;
      if (bound === undefined) return false;
      return operator === ">" ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
    default:
      return operator satisfies never;
  }
}

/**
 * The string form of a selector, as it stands in a query.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(formatLabelSelector(parseLabelSelector("a in (y, x), !b")), "a in (x,y),!b");
 * ```
 */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector.map(({ key, operator, values }) => {
    switch (operator) {
      case "exists":
        return key;
      case "!":
        return `!${key}`;
      case "in":
      case "notin":
        return `${key} ${operator} (${[...values].sort().join(",")})`;
      default:
        return `${key}${operator}${values[0] ?? ""}`;
    }
  }).join(",");
}

/**
 * The requirements of an API `LabelSelector`. An empty one selects everything, an absent one
 * (`undefined`) nothing, which is said by `undefined`.
 *
 * @throws {SyntaxError} If it holds an unknown operator.
 */
export function requirementsOf(
  selector: LabelSelectorObject | undefined,
): LabelSelector | undefined {
  if (selector === undefined) return undefined;
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
    ({ key, operator: "=", values: [value] }) as const
  );
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values }) => {
    const known = OPERATORS[operator];
    if (known === undefined) {
      throw new SyntaxError(`Cannot read selector operator "${operator}"`);
    }
    return { key, operator: known, values: values ?? [] };
  });
  return [...equal, ...expressions];
}

const OPERATORS: Readonly<Record<string, "in" | "notin" | "exists" | "!">> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

/**
 * Reads a field selector: `metadata.name=a,status.phase!=Running`. A backslash takes the next
 * character (`,`, `=` or `\`) literally.
 *
 * @throws {SyntaxError} With the API server's wording, if `text` is none.
 */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.length > SELECTOR_MAX_CHARS) {
    throw new SyntaxError(`Cannot parse a selector of ${text.length} characters: over the limit`);
  }
  return splitUnescaped(text).filter((part) => part !== "").map((part) => {
    const operator = /^((?:[^\\=!]|\\.|!(?!=))*)(==|!=|=)(.*)$/s.exec(part);
    if (operator === null) {
      throw new SyntaxError(`invalid selector: '${text}'; can't understand '${part}'`);
    }
    const [, field = "", mark = "", value = ""] = operator;
    return { field, operator: mark === "!=" ? "!=" : "=", value: unescaped(value) };
  });
}

function splitUnescaped(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "\\") part += char + (text[++at] ?? "");
    else if (char === ",") {
      parts.push(part);
      part = "";
    } else part += char;
  }
  return [...parts, part];
}

function unescaped(value: string): string {
  return value.replaceAll(/\\([\\,=])/g, "$1");
}

/** True if the fields that `fieldOf` gives meet all requirements; an absent field is `""`. */
export function matchesFields(
  selector: FieldSelector,
  fieldOf: (field: string) => string,
): boolean {
  return selector.every(({ field, operator, value }) =>
    (fieldOf(field) === value) === (operator === "=")
  );
}

/** The string form of a field selector, with what must be escaped escaped. */
export function formatFieldSelector(selector: FieldSelector): string {
  return selector.map(({ field, operator, value }) =>
    `${field}${operator}${value.replaceAll(/[\\,=]/g, "\\$&")}`
  ).join(",");
}

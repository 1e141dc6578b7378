/**
 * The part of JSONPath that printer columns of custom resources use: members, indices, wildcards and
 * filters that compare with a literal.
 *
 * @module
 */

import { isJsonObject, type Json, jsonEqual } from "../core/json.ts";

/** One step of a path. */
type Step =
  | { readonly type: "member"; readonly name: string }
  | { readonly type: "index"; readonly index: number }
  | { readonly type: "all" }
  | {
    readonly type: "filter";
    readonly path: readonly Step[];
    readonly operator: string;
    readonly value: Json;
  };

/**
 * All values at `path` (such as `.status.conditions[?(@.type=="Ready")].status`) in `value`.
 *
 * @throws {SyntaxError} If `path` is none that is understood.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(jsonPath({ a: [{ b: 1 }, { b: 2 }] }, ".a[*].b"), [1, 2]);
 * deepStrictEqual(jsonPath({ a: [{ t: "x", v: 7 }] }, '.a[?(@.t=="x")].v'), [7]);
 * ```
 */
export function jsonPath(value: Json, path: string): Json[] {
  return take([value], stepsOf(path));
}

function take(values: Json[], steps: readonly Step[]): Json[] {
  let found = values;
  for (const step of steps) found = found.flatMap((value) => taken(value, step));
  return found;
}

function taken(value: Json, step: Step): Json[] {
  switch (step.type) {
    case "member": {
      const member = isJsonObject(value) && Object.hasOwn(value, step.name)
        ? value[step.name]
        : undefined;
      return member === undefined ? [] : [member];
    }
    case "index": {
      const item = Array.isArray(value) ? value.at(step.index) : undefined;
      return item === undefined ? [] : [item];
    }
    case "all":
      return Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
    case "filter":
      return Array.isArray(value) ? value.filter((item) => holds(item, step)) : [];
    default:
      return step satisfies never;
  }
}

function holds(item: Json, filter: Extract<Step, { type: "filter" }>): boolean {
  const found = take([item], filter.path);
  const [first] = found;
  switch (filter.operator) {
    case "":
      return found.length > 0;
    case "==":
      return first !== undefined && jsonEqual(first, filter.value);
    case "!=":
      return first === undefined || !jsonEqual(first, filter.value);
    default: {
      if (typeof first !== "number" || typeof filter.value !== "number") return false;
      if (filter.operator === "<") return first < filter.value;
      if (filter.operator === "<=") return first <= filter.value;
      return filter.operator === ">" ? first > filter.value : first >= filter.value;
    }
  }
}

const parsedPaths = new Map<string, readonly Step[]>();
/** Paths come from definitions, of which there are few; the limit is against misuse. */
const PARSED_PATHS_MAX = 10_000;

function stepsOf(path: string): readonly Step[] {
  let steps = parsedPaths.get(path);
  if (steps === undefined) {
    steps = parsePath(path);
    if (parsedPaths.size < PARSED_PATHS_MAX) parsedPaths.set(path, steps);
  }
  return steps;
}

const MEMBER = /^\.?((?:[^.[\]\\]|\\.)+)/;
const QUOTED = /^\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/;
const INDEX = /^\[(-?\d+)\]/;
const ALL = /^\.?\[?\*\]?/;
const FILTER = /^\[\?\(\s*@((?:\.[^=!<>)\s]+)+)\s*(?:(==|!=|<=|>=|<|>)\s*([^)]*?))?\s*\)\]/;

function parsePath(path: string): Step[] {
  const steps: Step[] = [];
  let rest = path.trim().replace(/^\{(.*)\}$/s, "$1").replace(/^\$/, "");
  while (rest !== "" && rest !== ".") {
    const [step, length] = nextStep(rest, path);
    steps.push(step);
    rest = rest.slice(length);
  }
  return steps;
}

function nextStep(rest: string, path: string): [Step, number] {
  const filter = FILTER.exec(rest);
  if (filter !== null) {
    const [text, inner = "", operator = "", literal = ""] = filter;
    const value = operator === "" ? null : literalOf(literal, path);
    return [{ type: "filter", path: parsePath(inner), operator, value }, text.length];
  }
  const quoted = QUOTED.exec(rest);
  if (quoted !== null) {
    const name = (quoted[1] ?? quoted[2] ?? "").replaceAll(/\\(.)/g, "$1");
    return [{ type: "member", name }, quoted[0].length];
  }
  const index = INDEX.exec(rest);
  if (index !== null) return [{ type: "index", index: Number(index[1]) }, index[0].length];
  const all = ALL.exec(rest);
  if (all !== null && all[0].includes("*")) return [{ type: "all" }, all[0].length];
  const member = MEMBER.exec(rest);
  if (member === null) throw new SyntaxError(`Cannot parse JSONPath "${path}" at "${rest}"`);
  const name = (member[1] ?? "").replaceAll(/\\(.)/g, "$1");
  return [{ type: "member", name }, member[0].length];
}

function literalOf(text: string, path: string): Json {
  const quoted = /^'(.*)'$/s.exec(text);
  try {
    return JSON.parse(quoted === null ? text : JSON.stringify(quoted[1]));
  } catch (cause) {
    throw new SyntaxError(`Cannot parse JSONPath "${path}": "${text}" is no literal`, { cause });
  }
}

/**
 * The door to the CEL library, with the extension functions of Kubernetes that it allows to add.
 *
 * `@marcbachmann/cel-js` was chosen over `@bufbuild/cel` by test: it checks types against declared
 * ones before anything runs, so that a rule with an unknown function, variable or field is refused
 * when the CustomResourceDefinition is created, as the API server does; the other one plans
 * `self.nope()` without complaint and fails when an object comes. It has no dependencies and
 * evaluates synchronously, which simulated time needs.
 *
 * Not provided, hence refused at creation: `quantity`, `ip`, `cidr`, `format`, `semver`, `sets`,
 * `math`, two-variable comprehensions, and `optMap`.
 *
 * @module
 */

import { Environment, Optional } from "@marcbachmann/cel-js";
import { goPattern } from "./go_pattern.ts";

export { type Environment, Optional };

/** A parsed and checked expression. */
export type CelProgram = (context: Record<string, unknown>) => unknown;

/** Times that CEL knows apart from strings. */
export const CEL_TIMESTAMP = "google.protobuf.Timestamp";
/** Durations that CEL knows apart from strings. */
export const CEL_DURATION = "google.protobuf.Duration";

/** An environment with Kubernetes' functions and no variables. */
export function kubernetesEnvironment(): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
  });
  addListFunctions(environment);
  addStringFunctions(environment);
  addUrlFunctions(environment);
  return environment;
}

const COMPARABLE = ["int", "double", "string"] as const;

function addListFunctions(environment: Environment): void {
  for (const type of COMPARABLE) {
    environment
      .registerFunction(`list<${type}>.isSorted(): bool`, isSorted)
      .registerFunction(`list<${type}>.min(): ${type}`, (list: unknown) => extreme(list, -1))
      .registerFunction(`list<${type}>.max(): ${type}`, (list: unknown) => extreme(list, 1))
      .registerFunction(`list<${type}>.indexOf(${type}): int`, indexOf)
      .registerFunction(`list<${type}>.lastIndexOf(${type}): int`, lastIndexOf);
  }
  environment
    .registerFunction(
      "list<int>.sum(): int",
      (list: unknown) =>
        itemsOf(list).reduce<bigint>((sum, item) => sum + BigInt(String(item)), 0n),
    )
    .registerFunction(
      "list<double>.sum(): double",
      (list: unknown) => itemsOf(list).reduce<number>((sum, item) => sum + Number(item), 0),
    );
}

function addStringFunctions(environment: Environment): void {
  environment
    .registerFunction(
      "string.replace(string, string): string",
      (text: string, from: string, to: string) => text.replaceAll(from, () => to),
    )
    .registerFunction("string.replace(string, string, int): string", replaceFirst)
    .registerFunction("string.reverse(): string", (text: string) => [...text].reverse().join(""))
    .registerFunction("string.charAt(int): string", (text: string, index: bigint) => {
      if (index < 0n || index > BigInt([...text].length)) {
        throw new RangeError(`index out of range: ${index}`);
      }
      return [...text][Number(index)] ?? "";
    })
    .registerFunction(
      "string.find(string): string",
      (text: string, pattern: string) => goPattern(pattern).exec(text)?.[0] ?? "",
    )
    .registerFunction(
      "string.findAll(string): list<string>",
      (text: string, pattern: string) => findAll(text, pattern, -1n),
    )
    .registerFunction("string.findAll(string, int): list<string>", findAll);
}

function addUrlFunctions(environment: Environment): void {
  environment
    .registerType("kubernetes.URL", { ctor: URL, fields: {} })
    .registerFunction("isURL(string): bool", (text: string) => parseUrl(text) !== undefined)
    .registerFunction("url(string): kubernetes.URL", (text: string) => {
      const url = parseUrl(text);
      if (url === undefined) throw new TypeError(`URL parse error during conversion: ${text}`);
      return url;
    })
    .registerFunction(
      "kubernetes.URL.getScheme(): string",
      (url: URL) => isRelative(url) ? "" : url.protocol.replace(/:$/, ""),
    )
    .registerFunction(
      "kubernetes.URL.getHost(): string",
      (url: URL) => isRelative(url) ? "" : url.host,
    )
    .registerFunction(
      "kubernetes.URL.getHostname(): string",
      (url: URL) => isRelative(url) ? "" : url.hostname.replace(/^\[(.*)\]$/, "$1"),
    )
    .registerFunction("kubernetes.URL.getPort(): string", (url: URL) => url.port)
    .registerFunction("kubernetes.URL.getEscapedPath(): string", (url: URL) => url.pathname);
}

/** Stands for the missing host of a path, which Kubernetes takes as a URL too. */
const NO_HOST = "relative.invalid";

function parseUrl(text: string): URL | undefined {
  if (text.startsWith("/")) return new URL(text, `http://${NO_HOST}`);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}

function isRelative(url: URL): boolean {
  return url.hostname === NO_HOST;
}

function itemsOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list : list instanceof Set ? [...list] : [];
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return Number(a) - Number(b);
}

function isSorted(list: unknown): boolean {
  const items = itemsOf(list);
  return items.every((item, index) => index === 0 || compare(items[index - 1], item) <= 0);
}

function extreme(list: unknown, sign: 1 | -1): unknown {
  const items = itemsOf(list);
  if (items.length === 0) throw new TypeError("min and max called on empty list");
  return items.reduce((best, item) => compare(item, best) * sign > 0 ? item : best);
}

function indexOf(list: unknown, wanted: unknown): bigint {
  return BigInt(itemsOf(list).indexOf(wanted));
}

function lastIndexOf(list: unknown, wanted: unknown): bigint {
  return BigInt(itemsOf(list).lastIndexOf(wanted));
}

function replaceFirst(text: string, from: string, to: string, limit: bigint): string {
  if (limit < 0n) return text.replaceAll(from, () => to);
  let left = limit;
  return text.replaceAll(from, () => left-- > 0n ? to : from);
}

function findAll(text: string, pattern: string, limit: bigint): string[] {
  const expression = goPattern(pattern);
  const all = [...text.matchAll(new RegExp(expression.source, `${expression.flags}g`))]
    .map((match) => match[0]);
  return limit < 0n ? all : all.slice(0, Number(limit));
}

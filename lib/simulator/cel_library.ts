/**
 * The door to the CEL library, with the extension functions of Kubernetes that it allows to add.
 *
 * `@marcbachmann/cel-js` was chosen over `@bufbuild/cel` by test: it checks types against declared
 * ones before anything runs, so that a rule with an unknown function, variable or field is refused
 * when the CustomResourceDefinition is created, as the API server does; the other one plans
 * `self.nope()` without complaint and fails when an object comes. It has no dependencies and
 * evaluates synchronously, which simulated time needs.
 *
 * Not provided, hence refused at creation: `ip`, `cidr`, `format`, `semver`, `sets`,
 * `math`, two-variable comprehensions, and `optMap`.
 *
 * @module
 */

import { Environment, Optional } from "@marcbachmann/cel-js";
import { quantityNanos } from "../core/quantity.ts";
import { goPattern } from "./go_pattern.ts";

export { Optional };

/** A parsed and checked expression. */
export type CelProgram = (context: Record<string, unknown>) => unknown;

/** What checking an expression finds. */
export interface CelCheck {
  readonly valid: boolean;
  /** Type of its value, if it is valid. */
  readonly type?: string;
  /** What is wrong with it, and where. */
  readonly error?: { readonly message: string; readonly range?: { readonly start: number } };
}

/** As much of the library's environment as is used here: its own types let `any` through. */
export interface CelEnvironment {
  registerVariable(name: string, type: string): CelEnvironment;
  registerType(
    name: string,
    definition: { ctor: new () => object; fields: Record<string, string> },
  ): CelEnvironment;
  registerOperator(signature: string, handler: () => boolean): CelEnvironment;
  /** Checks types; runs nothing. */
  check(text: string): CelCheck;
  /** Parses; throws if the text is no expression. */
  parse(text: string): CelProgram;
}

/** Times that CEL knows apart from strings. */
export const CEL_TIMESTAMP = "google.protobuf.Timestamp";
/** Durations that CEL knows apart from strings. */
export const CEL_DURATION = "google.protobuf.Duration";

/** An environment with Kubernetes' functions and no variables. */
export function kubernetesEnvironment(): CelEnvironment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
  });
  addListFunctions(environment);
  addStringFunctions(environment);
  addUrlFunctions(environment);
  addQuantityFunctions(environment);
  environment
    .registerFunction(`timestamp(${CEL_TIMESTAMP}): ${CEL_TIMESTAMP}`, (time: unknown) => time)
    .registerFunction(`duration(${CEL_DURATION}): ${CEL_DURATION}`, (span: unknown) => span);
  return environment;
}

/** Types whose lists can be ordered. */
const COMPARABLE = ["int", "double", "string"] as const;

/** Kubernetes' functions on lists. */
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

/** Functions on strings that Kubernetes has and the library lacks. Patterns are Go's. */
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

/** URLs, as a type of their own. */
function addUrlFunctions(environment: Environment): void {
  environment
    .registerType("kubernetes.URL", { ctor: KubernetesUrl, fields: {} })
    .registerFunction("isURL(string): bool", (text: string) => KubernetesUrl.canParse(text))
    .registerFunction("url(string): kubernetes.URL", (text: string) => new KubernetesUrl(text))
    .registerFunction("kubernetes.URL.getScheme(): string", (url: KubernetesUrl) => url.scheme)
    .registerFunction("kubernetes.URL.getHost(): string", (url: KubernetesUrl) => url.host)
    .registerFunction("kubernetes.URL.getHostname(): string", (url: KubernetesUrl) => url.hostname)
    .registerFunction("kubernetes.URL.getPort(): string", (url: KubernetesUrl) => url.port)
    .registerFunction("kubernetes.URL.getEscapedPath(): string", (url: KubernetesUrl) => url.path)
    .registerFunction(
      "kubernetes.URL.getQuery(): map<string, list<string>>",
      ({ query }: KubernetesUrl) => {
        const names = [...new Set(query.keys())];
        return Object.fromEntries(names.map((name) => [name, query.getAll(name)]));
      },
    );
}

/**
 * An absolute URL or an absolute path. The standard `URL` would drop ports that are the default.
 */
class KubernetesUrl {
  static readonly #FORM =
    /^(?:([a-z][a-z0-9+.-]*):\/\/(?:[^@/?#]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d*))?)?(\/[^?#]*)?(?:\?([^#]*))?/i;

  readonly scheme: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly query: URLSearchParams;

  constructor(text: string) {
    const parts = KubernetesUrl.canParse(text) ? KubernetesUrl.#FORM.exec(text) : null;
    if (parts === null) throw new TypeError(`URL parse error during conversion: ${text}`);
    const [, scheme = "", hostname = "", port = "", path = "", query = ""] = parts;
    this.scheme = scheme;
    this.hostname = hostname.replace(/^\[(.*)\]$/, "$1");
    this.port = port;
    this.path = path;
    this.query = new URLSearchParams(query);
  }

  /** True if `text` is a URL to Kubernetes. */
  static canParse(text: string): boolean {
    return text.startsWith("/")
      ? URL.canParse(text, "http://host")
      : /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text);
  }

  /** Name and port, as they stand in the URL. */
  get host(): string {
    const name = this.hostname.includes(":") ? `[${this.hostname}]` : this.hostname;
    return this.port === "" ? name : `${name}:${this.port}`;
  }
}

/** Quantities, as a type of their own: `quantity("1Gi").isGreaterThan(quantity("1G"))`. */
function addQuantityFunctions(environment: Environment): void {
  environment
    .registerType("kubernetes.Quantity", { ctor: KubernetesQuantity, fields: {} })
    .registerFunction(
      "isQuantity(string): bool",
      (text: string) => quantityNanos(text) !== undefined,
    )
    .registerFunction("quantity(string): kubernetes.Quantity", (text: string) => {
      const nanos = quantityNanos(text);
      if (nanos === undefined) throw new TypeError(`quantity parse error: ${text}`);
      return new KubernetesQuantity(nanos);
    });
  const method = (signature: string, handler: (...operands: bigint[]) => unknown) => {
    environment.registerFunction(
      `kubernetes.Quantity.${signature}`,
      (...operands: (KubernetesQuantity | bigint)[]) =>
        // The language's integers stand for whole units beside quantities.
        handler(...operands.map((each) => typeof each === "bigint" ? each * NANO : each.nanos)),
    );
  };
  const compared = (a: bigint, b: bigint) => a < b ? -1n : a > b ? 1n : 0n;
  method("compareTo(kubernetes.Quantity): int", (a = 0n, b = 0n) => compared(a, b));
  method("isLessThan(kubernetes.Quantity): bool", (a = 0n, b = 0n) => a < b);
  method("isGreaterThan(kubernetes.Quantity): bool", (a = 0n, b = 0n) => a > b);
  method("isInteger(): bool", (a = 0n) => a % NANO === 0n);
  method("asInteger(): int", (a = 0n) => {
    if (a % NANO !== 0n) throw new RangeError("cannot convert value to integer");
    return a / NANO;
  });
  method("asApproximateFloat(): double", (a = 0n) => Number(a) / Number(NANO));
  for (const operand of ["kubernetes.Quantity", "int"]) {
    method(
      `add(${operand}): kubernetes.Quantity`,
      (a = 0n, b = 0n) => new KubernetesQuantity(a + b),
    );
    method(
      `sub(${operand}): kubernetes.Quantity`,
      (a = 0n, b = 0n) => new KubernetesQuantity(a - b),
    );
  }
  // A function and no method, unlike the others: so it is in Kubernetes.
  environment.registerFunction(
    "sign(kubernetes.Quantity): int",
    ({ nanos }: KubernetesQuantity) => compared(nanos, 0n),
  );
  environment.registerOperator(
    "kubernetes.Quantity == kubernetes.Quantity",
    (a: KubernetesQuantity, b: KubernetesQuantity) => a.nanos === b.nanos,
  );
}

/** A quantity as CEL holds it. */
class KubernetesQuantity {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** Billionths in a unit. */
const NANO = 1_000_000_000n;

/** The items of a CEL list, which the library hands over as an array or, for literals, a set. */
function itemsOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list : list instanceof Set ? [...list] : [];
}

/** Orders two values of one comparable type; strings by code unit. */
function compare(a: unknown, b: unknown): number {
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return Number(a) - Number(b);
}

/** True if no item is greater than the next. */
function isSorted(list: unknown): boolean {
  const items = itemsOf(list);
  return items.every((item, index) => index === 0 || compare(items[index - 1], item) <= 0);
}

/** The greatest item, or with -1 the least. */
function extreme(list: unknown, sign: 1 | -1): unknown {
  const items = itemsOf(list);
  if (items.length === 0) throw new TypeError("min and max called on empty list");
  return items.reduce((best, item) => compare(item, best) * sign > 0 ? item : best);
}

/** Index of the first such item; -1 if there is none. CEL's integers are BigInts. */
function indexOf(list: unknown, wanted: unknown): bigint {
  return BigInt(itemsOf(list).indexOf(wanted));
}

/** Index of the last such item; -1 if there is none. */
function lastIndexOf(list: unknown, wanted: unknown): bigint {
  return BigInt(itemsOf(list).lastIndexOf(wanted));
}

/** Replaces the first `limit` occurrences; all if it is negative. */
function replaceFirst(text: string, from: string, to: string, limit: bigint): string {
  if (limit < 0n) return text.replaceAll(from, () => to);
  let left = limit;
  return text.replaceAll(from, () => left-- > 0n ? to : from);
}

/** The first `limit` matches; all if it is negative. */
function findAll(text: string, pattern: string, limit: bigint): string[] {
  const expression = goPattern(pattern);
  const all = [...text.matchAll(new RegExp(expression.source, `${expression.flags}g`))]
    .map((match) => match[0]);
  return limit < 0n ? all : all.slice(0, Number(limit));
}

/**
 * Flags, from words to checked values: the door to `@std/cli/parse-args`.
 *
 * That parser takes everything: a flag that it does not know becomes a property, a missing value an
 * empty text. Here a command declares its flags once; the same list makes its help; and whatever is
 * not declared, or has no value, is a {@linkcode UsageError} that says what was meant, perhaps.
 *
 * @module
 */

// @ts-types="./std_parse_args.d.ts"
import { parseArgs } from "@std/cli/parse-args";
// @ts-types="./std_levenshtein.d.ts"
import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** The command line makes no sense: exit code 2. The message is one sentence for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One flag of a command. */
export interface FlagDefinition {
  /** `switch`: given or not. `text`: takes a value, the last one counts. `list`: takes several. */
  readonly type: "switch" | "text" | "list";
  /** Other names; one letter is given with one dash. */
  readonly aliases?: readonly string[];
  /** What stands for the value in the help. */
  readonly value?: string;
  /** One sentence for the help, without its full stop. */
  readonly help: string;
}

/** The flags of a command, by name without dashes. */
export type FlagDefinitions = Readonly<Record<string, FlagDefinition>>;

/** What was given on the command line. */
export interface Flags {
  /** True if the switch was given. */
  isSet(name: string): boolean;
  /** The value of a text flag; `undefined` if it was not given. */
  text(name: string): string | undefined;
  /** All values of a list flag, split at commas too. */
  list(name: string): readonly string[];
  /** Words that are no flags. */
  readonly words: readonly string[];
}

/**
 * Parses `args` by `definitions`.
 *
 * @throws {UsageError} For an unknown flag and for one without its value.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const flags = parseFlags(["--namespace", "a,b", "-n=c", "crd"], {
 *   namespace: { type: "list", aliases: ["n"], help: "Where" },
 * });
 * deepStrictEqual([flags.list("namespace"), flags.words], [["a", "b", "c"], ["crd"]]);
 * ```
 */
export function parseFlags(args: readonly string[], definitions: FlagDefinitions): Flags {
  const namesOf = (...types: readonly FlagDefinition["type"][]) =>
    Object.keys(definitions).filter((name) => {
      const definition = definitions[name];
      return definition !== undefined && types.includes(definition.type);
    });
  const aliases = Object.entries(definitions).map(([name, { aliases = [] }]) => [name, aliases]);
  const parsed = parseArgs(args, {
    boolean: namesOf("switch"),
    string: [...namesOf("text", "list"), "_"],
    collect: namesOf("text", "list"),
    alias: Object.fromEntries(aliases),
    unknown: (word, key) => key === undefined ? true : refuse(word, definitions),
  });

  const values = (name: string): readonly string[] => {
    const given = parsed[name];
    return Array.isArray(given) ? given.map(String) : [];
  };
  for (const name of namesOf("text", "list")) {
    if (values(name).includes("")) throw new UsageError(`Flag --${name} needs a value`);
  }
  for (const name of namesOf("list")) {
    // A list of nothing but commas is a template that was not filled in. An empty list would mean
    // what the flag's absence means, often far more than what was asked for.
    if (values(name).some((value) => partsOf(value).length === 0)) {
      throw new UsageError(`Flag --${name} needs a value`);
    }
  }
  return {
    isSet: (name) => parsed[name] === true,
    text: (name) => values(name).at(-1),
    list: (name) => values(name).flatMap(partsOf),
    words: parsed._.map(String),
  };
}

function partsOf(value: string): string[] {
  return value.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

function refuse(word: string, definitions: FlagDefinitions): never {
  const flag = word.split("=", 1)[0] ?? word;
  const known = Object.entries(definitions).flatMap(([name, { aliases = [] }]) => [
    ...[name, ...aliases].map(dashed),
  ]);
  throw new UsageError(`Unknown flag ${flag}${suggestion(flag, known)}`);
}

/** `--name`, or `-n` for one letter. */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

/** `: did you mean "x"?`, if one of `known` is near enough to what was given, else nothing. */
export function suggestion(given: string, known: readonly string[]): string {
  const near = known
    .map((word) => ({ word, distance: levenshteinDistance(given, word) }))
    .filter(({ word, distance }) => distance <= Math.max(2, Math.floor(word.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0];
  return near === undefined ? "" : `: did you mean ${near.word}?`;
}

/**
 * The value of `flag` as a whole number of at least `min`.
 *
 * @throws {UsageError} If it is none.
 */
export function wholeNumber(
  value: string,
  { flag, min, max }: { flag: string; min: number; max: number },
): number {
  const number = /^\d{1,10}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(
    `Invalid value "${value}" for --${flag}: give a whole number from ${min} to ${max}`,
  );
}

/**
 * The value of `flag` as one of `choices`.
 *
 * @throws {UsageError} If it is none of them.
 */
export function oneOf<Choice extends string>(
  value: string,
  { flag, choices }: { flag: string; choices: readonly Choice[] },
): Choice {
  const choice = choices.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw new UsageError(`Invalid value "${value}" for --${flag}: give ${choices.join(", ")}`);
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * The value of `flag` as a duration, in milliseconds, written as in other Kubernetes tools: `30s`,
 * `1h30m`, `500ms`, `0`.
 *
 * @throws {UsageError} If it is none.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(durationMs("1h30m", { flag: "resync" }), 5_400_000);
 * ```
 */
export function durationMs(value: string, { flag }: { flag: string }): number {
  if (value === "0") return 0;
  if (/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/.test(value)) {
    const parts = [...value.matchAll(/([\d.]+)(ms|s|m|h)/g)];
    return parts.reduce((sum, [, n, unit]) => sum + Number(n) * (UNITS_MS[unit ?? ""] ?? 0), 0);
  }
  throw new UsageError(
    `Invalid value "${value}" for --${flag}: give a duration such as 30s, 10m or 1h30m, or 0`,
  );
}

/**
 * Types of what `flags.ts` takes from `@std/cli/parse-args`, whose npm edition has none: without
 * these every flag would be `any`.
 *
 * @module
 */

/** Options of {@linkcode parseArgs}. */
export interface ParseOptions {
  boolean?: readonly string[];
  string?: readonly string[];
  collect?: readonly string[];
  alias?: Readonly<Record<string, readonly string[]>>;
  "--"?: boolean;
  /** Called for what no option declares; `false` leaves it out of the result. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
}

/** Parses `args`. */
export function parseArgs(
  args: readonly string[],
  options: ParseOptions,
): Record<string, unknown> & { _: (string | number)[] };

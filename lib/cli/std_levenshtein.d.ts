/**
 * Type of what `flags.ts` takes from `@std/text`, whose npm edition has none.
 *
 * @module
 */

/** How many letters must be added, dropped or replaced to make one of the other. */
export function levenshteinDistance(a: string, b: string): number;

/**
 * Types of the few functions that `yaml.ts` takes from `@std/yaml`, whose npm edition has none:
 * without these every parsed value would be `any`.
 *
 * @module
 */

/** Options of {@linkcode parseAll}. */
export interface ParseOptions {
  schema?: "core" | "default" | "extended" | "failsafe" | "json";
  allowDuplicateKeys?: boolean;
}

/** Options of {@linkcode stringify}. */
export interface StringifyOptions {
  schema?: "core" | "default" | "extended" | "failsafe" | "json";
  lineWidth?: number;
  sortKeys?: boolean;
  skipInvalid?: boolean;
  useAnchors?: boolean;
}

/** All documents of a stream. Throws a `YamlSyntaxError`. */
export function parseAll(content: string, options?: ParseOptions): unknown;
/** One document, with a newline at its end. Throws a `TypeError` on what YAML can't hold. */
export function stringify(data: unknown, options?: StringifyOptions): string;

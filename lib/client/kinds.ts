/**
 * Kinds: what a definition is, and those that API servers serve by default.
 *
 * The face of four files: `kind_definition.ts` is written by hand, the table, types and definitions
 * of built-in kinds are generated.
 *
 * @module
 */

export * from "./kind_definition.ts";
export * from "./builtin_kinds.ts";
export type * from "./builtin_types.ts";
export { isBuiltInKind } from "./builtin_registry.ts";

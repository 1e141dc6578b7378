/**
 * Makes definitions of rows of the table of built-in kinds.
 *
 * Apart from the generated files, so that those hold nothing but names.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import { type KubeObject, parseApiVersion } from "../core/objects.ts";
import { BUILT_IN_TABLE, type BuiltInRow } from "./builtin_table.ts";
import { defineKind, type KindDefinition } from "./kind_definition.ts";

const ROWS: ReadonlyMap<string, BuiltInRow> = new Map(
  BUILT_IN_TABLE.map((row) => [`${row[0]} ${row[1]}`, row]),
);

/** Kinds of the table, by `group/Kind`: strategic merge patches are for these. */
const KIND_NAMES: ReadonlySet<string> = new Set(
  BUILT_IN_TABLE.map(([apiVersion, kind]) => `${parseApiVersion(apiVersion).group}/${kind}`),
);

/** True if `kind` is one of the API server's own, whatever its version. */
export function isBuiltInKind({ group, kind }: { group: string; kind: string }): boolean {
  return KIND_NAMES.has(`${group}/${kind}`);
}

/** A way to define built-in kinds by name, and the list of those that were defined. */
export function builtInKinds(): {
  define<T extends KubeObject>(apiVersion: string, kind: string): KindDefinition<T>;
  readonly all: readonly KindDefinition<KubeObject>[];
} {
  const all: KindDefinition<KubeObject>[] = [];
  return {
    all,
    define<T extends KubeObject>(apiVersion: string, kind: string) {
      const row = ROWS.get(`${apiVersion} ${kind}`);
      assert(row !== undefined, `${apiVersion} ${kind} is in the table of built-in kinds`);
      const [, , plural, scope, subresources] = row;
      const definition = defineKind<T>({
        ...parseApiVersion(apiVersion),
        kind,
        plural,
        scope,
        subresources: subresources === "" ? [] : subresources.split(" "),
        isBuiltIn: true,
      });
      all.push(definition);
      return definition;
    },
  };
}

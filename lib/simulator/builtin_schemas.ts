/**
 * Schemas of built-in kinds, for unknown fields, field ownership and strategic merge patches.
 *
 * @module
 */

import { isJsonObject, type JsonObject, memberOf } from "../core/json.ts";
import type { GroupVersionKind } from "../core/objects.ts";
import { builtinStructure } from "./builtin_data.ts";
import { SchemaNode } from "./schema_node.ts";
import { StructuralSchema } from "./structural_schema.ts";

/** Before the name of a schema in a reference. */
export const REF_PREFIX = "#/components/schemas/";

const compiled = new Map<string, StructuralSchema>();
let namesByKind: Map<string, string> | undefined;

/**
 * The schema of a built-in kind; `undefined` if there is none.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const deployments = builtinSchema({ group: "apps", version: "v1", kind: "Deployment" });
 * deepStrictEqual(deployments?.unknownFields({ spec: { replica: 1 } }), ["spec.replica"]);
 * ```
 */
export function builtinSchema(gvk: GroupVersionKind): StructuralSchema | undefined {
  const name = builtinSchemaName(gvk);
  if (name === undefined) return undefined;
  let schema = compiled.get(name);
  if (schema === undefined) {
    schema = StructuralSchema.ofBuiltin(
      SchemaNode.of({ $ref: `${REF_PREFIX}${name}` }, resolveRef),
    );
    compiled.set(name, schema);
  }
  return schema;
}

/** Full name of the schema of a built-in kind, e.g. `io.k8s.api.apps.v1.Deployment`. */
export function builtinSchemaName(gvk: GroupVersionKind): string | undefined {
  namesByKind ??= indexNames();
  return namesByKind.get(keyOf(gvk.group, gvk.version, gvk.kind));
}

function keyOf(group: unknown, version: unknown, kind: unknown): string {
  return `${String(group)}/${String(version)}/${String(kind)}`;
}

function indexNames(): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(builtinStructure())) {
    const kinds = isJsonObject(schema) ? schema["x-kubernetes-group-version-kind"] : undefined;
    for (const gvk of Array.isArray(kinds) ? kinds.filter(isJsonObject) : []) {
      names.set(keyOf(gvk["group"], gvk["version"], gvk["kind"]), name);
    }
  }
  return names;
}

function resolveRef(ref: string): JsonObject {
  const schema = memberOf(builtinStructure(), ref.slice(REF_PREFIX.length));
  if (!isJsonObject(schema)) throw new SyntaxError(`Cannot follow "${ref}": no such schema`);
  return schema;
}

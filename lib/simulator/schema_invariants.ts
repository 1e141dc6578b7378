/**
 * Two checks of custom resources that OpenAPI can't say: items of `set` and `map` lists are unique,
 * and embedded objects are named like objects.
 *
 * @module
 */

import { isJsonObject, type Json, jsonEqual, memberOf } from "../core/json.ts";
import { type FieldError, invalidField, requiredField } from "./field_errors.ts";
import { itemKey, keyFields } from "./list_keys.ts";
import type { SchemaNode } from "./schema_node.ts";
import { oldItemsByKey } from "./schema_validate.ts";

const KIND = /^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/;
const KIND_RULE =
  "may have mixed case, but should otherwise match: a DNS-1035 label must consist " +
  "of lower case alphanumeric characters or '-', start with an alphabetic character, and end with " +
  "an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
  "'[a-z]([-a-z0-9]*[a-z0-9])?')";

/** Duplicates in `set` and `map` lists at any depth. Unchanged lists are not judged again. */
export function listErrors(
  value: Json,
  schema: SchemaNode,
  path: string,
  old: Json | undefined,
): FieldError[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  if (Array.isArray(value)) {
    const items = schema.items;
    const oldItems = oldItemsByKey(schema, old);
    return [
      ...duplicates(value, schema, path),
      ...(items === undefined ? [] : value.flatMap((item, index) =>
        listErrors(
          item,
          items,
          `${path}[${index}]`,
          oldItems?.get(itemKey(item, schema) ?? ""),
        )
      )),
    ];
  }
  if (!isJsonObject(value)) return [];
  return Object.keys(value).sort().flatMap((key) => {
    const member = schema.member(key);
    const item = memberOf(value, key);
    if (member === undefined || item === undefined) return [];
    const oldMember = isJsonObject(old) ? memberOf(old, key) : undefined;
    return listErrors(item, member, joined(path, key), oldMember);
  });
}

/** Told at the later one of two equal items; of a `map` list, only the key is shown. */
function duplicates(items: readonly Json[], schema: SchemaNode, path: string): FieldError[] {
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  items.forEach((item, index) => {
    const key = itemKey(item, schema);
    if (key === undefined) return;
    if (seen.has(key)) {
      const shown = schema.listType === "map" && isJsonObject(item)
        ? keyFields(item, schema)
        : item;
      errors.push({
        reason: "FieldValueDuplicate",
        field: `${path}[${index}]`,
        message: `Duplicate value: ${JSON.stringify(shown)}`,
      });
    }
    seen.add(key);
  });
  return errors;
}

/** Embedded objects without, or with malformed, `apiVersion` and `kind`. */
export function embeddedErrors(value: Json, schema: SchemaNode, path: string): FieldError[] {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return [];
    return value.flatMap((item, index) => embeddedErrors(item, items, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return [];
  const errors: FieldError[] = [];
  if (schema.isEmbeddedResource) {
    errors.push(
      ...apiVersionErrors(value["apiVersion"], `${path}.apiVersion`),
      ...kindErrors(value["kind"], `${path}.kind`),
    );
  }
  for (const key of Object.keys(value).sort()) {
    const member = schema.member(key);
    const item = memberOf(value, key);
    if (member === undefined || item === undefined) continue;
    errors.push(...embeddedErrors(item, member, joined(path, key)));
  }
  return errors;
}

/** An embedded object says its version, as one or two parts. */
function apiVersionErrors(apiVersion: Json | undefined, path: string): FieldError[] {
  if (typeof apiVersion !== "string" || apiVersion === "") return [requiredField(path)];
  if (apiVersion.split("/").length <= 2) return [];
  return [invalidField(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
}

/** An embedded object says its kind, in the form that all kinds have. */
function kindErrors(kind: Json | undefined, path: string): FieldError[] {
  if (typeof kind !== "string" || kind === "") return [requiredField(path)];
  return KIND.test(kind) ? [] : [invalidField(path, kind, KIND_RULE)];
}

/** The path of the member `name` of what is at `path`; the whole object has the empty path. */
function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

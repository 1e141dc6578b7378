/**
 * From a stored object to the form in which one version of one kind shows it, and back.
 *
 * @module
 */

import { deepFreeze } from "../core/objects.ts";
import type { JsonObject } from "../core/json.ts";
import { apiVersionOf } from "../core/objects.ts";
import { type ApiObject, jsonOfObject, objectOfJson } from "./api_object.ts";
import type { Resource } from "./resource_type.ts";

/** Results per stored object and served version: each is asked for by every watch and list. */
const presented = new WeakMap<object, Map<unknown, ApiObject>>();

/**
 * `stored` as `resource` shows it: its apiVersion and kind, converted, and for custom kinds pruned
 * and defaulted by the schema of now, which may be newer than the object. Frozen.
 */
export function present(stored: ApiObject, resource: Resource): ApiObject {
  let forms = presented.get(stored);
  if (forms === undefined) {
    forms = new Map();
    presented.set(stored, forms);
  }
  let form = forms.get(resource.version);
  if (form === undefined) {
    form = deepFreeze(made(stored, resource));
    forms.set(resource.version, form);
  }
  return form;
}

function made(stored: ApiObject, { type, version }: Resource): ApiObject {
  let object = jsonOfObject(stored);
  if (type.rules.fromStorage !== undefined) object = type.rules.fromStorage(object);
  const apiVersion = apiVersionOf({ group: type.group, version: version.name });
  if (object.apiVersion !== apiVersion || object.kind !== type.kind) {
    object = { ...object, apiVersion, kind: type.kind };
  }
  if (type.isCustom && version.schema !== undefined) {
    object = version.schema.applyDefaults(version.schema.prune(object));
  }
  return objectOfJson(object);
}

/** `object`, in the form of `resource`, in the form that is stored. */
export function toStored(object: JsonObject, { type }: Resource): ApiObject {
  if (type.rules.toStorage !== undefined) return objectOfJson(type.rules.toStorage(object));
  const apiVersion = apiVersionOf({ group: type.group, version: type.storageVersion });
  return objectOfJson(object.apiVersion === apiVersion ? object : { ...object, apiVersion });
}

const bares = new WeakMap<object, object>();

/** `object` without apiVersion and kind, as items of built-in lists are written. Frozen. */
export function bare(object: ApiObject): object {
  let found = bares.get(object);
  if (found === undefined) {
    const { apiVersion: _, kind: __, ...rest } = object;
    found = deepFreeze(rest);
    bares.set(object, found);
  }
  return found;
}

/**
 * What the server's own controllers share: they are told of changes, and write later, as background
 * work, never inside the write that they were told of.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { keyOf, type ObjectKey } from "../core/objects.ts";
import { isUnchanged } from "./admission.ts";
import { jsonOfObject, objectOfJson } from "./api_object.ts";
import type { ServerContext } from "./context.ts";
import type { StoredChange } from "./storage.ts";
import { isReadyToGo } from "./write.ts";

/** Something that reacts to changes. */
export interface ServerController {
  /** Is told of each change, inside its write: may only schedule work. */
  onChange(change: StoredChange): void;
}

/**
 * Changes a stored object in place, as a controller of the control plane does. An object that is
 * being deleted and waits for nothing more goes.
 *
 * @returns False if there is no such object or the change changes nothing.
 */
export function editStored(
  { storage }: Pick<ServerContext, "storage">,
  table: string,
  key: ObjectKey,
  edit: (object: JsonObject) => JsonObject,
): boolean {
  const existing = storage.find(table, key);
  if (existing === undefined) return false;
  const before = jsonOfObject(existing);
  const after = edit(before);
  if (isUnchanged(after, before)) return false;
  const object = objectOfJson(after);
  if (isReadyToGo(object)) storage.remove(table, keyOf(existing.metadata));
  else storage.replace(table, object);
  return true;
}

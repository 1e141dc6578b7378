/**
 * Which state of an object, or of a store, is the older one.
 *
 * The only place of the cache that orders versions, by the helper that may (KEP-5504). What can't be
 * ordered is never taken for older: then the server's order of telling has to do.
 *
 * @module
 */

import {
  compareResourceVersions,
  isOrderedVersion,
  keyOf,
  type KubeObject,
} from "../core/objects.ts";

/** What a transform must not change, as one text. */
export function identityOf({ metadata }: KubeObject): string {
  return `${keyOf(metadata)} ${metadata.uid} ${metadata.resourceVersion}`;
}

/** The same version of the same object. */
export function isUnchanged(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion &&
    a.metadata.uid === b.metadata.uid;
}

/** An older state of an object than another, if they can be ordered. */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  return isOlderVersion(a.metadata.resourceVersion, b.metadata.resourceVersion);
}

/** An object that is newer than a list, if they can be ordered. */
export function isNewerThan(object: KubeObject, resourceVersion: string): boolean {
  return isOlderVersion(resourceVersion, object.metadata.resourceVersion);
}

/** True if `a` is older than `b`; false too if they can't be ordered. */
export function isOlderVersion(a: string, b: string): boolean {
  return isOrderedVersion(a) && isOrderedVersion(b) && compareResourceVersions(a, b) < 0;
}

/**
 * A small kind for the tests of the cache, in the shape that a server sends.
 *
 * @module
 */

import type { KubeObject } from "../../lib/core/objects.ts";

export type Thing = KubeObject & { spec?: { note?: string; tags?: string[] } };

/** A Thing `default/<name>`; a version and a uid of its own unless given. */
export function thing(
  name: string,
  { version, uid = `uid-${name}`, namespace = "default", note, tags }: {
    version: number | string;
    uid?: string;
    namespace?: string;
    note?: string;
    tags?: string[];
  },
): Thing {
  return {
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: String(version),
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { ...(note === undefined ? {} : { note }), ...(tags === undefined ? {} : { tags }) },
  };
}

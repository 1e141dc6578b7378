/**
 * What the helpers for reconcilers need of a client, as small as they need it. A `ResourceClient` and
 * a `CachedResource` both fit; the second makes later reads see what was written.
 *
 * @module
 */

import type { Patch } from "../client/patch.ts";
import type { ObjectPlace } from "../client/resource_options.ts";
import type { Draft, KubeObject } from "../core/objects.ts";

/** Reads from the server. */
export interface LiveReads<T> {
  /** The object as the server has it now. */
  get(options: ObjectPlace & { readonly signal: AbortSignal }): Promise<T>;
}

/** A client that reads from the server, or has one beside itself that does. */
export type LiveReader<T> = LiveReads<T> | { readonly live: LiveReads<T> };

/** Changes a part of an object. */
export interface Patcher<T> {
  /** The object after the change. */
  patch(
    options: ObjectPlace & {
      readonly subresource?: string;
      readonly patch: Patch<KubeObject & { status?: object }>;
      readonly signal: AbortSignal;
    },
  ): Promise<T>;
}

/** Makes and deletes objects. */
export interface Maker<T extends KubeObject> {
  /** The object as it was made. Throws if there is one of its name. */
  create(draft: Draft<T>, options: { readonly signal: AbortSignal }): Promise<T>;
  /** Asks for the object's deletion, if it is still in this state. */
  delete(
    options: ObjectPlace & {
      readonly preconditions: { readonly uid: string; readonly resourceVersion: string };
      readonly propagationPolicy: "Background";
      readonly signal: AbortSignal;
    },
  ): Promise<void>;
}

/** The object as the server has it now. */
export function readLive<T>(
  client: LiveReader<T>,
  options: ObjectPlace & { readonly signal: AbortSignal },
): Promise<T> {
  return "live" in client ? client.live.get(options) : client.get(options);
}

/** Where `object` is. */
export function placeOf({ metadata: { name, namespace } }: KubeObject): ObjectPlace {
  return { name, ...(namespace === undefined ? {} : { namespace }) };
}

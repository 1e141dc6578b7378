/**
 * The verbs of a subresource: `scale`, `token`, `approval`, and those of one's own.
 *
 * A subresource has objects of a kind of its own, e.g. a Scale below a Deployment. For those that
 * show the object itself (`status`), `ResourceClient` has what it takes.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import type { KubeObject } from "../core/objects.ts";
import type { BuiltIn, KindDefinition } from "./kinds.ts";
import { type Patch, PATCH_CONTENT_TYPES } from "./patch.ts";
import type { GetOptions, ObjectPlace, WriteOptions } from "./resource_options.ts";
import { objectPath } from "./resource_path.ts";
import { writeQuery } from "./resource_query.ts";
import type { RestClient, RestRequest } from "./rest.ts";
import { parseUnnamed } from "./wire_objects.ts";

/** `autoscaling/v1` Scale: the size of a workload, whatever its kind. */
export type Scale = BuiltIn<"V1Scale">;

/** `authentication.k8s.io/v1` TokenRequest, of ServiceAccounts' subresource `token`. */
export type TokenRequest = BuiltIn<"AuthenticationV1TokenRequest">;

/**
 * The verbs of one subresource of one kind. Made by `Client.subresource` and `Client.scale`.
 *
 * @typeParam S What its objects are. The server's answers are not checked against it.
 */
export class SubresourceClient<S extends KubeObject> {
  readonly #rest: RestClient;
  readonly #kind: KindDefinition<KubeObject>;
  readonly #name: string;

  /** Only stores. */
  constructor(rest: RestClient, kind: KindDefinition<KubeObject>, name: string) {
    this.#rest = rest;
    this.#kind = kind;
    this.#name = name;
  }

  /** The subresource of one object. */
  async get({ resourceVersion, signal, ...place }: GetOptions): Promise<S> {
    return await this.#send(place, {
      verb: "get",
      method: "GET",
      query: { resourceVersion },
      signal,
    });
  }

  /** Sends `body` to a subresource that does something: a TokenRequest, a Binding. */
  async create(body: object, options: ObjectPlace & WriteOptions): Promise<S> {
    return await this.#send(options, {
      verb: "create",
      method: "POST",
      query: writeQuery(options),
      body,
      signal: options.signal,
    });
  }

  /**
   * Replaces the subresource. Its object's `resourceVersion` is the precondition.
   *
   * @throws {ApiError} With `isConflict`, if the stored object has another version.
   */
  async update(object: S, options: WriteOptions): Promise<S> {
    const { name, namespace, resourceVersion } = object.metadata;
    assert(resourceVersion !== "", `What replaces "${this.#name}" has a resourceVersion`);
    return await this.#send({ name, ...(namespace !== undefined && { namespace }) }, {
      verb: "update",
      method: "PUT",
      query: writeQuery(options),
      body: object,
      signal: options.signal,
    });
  }

  /**
   * Changes a part of the subresource. The body of an apply must name the subresource's own
   * `apiVersion` and `kind`; the object's name is filled in.
   *
   * @throws {ApiError} With `isConflict`, if a precondition does not hold or, for apply, another
   * manager owns a field.
   * @throws {AssertionError} If the patch is strategic and the kind is not built in.
   */
  async patch(
    { patch, ...options }: ObjectPlace & WriteOptions & { readonly patch: Patch<S> },
  ): Promise<S> {
    assert(
      patch.type !== "strategic" || this.#kind.isBuiltIn,
      `A strategic merge patch is for a built-in kind, not ${this.#kind.gvk.kind}`,
    );
    const isApply = patch.type === "apply";
    const { name, namespace } = options;
    return await this.#send(options, {
      verb: isApply ? "apply" : "patch",
      method: "PATCH",
      query: {
        ...writeQuery(options),
        ...(isApply && { fieldManager: patch.fieldManager, force: patch.force }),
      },
      body: isApply
        ? { ...patch.body, metadata: { ...patch.body.metadata, name, namespace } }
        : patch.body,
      contentType: PATCH_CONTENT_TYPES[patch.type],
      signal: options.signal,
    });
  }

  async #send(
    { name, namespace }: ObjectPlace,
    request: Omit<RestRequest, "path">,
  ): Promise<S> {
    const path = objectPath(this.#kind, { name, namespace, subresource: this.#name });
    const value = await this.#rest.request({ ...request, path });
    // Some answer with a Status, which has no name.
    return parseUnnamed(value, this.#kind) as S;
  }
}

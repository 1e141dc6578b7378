/**
 * The verbs of one kind, typed.
 *
 * What they promise stands at {@linkcode ResourceClient}.
 *
 * @module
 */

import { assert, isExpired, ProtocolError } from "../core/errors.ts";
import { apiVersionOf, type Draft, type KubeObject } from "../core/objects.ts";
import type { ListResult, WatchEvent } from "../core/watch_event.ts";
import type { KindDefinition } from "./kinds.ts";
import { ndjson } from "./ndjson.ts";
import { type Patch, PATCH_CONTENT_TYPES } from "./patch.ts";
import {
  type CreateOptions,
  type DeleteCollectionOptions,
  type DeleteOptions,
  type GetOptions,
  type ListCallOptions,
  type ListOptions,
  type ListPageOptions,
  type ObjectPlace,
  type Selection,
  WATCH_INACTIVITY_MS,
  type WatchCallOptions,
  type WatchOptions,
  type WriteOptions,
} from "./resource_options.ts";
import { assertNamespace, collectionPath, objectPath } from "./resource_path.ts";
import { deleteBody, listQuery, selectionQuery, watchQuery, writeQuery } from "./resource_query.ts";
import type { RestClient, RestRequest } from "./rest.ts";
import {
  ACCEPT_METADATA,
  metadataOnly,
  parseList,
  parseObject,
  parseUnnamed,
  parseWatchEvent,
} from "./wire_objects.ts";

/** How often a list starts anew because its continue token expired, before it gives up. */
const LIST_RESTARTS_MAX = 1;

/**
 * The verbs of one kind. Made by `Client.resource`.
 *
 * Each method is one request (a list: one a page) and throws what `RestClient.request` throws;
 * nothing is retried beyond what a `RestClient` promises. Answers are plain JSON, as the server sent
 * it, and the caller's own: nothing is kept. A read-modify-write loses no field, known or not
 * (field case S4).
 *
 * Reads are consistent unless a `resourceVersion` is given: they are as new as every write that
 * ended before they began.
 *
 * @typeParam T What the objects are. The server's answers are not checked against it.
 *
 * @example Watching; the transport here stands for a server that tells of one ConfigMap
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { realClock } from "../core/clock.ts";
 * import { CONFIG_MAPS } from "./kinds.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const line = '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"8"}}}\n';
 * const transport = () => Promise.resolve(new Response(line));
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const rest = new RestClient({ transport, connection, clock: realClock });
 * const configMaps = new ResourceClient(rest, CONFIG_MAPS);
 *
 * const names = [];
 * const { signal } = new AbortController();
 * for await (const event of configMaps.watch({ resourceVersion: "7", signal })) {
 *   if (event.type === "ADDED") names.push(event.object.metadata.name);
 * }
 * deepStrictEqual(names, ["a"]);
 * ```
 */
export class ResourceClient<T extends KubeObject> {
  readonly #rest: RestClient;
  /** The kind that this client is for. */
  readonly kind: KindDefinition<T>;

  /** True if the server is asked for nothing but metadata; see `Client.metadata`. */
  readonly #isMetadataOnly: boolean;

  /** Only stores. */
  constructor(
    rest: RestClient,
    kind: KindDefinition<T>,
    { form = "Object" }: { form?: "Object" | "PartialObjectMetadata" } = {},
  ) {
    this.#rest = rest;
    this.kind = kind;
    this.#isMetadataOnly = form === "PartialObjectMetadata";
  }

  /**
   * The object. `resourceVersion: "0"` allows an old one from the server's cache.
   *
   * @throws {ApiError} With `isNotFound`, if there is none.
   */
  async get({ name, namespace, resourceVersion, signal }: GetOptions): Promise<T> {
    return await this.#object({
      verb: "get",
      method: "GET",
      path: objectPath(this.kind, { name, namespace }),
      query: { resourceVersion },
      signal,
    });
  }

  /**
   * All objects that match, of one version, read page by page. If the server forgets that version
   * between two pages, the list starts anew, once.
   *
   * With `resourceVersion: "0"` most servers ignore the page size and answer from their cache.
   *
   * @throws {ApiError} With `isExpired`, if the version was forgotten again.
   * @throws {ProtocolError} If an answer is no page, or leads back to itself.
   */
  async list(options: ListOptions): Promise<ListResult<T>> {
    let restarts = 0;
    let page = await this.listPage(options);
    let items = page.items;
    while (page.continue !== undefined) {
      try {
        page = await this.#nextPage(options, page.continue);
        for (const item of page.items) items.push(item);
      } catch (error) {
        if (!isExpired(error) || restarts >= LIST_RESTARTS_MAX) throw error;
        restarts++;
        page = await this.listPage(options);
        items = page.items;
      }
    }
    return { items, resourceVersion: page.resourceVersion };
  }

  /**
   * All objects that match, page by page, for what need not be in memory at once. All pages are of
   * one version. Unlike a {@linkcode ResourceClient.list}, it can't start anew.
   *
   * @throws {ApiError} With `isExpired`, if the version was forgotten between two pages.
   * @throws {ProtocolError} As {@linkcode ResourceClient.list} does.
   */
  async *pages(options: ListOptions): AsyncGenerator<ListResult<T>, void, void> {
    let page = await this.listPage(options);
    yield page;
    while (page.continue !== undefined) {
      page = await this.#nextPage(options, page.continue);
      yield page;
    }
  }

  /** A server, or a cache before it, that gives the same page again would do so for ever. */
  async #nextPage(options: ListOptions, token: string): Promise<ListResult<T>> {
    const page = await this.listPage({ ...options, continue: token });
    if (page.continue !== token) return page;
    throw new ProtocolError(
      `Cannot list ${this.kind.plural}: the continue token leads to the page that gave it`,
    );
  }

  /** One page. The next is asked for with its `continue`; the last has none. */
  async listPage(options: ListPageOptions): Promise<ListResult<T>> {
    const value = await this.#rest.request({
      verb: "list",
      method: "GET",
      path: collectionPath(this.kind, options.namespace),
      query: listQuery(options),
      ...(this.#isMetadataOnly && { accept: ACCEPT_METADATA.list }),
      signal: options.signal,
    });
    const list = parseList(value, this.kind);
    if (this.#isMetadataOnly) list.items = list.items.map((item) => this.#shaped(item));
    return list;
  }

  /**
   * What happens to the objects that match, from `resourceVersion` on, until the server ends the
   * watch; then the generator returns. ERROR events are yielded, not thrown, and are the last.
   *
   * The request is sent when the first event is asked for. Leaving the loop ends it.
   *
   * @throws {ApiError} If the server refuses the watch, with `isExpired` if the version is too old.
   * @throws {ConnectionError} If the connection broke, also inside a line: go on from the last
   * version seen.
   * @throws {DeadlineError} If nothing came for `inactivityMs`: as before.
   * @throws {ProtocolError} If a line makes no sense: list anew.
   */
  async *watch(options: WatchOptions): AsyncGenerator<WatchEvent<T>, void, void> {
    const { inactivityMs = WATCH_INACTIVITY_MS, onOpen, signal } = options;
    const chunks = this.#rest.stream({
      verb: "watch",
      method: "GET",
      path: collectionPath(this.kind, options.namespace),
      query: watchQuery(options),
      ...(this.#isMetadataOnly && { accept: ACCEPT_METADATA.object }),
      signal,
    }, { inactivityMs, ...(onOpen && { onOpen }) });
    for await (const line of ndjson(chunks)) {
      const event = parseWatchEvent(line, this.kind);
      if (this.#isMetadataOnly && "object" in event) event.object = this.#shaped(event.object);
      yield event;
    }
  }

  /**
   * Lists and watches what `selection` selects: all that a reflector needs of the API, as the
   * `source` of a `SharedInformer`.
   */
  listWatch(selection: Selection = {}): {
    list(options: ListCallOptions): Promise<ListResult<T>>;
    pages(options: ListCallOptions): AsyncGenerator<ListResult<T>, void, void>;
    watch(options: WatchCallOptions): AsyncGenerator<WatchEvent<T>, void, void>;
  } {
    return {
      list: (options) => this.list({ ...options, ...selection }),
      pages: (options) => this.pages({ ...options, ...selection }),
      watch: (options) => this.watch({ ...options, ...selection }),
    };
  }

  /**
   * Creates `draft`; `apiVersion` and `kind` are filled in. The namespace is `namespace`, else the
   * draft's own. Kinds that are asked and not stored, as SubjectAccessReview, have no name.
   *
   * @throws {ApiError} With `isAlreadyExists`, if there is an object of that name.
   */
  async create(
    draft: Draft<T>,
    { namespace = draft.metadata.namespace, ...options }: CreateOptions,
  ): Promise<T> {
    assertNamespace(this.kind, namespace);
    const { name, generateName } = draft.metadata;
    const parse = name || generateName ? parseObject : parseUnnamed;
    return await this.#object({
      verb: "create",
      method: "POST",
      path: collectionPath(this.kind, namespace),
      query: writeQuery(options),
      body: { ...draft, ...this.#typeMeta() },
      signal: options.signal,
    }, parse);
  }

  /**
   * Replaces the object. Its `resourceVersion` is the precondition.
   *
   * @throws {ApiError} With `isConflict`, if the stored object has another version or uid.
   */
  async update(object: T, options: WriteOptions): Promise<T> {
    return await this.#replace(object, undefined, options);
  }

  /**
   * As {@linkcode ResourceClient.update}, but of the status only: the rest is ignored.
   *
   * @throws {ApiError} As {@linkcode ResourceClient.update}; with `isNotFound` also where the kind has
   * no subresource `status`.
   */
  async updateStatus(object: T, options: WriteOptions): Promise<T> {
    return await this.#replace(object, "status", options);
  }

  async #replace(object: T, subresource: string | undefined, options: WriteOptions): Promise<T> {
    const { name, namespace, resourceVersion } = object.metadata;
    // Without one the server would overwrite whatever is there.
    assert(resourceVersion !== "", `The ${this.kind.gvk.kind} to replace has a resourceVersion`);
    return await this.#object({
      verb: "update",
      method: "PUT",
      path: objectPath(this.kind, { name, namespace, subresource }),
      query: writeQuery(options),
      body: { ...object, ...this.#typeMeta() },
      signal: options.signal,
    });
  }

  /**
   * Changes a part of the object. `metadata.uid` and `metadata.resourceVersion` in the patch are
   * preconditions.
   *
   * @throws {ApiError} With `isConflict`, if a precondition does not hold (a wrong uid has the
   * reason Invalid, which `isConflict` knows) or, for apply, another manager owns a field.
   * @throws {AssertionError} If the patch is strategic and the kind is not built in: the server
   * would refuse it with 415.
   */
  async patch(
    { name, namespace, subresource, patch, ...options }: ObjectPlace & WriteOptions & {
      readonly patch: Patch<T>;
      readonly subresource?: string;
    },
  ): Promise<T> {
    assert(
      patch.type !== "strategic" || this.kind.isBuiltIn,
      `A strategic merge patch is for a built-in kind, not ${this.kind.gvk.kind}`,
    );
    const isApply = patch.type === "apply";
    return await this.#object({
      verb: isApply ? "apply" : "patch",
      method: "PATCH",
      path: objectPath(this.kind, { name, namespace, subresource }),
      query: {
        ...writeQuery(options),
        ...(isApply && { fieldManager: patch.fieldManager, force: patch.force }),
      },
      body: isApply ? this.#applyBody(patch.body, { name, namespace }) : patch.body,
      contentType: PATCH_CONTENT_TYPES[patch.type],
      signal: options.signal,
    });
  }

  /** An apply names its object inside as well. */
  #applyBody(body: object, place: { name: string; namespace: string | undefined }): object {
    const metadata = "metadata" in body && typeof body.metadata === "object" ? body.metadata : {};
    return { ...body, ...this.#typeMeta(), metadata: { ...metadata, ...place } };
  }

  /**
   * Asks for the object's deletion. It is gone when this resolves, unless finalizers or a grace
   * period keep it.
   *
   * @throws {ApiError} With `isNotFound`, if there is none; with `isConflict`, if a precondition
   * does not hold.
   */
  async delete(options: DeleteOptions): Promise<void> {
    const { name, namespace, signal } = options;
    await this.#rest.request({
      verb: "delete",
      method: "DELETE",
      path: objectPath(this.kind, { name, namespace }),
      body: deleteBody(options),
      signal,
    });
  }

  /**
   * Asks for the deletion of all objects that match, in one namespace if the kind has them: without
   * selectors, of all. They are deleted one after the other, so a failure may leave some.
   * Preconditions hold for each, so they fit a selection of one object only.
   *
   * @throws {ApiError} With `isConflict`, if a precondition does not hold.
   */
  async deleteCollection(options: DeleteCollectionOptions): Promise<void> {
    assertNamespace(this.kind, options.namespace);
    await this.#rest.request({
      verb: "deletecollection",
      method: "DELETE",
      path: collectionPath(this.kind, options.namespace),
      query: selectionQuery(options),
      body: deleteBody(options),
      signal: options.signal,
    });
  }

  async #object(request: RestRequest, parse: typeof parseObject = parseObject): Promise<T> {
    const accept = this.#isMetadataOnly ? { accept: ACCEPT_METADATA.object } : {};
    return this.#shaped(parse(await this.#rest.request({ ...request, ...accept }), this.kind));
  }

  /** In a client of metadata, nothing but metadata, also of servers that send all. */
  #shaped(object: T): T {
    return this.#isMetadataOnly ? metadataOnly(object, this.kind) : object;
  }

  #typeMeta(): { apiVersion: string; kind: string } {
    return { apiVersion: apiVersionOf(this.kind.gvk), kind: this.kind.gvk.kind };
  }
}

/**
 * The way into the API: from a request layer to the verbs of any kind.
 *
 * @module
 */

import type { KubeObject } from "../core/objects.ts";
import type { KindDefinition } from "./kinds.ts";
import { ResourceClient } from "./resource_client.ts";
import type { RestClient } from "./rest.ts";
import { type Scale, SubresourceClient } from "./subresource_client.ts";
import { TableClient } from "./table_client.ts";

/**
 * The verbs that make sense of metadata alone. Not among them: what sends whole objects, since the
 * server would take what is missing for deleted.
 */
export type MetadataClient = Pick<
  ResourceClient<KubeObject>,
  | "kind"
  | "get"
  | "list"
  | "listPage"
  | "pages"
  | "watch"
  | "listWatch"
  | "patch"
  | "delete"
  | "deleteCollection"
>;

/**
 * A client of one API server, for all kinds.
 *
 * @example Against any `Transport`; here one that answers by itself
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { realClock } from "../core/clock.ts";
 * import { NAMESPACES } from "./kinds.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const transport = () => Promise.resolve(Response.json({ metadata: { name: "default" } }));
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const client = new Client(new RestClient({ transport, connection, clock: realClock }));
 *
 * const { signal } = new AbortController();
 * const namespace = await client.resource(NAMESPACES).get({ name: "default", signal });
 * strictEqual(namespace.metadata.name, "default");
 * ```
 */
export class Client {
  /** The request layer, for paths that are no resource. */
  readonly rest: RestClient;

  /** Only stores. */
  constructor(rest: RestClient) {
    this.rest = rest;
  }

  /** The verbs of `kind`. Cheap: nothing is asked of the server. */
  resource<T extends KubeObject>(kind: KindDefinition<T>): ResourceClient<T> {
    return new ResourceClient(this.rest, kind);
  }

  /**
   * The verbs of `kind` that are answered with metadata alone: what a cache of labels and owners
   * needs of Secrets or large objects. Objects name their own kind, not PartialObjectMetadata.
   */
  metadata<T extends KubeObject>({ __type: _, ...kind }: KindDefinition<T>): MetadataClient {
    return new ResourceClient<KubeObject>(this.rest, kind, { form: "PartialObjectMetadata" });
  }

  /** Reads objects of `kind` as tables, as `kubectl get` shows them. */
  table<T extends KubeObject>(kind: KindDefinition<T>): TableClient<T> {
    return new TableClient(this.rest, kind);
  }

  /**
   * The verbs of a subresource of `kind`, whose objects are `S`s: `token`, `approval`, `binding`, or
   * one of an aggregated API.
   */
  subresource<S extends KubeObject>(
    kind: KindDefinition<KubeObject>,
    name: string,
  ): SubresourceClient<S> {
    return new SubresourceClient(this.rest, kind, name);
  }

  /** The verbs of `kind`'s subresource `scale`. */
  scale(kind: KindDefinition<KubeObject>): SubresourceClient<Scale> {
    return this.subresource(kind, "scale");
  }

  /**
   * A client like this one for a component of the program, as leader election: its user agent ends
   * with the component's name, and a rate limit is its own.
   */
  forComponent(component: string): Client {
    return new Client(this.rest.forComponent(component));
  }
}

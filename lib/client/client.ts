/**
 * The way into the API: from a request layer to the verbs of any kind.
 *
 * @module
 */

import type { KubeObject } from "../core/objects.ts";
import type { KindDefinition } from "./kinds.ts";
import { ResourceClient } from "./resource_client.ts";
import type { RestClient } from "./rest.ts";

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
}

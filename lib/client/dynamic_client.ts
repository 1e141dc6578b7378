/**
 * Clients of kinds that are known only at run time: objects are JSON without a type.
 *
 * @module
 */

import { apiVersionOf, type GroupVersionKind } from "../core/objects.ts";
import type { AnyObject } from "../core/watch_event.ts";
import { kindOfResource } from "./api_catalog.ts";
import type { Client } from "./client.ts";
import type { Discovery } from "./discovery.ts";
import type { KindDefinition } from "./kinds.ts";
import type { ResourceClient } from "./resource_client.ts";
import { gvkOf, type KindName } from "./scheme.ts";

/**
 * The API server serves no such kind, perhaps not yet: its definition may not be installed.
 */
export class UnservedKindError extends Error {
  /** Tells the class apart where `instanceof` can't. */
  override readonly name = "UnservedKindError";
  /** What was looked for, as it was given. */
  readonly wanted: string;

  /** Stores what was looked for; the message says what to do. */
  constructor(wanted: string) {
    super(`Cannot find ${wanted} on the API server: is its CustomResourceDefinition installed?`);
    this.wanted = wanted;
  }
}

/**
 * Finds any kind by discovery, and gives its verbs.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { seededRandom, SimClock } from "../simulator/sim_clock.ts";
 * import { ApiServer } from "../simulator/server.ts";
 * import { Client } from "./client.ts";
 * import { Discovery } from "./discovery.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const clock = new SimClock();
 * await using server = new ApiServer({ clock, random: seededRandom(1) });
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const rest = new RestClient({ transport: server.fetch.bind(server), connection, clock });
 * const dynamic = new DynamicClient(new Client(rest), new Discovery({ rest, clock }));
 *
 * const { signal } = new AbortController();
 * const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { b: "c" } };
 * const resource = await dynamic.resource(object, { signal });
 * const created = await resource.create(object, { namespace: "default", signal });
 * strictEqual(created.metadata.name, "a");
 * ```
 */
export class DynamicClient {
  readonly #client: Client;
  readonly #discovery: Discovery;

  /** Only stores. */
  constructor(client: Client, discovery: Discovery) {
    this.#client = client;
    this.#discovery = discovery;
  }

  /**
   * The verbs of the kind that `name` names, or is an object of.
   *
   * @throws {UnservedKindError} If the server serves no such kind.
   */
  async resource(
    name: KindName,
    { signal }: { signal: AbortSignal },
  ): Promise<ResourceClient<AnyObject>> {
    return this.#client.resource(await this.kind(name, { signal }));
  }

  /**
   * The verbs of what a person calls `name`: `deploy`, `foos.samplecontroller.k8s.io`.
   *
   * @throws {UnservedKindError} If the server serves no such kind.
   */
  async resourceNamed(
    name: string,
    { signal }: { signal: AbortSignal },
  ): Promise<ResourceClient<AnyObject>> {
    const found = await this.#discovery.findByName(name, { signal });
    if (found === undefined) throw new UnservedKindError(`"${name}"`);
    return this.#client.resource(kindOfResource(found));
  }

  /**
   * The definition of the kind that `name` names, as the server tells it.
   *
   * @throws {UnservedKindError} If the server serves no such kind.
   */
  async kind(
    name: KindName,
    { signal }: { signal: AbortSignal },
  ): Promise<KindDefinition<AnyObject>> {
    const { group, version, kind }: GroupVersionKind = gvkOf(name);
    const found = await this.#discovery.findKind({ group, version, kind }, { signal });
    if (found !== undefined) return kindOfResource(found);
    throw new UnservedKindError(`${kind} of ${apiVersionOf({ group, version })}`);
  }
}

/**
 * What the API server serves, asked once and kept.
 *
 * Promises:
 * - Two requests, if the server has aggregated discovery (1.27 and newer); else one a group version.
 * - What is kept is asked again after a while, and as soon as something is looked for that is not in
 *   it: a kind that was just defined is found. At most one question is under way at a time.
 * - A group whose own server is down does not hide the others: what was known of it stays.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ApiError, isNotFound, ProtocolError } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { apiVersionOf } from "../core/objects.ts";
import {
  type ApiCatalog,
  type ApiGroup,
  type ApiResource,
  type ApiVersion,
  findByName,
  findKind,
  parseAggregated,
  parseGroupList,
  parseResourceList,
} from "./api_catalog.ts";
import type { RestClient } from "./rest.ts";
import { type SharedWork, shareWork } from "./shared_work.ts";

/** How long an answer is kept, in milliseconds, if nothing is missed in it. */
export const DISCOVERY_MAX_AGE_MS = 10 * 60_000;

/**
 * Least age, in milliseconds, at which an answer is asked again because something is not in it. So
 * a loop that looks for what is never there costs two requests a second, not thousands.
 */
export const DISCOVERY_MISS_AGE_MS = 1000;

/** Requests of the legacy form at a time. */
const LEGACY_PARALLEL = 8;

const ACCEPT_AGGREGATED = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat("application/json")
  .join(",");

/** What a {@linkcode Discovery} is made of. */
export interface DiscoveryOptions {
  /** The server to ask. */
  readonly rest: RestClient;
  /** For the age of answers. */
  readonly clock: Clock;
  /** How long an answer is kept, in milliseconds. @default {600_000} */
  readonly maxAgeMs?: number;
}

/**
 * Discovery of one API server, cached.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { seededRandom, SimClock } from "../simulator/sim_clock.ts";
 * import { ApiServer } from "../simulator/server.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const clock = new SimClock();
 * await using server = new ApiServer({ clock, random: seededRandom(1) });
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const transport = server.fetch.bind(server);
 * const rest = new RestClient({ transport, connection, clock });
 * const discovery = new Discovery({ rest, clock });
 *
 * const { signal } = new AbortController();
 * const found = await discovery.findByName("deploy", { signal });
 * deepStrictEqual(found?.gvk, { group: "apps", version: "v1", kind: "Deployment" });
 * ```
 */
export class Discovery {
  readonly #rest: RestClient;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  #kept: { catalog: ApiCatalog; readAtMs: number } | undefined;
  #reading: SharedWork<ApiCatalog> | undefined;

  /** Only stores: the first question asks the server. */
  constructor({ rest, clock, maxAgeMs = DISCOVERY_MAX_AGE_MS }: DiscoveryOptions) {
    this.#rest = rest;
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
  }

  /** All that is served, perhaps as old as `maxAgeMs`. */
  async catalog({ signal }: { signal: AbortSignal }): Promise<ApiCatalog> {
    const kept = this.#kept;
    if (kept !== undefined && this.#ageMs(kept) < this.#maxAgeMs) return kept.catalog;
    return await this.refresh({ signal });
  }

  /** All that is served now. */
  async refresh({ signal }: { signal: AbortSignal }): Promise<ApiCatalog> {
    if (this.#reading?.isRunning !== true) {
      this.#reading = shareWork(async (shared) => {
        const groups = await this.#read(shared);
        const catalog = { groups };
        this.#kept = { catalog, readAtMs: this.#clock.monotonicMs() };
        return catalog;
      });
    }
    return await this.#reading.join({ signal });
  }

  /** Forgets what is kept. */
  invalidate(): void {
    this.#kept = undefined;
  }

  /**
   * The resource of a kind, of its preferred version unless one is given; `undefined` if it is not
   * served.
   */
  async findKind(
    name: { readonly group: string; readonly version?: string; readonly kind: string },
    { signal }: { signal: AbortSignal },
  ): Promise<ApiResource | undefined> {
    return await this.#find((catalog) => findKind(catalog, name), signal);
  }

  /**
   * The resource that a person means, as kubectl takes it: `deploy`, `deployments.apps`,
   * `deployments.v1.apps`; `undefined` if there is none.
   */
  async findByName(
    name: string,
    { signal }: { signal: AbortSignal },
  ): Promise<ApiResource | undefined> {
    return await this.#find((catalog) => findByName(catalog, name), signal);
  }

  async #find(
    find: (catalog: ApiCatalog) => ApiResource | undefined,
    signal: AbortSignal,
  ): Promise<ApiResource | undefined> {
    const found = find(await this.catalog({ signal }));
    const kept = this.#kept;
    if (found !== undefined) return found;
    if (kept !== undefined && this.#ageMs(kept) < DISCOVERY_MISS_AGE_MS) return undefined;
    return find(await this.refresh({ signal }));
  }

  #ageMs({ readAtMs }: { readAtMs: number }): number {
    return this.#clock.monotonicMs() - readAtMs;
  }

  async #read(signal: AbortSignal): Promise<ApiGroup[]> {
    const [core, others] = await Promise.all([
      this.#document("/api", signal),
      this.#document("/apis", signal),
    ]);
    const groups = [
      ...parseAggregated(core) ??
        await this.#legacy([{ name: "", versions: versionsOf(core) }], signal),
      ...parseAggregated(others) ?? await this.#legacy(parseGroupList(others), signal),
    ];
    return groups.map((group) => ({
      ...group,
      versions: group.versions.map((version) => this.#orKept(group.name, version)),
    }));
  }

  /** A version that could not be read now, as it was when it last could. */
  #orKept(group: string, version: ApiVersion): ApiVersion {
    if (!version.isStale || version.resources.length > 0) return version;
    const resources = this.#kept?.catalog.groups.find(({ name }) => name === group)
      ?.versions.find((each) => each.version === version.version)?.resources;
    return { ...version, resources: resources ?? [] };
  }

  async #legacy(
    groups: readonly { name: string; versions: readonly string[] }[],
    signal: AbortSignal,
  ): Promise<ApiGroup[]> {
    const wanted = groups.flatMap(({ name, versions }) =>
      versions.map((version) => ({ group: name, version }))
    );
    const read = new Map<string, ApiVersion>();
    for (let at = 0; at < wanted.length; at += LEGACY_PARALLEL) {
      await Promise.all(
        wanted.slice(at, at + LEGACY_PARALLEL).map(async (served) => {
          const version = await this.#legacyVersion(served, signal);
          if (version !== undefined) read.set(apiVersionOf(served), version);
        }),
      );
    }
    return groups.map(({ name, versions }) => ({
      name,
      versions: versions.flatMap((version) =>
        read.get(apiVersionOf({ group: name, version })) ?? []
      ),
    })).filter(({ versions }) => versions.length > 0);
  }

  /** One version's resources; `undefined` if it is gone. */
  async #legacyVersion(
    served: { group: string; version: string },
    signal: AbortSignal,
  ): Promise<ApiVersion | undefined> {
    const { group, version } = served;
    const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    try {
      const resources = parseResourceList(await this.#document(path, signal), served);
      return { version, isStale: false, resources };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      // Its own server is down. A server that can't be reached at all is thrown.
      if (error instanceof ApiError) return { version, isStale: true, resources: [] };
      throw error;
    }
  }

  async #document(path: string, signal: AbortSignal): Promise<unknown> {
    const value = await this.#rest.request({
      verb: "get",
      method: "GET",
      path,
      accept: ACCEPT_AGGREGATED,
      signal,
    });
    if (isJsonObject(value)) return value;
    throw new ProtocolError(`Cannot get ${path}: the answer is no discovery document`);
  }
}

function versionsOf(core: unknown): string[] {
  const versions = isJsonObject(core) ? core["versions"] : undefined;
  return Array.isArray(versions) ? versions.filter((each) => typeof each === "string") : [];
}

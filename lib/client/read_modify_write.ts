/**
 * Writes that depend on what is there: read, decide, write, and again if someone else was faster.
 *
 * These retries are for conflicts only, and so no second place of retries: a failed request is
 * failed. A decision is a function of the object that was read, called anew for every attempt, and
 * fields that it does not know come back as they came (field case S4).
 *
 * @module
 */

import { jitter } from "../core/backoff.ts";
import type { Clock, Random } from "../core/clock.ts";
import { assert, isAlreadyExists, isConflict, isObjectNotFound } from "../core/errors.ts";
import { isJsonObject, type Json, jsonEqual, type JsonObject } from "../core/json.ts";
import type { DeepPartial, Draft, KubeObject } from "../core/objects.ts";
import { diffMergePatch } from "../core/patch_merge.ts";
import type { KindDefinition } from "./kinds.ts";
import type { ResourceClient } from "./resource_client.ts";
import type { ObjectPlace, WriteOptions } from "./resource_options.ts";

/** Attempts before a conflict is thrown; client-go's value. */
export const CONFLICT_ATTEMPTS_MAX = 5;

/**
 * Pause after a conflict, in milliseconds, before up to as much again by chance. Conflicts are
 * settled as soon as the other's write is read, so there is nothing to wait for but each other.
 */
export const CONFLICT_PAUSE_MS = 10;

/** How conflicts are retried. */
export interface ConflictOptions {
  /** For the pauses. */
  readonly clock: Clock;
  /** Spreads the pauses, so that two writers do not meet again. */
  readonly random: Random;
  /** Attempts in all. @default {5} */
  readonly attemptsMax?: number;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

/**
 * Runs `work` until it does not fail with a Conflict. It must read what it is about to change
 * itself, each time.
 *
 * @throws {ApiError} With `isConflict`, if the last attempt met one as well. Else what `work` threw.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { realClock, realRandom } from "../core/clock.ts";
 * import { ApiError } from "../core/errors.ts";
 *
 * let attempts = 0;
 * const { signal } = new AbortController();
 * const result = await retryOnConflict(() => {
 *   if (++attempts < 3) throw new ApiError("changed", { status: 409, reason: "Conflict" });
 *   return Promise.resolve("written");
 * }, { clock: realClock, random: realRandom, signal });
 * strictEqual(result, "written");
 * strictEqual(attempts, 3);
 * ```
 */
export async function retryOnConflict<R>(
  work: () => Promise<R>,
  options: ConflictOptions,
): Promise<R> {
  return await retry(work, { ...options, isRetried: isConflict });
}

async function retry<R>(
  work: () => Promise<R>,
  { clock, random, attemptsMax = CONFLICT_ATTEMPTS_MAX, signal, isRetried }: ConflictOptions & {
    isRetried(error: unknown): boolean;
  },
): Promise<R> {
  assert(attemptsMax >= 1, "there is at least one attempt");
  for (let attempt = 1;; attempt++) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (attempt >= attemptsMax || !isRetried(error)) throw error;
    }
    await clock.sleep(jitter(CONFLICT_PAUSE_MS, 1, random), { signal });
  }
}

/** What {@linkcode createOrUpdate} and {@linkcode createOrPatch} did. */
export interface WriteResult<T> {
  /** `unchanged`: nothing was written. */
  readonly type: "created" | "updated" | "unchanged";
  /** The object as the server has it now. */
  readonly object: T;
}

/** What {@linkcode createOrUpdate} and {@linkcode createOrPatch} take. */
export interface CreateOrWriteOptions<T extends KubeObject>
  extends ObjectPlace, WriteOptions, ConflictOptions {
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  /**
   * The object that should be there, made of the one that is (`undefined` if there is none), which
   * it must not change. Spread what is there and what is in it, so that the server's defaults and
   * others' fields stay: a field left out is a field to remove. A status that is a subresource is
   * not written.
   */
  readonly want: (present: T | undefined) => Draft<T>;
}

/** The verbs that {@linkcode createOrUpdate} needs. */
export type Updatable<T extends KubeObject> = Pick<
  ResourceClient<T>,
  "kind" | "get" | "create" | "update"
>;

/** The verbs that {@linkcode createOrPatch} needs. */
export type Patchable<T extends KubeObject> = Pick<
  ResourceClient<T>,
  "kind" | "get" | "create" | "patch"
>;

/**
 * Makes the object be as `want` says: creates it, replaces it, or leaves it if it is so already.
 * The replacement carries the version that was read, so what others wrote meanwhile is never lost.
 *
 * @throws {ApiError} With `isConflict` or `isAlreadyExists`, if others were faster each time.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { seededRandom, SimClock } from "../simulator/sim_clock.ts";
 * import { ApiServer } from "../simulator/server.ts";
 * import { Client } from "./client.ts";
 * import { CONFIG_MAPS } from "./kinds.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const [clock, random] = [new SimClock(), seededRandom(1)];
 * await using server = new ApiServer({ clock, random });
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const rest = new RestClient({ transport: server.fetch.bind(server), connection, clock });
 * const configMaps = new Client(rest).resource(CONFIG_MAPS);
 *
 * const { signal } = new AbortController();
 * const write = () => createOrUpdate(configMaps, {
 *   name: "a", namespace: "default", clock, random, signal,
 *   want: (present) => ({
 *     ...present,
 *     metadata: { ...present?.metadata, name: "a" },
 *     data: { ...present?.data, key: "value" },
 *   }),
 * });
 * deepStrictEqual([(await write()).type, (await write()).type], ["created", "unchanged"]);
 * ```
 */
export async function createOrUpdate<T extends KubeObject>(
  resource: Updatable<T>,
  options: CreateOrWriteOptions<T>,
): Promise<WriteResult<T>> {
  return await createOrWrite(resource, options, async (present, wanted) => {
    const { uid, resourceVersion } = present.metadata;
    const metadata = { ...wanted.metadata, name: options.name, uid, resourceVersion };
    // The boundary: what makes a Draft a T is the identity, which is put in here.
    const object = { ...wanted, metadata } as unknown as T;
    return await resource.update(object, writeOptionsOf(options));
  });
}

/**
 * As {@linkcode createOrUpdate}, but sends only what differs, as a merge patch: what others write
 * to other fields meanwhile is no conflict.
 *
 * The patch carries the uid, so it never changes another object of the name. One that replaces a
 * list carries the version as well: it would undo what others did to the list.
 *
 * @throws {ApiError} With `isConflict` or `isAlreadyExists`, if others were faster each time.
 * @throws {PatchError} If a changed part of what is wanted holds a `null`.
 */
export async function createOrPatch<T extends KubeObject>(
  resource: Patchable<T>,
  options: CreateOrWriteOptions<T>,
): Promise<WriteResult<T>> {
  const { name, namespace } = options;
  return await createOrWrite(resource, options, async (present, wanted) => {
    const { uid, resourceVersion } = present.metadata;
    const change = diffMergePatch(
      writable(present, resource.kind),
      writable(wanted, resource.kind),
    );
    const patch = isJsonObject(change) ? change : {};
    const metadata = {
      ...(isJsonObject(patch["metadata"]) ? patch["metadata"] : {}),
      uid,
      ...(holdsList(patch) && { resourceVersion }),
    };
    // The boundary: the difference of two Ts is a part of one.
    const body = { ...patch, metadata } as DeepPartial<T>;
    return await resource.patch({
      ...writeOptionsOf(options),
      name,
      ...(namespace !== undefined && { namespace }),
      patch: { type: "merge", body },
    });
  });
}

async function createOrWrite<T extends KubeObject>(
  resource: Pick<ResourceClient<T>, "kind" | "get" | "create">,
  options: CreateOrWriteOptions<T>,
  write: (present: T, wanted: Draft<T>) => Promise<T>,
): Promise<WriteResult<T>> {
  const { name, namespace, signal, want } = options;
  const place = { name, ...(namespace !== undefined && { namespace }) };
  let wasThere = false;
  return await retry<WriteResult<T>>(async () => {
    wasThere = false;
    const present = await unlessNotFound(resource.get({ ...place, signal }));
    const wanted = want(present);
    assert(wanted.metadata.name === name, `What is wanted is named "${name}"`);
    if (present === undefined) {
      const created = { ...writeOptionsOf(options), ...(namespace !== undefined && { namespace }) };
      return { type: "created", object: await resource.create(wanted, created) };
    }
    if (jsonEqual(writable(present, resource.kind), writable(wanted, resource.kind))) {
      return { type: "unchanged", object: present };
    }
    wasThere = true;
    return { type: "updated", object: await write(present, wanted) };
  }, {
    ...options,
    // Deleted between the read and the write: there is none now, which is for `want` to know.
    isRetried: (error) =>
      isConflict(error) || isAlreadyExists(error) || (wasThere && isObjectNotFound(error)),
  });
}

async function unlessNotFound<R>(reading: Promise<R>): Promise<R | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isObjectNotFound(error)) return undefined;
    throw error;
  }
}

function writeOptionsOf(
  { fieldManager, dryRun, fieldValidation, signal }: WriteOptions,
): WriteOptions {
  return {
    ...(fieldManager !== undefined && { fieldManager }),
    ...(dryRun !== undefined && { dryRun }),
    ...(fieldValidation !== undefined && { fieldValidation }),
    signal,
  };
}

/** Fields of metadata that a client may change. */
const WRITABLE_META = ["labels", "annotations", "ownerReferences", "finalizers"];

/** What of `object` a write can change, for comparing. Empty metadata is no metadata. */
function writable<T extends KubeObject>(
  object: T | Draft<T>,
  { subresources }: KindDefinition<T>,
): JsonObject {
  // The boundary: objects of the API are JSON.
  const { apiVersion: _, kind: __, metadata, status, ...rest } = object as unknown as JsonObject;
  const meta: JsonObject = {};
  for (const key of WRITABLE_META) {
    const value: Json | undefined = isJsonObject(metadata) ? metadata[key] : undefined;
    if (value !== undefined && value !== null && Object.keys(value).length > 0) meta[key] = value;
  }
  const writesStatus = status !== undefined && !subresources.includes("status");
  return { ...rest, ...(writesStatus && { status }), metadata: meta };
}

function holdsList(value: Json | undefined): boolean {
  if (Array.isArray(value)) return true;
  return isJsonObject(value) && Object.values(value).some(holdsList);
}

/** Options of {@linkcode apply}. */
export interface ApplyOptions extends WriteOptions {
  /** Whose fields these are. */
  readonly fieldManager: string;
  /** Take fields over from other managers, as controllers should. @default {false} */
  readonly force?: boolean;
}

/**
 * Server-side apply of `wanted`: the object has these fields, created if need be, and those that
 * `fieldManager` applied before and leaves out now are gone. `metadata` gives name and namespace.
 * `metadata.uid` and `metadata.resourceVersion` are preconditions. What was read from the server may
 * be handed back: its managed fields, which the server would refuse, are left out.
 *
 * @throws {ApiError} With `isConflict`, if another manager owns a field and `force` is not set.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { seededRandom, SimClock } from "../simulator/sim_clock.ts";
 * import { ApiServer } from "../simulator/server.ts";
 * import { Client } from "./client.ts";
 * import { CONFIG_MAPS } from "./kinds.ts";
 * import { RestClient } from "./rest.ts";
 *
 * const clock = new SimClock();
 * await using server = new ApiServer({ clock, random: seededRandom(1) });
 * const connection = { server: "https://example.com:6443", userAgent: "example/1.0" };
 * const rest = new RestClient({ transport: server.fetch.bind(server), connection, clock });
 * const { signal } = new AbortController();
 * const applied = await apply(new Client(rest).resource(CONFIG_MAPS), {
 *   metadata: { name: "a", namespace: "default" },
 *   data: { key: "value" },
 * }, { fieldManager: "example", force: true, signal });
 * strictEqual(applied.data?.["key"], "value");
 * ```
 */
export async function apply<T extends KubeObject>(
  resource: Pick<ResourceClient<T>, "patch">,
  wanted: DeepPartial<T>,
  { fieldManager, force, ...options }: ApplyOptions,
): Promise<T> {
  // The boundary: objects of the API are JSON.
  const { metadata, ...rest } = wanted as unknown as JsonObject;
  assert(isJsonObject(metadata), "What is applied has metadata");
  const { managedFields: _, ...meta } = metadata;
  const { name, namespace } = meta;
  assert(typeof name === "string", "What is applied has a name");
  return await resource.patch({
    ...options,
    name,
    ...(typeof namespace === "string" && { namespace }),
    patch: {
      type: "apply",
      body: { ...rest, metadata: meta } as DeepPartial<T>,
      fieldManager,
      ...(force !== undefined && { force }),
    },
  });
}

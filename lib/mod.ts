/**
 * The parts of a Kubernetes operator: a typed client, caches that follow the API server, a workqueue
 * and controllers that reconcile, and an event recorder.
 *
 * Each part works alone; together they go like this. A {@linkcode Client} talks to the API server
 * that {@linkcode loadConfig} found. A {@linkcode SharedInformer} follows one kind and keeps its
 * objects, frozen, in a {@linkcode Store}. {@linkcode enqueueChanges} turns what changed into keys
 * of a {@linkcode Workqueue}. A {@linkcode Controller} takes the keys and calls a
 * {@linkcode Reconciler}, which reads the caches, decides, and writes through the client.
 *
 * What holds everywhere:
 *
 * - Caches are eventually consistent. Per object, changes come in the order in which the server made
 *   them; across objects there is no order. A reconciler looks at what is, never at what happened.
 * - Whatever waits takes an `AbortSignal` and rejects with its reason.
 * - Time and chance are arguments ({@linkcode Clock}, {@linkcode Random}), so that
 *   `lib/simulator/mod.ts` can run all of it, simulated API server included, in a test.
 * - Failures are classes: {@linkcode ApiError} is the server's answer, {@linkcode ConnectionError}
 *   means that none came.
 *
 * @example A key goes through a queue once, however often it was added
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { defaultRateLimiter, realClock, realRandom, Workqueue } from "@foo-operator/lib";
 *
 * const queue = new Workqueue({
 *   name: "foo",
 *   clock: realClock,
 *   rateLimiter: defaultRateLimiter({ clock: realClock, random: realRandom }),
 * });
 * queue.add("default/a");
 * queue.add("default/a");
 *
 * const { signal } = new AbortController();
 * {
 *   using item = await queue.take({ signal }); // leaving the scope says that it is done
 *   strictEqual(item?.key, "default/a");
 *   strictEqual(queue.depth, 0);
 * }
 * queue.shutDown();
 * ```
 *
 * @module
 */

// core: what every layer speaks
export * from "./core/backoff.ts";
export * from "./core/clock.ts";
export * from "./core/conditions.ts";
export * from "./core/difference.ts";
export * from "./core/errors.ts";
export * from "./core/finalizers.ts";
export * from "./core/json.ts";
export * from "./core/log.ts";
export * from "./core/objects.ts";
export * from "./core/owner_references.ts";
export * from "./core/patch_error.ts";
export * from "./core/patch_json.ts";
export * from "./core/patch_merge.ts";
export * from "./core/rate_limiter.ts";
export * from "./core/selectors.ts";
export * from "./core/tasks.ts";
export * from "./core/timestamps.ts";
export * from "./core/watch_event.ts";

// client: the API server
export * from "./client/api_catalog.ts";
export * from "./client/client.ts";
export * from "./client/config.ts";
export { type AccessedHost } from "./client/config_route.ts";
export * from "./client/connection.ts";
export { type LocalFiles } from "./client/credentials.ts";
export { type DeadlineLimits } from "./client/deadlines.ts";
export * from "./client/discovery.ts";
export * from "./client/dynamic_client.ts";
export * from "./client/kinds.ts";
export * from "./client/patch.ts";
export { type Environment } from "./client/proxy.ts";
export { type RateLimit } from "./client/request_throttle.ts";
export * from "./client/open_transport.ts";
export * from "./client/pods.ts";
export * from "./client/read_modify_write.ts";
export * from "./client/resource_client.ts";
export * from "./client/resource_options.ts";
export * from "./client/rest.ts";
export * from "./client/scheme.ts";
export * from "./client/selectors.ts";
export * from "./client/subresource_client.ts";
export * from "./client/table_client.ts";
export * from "./client/transport.ts";
export * from "./client/user_agent.ts";

// cache: following a kind
export * from "./cache/budget.ts";
export * from "./cache/informer_set.ts";
export * from "./cache/kind_cache.ts";
export * from "./cache/list_watch.ts";
export { type Indexers, type IndexFn } from "./cache/indexer.ts";
export { reflect, type ReflectOptions } from "./cache/reflector.ts";
export { type ListReason, type ReflectorVerb } from "./cache/recovery.ts";
export * from "./cache/reflector_health.ts";
export * from "./cache/scope.ts";
export * from "./cache/shared_informer.ts";
export { type Lister, Store, type StoreChange, type StoreOptions } from "./cache/store.ts";

// controller: from changes to reconciles
export * from "./controller/builder.ts";
export * from "./controller/cached_client.ts";
export * from "./controller/caches_part.ts";
export * from "./controller/children.ts";
export * from "./controller/controller.ts";
export * from "./controller/enqueue.ts";
export * from "./controller/external_source.ts";
export * from "./controller/finalizers.ts";
export { type HotLoop } from "./controller/hot_loop.ts";
export * from "./controller/manager.ts";
export * from "./controller/mappers.ts";
export * from "./controller/object_client.ts";
export * from "./controller/predicates.ts";
export * from "./controller/reconciler.ts";
export * from "./controller/runnable.ts";
export * from "./controller/status.ts";
export * from "./controller/workqueue.ts";
export * from "./controller/write_log.ts";

// services: beside the reconcile
export * from "./services/event_recorder.ts";
export * from "./services/event_delivery.ts";
export * from "./services/event_draft.ts";

/**
 * The parts of a Kubernetes operator: a typed client, caches that follow the API server, a workqueue
 * and controllers that reconcile, and an event recorder.
 *
 * Each layer is a module of its own as well: `@foo-operator/lib/core`, `/client`, `/cache`,
 * `/controller`, `/services`; this one has what they have. Two stay apart: `/simulator`, and `/log`,
 * a log that writes.
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
 *   `@foo-operator/lib/simulator` can run all of it, simulated API server included, in a test.
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

export * from "./core/mod.ts";
export * from "./client/mod.ts";
export * from "./cache/mod.ts";
export * from "./controller/mod.ts";
export * from "./services/mod.ts";

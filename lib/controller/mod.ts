/**
 * From changes to reconciles: queue, workers, and a manager for everything that runs in a process.
 *
 * {@linkcode buildController} makes a controller of one description: the kind it is for, what it
 * watches besides, and a {@linkcode Reconciler}. Under it are parts that work alone:
 * {@linkcode enqueueChanges}, {@linkcode Workqueue}, {@linkcode Controller}. A
 * {@linkcode CachedClient} gives reconcilers reads from caches that see the process's own writes.
 * {@linkcode Manager} starts and stops several controllers in order.
 *
 * What a reconciler can rely on: a key is never with two workers at once; a change during its
 * reconcile brings the key back; a failed one is tried again, later each time. What it can't: to be
 * told what changed, or to be called once for each change. It looks at what is.
 *
 * @module
 */

export * from "./builder.ts";
export * from "./cached_client.ts";
export * from "./caches_part.ts";
export * from "./children.ts";
export * from "./controller.ts";
export * from "./enqueue.ts";
export * from "./external_source.ts";
export * from "./finalizers.ts";
export { type HotLoop } from "./hot_loop.ts";
export * from "./manager.ts";
export * from "./mappers.ts";
export * from "./object_client.ts";
export * from "./predicates.ts";
export * from "./reconciler.ts";
export * from "./runnable.ts";
export * from "./status.ts";
export * from "./workqueue.ts";
export * from "./write_log.ts";

/**
 * Following a kind: what the API server has, kept in memory, and who is told when it changes.
 *
 * {@linkcode reflect} is the loop that keeps a {@linkcode Store} equal to the server;
 * {@linkcode SharedInformer} adds handlers; {@linkcode InformerSet} has all caches of a program,
 * each shared by those who declare the same. They know no client: they need the two functions of
 * {@linkcode ListWatch}.
 *
 * What caches promise: they are eventually consistent, and how far behind one is can be read from
 * its health. The changes of one object come in the order in which the server made them, though
 * several may come as one; across objects there is no order. A list becomes visible whole or not at
 * all. Objects are frozen. An object that was deleted and made anew is a deletion and an addition.
 * What caches do not promise: that a handler is told of each version.
 *
 * @module
 */

export * from "./budget.ts";
export { type Indexers, type IndexFn } from "./indexer.ts";
export * from "./informer_set.ts";
export * from "./kind_cache.ts";
export * from "./list_watch.ts";
export { type ListReason, type ReflectorVerb } from "./recovery.ts";
export { reflect, type ReflectOptions } from "./reflector.ts";
export * from "./reflector_health.ts";
export * from "./scope.ts";
export * from "./shared_informer.ts";
export { type Lister, type Staged, Store, type StoreChange, type StoreOptions } from "./store.ts";
export { UnionLister } from "./union_lister.ts";

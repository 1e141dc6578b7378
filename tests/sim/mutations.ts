/**
 * Known mistakes, as replacements in our own sources: what a simulation that never fails would have to
 * be asked. Each is a mistake that operators in the field have made.
 *
 * @module
 */

/** One mistake. `find` must stand in `file` exactly once. */
export interface Mutation {
  /** What the mistake is, in a few words. */
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** A seed that catches it. Another history may need another one: others are tried after it. */
  readonly seed: number;
}

/** All of them. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: "drop the dirty mark of a key in a worker's hands",
    file: "lib/controller/workqueue.ts",
    find: "    if (this.#isShutDown) return;\n    const need = this.#dirty.get(key);",
    replace: "    if (this.#isShutDown || this.#processing.has(key)) return;\n" +
      "    const need = this.#dirty.get(key);",
    seed: 14,
  },
  {
    name: "release a key before its reconcile has ended",
    file: "lib/controller/controller.ts",
    find: "      const durationMs = await this.#reconcile(item, stop);",
    replace:
      "      item[Symbol.dispose]();\n      const durationMs = await this.#reconcile(item, stop);",
    seed: 1,
  },
  {
    name: "forget keys that wait for later",
    file: "lib/controller/workqueue.ts",
    find: "      this.#add(next.key, need.priority, need.reasons);",
    replace: "",
    seed: 2,
  },
  {
    name: "retry without backoff",
    file: "lib/core/rate_limiter.ts",
    find: "jitter(backoffMs(failures, this.#limits), this.#limits.jitter, this.#limits.random)",
    replace: "0",
    seed: 1,
  },
  {
    name: "forget deletions on a new list",
    file: "lib/cache/store.ts",
    find: "if (!mayGoBack && isNewerThan(slot.object, resourceVersion)) continue;",
    replace: "continue;",
    seed: 22,
  },
  {
    name: "tell nobody what a new list changed",
    file: "lib/cache/reflection.ts",
    find: "if (isFirst || changes.length > 0) this.#options.onChange(changes);",
    replace: "if (isFirst) this.#options.onChange(changes);",
    seed: 11,
  },
  {
    name: "lose a tombstone",
    file: "lib/cache/store.ts",
    find: 'return [{ type: "deleted", last: this.#transformed(object), certain: true }];',
    replace: "return NO_CHANGES;",
    seed: 2,
  },
  {
    name: "take an older state over a newer one",
    file: "lib/cache/store.ts",
    find: "(isUnchanged(object, held) || isOlder(object, held))",
    replace: "isUnchanged(object, held)",
    seed: 11,
  },
  {
    name: "forget to clean the index",
    file: "lib/cache/store.ts",
    find: "    this.#indexer.remove(slot);",
    replace: "",
    seed: 2,
  },
  {
    name: "ignore 410",
    file: "lib/cache/recovery.ts",
    find: '  if (isExpired(error)) return "expired";\n  if (isVersionAhead(error)) return "ahead";',
    replace: '  if (isVersionAhead(error)) return "ahead";',
    seed: 1,
  },
  {
    name: "ignore bookmarks",
    file: "lib/cache/reflection.ts",
    find: "return this.#store.advanceTo(event.resourceVersion);",
    replace: "return;",
    seed: 1,
  },
  {
    name: "take the first page for the list",
    file: "lib/client/resource_client.ts",
    find: "    yield page;\n    while (page.continue !== undefined) {",
    replace: "    yield page;\n    while (page === undefined) {",
    seed: 85,
  },
  {
    name: "skip the check of the owner",
    file: "lib/foo/plan.ts",
    find: '  if (!isControlledBy(found, foo)) return { type: "foreign" };\n',
    replace: "",
    seed: 1,
  },
  {
    name: "correct without preconditions",
    file: "lib/foo/plan.ts",
    find:
      "      uid: found.metadata.uid,\n      resourceVersion: found.metadata.resourceVersion,\n",
    replace: "",
    seed: 1,
  },
  {
    name: "delete without preconditions",
    file: "lib/foo/reconciler.ts",
    find: "          preconditions: { uid, resourceVersion },\n",
    replace: "",
    seed: 1,
  },
  {
    name: "take a name that exists for one's own",
    file: "lib/foo/reconciler.ts",
    find: "      if (isAlreadyExists(error)) return undefined;",
    replace: "      if (isAlreadyExists(error)) return draft;",
    seed: 2,
  },
  {
    name: "reuse the stale version at once after a conflict",
    file: "lib/foo/reconciler.ts",
    find: "return requeueAfter(CONFLICT_RETRY_MS);",
    replace: "return requeueAfter(0);",
    seed: 4,
  },
  {
    name: "write the status each time",
    file: "lib/foo/status.ts",
    find: "!jsonEqual(have[field], wanted[field])",
    replace: "true",
    seed: 1,
  },
  {
    name: "take every change for the echo of one's own write",
    file: "lib/foo/own_writes.ts",
    find: "return this.#entries.get(key)?.echoes[kind] === version;",
    replace: "return this.#entries.get(key)?.echoes[kind] !== undefined;",
    seed: 1,
  },
  {
    name: "trust the cache that a Foo is still there",
    file: "lib/foo/reconciler.ts",
    find: "    if (isNew) return false;",
    replace: "    if (isNew || !isNew) return false;",
    seed: 297,
  },
  {
    name: "keep the Deployment of the old name",
    file: "lib/foo/plan.ts",
    find: "  return owned.filter(({ metadata }) =>\n    metadata.name !== current.metadata.name &&",
    replace: "  return owned.filter(({ metadata }) =>\n    metadata.name === '' &&",
    seed: 1,
  },
  {
    name: "own replicas that the Foo does not give",
    file: "lib/foo/plan.ts",
    find:
      "spec.replicas !== undefined && spec.replicas !== found.spec?.replicas\n    ? { replicas: spec.replicas }",
    replace:
      "(spec.replicas ?? 1) !== found.spec?.replicas\n    ? { replicas: spec.replicas ?? 1 }",
    seed: 1,
  },
  {
    name: "leave a timer behind for each request",
    file: "lib/client/deadlines.ts",
    find: "        if (this.#running.size === 0) this.#rest();",
    replace: "",
    seed: 1,
  },
];

/**
 * What was asked of a server: for tests that count writes, and for RBAC manifests that must cover
 * exactly what an operator does.
 *
 * @module
 */

/** One kind of request that was seen. */
export interface SeenRequest {
  /** In Kubernetes' terms: `get`, `list`, `watch`, `create`, … */
  readonly verb: string;
  /** `""` for the core group. */
  readonly group: string;
  /** Plural name. */
  readonly resource: string;
  /** `""` for the object itself. */
  readonly subresource: string;
  /** `""` for all namespaces, and for cluster-scoped kinds. */
  readonly namespace: string;
}

/** Verbs that change something. */
const WRITES: ReadonlySet<string> = new Set([
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
]);

/** Counts of one server's requests. */
export class RequestStatistics {
  readonly #writes = new Map<string, number>();
  readonly #seen = new Map<string, SeenRequest>();
  #requests = 0;

  /** Requests of any kind, refused ones included. */
  get requests(): number {
    return this.#requests;
  }

  /** Write requests about objects by user agent (before the first slash), refused ones included. */
  writesByAgent(): ReadonlyMap<string, number> {
    return new Map(this.#writes);
  }

  /** Write requests of all user agents together. */
  get writes(): number {
    return [...this.#writes.values()].reduce((sum, count) => sum + count, 0);
  }

  /** What was asked for, each once, in order of the first time. */
  seen(): SeenRequest[] {
    return [...this.#seen.values()];
  }

  /** Starts all counts again. */
  reset(): void {
    this.#writes.clear();
    this.#seen.clear();
    this.#requests = 0;
  }

  /** Counts one request of `agent`. `target` is absent for requests about no resource. */
  record(agent: string, target: SeenRequest | undefined): void {
    this.#requests++;
    if (target === undefined) return;
    const { verb, group, resource, subresource, namespace } = target;
    const seen: SeenRequest = { verb, group, resource, subresource, namespace };
    const id = JSON.stringify(Object.values(seen));
    if (!this.#seen.has(id)) this.#seen.set(id, seen);
    if (WRITES.has(verb)) this.#writes.set(agent, (this.#writes.get(agent) ?? 0) + 1);
  }
}

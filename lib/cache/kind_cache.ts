/**
 * The cache of one kind in one scope: one informer, or one for each namespace, seen as one.
 *
 * @module
 */

import type { Clock, Random } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { GroupVersionKind, KubeObject } from "../core/objects.ts";
import { runTogether, type Task } from "../core/tasks.ts";
import type { Indexers } from "./indexer.ts";
import type { ListWatch } from "./list_watch.ts";
import {
  type CacheScope,
  inScope,
  selectionsOf,
  type SourceSelection,
  textOfScope,
} from "./scope.ts";
import {
  type ChangeHandler,
  type HandlerRegistration,
  type InformerObserver,
  SharedInformer,
  type SharedInformerOptions,
} from "./shared_informer.ts";
import type { Lister } from "./store.ts";
import { UnionLister } from "./union_lister.ts";

/** All that a cache must know of a kind; a client's kind definition fits it. */
export interface CachedKind<T> {
  /** Group, version and kind. */
  readonly gvk: GroupVersionKind;
  /** Lower-case plural: `deployments`. */
  readonly plural: string;
  /** Never there: carries the objects' type. */
  readonly __type?: T;
}

/** What is to be cached, and how. */
export interface CacheDeclaration<T extends KubeObject> extends
  Pick<
    SharedInformerOptions<T>,
    | "indexers"
    | "transform"
    | "keepManagedFields"
    | "resyncMs"
    | "inactivityMs"
    | "initialList"
    | "relistMs"
    | "budget"
  > {
  /** Which kind. */
  readonly kind: CachedKind<T>;
  /** Which of its objects. @default all */
  readonly scope?: CacheScope;
  /** Where objects come from, by selection: a client's `listWatch` of the kind. */
  readonly source: (selection: SourceSelection) => ListWatch<T>;
}

/** What every cache of a program is made with. */
export interface CacheParts {
  /** For pauses, deadlines and intervals. */
  readonly clock: Clock;
  /** For jitter. */
  readonly random: Random;
  /** Takes what goes wrong. */
  readonly log: Logger;
  /** Told what each informer does, by its name. @default none */
  readonly observerOf?: (informer: string) => InformerObserver;
}

/** `foos.samplecontroller.k8s.io`, or `pods` for the core group. */
export function nameOfKind({ gvk, plural }: CachedKind<unknown>): string {
  return gvk.group === "" ? plural : `${plural}.${gvk.group}`;
}

/**
 * One kind in one scope. Made by an `InformerSet`, or by oneself for a cache that nobody shares.
 */
export class KindCache<T extends KubeObject> {
  /** `pods (namespaces a,b)`: kind and scope, for messages. */
  readonly name: string;
  /** What was asked for. */
  readonly scope: CacheScope;
  /** Reads all of it. */
  readonly lister: Lister<T>;
  /** One a namespace, or one under `""`. */
  readonly informers: ReadonlyMap<string, SharedInformer<T>>;

  /** Only stores. Throws as {@linkcode selectionsOf}. */
  constructor(declaration: CacheDeclaration<T>, { observerOf, ...parts }: CacheParts) {
    const { kind, scope = {}, source, ...options } = declaration;
    const kindName = nameOfKind(kind);
    this.scope = scope;
    this.name = `${kindName} (${textOfScope(scope)})`;
    this.informers = new Map(
      Array.from(selectionsOf(scope), ([namespace, selection]) => {
        const name = namespace === "" ? kindName : `${kindName}/${namespace}`;
        const informer = new SharedInformer<T>({
          ...options,
          ...parts,
          name,
          source: source(selection),
          ...(observerOf && { observer: observerOf(name) }),
        });
        return [namespace, informer];
      }),
    );
    const [only, ...others] = this.informers.values();
    this.lister = only !== undefined && others.length === 0 ? only.lister : new UnionLister(
      new Map(Array.from(this.informers, ([place, { lister }]) => [place, lister])),
    );
  }

  /** True once all of it had its first list and told it. */
  get hasSynced(): boolean {
    return this.#each((informer) => informer.hasSynced).every((synced) => synced);
  }

  /** Resolves once {@linkcode KindCache.hasSynced}. Rejects with `signal.reason`. */
  async synced({ signal }: { signal: AbortSignal }): Promise<void> {
    await Promise.all(this.#each((informer) => informer.synced({ signal })));
  }

  /** Adds a handler to each of the informers: see {@linkcode SharedInformer.addHandler}. */
  addHandler(
    handler: ChangeHandler<T>,
    { name, onDispose }: { name: string; onDispose?: () => void },
  ): HandlerRegistration {
    const parts = this.#each((informer) => informer.addHandler(handler, { name }));
    return {
      name,
      get hasSynced() {
        return parts.every(({ hasSynced }) => hasSynced);
      },
      get failures() {
        return parts.reduce((sum, { failures }) => sum + failures, 0);
      },
      async synced({ signal }) {
        await Promise.all(parts.map((part) => part.synced({ signal })));
      },
      [Symbol.dispose]() {
        for (const part of parts) part[Symbol.dispose]();
        onDispose?.();
      },
    };
  }

  /** Adds indexes, at any time: see `Store.addIndexers`. */
  addIndexers(indexers: Indexers<T>): void {
    this.#each((informer) => informer.addIndexers(indexers));
  }

  /** The informer that has the objects of `namespace`, if the scope has them. */
  informerOf(namespace: string): SharedInformer<T> | undefined {
    return this.informers.get(namespace) ?? this.informers.get("");
  }

  /** Whether `object`, as it is, belongs here; `undefined` if only the server knows. */
  has(object: T): boolean | undefined {
    return inScope(this.scope, object);
  }

  /** Why it has not synced, for people: one line for each informer that has not. */
  get laggards(): readonly string[] {
    return [...this.informers.values()].filter(({ hasSynced }) => !hasSynced).map(
      ({ name, health: { failure } }) =>
        failure === undefined ? name : `${name}: cannot ${failure.verb}: ${failure.message}`,
    );
  }

  /** Fills the cache and keeps it current until `signal` aborts; then resolves. Once. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    const tasks: Record<string, Task> = {};
    for (const informer of this.informers.values()) {
      tasks[informer.name] = (signal) => informer.run({ signal });
    }
    await runTogether(tasks, { signal });
  }

  #each<R>(read: (informer: SharedInformer<T>) => R): R[] {
    return Array.from(this.informers.values(), read);
  }
}

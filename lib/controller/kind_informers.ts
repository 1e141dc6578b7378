/**
 * The caches of a process: one informer per kind and selection, whoever asks for it.
 *
 * Two controllers that watch Deployments share one watch and one store. All are declared before they
 * run, so that what is cached can be read off the code, and nothing is started by a read.
 *
 * @module
 */

import type { ListWatch } from "../cache/list_watch.ts";
import { type HandlerRegistration, SharedInformer } from "../cache/shared_informer.ts";
import type { Lister, StoreChange, StoreOptions } from "../cache/store.ts";
import type { KindDefinition } from "../client/kinds.ts";
import type { Selection } from "../client/resource_options.ts";
import type { Clock, Random } from "../core/clock.ts";
import { assert } from "../core/errors.ts";
import { jsonEqual } from "../core/json.ts";
import type { Logger } from "../core/log.ts";
import type { KubeObject } from "../core/objects.ts";
import { runTogether, type Task } from "../core/tasks.ts";
import type { HealthReport, Runnable } from "./runnable.ts";
import { SYNC_DEADLINE_MS, waitForSync } from "./sync.ts";

/** All that a controller needs of an informer. A `SharedInformer` fits. */
export interface KindInformer<T> {
  /** Names what is cached. */
  readonly name: string;
  /** The cached objects. */
  readonly lister: Lister<T>;
  /** Tells `handler` what is cached and, from then on, each change. */
  addHandler(
    handler: { onChange(change: StoreChange<T>): void },
    options: { name: string },
  ): HandlerRegistration;
  /** Resolves once the first list is in. */
  synced(options: { signal: AbortSignal }): Promise<void>;
}

/** Where a builder gets informers. {@linkcode KindInformers} fits. */
export interface InformerSource {
  /** The informer of `kind`, declared by the first call and shared with all later ones. */
  of<T extends KubeObject>(
    kind: KindDefinition<T>,
    options?: InformerOptions<T>,
  ): KindInformer<T>;
}

/** What of a kind is cached, and how. */
export interface InformerOptions<T> extends Omit<StoreOptions<T>, "log"> {
  /** Which objects. Informers with different selections are different. @default {{}} */
  readonly selection?: Selection;
  /** How often every object is told again, in milliseconds; 0 is never. @default {0} */
  readonly resyncMs?: number;
}

/** All that is needed of a client. A `Client` fits. */
export interface ListWatcher {
  /** The verbs of `kind`. */
  resource<T extends KubeObject>(
    kind: KindDefinition<T>,
  ): { listWatch(selection?: Selection): ListWatch<T> };
}

/** What {@linkcode KindInformers} is made of. */
export interface KindInformersOptions {
  /** Does the requests. */
  readonly client: ListWatcher;
  /** Times them. */
  readonly clock: Clock;
  /** Spreads them. */
  readonly random: Random;
  /** Gets what reflectors and handlers have to say. */
  readonly log: Logger;
  /** Longest wait for the first lists, in milliseconds. @default {120_000} */
  readonly syncDeadlineMs?: number;
}

/** One informer and what it is of. */
interface Entry<T> {
  readonly kind: KindDefinition<T & KubeObject>;
  readonly selection: Selection;
  readonly informer: KindInformer<T> & {
    run(options: { signal: AbortSignal }): Promise<void>;
    readonly hasSynced: boolean;
    readonly health: { readonly failure: { readonly message: string } | undefined };
  };
}

/**
 * Informers by kind and selection, as one part of a manager's group `caches`.
 *
 * Ready when all have their first list. Healthy as long as it runs: an informer heals by itself, and
 * a server that is away is no reason to restart; what keeps failing is in the health's message.
 */
export class KindInformers implements InformerSource, Runnable {
  /** Name of this part. */
  readonly name = "caches";
  readonly #options: KindInformersOptions;
  readonly #entries: Entry<KubeObject>[] = [];
  #wasRun = false;

  /** Only stores. */
  constructor(options: KindInformersOptions) {
    this.#options = options;
  }

  /**
   * The informer of `kind` and `options.selection`. The first call declares it; the other options
   * count only then.
   *
   * @throws {AssertionError} If it would have to be declared, but the informers run already; or if
   *   it is declared already and `options` has indexers or a transform, which would go unheard.
   */
  of<T extends KubeObject>(
    kind: KindDefinition<T>,
    options: InformerOptions<T> = {},
  ): KindInformer<T> {
    const { selection = {}, ...storeOptions } = options;
    const known = this.#find(kind, selection);
    if (known !== undefined) {
      const isPlain = options.indexers === undefined && options.transform === undefined;
      assert(isPlain, `the first call for ${known.informer.name} says what it indexes`);
      return known.informer;
    }
    const { client, clock, random, log } = this.#options;
    const name = nameOf(kind);
    assert(!this.#wasRun, `${name} is declared before the informers run`);
    const source = client.resource(kind).listWatch(selection);
    const informer = new SharedInformer<T>({ ...storeOptions, name, source, clock, random, log });
    const entry: Entry<T> = { kind, selection, informer };
    this.#entries.push(entry);
    return informer;
  }

  /** Runs all informers until `signal` aborts. Once in a lifetime. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    assert(!this.#wasRun, "informers are run once");
    this.#wasRun = true;
    const tasks: Record<string, Task> = {
      // Keeps the part running where nothing is cached.
      idle: (signal) => this.#options.clock.sleep(Infinity, { signal }),
    };
    this.#entries.forEach(({ informer }, index) => {
      tasks[`informer ${index + 1}: ${informer.name}`] = (signal) => informer.run({ signal });
    });
    await runTogether(tasks, { signal });
  }

  /**
   * Resolves when all have their first list.
   *
   * @throws {DeadlineError} If that takes too long, naming those that lag.
   */
  async ready({ signal }: { signal: AbortSignal }): Promise<void> {
    const { clock, log, syncDeadlineMs = SYNC_DEADLINE_MS } = this.#options;
    const sources = this.#entries.map(({ informer }) => informer);
    await waitForSync({ sources, clock, log, deadlineMs: syncDeadlineMs, signal });
  }

  /** What is cached, and what keeps failing. */
  health(): HealthReport {
    const details: Record<string, number | string> = {};
    const failures: string[] = [];
    this.#entries.forEach(({ informer }, index) => {
      const state = informer.hasSynced ? informer.lister.size : "not synced";
      details[`${index + 1}: ${informer.name}`] = state;
      const { failure } = informer.health;
      if (failure !== undefined) failures.push(`${informer.name}: ${failure.message}`);
    });
    return {
      isHealthy: true,
      ...(failures.length === 0 ? {} : { message: failures.join("; ") }),
      details,
    };
  }

  #find<T extends KubeObject>(
    kind: KindDefinition<T>,
    selection: Selection,
  ): Entry<T> | undefined {
    for (const entry of this.#entries) {
      if (isOf(entry, kind) && jsonEqual(entry.selection, selection)) return entry;
    }
    return undefined;
  }
}

/** An entry's objects are what its kind says they are. */
function isOf<T extends KubeObject>(
  entry: Entry<KubeObject> | Entry<T>,
  kind: KindDefinition<T>,
): entry is Entry<T> {
  return jsonEqual(entry.kind.gvk, kind.gvk) && entry.kind.plural === kind.plural;
}

function nameOf({ plural, gvk: { group } }: KindDefinition<KubeObject>): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/**
 * A whole controller from one description: what it is for, what it watches besides, how it works.
 *
 * It adds no ability of its own. {@linkcode buildController} makes a `Workqueue`, connects informers
 * to it with `enqueueChanges`, and gives it to a `Controller`; whoever needs something else does the
 * same by hand, in as many lines.
 *
 * @module
 */

import type { CacheHandle } from "../cache/informer_set.ts";
import type { CacheScope } from "../cache/scope.ts";
import type { HandlerRegistration } from "../cache/shared_informer.ts";
import type { Lister } from "../cache/store.ts";
import type { KindDefinition } from "../client/kinds.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { Logger } from "../core/log.ts";
import type { KubeObject, ObjectKey } from "../core/objects.ts";
import { defaultRateLimiter, type RateLimiter } from "../core/rate_limiter.ts";
import { runTogether, type Task } from "../core/tasks.ts";
import type { EventInput } from "../services/event_recorder.ts";
import { Controller } from "./controller.ts";
import type { ControllerObserver } from "./controller_options.ts";
import { enqueueChanges, specChanged } from "./enqueue.ts";
import type { ExternalSource } from "./external_source.ts";
import { type Mapper, toAnyOwner, toController, toSelf } from "./mappers.ts";
import type { Predicate } from "./predicates.ts";
import type { Reconciler } from "./reconciler.ts";
import { type HealthReport, type Runnable, supervise } from "./runnable.ts";
import { SYNC_DEADLINE_MS } from "./sync.ts";
import { Workqueue, type WorkqueueObserver } from "./workqueue.ts";

/**
 * How long running reconciles of a built controller may go on after a stop, in milliseconds: less
 * than a manager's whole budget, so that what stops after them still can in order.
 */
export const BUILT_GRACE_PERIOD_MS = 20_000;

/** Where a builder declares caches. A `CachedClient` fits. */
export interface KindCaches {
  /** The cache of `kind` in `options.scope`, shared with all who declare the same. */
  declare<T extends KubeObject>(
    kind: KindDefinition<T>,
    options?: { readonly scope?: CacheScope },
  ): CacheHandle<T>;
}

/** What is watched of one kind. */
export interface WatchedKindOptions<T> {
  /** Which objects are cached; the cache is shared with whoever declares the same. @default all */
  readonly scope?: CacheScope;
  /** Which changes are worth a look. @default all */
  readonly predicate?: Predicate<T>;
}

/** One more kind that a controller watches; made by {@linkcode owns} or {@linkcode watches}. */
export interface WatchedKind {
  /** Has what changes put keys into the queue. */
  connect(parts: WatchParts): HandlerRegistration;
}

/** What a {@linkcode WatchedKind} is connected to. */
export interface WatchParts {
  /** The controller's name. */
  readonly controller: string;
  /** The kind that is reconciled. */
  readonly owner: KindDefinition<KubeObject>;
  /** Where caches are declared. */
  readonly caches: KindCaches;
  /** The controller's queue. */
  readonly queue: Workqueue<ObjectKey>;
  /** Gets errors of predicates and mappers. */
  readonly log: Logger;
  /** Told of each of them. */
  readonly onMapError?: (error: unknown) => void;
}

/**
 * Objects of `kind` concern the reconciled object that owns them: the one that controls them, or with
 * `by: "any"` every owner.
 */
export function owns<T extends KubeObject>(
  kind: KindDefinition<T>,
  { by = "controller", ...options }: WatchedKindOptions<T> & {
    readonly by?: "controller" | "any";
  } = {},
): WatchedKind {
  return {
    connect(parts) {
      const mapper = by === "any" ? toAnyOwner(parts.owner) : toController(parts.owner);
      return connect(kind, { ...options, mapper }, parts);
    },
  };
}

/** Objects of `kind` concern the reconciled objects that `mapper` names. */
export function watches<T extends KubeObject>(
  kind: KindDefinition<T>,
  options: WatchedKindOptions<T> & { readonly mapper: Mapper<T> },
): WatchedKind {
  return { connect: (parts) => connect(kind, options, parts) };
}

/** What {@linkcode buildController} makes a controller of. */
export interface ControllerDescription<T extends KubeObject> extends WatchedKindOptions<T> {
  /** Name in logs, metrics and health. @default the kind's plural */
  readonly name?: string;
  /** The kind that is reconciled: each object's own changes concern it. */
  readonly for: KindDefinition<T>;
  /**
   * Which changes of the reconciled kind make its past failures void.
   * @default {specChanged}
   */
  readonly resetsBackoff?: Predicate<T>;
  /** Other kinds whose changes concern it. @default none */
  readonly watches?: readonly WatchedKind[];
  /** What else asks for looks. @default none */
  readonly external?: readonly ExternalSource[];
  /** Called for each key. */
  readonly reconcile: Reconciler;
  /** Keys reconciled at a time. @default {1} */
  readonly workers?: number;
  /** Delays of retries. @default {defaultRateLimiter} */
  readonly rateLimiter?: RateLimiter<ObjectKey>;
  /** Longest reconcile, in milliseconds. @default {600_000} */
  readonly deadlineMs?: number;
  /** How long reconciles may go on after a stop, in milliseconds. @default {20_000} */
  readonly gracePeriodMs?: number;
  /** Longest wait for caches, in milliseconds; then it fails, to be started again. @default {120_000} */
  readonly syncDeadlineMs?: number;
}

/** What a built controller gets of the outside. */
export interface ControllerParts {
  /** Where caches are declared; they run apart, as `cachesPart` of a manager. */
  readonly caches: KindCaches;
  /** Measures and limits reconciles. */
  readonly clock: Clock;
  /** Spreads retries. */
  readonly random: Random;
  /** Makes reconcile ids. */
  readonly uuid: () => string;
  /** Gets one line for each failure. */
  readonly log: Logger;
  /** Counts reconciles. @default none */
  readonly observer?: ControllerObserver;
  /** Counts what the queue does. @default none */
  readonly queueObserver?: WorkqueueObserver;
  /** Told of each error of predicates and mappers. @default none */
  readonly onMapError?: (error: unknown) => void;
  /**
   * Writes a Warning on an object whose reconciles cause each other. An `EventRecorder` fits.
   * @default none
   */
  readonly recorder?: { record(event: EventInput): void };
}

/** A controller as a part of a manager. */
export interface BuiltController<T extends KubeObject> extends Runnable {
  /** The cached objects of the reconciled kind. */
  readonly lister: Lister<T>;
  /** Where its keys wait. For reading, and for adding keys by hand. */
  readonly queue: Workqueue<ObjectKey>;
  /** How it is. */
  health(): HealthReport;
}

/**
 * Makes a controller of its description. All caches that it needs are declared here, and held for as
 * long as the process lives; `run` waits for them.
 *
 * Its `run` may be called again after it failed.
 *
 * @example The simulated server stands for a cluster
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { InformerSet } from "../cache/informer_set.ts";
 * import { Client } from "../client/client.ts";
 * import { CONFIG_MAPS, NAMESPACES } from "../client/kinds.ts";
 * import { RestClient } from "../client/rest.ts";
 * import { realClock as clock, realRandom as random, realUuid as uuid } from "../core/clock.ts";
 * import { silentLogger as log } from "../core/log.ts";
 * import { ApiServer } from "../simulator/server.ts";
 * import { CachedClient } from "./cached_client.ts";
 * import { cachesPart } from "./caches_part.ts";
 * import { Manager } from "./manager.ts";
 * import { SETTLED } from "./reconciler.ts";
 *
 * await using server = new ApiServer({ clock, random });
 * const transport = (url: string, init: RequestInit) => server.fetch(url, init);
 * const connection = { server: "https://sim:6443", userAgent: "example/1.0" };
 * const client = new Client(new RestClient({ transport, connection, clock }));
 * const informers = new InformerSet({ clock, random, log });
 * const caches = new CachedClient({ client, caches: informers, clock });
 *
 * const stop = new AbortController();
 * const seen: string[] = [];
 * const controller = buildController({
 *   for: NAMESPACES,
 *   watches: [watches(CONFIG_MAPS, { mapper: (map) => [map.metadata.namespace ?? ""] })],
 *   reconcile({ name }) {
 *     seen.push(name);
 *     if (name === "default") stop.abort();
 *     return Promise.resolve(SETTLED);
 *   },
 * }, { caches, clock, random, uuid, log });
 * await new Manager({ clock, random, log })
 *   .add("caches", cachesPart(informers))
 *   .add("elected", controller)
 *   .run(stop);
 * deepStrictEqual(seen, ["default"]);
 * ```
 */
export function buildController<T extends KubeObject>(
  description: ControllerDescription<T>,
  parts: ControllerParts,
): BuiltController<T> {
  const { for: kind, name = kind.plural, watches = [], external = [], scope } = description;
  const { caches, clock, random, log, queueObserver, onMapError } = parts;
  const rateLimiter = description.rateLimiter ?? defaultRateLimiter({ clock, random });
  const observer = queueObserver === undefined ? {} : { observer: queueObserver };
  const queue = new Workqueue({ name, clock, rateLimiter, log, ...observer });
  const mapErrors = onMapError === undefined ? {} : { onMapError };
  const watchParts = { controller: name, owner: kind, caches, queue, log, ...mapErrors };
  const { resetsBackoff = specChanged } = description;
  const own = connect(kind, { ...description, mapper: toSelf, resetsBackoff }, watchParts);
  const handlers = [own, ...watches.map((watch) => watch.connect(watchParts))];
  const { lister } = caches.declare(kind, scope === undefined ? {} : { scope });
  const telling = { ...parts, observer: tellingObserver(kind, lister, parts) };
  const controller = makeController(name, { description, parts: telling, queue, handlers });
  return {
    name,
    queue,
    lister,
    async run({ signal }) {
      const tasks: Record<string, Task> = { controller: (signal) => controller.run({ signal }) };
      for (const source of external) {
        // Supervised here: the failure of a source must not stop the workers.
        tasks[`source ${source.name}`] = (signal) =>
          supervise((signal) => source.run(queue, { signal }), {
            name: `source ${source.name}`,
            clock,
            random,
            log,
            signal,
          });
      }
      await runTogether(tasks, { signal });
    },
    health: () => healthOf(queue, controller),
  };
}

function makeController<T extends KubeObject>(
  name: string,
  { description, parts, queue, handlers }: {
    description: ControllerDescription<T>;
    parts: ControllerParts;
    queue: Workqueue<ObjectKey>;
    handlers: readonly HandlerRegistration[];
  },
): Controller {
  const { workers, deadlineMs, gracePeriodMs = BUILT_GRACE_PERIOD_MS } = description;
  return new Controller({
    name,
    reconcile: description.reconcile,
    queue,
    waitFor: handlers,
    clock: parts.clock,
    uuid: parts.uuid,
    log: parts.log,
    gracePeriodMs,
    syncDeadlineMs: description.syncDeadlineMs ?? SYNC_DEADLINE_MS,
    ...(workers === undefined ? {} : { workers }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(parts.observer === undefined ? {} : { observer: parts.observer }),
  });
}

/** Connects one kind's informer to the queue. */
function connect<T extends KubeObject>(
  kind: KindDefinition<T>,
  { scope, predicate, mapper, resetsBackoff }: WatchedKindOptions<T> & {
    readonly mapper: Mapper<T>;
    readonly resetsBackoff?: Predicate<T>;
  },
  { controller, caches, queue, log, onMapError }: WatchParts,
): HandlerRegistration {
  return enqueueChanges({
    name: `${controller}/${kind.plural}`,
    source: caches.declare(kind, scope === undefined ? {} : { scope }),
    queue,
    mapper,
    ...(predicate === undefined ? {} : { predicate }),
    ...(resetsBackoff === undefined ? {} : { resetsBackoff }),
    ...(onMapError === undefined ? {} : { onError: onMapError }),
    log,
  });
}

/** The observer given, which also has hot loops written on their objects. */
function tellingObserver<T extends KubeObject>(
  { gvk }: KindDefinition<T>,
  lister: Lister<T>,
  { observer, recorder }: ControllerParts,
): ControllerObserver {
  return {
    started: (event) => observer?.started(event),
    reconcileStarted: (event) => observer?.reconcileStarted(event),
    reconcileEnded: (event) => observer?.reconcileEnded(event),
    keyStuck: (event) => observer?.keyStuck?.(event),
    hotLoopFound(event) {
      const metadata = lister.find(event.key)?.metadata;
      if (metadata !== undefined) recorder?.record(hotLoopEvent({ gvk, metadata }, event));
      observer?.hotLoopFound?.(event);
    },
  };
}

function hotLoopEvent(
  regarding: EventInput["regarding"],
  { controller, runs, delayMs }: { controller: string; runs: number; delayMs: number },
): EventInput {
  return {
    regarding,
    type: "Warning",
    reason: "HotLoop",
    action: "Reconcile",
    note:
      `${runs} reconciles by ${controller} in a row caused each other: it, or another controller ` +
      `that undoes its work, writes at each look. Slowed to one in ${delayMs / 1000} s`,
  };
}

function healthOf(queue: Workqueue<ObjectKey>, { slowedKeys }: Controller): HealthReport {
  const { depth, delayed } = queue;
  const running = queue.running().length;
  const longestRunningMs = Math.round(queue.longestRunningMs);
  return { isHealthy: true, details: { depth, delayed, running, longestRunningMs, slowedKeys } };
}

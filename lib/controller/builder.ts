/**
 * A whole controller from one description: what it is for, what it watches besides, how it works.
 *
 * It adds no ability of its own. {@linkcode buildController} makes a `Workqueue`, connects informers
 * to it with `enqueueChanges`, and gives it to a `Controller`; whoever needs something else does the
 * same by hand, in as many lines.
 *
 * @module
 */

import type { HandlerRegistration } from "../cache/shared_informer.ts";
import type { Lister } from "../cache/store.ts";
import type { KindDefinition } from "../client/kinds.ts";
import type { Selection } from "../client/resource_options.ts";
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
import type { InformerSource } from "./kind_informers.ts";
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

/** What is watched of one kind. */
export interface WatchOptions<T> {
  /** Which objects are cached; shared with whoever asks for the same. @default all */
  readonly selection?: Selection;
  /** Which changes are worth a look. @default all */
  readonly predicate?: Predicate<T>;
}

/** One more kind that a controller watches; made by {@linkcode owns} or {@linkcode watches}. */
export interface Watch {
  /** Has what changes put keys into the queue. */
  connect(parts: WatchParts): HandlerRegistration;
}

/** What a {@linkcode Watch} is connected to. */
export interface WatchParts {
  /** The controller's name. */
  readonly controller: string;
  /** The kind that is reconciled. */
  readonly owner: KindDefinition<KubeObject>;
  /** Where informers come from. */
  readonly informers: InformerSource;
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
  { by = "controller", ...options }: WatchOptions<T> & { readonly by?: "controller" | "any" } = {},
): Watch {
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
  options: WatchOptions<T> & { readonly mapper: Mapper<T> },
): Watch {
  return { connect: (parts) => connect(kind, options, parts) };
}

/** What {@linkcode buildController} makes a controller of. */
export interface ControllerDescription<T extends KubeObject> extends WatchOptions<T> {
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
  readonly watches?: readonly Watch[];
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
  /** Where informers come from; they run apart, as `caches` of a manager. */
  readonly informers: InformerSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
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
 * Makes a controller of its description. All informers that it needs are declared here, so they run
 * only after it is built; `run` waits for them.
 *
 * Its `run` may be called again after it failed.
 *
 * @example Two kinds, one watch besides; the `informers` here stand for `new KindInformers(…)`
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * import { CONFIG_MAPS, DEPLOYMENTS, NAMESPACES } from "../client/kinds.ts";
 * import { realClock, realRandom, realUuid } from "../core/clock.ts";
 * import { silentLogger } from "../core/log.ts";
 * import { KindInformers } from "./kind_informers.ts";
 * import { SETTLED } from "./reconciler.ts";
 *
 * const parts = { clock: realClock, random: realRandom, uuid: realUuid, log: silentLogger };
 * const source = { list: () => Promise.reject(new Error("no server")), async *watch() {} };
 * const client = { resource: () => ({ listWatch: () => source }) };
 * const informers = new KindInformers({ ...parts, client });
 * const controller = buildController({
 *   for: DEPLOYMENTS,
 *   watches: [
 *     owns(CONFIG_MAPS),
 *     watches(NAMESPACES, { mapper: ({ metadata }) => [`${metadata.name}/web`] }),
 *   ],
 *   reconcile: () => Promise.resolve(SETTLED),
 * }, { ...parts, informers });
 * deepStrictEqual(Object.keys(informers.health().details ?? {}), [
 *   "1: deployments.apps", "2: configmaps", "3: namespaces",
 * ]);
 * deepStrictEqual(controller.name, "deployments");
 * ```
 */
export function buildController<T extends KubeObject>(
  description: ControllerDescription<T>,
  parts: ControllerParts,
): BuiltController<T> {
  const { for: kind, name = kind.plural, watches = [], external = [], selection } = description;
  const { informers, clock, random, log, queueObserver, onMapError } = parts;
  const rateLimiter = description.rateLimiter ?? defaultRateLimiter({ clock, random });
  const observer = queueObserver === undefined ? {} : { observer: queueObserver };
  const queue = new Workqueue({ name, clock, rateLimiter, log, ...observer });
  const mapErrors = onMapError === undefined ? {} : { onMapError };
  const watchParts = { controller: name, owner: kind, informers, queue, log, ...mapErrors };
  const { resetsBackoff = specChanged } = description;
  const own = connect(kind, { ...description, mapper: toSelf, resetsBackoff }, watchParts);
  const handlers = [own, ...watches.map((watch) => watch.connect(watchParts))];
  const { lister } = informers.of(kind, selection === undefined ? {} : { selection });
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
  { selection, predicate, mapper, resetsBackoff }: WatchOptions<T> & {
    readonly mapper: Mapper<T>;
    readonly resetsBackoff?: Predicate<T>;
  },
  { controller, informers, queue, log, onMapError }: WatchParts,
): HandlerRegistration {
  return enqueueChanges({
    name: `${controller}/${kind.plural}`,
    source: informers.of(kind, selection === undefined ? {} : { selection }),
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

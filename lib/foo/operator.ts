/**
 * The whole operator, from settings to a clean stop: what `foo-operator run` starts.
 *
 * Its settings are plain data that `structuredClone` takes, and of the outside it is given only what
 * `deps` names: it reads no file, no variable and no clock of its own, so it runs the same in the
 * main thread, in a worker without permissions, and in a simulation.
 *
 * It starts by asking the server for what it can't do without (`preflight.ts`), then waits for the
 * definition of Foo if that is not there, then for its caches, then reconciles. It ends when its
 * signal aborts: no new work, running reconciles end within the grace period, then the last events
 * are sent. Nothing that the server does later ends it.
 *
 * @module
 */

import type { SharedInformer } from "../cache/shared_informer.ts";
import { Client } from "../client/client.ts";
import type { ConnectionSettings, CredentialSource } from "../client/connection.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  DEPLOYMENTS,
  EVENTS,
} from "../client/kinds.ts";
import { type OpenTransport, openTransport } from "../client/open_transport.ts";
import { RestClient } from "../client/rest.ts";
import type { Transport } from "../client/transport.ts";
import { Controller, type ControllerObserver } from "../controller/controller.ts";
import { Workqueue, type WorkqueueObserver } from "../controller/workqueue.ts";
import type { Clock, Random } from "../core/clock.ts";
import { assert } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { keyOf, type ObjectKey } from "../core/objects.ts";
import { defaultRateLimiter } from "../core/rate_limiter.ts";
import { type Latch, latch, runTogether, type Task } from "../core/tasks.ts";
import { EventRecorder } from "../services/event_recorder.ts";
import {
  definitionInformer,
  type FooInformers,
  fooInformers,
  fooSources,
  watchForWork,
} from "./informers.ts";
import { preflight } from "./preflight.ts";
import { FooReconciler } from "./reconciler.ts";
import { FOO_CRD_NAME, FOOS } from "./schema.ts";
import { ServedStatusSource } from "./served_status.ts";
import { servedStatusOf } from "./status.ts";

/** Who our Events say they are from; a qualified name, as the API asks for. */
export const REPORTING_CONTROLLER = `${FOOS.gvk.group}/foo-operator`;

/** What the operator is to do. Plain data. */
export interface OperatorSettings {
  readonly connection: ConnectionSettings;
  /** Namespaces to work in; empty: all. */
  readonly namespaces: readonly string[];
  /** Foos reconciled at a time. */
  readonly workers: number;
  /** How often each Foo is looked at without a change, in milliseconds; 0: never. */
  readonly resyncMs: number;
  /** Name of this process in Events. At most 128 bytes. */
  readonly instance: string;
  /** How long running reconciles may go on after a stop, in milliseconds. */
  readonly gracePeriodMs: number;
}

/** What the operator gets of the outside. */
export interface OperatorDeps {
  readonly credentials: CredentialSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
  readonly log: Logger;
  /** Sends requests. @default the one on `fetch`, or on `node:https` if the server is not verified */
  readonly transport?: Transport;
  /** Hear what goes on, for metrics. @default nobody */
  readonly observers?: OperatorObservers;
}

/** Who hears what the operator does. */
export interface OperatorObservers {
  /** Of the queue of Foos. */
  readonly queue?: WorkqueueObserver;
  /** Of their reconciles. */
  readonly controller?: ControllerObserver;
}

/**
 * Runs the operator until `signal` aborts; then resolves, after a clean stop.
 *
 * @throws {ConfigError} If the server can't be reached or refuses us at the start.
 */
export async function runOperator(
  settings: OperatorSettings,
  deps: OperatorDeps,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  using transport = await transportOf(settings, deps);
  const { clock, log } = deps;
  const { connection, namespaces } = settings;
  const client = new Client(
    new RestClient({
      transport: transport.send,
      connection,
      clock,
      onWarning: (warning) => log.debug("The API server warns", { ...warning }),
    }),
  );
  try {
    const { canReadDefinition } = await preflight({
      connection,
      namespaces,
      foos: client.resource(FOOS),
      deployments: client.resource(DEPLOYMENTS),
      definitions: client.resource(CUSTOM_RESOURCE_DEFINITIONS),
      hasClientCertificate: await hasClientCertificate(deps, { signal }),
      clock,
      log,
      signal,
    });
    log.info("Operator started", {
      server: connection.server,
      namespaces: namespaces.length === 0 ? "all" : namespaces,
    });
    await new Operator({ settings, deps, client }).run({ canReadDefinition, signal });
  } catch (error) {
    if (error !== signal.reason || !signal.aborted) throw error; // stopped while it started
  }
  log.info("Operator stopped");
}

/** The parts, once the server has let us in. */
class Operator {
  readonly #settings: OperatorSettings;
  readonly #deps: OperatorDeps;
  readonly #client: Client;
  readonly #queue: Workqueue<ObjectKey>;
  readonly #recorder: EventRecorder;
  readonly #served: ServedStatusSource;
  readonly #isDefined: Latch = latch();
  readonly #caches: ReadonlyMap<string, FooInformers>;

  constructor(
    { settings, deps, client }: { settings: OperatorSettings; deps: OperatorDeps; client: Client },
  ) {
    const { clock, random, uuid, log, observers: { queue: observer } = {} } = deps;
    const rateLimiter = defaultRateLimiter<ObjectKey>({ clock, random });
    this.#settings = settings;
    this.#deps = deps;
    this.#client = client;
    this.#queue = new Workqueue({
      name: "foo",
      clock,
      rateLimiter,
      log,
      ...(observer === undefined ? {} : { observer }),
    });
    this.#served = new ServedStatusSource({ clock, log });
    this.#recorder = new EventRecorder({
      client: client.resource(EVENTS),
      reportingController: REPORTING_CONTROLLER,
      reportingInstance: settings.instance,
      clock,
      random,
      uuid,
      log,
    });
    const { resyncMs, namespaces } = settings;
    const places = namespaces.length === 0 ? [ALL] : [...new Set(namespaces)];
    this.#caches = new Map(places.map((place) => {
      const namespace = place === ALL ? undefined : place;
      const parts = { clock, random, log, resyncMs };
      return [place, fooInformers(fooSources(client, { namespace }), parts)];
    }));
  }

  async run(
    { canReadDefinition, signal }: { canReadDefinition: boolean; signal: AbortSignal },
  ): Promise<void> {
    const work = new AbortController();
    const tasks: Record<string, Task> = {
      // Ends after the work does, so that the last reconcile's event is sent too.
      events: () => this.#recorder.run({ signal: work.signal }),
      reconcile: async (stop) => {
        try {
          await this.#reconcile(stop);
        } finally {
          work.abort(WORK_ENDED);
        }
      },
    };
    if (canReadDefinition) tasks["definition"] = (stop) => this.#followDefinition(stop);
    else this.#doWithoutDefinition();
    await runTogether(tasks, { signal });
  }

  /** Caches and controller. They list Foos only once there is such a kind (field case W12). */
  async #reconcile(stop: AbortSignal): Promise<void> {
    await this.#isDefined.wait({ signal: stop });
    const { clock, uuid, log, observers: { controller: observer } = {} } = this.#deps;
    const { workers, gracePeriodMs } = this.#settings;
    const reconciler = new FooReconciler({
      listersOf: (namespace) => this.#listersOf(namespace),
      foos: this.#client.resource(FOOS),
      deployments: this.#client.resource(DEPLOYMENTS),
      events: this.#recorder,
      served: this.#served,
      clock,
    });
    const { ownWrites } = reconciler;
    const tasks: Record<string, Task> = {};
    const waitFor = [...this.#caches].flatMap(([place, informers]) => {
      tasks[`foos ${place}`] = (signal) => informers.foos.run({ signal });
      tasks[`deployments ${place}`] = (signal) => informers.deployments.run({ signal });
      return watchForWork(informers, { queue: this.#queue, ownWrites, log });
    });
    const controller = new Controller({
      name: "foo",
      reconcile: (request, context) => reconciler.reconcile(request, context),
      queue: this.#queue,
      workers,
      gracePeriodMs,
      waitFor,
      clock,
      uuid,
      log,
      ...(observer === undefined ? {} : { observer }),
    });
    tasks["controller"] = (signal) => controller.run({ signal });
    await runTogether(tasks, { signal: stop });
  }

  #listersOf(namespace: string) {
    const informers = this.#caches.get(namespace) ?? this.#caches.get(ALL);
    assert(informers !== undefined, `namespace "${namespace}" is one that we work in`);
    return { foos: informers.foos.lister, deployments: informers.deployments.lister };
  }

  /** Keeps up with the definition of Foo: whether it is there, and what it serves. */
  async #followDefinition(stop: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const informer = definitionInformer(this.#client, { clock, random, log });
    using handler = informer.addHandler({
      onChange: (change) => {
        if (change.type === "deleted") this.#definitionGone();
        else this.#definitionSeen(change.object);
      },
    }, { name: "definition" });
    await runTogether({
      informer: (signal) => informer.run({ signal }),
      telling: async (signal) => {
        await handler.synced({ signal });
        this.#tellIfMissing(informer);
      },
    }, { signal: stop });
  }

  #definitionSeen(definition: CustomResourceDefinition): void {
    if (!isEstablished(definition)) return;
    const isNew = this.#served.set(definition);
    if (servedStatusOf(definition) === undefined) return;
    if (!this.#isDefined.isOpen) {
      this.#deps.log.debug("The kind Foo is served", { name: FOO_CRD_NAME });
      this.#isDefined.open();
    } else if (isNew) {
      // A field that is served from now on has to be written.
      for (const { foos } of this.#caches.values()) {
        for (const { metadata } of foos.lister.all()) this.#queue.add(keyOf(metadata));
      }
    }
  }

  #tellIfMissing(informer: SharedInformer<CustomResourceDefinition>): void {
    if (this.#isDefined.isOpen || informer.lister.size > 0) return;
    this.#deps.log.warn(
      "Waiting for the CustomResourceDefinition: apply the one that `foo-operator manifests crd` prints",
      { name: FOO_CRD_NAME },
    );
  }

  /** The server deletes the Foos with it; the caches see that, and wait for it to come again. */
  #definitionGone(): void {
    this.#deps.log.warn("The definition of Foo was deleted, and all Foos with it", {
      name: FOO_CRD_NAME,
    });
  }

  #doWithoutDefinition(): void {
    this.#deps.log.info(
      "No right to read the definition of Foo: taking it to be this operator's own",
      { name: FOO_CRD_NAME },
    );
    this.#isDefined.open();
  }
}

/** Key of the caches of all namespaces; no namespace has this name. */
const ALL = "";

const WORK_ENDED = new DOMException("The work that makes events has ended", "AbortError");

function isEstablished({ status }: CustomResourceDefinition): boolean {
  return status?.conditions?.some(({ type, status }) =>
    type === "Established" && status === "True"
  ) ??
    false;
}

/** True if the server should know us by a certificate. */
async function hasClientCertificate(
  { credentials }: OperatorDeps,
  { signal }: { signal: AbortSignal },
): Promise<boolean> {
  const { clientCertificate, token } = await credentials.current({ signal });
  return clientCertificate !== undefined && token === undefined;
}

/** The transport given, or the one that the settings ask for. */
async function transportOf(
  { connection }: OperatorSettings,
  { transport, credentials, clock, log }: OperatorDeps,
): Promise<OpenTransport> {
  if (transport !== undefined) return { send: transport, [Symbol.dispose]: () => {} };
  return await openTransport({ source: credentials, settings: connection, clock, log });
}

/**
 * The whole operator on the simulated API server and clock: everything but sockets is real.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { Client } from "../../lib/client/client.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type Deployment,
  DEPLOYMENTS,
  type Event,
  EVENTS,
} from "../../lib/client/kinds.ts";
import type { ResourceClient } from "../../lib/client/resource_client.ts";
import { RestClient } from "../../lib/client/rest.ts";
import type { Transport, TransportInit } from "../../lib/client/transport.ts";
import type { Draft } from "../../lib/core/objects.ts";
import { customResourceDefinition } from "../../lib/foo/crd.ts";
import { type OperatorSettings, runOperator } from "../../lib/foo/operator.ts";
import { type Foo, FOOS, type FooSpec } from "../../lib/foo/schema.ts";
import { ApiServer, type ApiServerOptions } from "../../lib/simulator/server.ts";
import { seededRandom, seededUuid, SimClock } from "../../lib/simulator/sim_clock.ts";
import { type LogRecord, recordingLogger } from "./recording_logger.ts";

/** A request of the operator that the server answered. */
export interface SeenRequest {
  readonly atMs: number;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly isWatch: boolean;
  readonly status: number;
}

/** Longest that anything here is waited for, in simulated milliseconds. */
const LIMIT_MS = 60_000;

/** Our definition, or `edit`'s idea of it. */
export function definition(
  edit: (crd: CustomResourceDefinition) => void = () => {},
): Draft<CustomResourceDefinition> {
  const crd: CustomResourceDefinition = JSON.parse(JSON.stringify(customResourceDefinition()));
  edit(crd);
  return crd;
}

/** A simulated cluster and what happens in it. */
export class SimWorld implements AsyncDisposable {
  readonly clock = new SimClock();
  readonly records: LogRecord[];
  readonly requests: SeenRequest[] = [];
  /** Delay of everything that the operator's watches of a path tell, by the path's last part. */
  readonly watchDelayMs = new Map<string, number>();
  /** May answer a request of the operator in the server's place, or do something before it. */
  intercept: ((method: string, url: URL) => Promise<Response | undefined>) | undefined;
  readonly foos: ResourceClient<Foo>;
  readonly deployments: ResourceClient<Deployment>;
  readonly definitions: ResourceClient<CustomResourceDefinition>;
  readonly events: ResourceClient<Event>;
  readonly server: ApiServer;
  readonly signal = new AbortController().signal;
  readonly #log;
  readonly #random = seededRandom(7);
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(options: Pick<ApiServerOptions, "controllerDelayMs"> = {}) {
    const { log, records } = recordingLogger();
    this.#log = log;
    this.records = records;
    this.server = new ApiServer({ ...options, clock: this.clock, random: this.#random });
    const client = new Client(
      new RestClient({
        transport: (url, init) => this.server.fetch(url, init),
        connection: { server: "https://sim:6443", userAgent: "test" },
        clock: this.clock,
      }),
    );
    this.foos = client.resource(FOOS);
    this.deployments = client.resource(DEPLOYMENTS);
    this.definitions = client.resource(CUSTOM_RESOURCE_DEFINITIONS);
    this.events = client.resource(EVENTS);
  }

  /** A cluster with `crd` in which the operator runs. */
  static async start(
    settings: Partial<OperatorSettings> = {},
    { crd = definition(), ...options }:
      & { crd?: Draft<CustomResourceDefinition> }
      & Pick<ApiServerOptions, "controllerDelayMs"> = {},
  ): Promise<SimWorld> {
    const world = new SimWorld(options);
    await world.definitions.create(crd, { signal: world.signal });
    world.startOperator(settings);
    await world.clock.settle();
    return world;
  }

  /** Starts the operator; what it throws is thrown by {@linkcode SimWorld.stopOperator}. */
  startOperator(settings: Partial<OperatorSettings> = {}): void {
    this.#stop = new AbortController();
    const random = this.#random;
    this.#running = runOperator({
      connection: { server: "https://sim:6443", namespace: "default", userAgent: "foo-operator/1" },
      namespaces: [],
      workers: 2,
      resyncMs: 0,
      instance: "test",
      gracePeriodMs: 30_000,
      ...settings,
    }, {
      credentials: {
        current: () => Promise.resolve({ generation: 0 }),
        refresh: () => Promise.resolve({ generation: 0 }),
      },
      clock: this.clock,
      random,
      uuid: seededUuid(random),
      log: this.#log,
      transport: this.#transport,
    }, { signal: this.#stop.signal }).catch((error) => {
      this.#failure = error;
    });
  }

  /** Stops the operator and waits for its end. Throws what it threw. */
  async stopOperator(): Promise<void> {
    this.#stop.abort(new DOMException("stop", "AbortError"));
    let hasEnded = false;
    const running = this.#running.then(() => hasEnded = true);
    await this.clock.runUntil(() => hasEnded, { limitMs: LIMIT_MS, action: "the operator's end" });
    await running;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Creates a Foo in the namespace `default`. */
  async createFoo(name: string, spec: FooSpec): Promise<Foo> {
    const draft = { metadata: { name, namespace: "default" }, spec };
    return await this.foos.create(draft, { signal: this.signal });
  }

  /** Changes fields of a Foo's spec. */
  async editFoo(name: string, spec: { [K in keyof FooSpec]?: FooSpec[K] | null }): Promise<Foo> {
    return await this.foos.patch({
      name,
      namespace: "default",
      patch: { type: "merge", body: { spec } },
      signal: this.signal,
    });
  }

  /** The stored Foo. */
  async foo(name: string): Promise<Foo> {
    return await this.foos.get({ name, namespace: "default", signal: this.signal });
  }

  /** The stored Deployments, by name. */
  async deploymentsByName(): Promise<Record<string, Deployment>> {
    const { items } = await this.deployments.list({ namespace: "default", signal: this.signal });
    return Object.fromEntries(items.map((item) => [item.metadata.name, item]));
  }

  /** A stored Deployment; throws if there is none. */
  async deployment(name: string): Promise<Deployment> {
    return await this.deployments.get({ name, namespace: "default", signal: this.signal });
  }

  /** Plays the Deployment controller: says that so many Pods are available. */
  async setAvailable(name: string, availableReplicas: number): Promise<void> {
    await this.deployments.patch({
      name,
      namespace: "default",
      subresource: "status",
      patch: {
        type: "merge",
        body: {
          status: {
            replicas: availableReplicas,
            readyReplicas: availableReplicas,
            availableReplicas,
          },
        },
      },
      signal: this.signal,
    });
  }

  /** A Deployment that no Foo controls. */
  async createForeign(name: string): Promise<Deployment> {
    const labels = { app: "theirs" };
    return await this.deployments.create({
      metadata: { name, namespace: "default" },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "theirs", image: "theirs:1" }] },
        },
      },
    }, { signal: this.signal });
  }

  /** `type reason: note` of each Event about a Foo, sorted. */
  async eventsOf(name: string): Promise<string[]> {
    const { items } = await this.events.list({ namespace: "default", signal: this.signal });
    return items.filter((event) => event.regarding?.name === name)
      .map((event) => `${event.type} ${event.reason}: ${event.note}`)
      .sort(); // their names, by which the server sorts, are random
  }

  /** The operator's writes since `mark`, `METHOD last-parts-of-path status`, in order. */
  writes(mark = 0): string[] {
    return this.requests.slice(mark)
      .filter(({ method }) => method !== "GET")
      .map(({ method, path, status }) => {
        const parts = path.replace(/^.*\/namespaces\/default\//, "").split("/");
        // Names of Events are random.
        return `${method} ${parts[0] === "events" ? "events" : parts.join("/")} ${status}`;
      });
  }

  /** For {@linkcode SimWorld.writes}: from now on. */
  mark(): number {
    return this.requests.length;
  }

  /** Messages logged at `level`. */
  said(level: LogRecord["level"]): string[] {
    return this.records.filter((record) => record.level === level).map(({ message }) => message);
  }

  readonly #transport: Transport = async (url, init) => {
    const { pathname, searchParams } = new URL(url);
    const isWatch = searchParams.get("watch") === "true";
    const response = await this.#answer(url, init);
    this.requests.push({
      atMs: this.clock.monotonicMs(),
      method: init.method,
      path: pathname,
      isWatch,
      status: response.status,
    });
    if (!isWatch || response.body === null) return response;
    const delayed = response.body.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform: async (chunk, controller) => {
          const delayMs = this.watchDelayMs.get(pathname.split("/").at(-1) ?? "") ?? 0;
          if (delayMs > 0) await this.clock.sleep(delayMs, { signal: init.signal });
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(delayed, { status: response.status, headers: response.headers });
  };

  async #answer(url: string, init: TransportInit): Promise<Response> {
    const answer = await this.intercept?.(init.method, new URL(url));
    return answer ?? await this.server.fetch(url, init);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopOperator();
    await this.server[Symbol.asyncDispose]();
    ok(this.clock.pendingTimers === 0, "the operator left no timer");
  }
}

/**
 * Weather: the faults between a program and its API server, switched on by a test or drawn by a seed.
 *
 * A `Weather` stands in front of an {@linkcode ApiServer} and has the same `fetch`, so it fits where
 * the server's would. What it promises:
 * - **It lies as a network lies.** A struck request fails as it would on the real transport: a
 *   `ConnectionError` with the right stage, an answer with a Status or a proxy's page, a body that
 *   breaks. What the program is told never contradicts what the server did, but for what a lost
 *   answer leaves open.
 * - **It keeps the API's promises.** Old states are given only to lists that allow them; watches skip
 *   nothing between two lines; what is repeated was true once, and nothing that is gone comes back.
 * - **It repeats itself.** All chance comes from the `random` given and all waiting goes through the
 *   clock, so the same seed gives the same weather.
 *
 * {@linkcode WeatherPlan} lists the faults and how often they strike. Faults can also be caused one
 * by one: {@linkcode Weather.cutWatches}, {@linkcode Weather.beginOutage} and so on.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";
import { assert } from "../core/errors.ts";
import type { ApiServer } from "./server.ts";
import type { SimClock } from "./sim_clock.ts";
import type { Target } from "./request.ts";
import type { Trace } from "./trace.ts";
import { brokenBody, laggingAnswer, refused, reset, struckAnswer } from "./weather_answers.ts";
import { CALM, type WeatherPlan } from "./weather_plan.ts";
import {
  askedVersion,
  asksForState,
  interfere,
  isFurtherPage,
  isWrite,
  makePagesSmall,
  makeStale,
  repeatedLines,
  type StruckRequest,
  struckRequest,
} from "./weather_requests.ts";
import { Strikes } from "./weather_strikes.ts";
import { isUneventful, type WatchFate, WeatheredWatch } from "./weather_watch.ts";

/** What a program sends a request with. The client's `Transport` has this shape. */
export type SimTransport = (url: string, init: SimRequestInit) => Promise<Response>;

/** What a {@linkcode SimTransport} is given besides the URL. */
export interface SimRequestInit {
  /** HTTP method, in capitals. */
  readonly method: string;
  /** HTTP headers, by name. */
  readonly headers: Record<string, string>;
  /** The body as text; none for reads. */
  readonly body?: string;
  /** Gives up the request: it rejects with the signal's reason. A write may have happened. */
  readonly signal: AbortSignal;
}

/** A program that can crash: nothing that it sends has an effect from then on. */
export interface CrashingProgram {
  /** False once it has crashed. */
  readonly isAlive: boolean;
  /** Ends it as `kill -9` does. */
  crash(): void;
}

/** A request that reached the server, and how it was answered there. */
export interface SeenExchange {
  /** When it was answered, in simulated milliseconds. */
  readonly atMs: number;
  /** HTTP method, in capitals. */
  readonly method: string;
  /** As sent, with the query. */
  readonly url: URL;
  /** The resource that it was about, if any. */
  readonly target: Target | undefined;
  /** As sent. */
  readonly body: string | undefined;
  /** The server's own status. The program may have been told another one, or nothing. */
  readonly status: number;
}

/** What a {@linkcode Weather} is made of. */
export interface WeatherOptions {
  /** Who answers what gets through. */
  readonly server: ApiServer;
  /** The time that delays take: the same as the server's. */
  readonly clock: SimClock;
  /** Decides what strikes. Best a generator of its own, so that it does not move others' chance. */
  readonly random: Random;
  /** What strikes how often. @default CALM */
  readonly plan?: WeatherPlan;
  /** Is told each request and each fault. @default none */
  readonly trace?: Trace;
  /** Is told each request that reached the server, after its effect. @default none */
  readonly onExchange?: (exchange: SeenExchange) => void;
}

/** Longest outage, in milliseconds. */
const OUTAGE_MAX_MS = 60_000;

/** How often the wall clock's drift is applied, in milliseconds. */
const DRIFT_STEP_MS = 10_000;

/** A program that never crashes. */
const STURDY: CrashingProgram = { isAlive: true, crash: () => {} };

/**
 * The weather in front of a server. Dispose of it at the end: that ends the watches it changed.
 *
 * @example A write whose answer is lost had its effect
 * ```ts
 * import { rejects, strictEqual } from "node:assert/strict";
 * import { ConnectionError } from "../core/errors.ts";
 * import { ApiServer } from "./server.ts";
 * import { seededRandom, SimClock } from "./sim_clock.ts";
 * import { CALM } from "./weather_plan.ts";
 *
 * const clock = new SimClock();
 * await using server = new ApiServer({ clock, random: seededRandom(1) });
 * const plan = { ...CALM, resetAfter: 1 };
 * await using weather = new Weather({ server, clock, random: seededRandom(2), plan });
 * const path = "http://cluster/api/v1/namespaces/default/configmaps";
 * const sent = weather.fetch(path, {
 *   method: "POST",
 *   headers: { "content-type": "application/json" },
 *   body: JSON.stringify({ metadata: { name: "a" } }),
 *   signal: new AbortController().signal,
 * });
 * await rejects(sent, (error) => error instanceof ConnectionError && error.stage === "send");
 * strictEqual((await server.fetch(`${path}/a`)).status, 200);
 * ```
 */
export class Weather implements AsyncDisposable {
  readonly #options: WeatherOptions;
  readonly #watches = new Set<Promise<void>>();
  readonly #strikes: Strikes;
  #plan: WeatherPlan;
  #outageUntilMs = -Infinity;
  #marks = 0;

  /** Only stores. */
  constructor(options: WeatherOptions) {
    this.#options = options;
    this.#plan = options.plan ?? CALM;
    this.#strikes = new Strikes(() => this.#plan, options.random);
  }

  /** What strikes how often. */
  get plan(): WeatherPlan {
    return this.#plan;
  }

  /** From now on. Open watches keep the fate that they were given. */
  change(plan: WeatherPlan): void {
    this.#plan = plan;
  }

  /** Ends all faults, a running outage included. Open watches keep the fate that they were given. */
  calm(): void {
    this.#plan = CALM;
    this.#outageUntilMs = -Infinity;
  }

  /** Answers a request of a program that never crashes. Bound, so that it can be handed on. */
  readonly fetch: SimTransport = (url, init) => this.#send(STURDY, url, init);

  /** Sends what `program` sends: the writes at which it crashes are drawn here. */
  transportFor(program: CrashingProgram): SimTransport {
    return (url, init) => this.#send(program, url, init);
  }

  /**
   * Lets the faults strike that come by themselves (outages, compactions, mass cuts, the clock's jumps
   * and drift), as the plan at this moment says. Resolves when `signal` aborts.
   */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    const { clock, random } = this.#options;
    const { compactions, massCuts, outages, clockJumps, clockDrift } = this.#plan;
    const often = async (perMinute: number, strike: () => void) => {
      while (perMinute > 0) {
        await clock.sleep(-Math.log(1 - random()) * 60_000 / perMinute, { signal });
        strike();
      }
    };
    const drift = async () => {
      while (clockDrift !== 0) {
        await clock.sleep(DRIFT_STEP_MS, { signal });
        clock.jumpWall(clockDrift * DRIFT_STEP_MS / 1000);
      }
    };
    try {
      await Promise.all([
        often(compactions, () => this.compact()),
        often(massCuts, () => this.cutWatches()),
        often(outages, () => this.beginOutage(OUTAGE_MAX_MS * random() ** 2)),
        often(clockJumps, () => this.jumpClock((random() - 0.5) * 20 * 60_000)),
        drift(),
      ]);
    } catch (error) {
      if (error !== signal.reason || !signal.aborted) throw error;
    }
  }

  /** Breaks all open watches, or those of one table (`apps/deployments`). */
  cutWatches(options: { table?: string } = {}): void {
    this.#tell("watches cut");
    this.#options.server.cutWatches({ ...options, error: brokenBody() });
  }

  /** Refuses all connections for so many milliseconds, and breaks the watches that are open. */
  beginOutage(ms: number): void {
    this.#tell(`outage of ${Math.round(ms)} ms`);
    this.#outageUntilMs = this.#options.clock.monotonicMs() + ms;
    this.#options.server.cutWatches({ error: brokenBody() });
  }

  /** Makes the server forget its history: what goes on from before gets 410. */
  compact(): void {
    this.#tell("compaction");
    this.#options.server.compact();
  }

  /** Moves the wall clock, forth or back. */
  jumpClock(ms: number): void {
    this.#tell(`wall clock jumps by ${Math.round(ms)} ms`);
    this.#options.clock.jumpWall(ms);
  }

  /**
   * Takes a Lease away from its holder, as another candidate does that took it for dead.
   *
   * @throws {AssertionError} If there is no such Lease.
   */
  async loseLease({ namespace, name }: { namespace: string; name: string }): Promise<void> {
    this.#tell(`lease ${namespace}/${name} lost`);
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
    const response = await this.#options.server.fetch(`http://weather${path}`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json", "user-agent": "weather" },
      body: JSON.stringify({ spec: { holderIdentity: "weather" } }),
    });
    await response.body?.cancel();
    assert(response.ok, `there is a Lease ${namespace}/${name}`);
  }

  /** Waits for the end of the watches that it changed: end those who read them, or the server, first. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.server.cutWatches();
    await Promise.all(this.#watches);
  }

  async #send(program: CrashingProgram, url: string, init: SimRequestInit): Promise<Response> {
    init.signal.throwIfAborted();
    const request = struckRequest(init.method, url);
    const { clock, random } = this.#options;
    const halfMs = this.#strikes.latencyMs() / 2;
    await clock.sleep(halfMs, init);
    const early = this.#before(program, request);
    if (early !== undefined) return this.#struck(request, early);
    await this.#change(request);
    const response = await this.#reach(request, init);
    this.#see(request, { init, status: response.status });

    const late = this.#after(program, request);
    if (late !== undefined) {
      await response.body?.cancel();
      return this.#struck(request, late);
    }
    await clock.sleep(halfMs, init);
    if (request.target?.verb === "watch") return await this.#watch(request, response, init);
    if (request.method !== "GET" || !this.#strikes.hit("cutBodies")) return response;
    this.#tell("answer cut");
    return await cut(response, random());
  }

  /** What meets the request before it had an effect. */
  #before(program: CrashingProgram, request: StruckRequest): Response | Error | undefined {
    const { clock, random, server } = this.#options;
    if (!program.isAlive || clock.monotonicMs() < this.#outageUntilMs) return refused();
    if (isWrite(request.target) && this.#strikes.hit("crashes") && random() < 0.5) {
      program.crash();
      this.#tell(`crash before ${request.method} ${request.url.pathname}`);
      return reset();
    }
    if (this.#strikes.hit("refused")) return refused();
    if (this.#strikes.hit("resetBefore")) return reset();
    if (this.#strikes.hit("throttled")) {
      return struckAnswer(429, { retryAfterSeconds: 1 + Math.floor(random() * 5) });
    }
    if (this.#strikes.hit("serverErrors") && (!isWrite(request.target) || random() < 0.5)) {
      return this.#strikes.serverError();
    }
    const version = askedVersion(request);
    const verb = request.target?.verb;
    const isVersioned = (verb === "list" || verb === "watch") && Number(version) > 0;
    if (isVersioned && this.#strikes.hit("laggingServers")) {
      return laggingAnswer(version, Math.min(Number(version) - 1, server.storage.revision));
    }
    return undefined;
  }

  /** What meets it after its effect. */
  #after(program: CrashingProgram, request: StruckRequest): Response | Error | undefined {
    if (!program.isAlive) return reset();
    if (isWrite(request.target)) {
      if (this.#strikes.hit("crashes")) {
        program.crash();
        this.#tell(`crash after ${request.method} ${request.url.pathname}`);
        return reset();
      }
      if (this.#strikes.hit("serverErrors")) return this.#strikes.serverError();
    }
    return this.#strikes.hit("resetAfter") ? reset() : undefined;
  }

  /** Changes the request on its way, or what is there before it comes. */
  async #change(request: StruckRequest): Promise<void> {
    const { server, random } = this.#options;
    if (isFurtherPage(request) && this.#strikes.hit("expiredPages")) {
      server.storage.advanceRevision(); // what is as old as now could still be read
      this.compact();
    }
    if (this.#strikes.hit("staleLists") && makeStale(request, { server, random })) {
      this.#tell(`old state of revision ${askedVersion(request)}`);
    }
    if (this.#strikes.hit("smallPages")) makePagesSmall(request, random);
    const isChange = request.method === "PATCH" || request.method === "PUT";
    if (isChange && this.#strikes.hit("conflicts")) {
      this.#tell(`another writer before ${request.method} ${request.url.pathname}`);
      await interfere(request, { server, mark: String(++this.#marks) });
    }
  }

  async #reach({ url }: StruckRequest, { method, headers, body, signal }: SimRequestInit) {
    return await this.#options.server.fetch(url, { method, headers, body: body ?? null, signal });
  }

  #see(request: StruckRequest, { init, status }: { init: SimRequestInit; status: number }): void {
    const { clock, onExchange } = this.#options;
    const { method, url, target } = request;
    this.#tell(`${method} ${url.pathname}${url.search} ${status}`);
    onExchange?.({ atMs: clock.monotonicMs(), method, url, target, body: init.body, status });
  }

  /** The answer of an open watch, under the fate that is drawn for it. */
  async #watch(
    request: StruckRequest,
    response: Response,
    { signal }: SimRequestInit,
  ): Promise<Response> {
    if (response.body === null || !response.ok) return response;
    const fate = await this.#drawFate(request);
    if (isUneventful(fate)) return response;
    const { clock, random } = this.#options;
    const watch = new WeatheredWatch(response.body, { fate, clock, random });
    const running = watch.run().finally(() => this.#watches.delete(running));
    this.#watches.add(running);
    signal.throwIfAborted();
    return new Response(watch.stream, { status: response.status, headers: response.headers });
  }

  async #drawFate(request: StruckRequest): Promise<WatchFate> {
    const { server, random } = this.#options;
    const fate = this.#strikes.watchFate();
    if (fate.repeats === 0 || asksForState(request)) return fate;
    const version = askedVersion(request);
    return { ...fate, prefix: await repeatedLines(request, { server, random, version }) };
  }

  #struck({ method, url }: StruckRequest, what: Response | Error): Response {
    const told = what instanceof Error ? what.message : what.status;
    this.#tell(`${method} ${url.pathname} struck: ${told}`);
    if (what instanceof Error) throw what;
    return what;
  }

  #tell(line: string): void {
    this.#options.trace?.add(line);
  }
}

/** `response` with a body that breaks after a share of it. */
async function cut(response: Response, share: number): Promise<Response> {
  const bytes = await response.bytes();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      controller.enqueue(bytes.slice(0, Math.floor(bytes.length * share)));
    },
    pull(controller) {
      controller.error(brokenBody());
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

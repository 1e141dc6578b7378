/**
 * One run of one seed: its parts in order, and the checks that need no knowledge of the program.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import { objectOf } from "./api_object.ts";
import { Supervisor } from "./program.ts";
import { ApiServer } from "./server.ts";
import { seededRandom, SimClock } from "./sim_clock.ts";
import {
  type Action,
  type Phase,
  REQUESTS_PER_SECOND_MAX,
  type SimulationOptions,
  type SimulationReport,
  type World,
} from "./simulation_options.ts";
import { Trace } from "./trace.ts";
import { type SeenExchange, Weather } from "./weather.ts";
import { describeWeather, drawWeather, type WeatherPlan } from "./weather_plan.ts";
import { isWrite } from "./weather_requests.ts";

/** Longest storm that is drawn, in milliseconds. */
const STORM_MAX_MS = 10 * 60_000;

/** Most actions in a storm: a long one has them further apart. */
const ACTIONS_MAX = 60;

/** How likely a seed never does a certain thing. */
const ACTION_IS_OFF = 0.3;

/** How often is asked whether the world has converged, in milliseconds. */
const CONVERGED_POLL_MS = 5000;

/** Time between the strangers' writes in the quiet part, in milliseconds. */
const STRANGER_MS = 60_000;

/** History that is kept in the quiet part, in milliseconds: what a real API server keeps of etcd's. */
const HISTORY_MS = 5 * 60_000;

/** Longest time from a stop to the program's end, in milliseconds; a reconcile may take its grace. */
const STOP_MAX_MS = 60_000;

/** Problems that are kept: what follows from the first ones is of no use. */
const PROBLEMS_MAX = 10;

/** Chance by purpose, so that what one draws does not move what another does. */
const STREAMS = ["plan", "server", "weather", "program", "users", "start"] as const;

/** One run of one seed: call its parts in the order in which they stand. */
export class Run implements World {
  readonly seed: number;
  readonly clock = new SimClock();
  readonly server: ApiServer;
  readonly weather: Weather;
  readonly trace: Trace;
  readonly random: Random;
  phase: Phase = "prepare";
  readonly #options: SimulationOptions;
  readonly #supervisor: Supervisor;
  readonly #plan: WeatherPlan;
  readonly #problems: string[] = [];
  readonly #chance: Readonly<Record<typeof STREAMS[number], Random>>;
  #requests = 0;
  #writes = 0;
  #actions = 0;
  #second = { number: 0, requests: 0 };

  constructor(options: SimulationOptions) {
    const { seed, keepTrace = false } = options;
    const random = (stream: typeof STREAMS[number]) =>
      seededRandom(seed * STREAMS.length + STREAMS.indexOf(stream));
    this.#chance = {
      plan: random("plan"),
      server: random("server"),
      weather: random("weather"),
      program: random("program"),
      users: random("users"),
      start: random("start"),
    };
    this.seed = seed;
    this.#options = options;
    // Drawn in any case, so that what is drawn after it stays what it is in other weather.
    const drawn = drawWeather(this.#chance.plan);
    this.#plan = options.weather ?? drawn;
    const { clock } = this;
    this.random = this.#chance.users;
    this.trace = new Trace({ nowMs: () => clock.monotonicMs(), keepAll: keepTrace });
    this.server = new ApiServer({ ...options.server, clock, random: this.#chance.server });
    this.server.storage.listen(({ revision, type, table, key }) => {
      this.trace.add(`#${revision} ${type} ${table} ${key}`);
    });
    this.weather = new Weather({
      server: this.server,
      clock,
      random: this.#chance.weather,
      trace: this.trace,
      onExchange: (exchange) => this.#see(exchange),
    });
    this.#supervisor = new Supervisor({
      program: options.program,
      weather: this.weather,
      clock,
      random: this.#chance.program,
      trace: this.trace,
      mayFail: (error) => this.phase !== "quiet" && options.mayFail?.(error) === true,
      fail: (problem) => this.fail(problem),
    });
  }

  async prepare(): Promise<void> {
    await this.#options.prepare?.(this);
  }

  /** Users act while faults strike. Some of what they do comes before the program starts. */
  async storm(): Promise<void> {
    this.#enter("storm");
    const { plan } = this.#chance;
    const stormMs = this.#options.stormMs ?? 60_000 + plan() ** 2 * (STORM_MAX_MS - 60_000);
    const actions = drawActions(this.#options.actions ?? {}, plan);
    const early = plan() < 0.5 ? Math.floor(plan() * 10) : 0;
    const gapMs = Math.max(stormMs / ACTIONS_MAX, 100 * 100 ** plan());
    for (let n = 0; n < early; n++) await this.#act(actions);

    this.weather.change(this.#plan);
    const over = new AbortController();
    const striking = this.weather.run(over);
    this.#supervisor.start();
    const endsAtMs = this.clock.monotonicMs() + stormMs;
    while (this.#isFine && this.clock.monotonicMs() < endsAtMs) {
      await this.#untilNextAction(gapMs);
      if (this.#actions < early + 2 * ACTIONS_MAX) await this.#act(actions);
    }
    over.abort(OVER);
    await striking;
  }

  /** The faults end, and the world has to become what it should be. */
  async calm(): Promise<void> {
    this.#enter("calm");
    this.weather.calm();
    await this.#options.mend?.(this);
    const { convergeMs = 30 * 60_000, missing } = this.#options;
    let problems: readonly string[] = [];
    for (let waitedMs = 0; this.#isFine && waitedMs <= convergeMs; waitedMs += CONVERGED_POLL_MS) {
      await this.clock.advance(CONVERGED_POLL_MS);
      problems = await missing(this);
      if (problems.length === 0) return;
    }
    if (!this.#isFine) return; // what follows from that is of no use
    for (const problem of problems) this.fail(`not converged: ${problem}`);
  }

  /** Nothing happens that concerns the program: it must not write, and nothing may get lost. */
  async quiet(): Promise<void> {
    const { settleMs = 2 * 60_000, quietMs = 60 * 60_000, missing } = this.#options;
    if (!this.#isFine) return;
    await this.clock.advance(settleMs);
    this.#enter("quiet");
    const revisions: number[] = [];
    for (let passedMs = 0; this.#isFine && passedMs < quietMs; passedMs += STRANGER_MS) {
      await this.clock.advance(Math.min(STRANGER_MS, quietMs - passedMs));
      await this.#stranger(passedMs);
      revisions.push(this.server.storage.revision);
      const oldest = revisions[revisions.length - 1 - HISTORY_MS / STRANGER_MS];
      if (oldest !== undefined) this.server.compact(oldest);
    }
    if (!this.#isFine) return;
    for (const problem of await missing(this)) this.fail(`fell apart in the quiet: ${problem}`);
  }

  /** The program stops, in time and without leaving anything. */
  async end(): Promise<void> {
    this.#enter("over");
    this.#supervisor.stop();
    for (let waitedMs = 0; !this.#supervisor.hasEnded && waitedMs < STOP_MAX_MS;) {
      await this.clock.advance(100);
      waitedMs += 100;
    }
    if (!this.#supervisor.hasEnded) {
      this.fail(`the program has not ended ${STOP_MAX_MS / 1000} s after its stop`);
      return;
    }
    await this.clock.settle();
    await this.#supervisor.ended();
    if (this.server.openWatches > 0) this.fail("the program left a watch open");
    await this.weather[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    await this.clock.settle();
    const { pendingTimers } = this.clock;
    if (pendingTimers > 0) this.fail(`the program left ${pendingTimers} timers`);
  }

  report(): SimulationReport {
    return {
      seed: this.seed,
      problems: this.#problems,
      weather: describeWeather(this.#plan),
      plan: this.#plan,
      traceHash: this.trace.hash,
      traceLines: this.trace.count,
      trace: this.trace.lines,
      simulatedMs: this.clock.monotonicMs(),
      actions: this.#actions,
      requests: this.#requests,
      writes: this.#writes,
      starts: this.#supervisor.starts,
    };
  }

  async request(
    method: string,
    path: string,
    body?: JsonObject,
    { contentType = method === "PATCH" ? MERGE_PATCH : "application/json" }: {
      contentType?: string;
    } = {},
  ): Promise<{ status: number; body: JsonObject }> {
    const response = await this.server.fetch(`http://cluster${path}`, {
      method,
      headers: { "content-type": contentType, "user-agent": "user" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    this.trace.add(`user ${method} ${path} ${response.status}`);
    const text = await response.text();
    // A path that leads nowhere is answered in plain text.
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return { status: response.status, body: isJson ? objectOf(JSON.parse(text)) : {} };
  }

  fail(problem: string): void {
    this.trace.add(`PROBLEM ${problem}`);
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(problem);
  }

  crash(): void {
    this.#supervisor.crash();
  }

  restart(): void {
    this.#supervisor.restart();
  }

  get #isFine(): boolean {
    return this.#problems.length === 0;
  }

  #enter(phase: Phase): void {
    this.phase = phase;
    this.trace.add(`--- ${phase}`);
  }

  /** Often at once or in the middle of what the program does: what is near in time is what races. */
  async #untilNextAction(gapMs: number): Promise<void> {
    const { users } = this.#chance;
    const limitMs = -Math.log(1 - users()) * gapMs;
    const draw = users();
    if (draw < 0.2) return await this.clock.advance(50 * users());
    if (draw < 0.5) return await this.clock.advance(limitMs);
    const before = this.#writes;
    const untilMs = this.clock.monotonicMs() + limitMs;
    const isTime = () => this.#writes > before || this.clock.monotonicMs() >= untilMs;
    while (!isTime()) {
      const stepMs = Math.min(STEP_MS, untilMs - this.clock.monotonicMs());
      await this.clock.advance(stepMs);
    }
  }

  async #act(actions: readonly WeighedAction[]): Promise<void> {
    const total = actions.reduce((sum, { weight }) => sum + weight, 0);
    let at = this.#chance.users() * total;
    const drawn = actions.find(({ weight }) => (at -= weight) < 0);
    if (drawn === undefined) return;
    this.#actions += 1;
    this.trace.add(`act ${drawn.name}`);
    await drawn.act(this);
  }

  /** A write that concerns nobody: versions move on, as they do in every cluster. */
  async #stranger(passedMs: number): Promise<void> {
    const path = "/api/v1/namespaces/kube-system/configmaps";
    const metadata = { name: `stranger-${passedMs}` };
    await this.request("POST", path, { metadata });
  }

  #see(exchange: SeenExchange): void {
    const { method, url, target, status } = exchange;
    this.#requests += 1;
    if (isWrite(target)) {
      this.#writes += 1;
      if (this.phase === "quiet") {
        this.fail(`${method} ${url.pathname} ${status} though nothing happened`);
      }
    }
    this.#countRequest();
    for (const problem of this.#options.check?.(exchange, this) ?? []) this.fail(problem);
  }

  #countRequest(): void {
    const { requestsPerSecondMax = REQUESTS_PER_SECOND_MAX } = this.#options;
    const number = Math.floor(this.clock.monotonicMs() / 1000);
    if (number !== this.#second.number) this.#second = { number, requests: 0 };
    this.#second.requests += 1;
    if (this.#second.requests === requestsPerSecondMax + 1) {
      this.fail(`more than ${requestsPerSecondMax} requests in a second: a loop without a pause`);
    }
  }
}

/** How soon after a write of the program users act that waited for one, in milliseconds at most. */
const STEP_MS = 20;

const MERGE_PATCH = "application/merge-patch+json";

const OVER = new DOMException("The storm is over", "AbortError");

interface WeighedAction {
  readonly name: string;
  readonly act: Action;
  readonly weight: number;
}

/** How often each action is done by this seed; 0 for some. */
function drawActions(
  actions: Readonly<Record<string, Action>>,
  random: Random,
): readonly WeighedAction[] {
  return Object.entries(actions).map(([name, act]) => {
    const [isOff, weight] = [random() < ACTION_IS_OFF, random()];
    return { name, act, weight: isOff ? 0 : weight };
  });
}

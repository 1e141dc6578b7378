import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { LoadJudge, type OperatorEnd, type OperatorRun } from "../../lib/cli/dev_process.ts";
import { ChangeBursts, changedSources, NO_CHANGES, QUIET_MS } from "../../lib/cli/dev_sources.ts";
import { supervise, type SupervisorNews } from "../../lib/cli/dev_supervisor.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

/** Operators that end when a test says so, under supervision. */
class Stage {
  readonly clock = new SimClock();
  readonly bursts = new ChangeBursts({ clock: this.clock });
  readonly news: SupervisorNews[] = [];
  readonly stop = new AbortController();
  /** `start 1`, `stop 1`, … in the order of events. */
  readonly log: string[] = [];
  readonly supervision: Promise<void>;
  #end: (end: OperatorEnd) => void = () => {};
  #starts = 0;

  constructor({ hasSources = true } = {}) {
    this.supervision = supervise({
      start: () => Promise.resolve(this.#start()),
      changes: hasSources ? this.bursts : NO_CHANGES,
      hasSources,
      tell: (news) => void this.news.push(news),
      clock: this.clock,
      random: () => 0,
    }, { signal: this.stop.signal });
  }

  #start(): OperatorRun {
    const number = ++this.#starts;
    this.log.push(`start ${number}`);
    const { promise, resolve } = Promise.withResolvers<OperatorEnd>();
    this.#end = resolve;
    return {
      ended: promise,
      kill: () => {},
      stop: () => {
        this.log.push(`stop ${number}`);
        resolve({ code: 0, wasLoaded: true });
        return Promise.resolve();
      },
    };
  }

  /** The present operator ends by itself. */
  async end(end: OperatorEnd): Promise<void> {
    this.#end(end);
    await this.clock.advance(0);
  }

  async change(...paths: string[]): Promise<void> {
    this.bursts.add(paths);
    await this.clock.advance(QUIET_MS);
  }

  async finish(): Promise<void> {
    this.stop.abort(new Error("stop"));
    await this.supervision;
    strictEqual(this.clock.pendingTimers, 0);
  }
}

Deno.test("supervise() starts again after a change, once the last operator has ended", async () => {
  const stage = new Stage();
  await stage.clock.advance(0);
  await stage.change("lib/b.ts", "lib/a.ts");
  deepStrictEqual(stage.log, ["start 1", "stop 1", "start 2"]);
  deepStrictEqual(stage.news, [{ type: "changed", paths: ["lib/a.ts", "lib/b.ts"] }]);
  await stage.finish();
  deepStrictEqual(stage.log.slice(3), ["stop 2"]);
});

Deno.test("supervise() gives a failing operator longer and longer pauses, up to a limit", async () => {
  const stage = new Stage();
  const pauses: (number | undefined)[] = [];
  await stage.clock.advance(0);
  for (let i = 0; i < 8; i++) {
    await stage.end({ code: 1, wasLoaded: true });
    const last = stage.news.at(-1);
    const retryMs = last?.type === "ended" ? last.retryMs : undefined;
    pauses.push(retryMs);
    const starts = stage.log.filter((line) => line.startsWith("start")).length;
    await stage.clock.advance((retryMs ?? 0) - 1);
    strictEqual(stage.log.filter((line) => line.startsWith("start")).length, starts);
    await stage.clock.advance(1);
    strictEqual(stage.log.filter((line) => line.startsWith("start")).length, starts + 1);
  }
  deepStrictEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  await stage.finish();
});

Deno.test("supervise() forgets failures after a minute of work and after a change", async () => {
  const stage = new Stage();
  const fail = async () => {
    await stage.end({ code: 1, wasLoaded: true });
    const last = stage.news.at(-1);
    return last?.type === "ended" ? last.retryMs : undefined;
  };
  await stage.clock.advance(0);
  strictEqual(await fail(), 1000);
  await stage.clock.advance(1000);
  strictEqual(await fail(), 2000);
  await stage.change("lib/a.ts");
  strictEqual(await fail(), 1000);
  await stage.clock.advance(1000 + 60_000);
  strictEqual(await fail(), 1000);
  await stage.finish();
});

Deno.test("supervise() lets sources that don't load wait for a change, however long", async () => {
  const stage = new Stage();
  await stage.clock.advance(0);
  await stage.end({ code: 1, wasLoaded: false });
  deepStrictEqual(stage.news, [{ type: "ended", end: { code: 1, wasLoaded: false } }]);
  await stage.clock.advance(3_600_000);
  deepStrictEqual(stage.log, ["start 1", "stop 1"]);
  await stage.change("lib/a.ts");
  deepStrictEqual(stage.log, ["start 1", "stop 1", "start 2"]);
  await stage.finish();
});

Deno.test("supervise() tries again in a binary, which has no sources to wait for", async () => {
  const stage = new Stage({ hasSources: false });
  await stage.clock.advance(0);
  await stage.end({ code: 1, wasLoaded: false });
  await stage.clock.advance(1000);
  deepStrictEqual(stage.log, ["start 1", "stop 1", "start 2"]);
  await stage.finish();
});

Deno.test("supervise() stops while it waits, and starts nothing then", async () => {
  for (const wasLoaded of [true, false]) {
    const stage = new Stage();
    await stage.clock.advance(0);
    await stage.end({ code: 1, wasLoaded });
    await stage.finish();
    deepStrictEqual(stage.log, ["start 1", "stop 1"]);
  }
});

Deno.test("supervise() ends with what a start throws", async () => {
  const { signal } = new AbortController();
  const clock = new SimClock();
  await rejects(
    supervise({
      start: () => Promise.reject(new Error("moved")),
      changes: NO_CHANGES,
      hasSources: false,
      tell: () => {},
      clock,
      random: () => 0,
    }, { signal }),
    { message: "moved" },
  );
});

Deno.test("ChangeBursts.next() waits until it is quiet, and tells each path once", async () => {
  const clock = new SimClock();
  const bursts = new ChangeBursts({ clock });
  const { signal } = new AbortController();
  const told: (readonly string[])[] = [];
  const next = bursts.next({ signal }).then((paths) => told.push(paths));
  for (let i = 0; i < 5; i++) {
    bursts.add(["lib/a.ts"]);
    await clock.advance(QUIET_MS - 1);
  }
  deepStrictEqual(told, []);
  await clock.advance(QUIET_MS);
  await next;
  deepStrictEqual(told, [["lib/a.ts"]]);
});

Deno.test("ChangeBursts.next() tells of a tree that never rests, and loses nothing to an abort", async () => {
  const clock = new SimClock();
  const bursts = new ChangeBursts({ clock });
  const stop = new AbortController();
  bursts.add(["lib/a.ts"]);
  const aborted = bursts.next(stop);
  stop.abort(new Error("stop"));
  await rejects(aborted, { message: "stop" });

  let isDone = false;
  const { signal } = new AbortController();
  const next = bursts.next({ signal }).finally(() => isDone = true);
  for (let i = 0; !isDone; i++) {
    bursts.add([`lib/${i % 3}.ts`]);
    await clock.advance(QUIET_MS / 2);
  }
  deepStrictEqual(await next, ["lib/0.ts", "lib/1.ts", "lib/2.ts", "lib/a.ts"]);
});

Deno.test("changedSources() takes what a restart would read, and no reading", () => {
  const of = (kind: Deno.FsEvent["kind"], ...paths: string[]) =>
    changedSources({ kind, paths }, "/src");
  deepStrictEqual(of("modify", "/src/lib/foo/plan.ts"), ["lib/foo/plan.ts"]);
  deepStrictEqual(of("rename", "/src/lib/a.ts.swp", "/src/lib/a.ts"), ["lib/a.ts"]);
  deepStrictEqual(of("create", "/src/main.ts", "/src/deno.json"), ["main.ts", "deno.json"]);
  deepStrictEqual(of("remove", "/src/lib/simulator/x.json"), ["lib/simulator/x.json"]);
  deepStrictEqual(of("access", "/src/lib/a.ts"), []);
  deepStrictEqual(of("modify", "/src/README.md", "/src/tests/a.ts", "/src/lib/4913"), []);
});

Deno.test("LoadJudge tells sources that can't be loaded from a program that fails", () => {
  const died = "error: The operator died in its sandbox: SyntaxError: x";
  const refused = "error: Cannot reach the API server";
  const wasLoaded = (...lines: ({ message: string } | string)[]) => {
    const judge = new LoadJudge();
    lines.forEach((line) =>
      typeof line === "string" ? judge.hear(line, undefined) : judge.hear("", line.message)
    );
    return judge.wasLoaded;
  };
  const [run, operator] = [{ message: "Starting" }, { message: "Operator started" }];
  strictEqual(wasLoaded(), false);
  strictEqual(wasLoaded("error: SyntaxError: x", "    at lib/cli/run.ts"), false);
  strictEqual(wasLoaded(run, died), false);
  strictEqual(wasLoaded(run, refused), true);
  strictEqual(wasLoaded(run, operator, died), true);
});

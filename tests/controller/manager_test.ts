import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { Manager, type ManagerOptions } from "../../lib/controller/manager.ts";
import type { HealthReport, Runnable } from "../../lib/controller/runnable.ts";
import { AssertionError, messageOf } from "../../lib/core/errors.ts";
import { type Latch, latch } from "../../lib/core/tasks.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

/** A manager on a simulated clock, and parts that say when they start and end. */
class World implements AsyncDisposable {
  readonly clock = new SimClock();
  readonly story: string[] = [];
  readonly stop = new AbortController();
  readonly manager: Manager;
  readonly records;
  running: Promise<void> = Promise.resolve();

  constructor(options: Partial<ManagerOptions> = {}) {
    const { log, records } = recordingLogger();
    this.records = records;
    this.manager = new Manager({ clock: this.clock, random: () => 0, log, ...options });
  }

  /** A part that takes `stopMs` to end. */
  part(
    name: string,
    { readyWhen, stopMs = 0, failWhen, health }: {
      readyWhen?: Latch;
      stopMs?: number;
      failWhen?: Latch;
      health?: () => HealthReport;
    } = {},
  ): Runnable {
    return {
      name,
      run: async ({ signal }) => {
        this.story.push(`+${name}`);
        try {
          if (failWhen === undefined) await this.clock.sleep(Infinity, { signal });
          await failWhen?.wait({ signal });
          throw new Error(`${name} broke`);
        } finally {
          if (stopMs > 0) await this.clock.sleep(stopMs, { signal: new AbortController().signal });
          this.story.push(`-${name}`);
        }
      },
      ...(readyWhen && { ready: readyWhen.wait }),
      ...(health && { health }),
    };
  }

  async start(): Promise<this> {
    this.running = this.manager.run(this.stop);
    this.running.catch(() => {});
    await this.clock.settle();
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    await this.clock.advance(120_000);
    await this.running.catch(() => {});
    strictEqual(this.clock.pendingTimers, 0);
  }
}

Deno.test("Manager starts groups in order, each when the one before is ready, and stops them in reverse", async () => {
  await using world = new World();
  const synced = latch();
  const leads = latch();
  world.manager
    .add("elected", world.part("backups", { stopMs: 1000 }))
    .add("elected", world.part("sites"))
    .add("election", world.part("lease", { readyWhen: leads }))
    .add("always", world.part("janitor"))
    .add("caches", world.part("informers", { readyWhen: synced }))
    .add("webhooks", world.part("admission"))
    .add("servers", world.part("metrics"));
  await world.start();
  deepStrictEqual(world.story, ["+metrics", "+admission", "+informers"]);
  strictEqual(world.manager.health().isReady, false);
  synced.open();
  await world.clock.settle();
  deepStrictEqual(world.story.slice(3), ["+janitor", "+lease"]);
  // A standby can answer webhooks: it is ready before it leads.
  strictEqual(world.manager.health().isReady, true);
  leads.open();
  await world.clock.settle();
  deepStrictEqual(world.story.slice(5), ["+backups", "+sites"]);

  world.story.length = 0;
  world.stop.abort();
  await world.clock.advance(999);
  deepStrictEqual(world.story, ["-sites"]);
  strictEqual(world.manager.health().isReady, false); // first of all
  await world.clock.advance(1);
  await world.running;
  deepStrictEqual(world.story.slice(1), [
    "-backups",
    "-lease",
    "-janitor",
    "-informers",
    "-admission",
    "-metrics",
  ]);
  strictEqual(world.clock.pendingTimers, 0);
  deepStrictEqual(world.records.filter(({ level }) => level !== "info"), []);
});

Deno.test("P6 manager: a controller whose loop fails is started again, and is not healthy in between", async () => {
  await using world = new World();
  const breaks = latch();
  world.manager
    .add("elected", world.part("a", { failWhen: breaks }))
    .add("elected", world.part("b"));
  await world.start();
  strictEqual(world.manager.health().isHealthy, true);
  breaks.open();
  await world.clock.settle();
  const { isHealthy, parts } = world.manager.health();
  deepStrictEqual([isHealthy, parts.a?.state, parts.a?.message], [false, "restarting", "a broke"]);
  strictEqual(parts.b?.state, "running");
  await world.clock.advance(1000);
  deepStrictEqual(world.story.filter((line) => line === "+a").length, 2);
  const line = world.records.find(({ level }) => level === "error");
  deepStrictEqual(line?.fields, { part: "a", error: "a broke", restartAfterMs: 1000 });
  await world.clock.advance(2000 + 4000);
  strictEqual(world.manager.health().parts.a?.restarts, 4);
  strictEqual(world.story.includes("-b"), false);
});

Deno.test("P6 manager: a part that ends by itself, without an error, is started again too", async () => {
  await using world = new World();
  let runs = 0;
  const run = () => Promise.resolve(void (runs += 1));
  world.manager.add("always", { name: "quiet", run });
  await world.start();
  strictEqual(runs, 1);
  strictEqual(world.manager.health().parts.quiet?.message, "quiet ended by itself");
  await world.clock.advance(3000);
  strictEqual(runs, 3);
});

Deno.test("Manager stops everything when a part fails that is not started again, and says which", async () => {
  await using world = new World();
  const lost = latch();
  world.manager
    .add("election", world.part("lease", { failWhen: lost }))
    .add("elected", world.part("backups", { stopMs: 500 }));
  await world.start();
  lost.open();
  await world.clock.advance(500);
  await rejects(world.running, (error) => {
    strictEqual(messageOf(error), 'Part "lease" failed: lease broke');
    return true;
  });
  deepStrictEqual(world.story, ["+lease", "+backups", "-lease", "-backups"]);
});

Deno.test("P6 manager: a part that is not started again and ends by itself, without an error, stops everything", async () => {
  await using world = new World();
  world.manager
    .add("election", { name: "lease", run: () => Promise.resolve() })
    .add("elected", world.part("backups"));
  await world.start();
  await rejects(world.running, (error) => {
    strictEqual(messageOf(error), 'Part "lease" failed: it ended by itself');
    return true;
  });
});

Deno.test("Manager takes the choice of restart or stop from whoever adds the part", async () => {
  await using world = new World();
  const breaks = latch();
  world.manager.add("elected", world.part("a", { failWhen: breaks }), { onFailure: "stop" });
  await world.start();
  breaks.open();
  await rejects(world.running, { message: 'Part "a" failed' });
});

Deno.test("Manager fails when a group does not become ready, and stops what it started", async () => {
  await using world = new World();
  const laggard = () => Promise.reject(new Error("waiting for caches (foos)"));
  world.manager
    .add("servers", world.part("metrics"))
    .add("caches", { ...world.part("informers"), ready: laggard })
    .add("elected", world.part("backups"));
  await world.start();
  await rejects(world.running, (error) => {
    ok(messageOf(error).startsWith("Cannot start caches"));
    ok(messageOf(error).endsWith("waiting for caches (foos)"));
    return true;
  });
  deepStrictEqual(world.story, ["+metrics", "+informers", "-informers", "-metrics"]);
});

Deno.test("Manager spends one budget on the whole stop, then stops the rest at once and names what hangs", async () => {
  await using world = new World({ shutdownBudgetMs: 10_000 });
  world.manager
    .add("servers", world.part("metrics"))
    .add("caches", world.part("informers", { stopMs: 6000 }))
    .add("elected", world.part("hangs", { stopMs: 100_000 }));
  await world.start();
  world.stop.abort();
  await world.clock.advance(9999);
  deepStrictEqual(world.story.slice(3), []);
  await world.clock.advance(1);
  deepStrictEqual(world.story.slice(3), ["-metrics"]);
  const ended = rejects(world.running, (error) => {
    ok(messageOf(error).includes("stopping informers, hangs took longer than 10000 ms"));
    return true;
  });
  await world.clock.advance(2000);
  await ended;
});

Deno.test("Manager ends when it is stopped while it starts", async () => {
  await using world = new World();
  world.manager
    .add("caches", world.part("informers", { readyWhen: latch() }))
    .add("elected", world.part("backups"));
  await world.start();
  world.stop.abort();
  await world.running;
  deepStrictEqual(world.story, ["+informers", "-informers"]);
});

Deno.test("Manager ends when it is stopped while a part hangs that is to become ready", async () => {
  await using world = new World();
  const ready = () => Promise.withResolvers<void>().promise; // deaf to its signal
  world.manager.add("caches", { ...world.part("informers"), ready });
  await world.start();
  world.stop.abort();
  await world.clock.settle();
  deepStrictEqual(world.story, ["+informers", "-informers"]);
  await world.running;
});

Deno.test("Manager.health() is plain data of every part, also of one whose report fails", async () => {
  await using world = new World();
  const failing = () => {
    throw new Error("no report");
  };
  world.manager
    .add("elected", world.part("a", { health: () => ({ isHealthy: true, details: { depth: 3 } }) }))
    .add("elected", world.part("b", { health: failing }))
    .add("elected", world.part("c", { health: () => ({ isHealthy: false, message: "hangs" }) }));
  await world.start();
  const health = world.manager.health();
  deepStrictEqual(structuredClone(health), health);
  const about = { group: "elected", state: "running", restarts: 0 };
  deepStrictEqual(health, {
    isHealthy: false,
    isReady: true,
    parts: {
      a: { ...about, isHealthy: true, details: { depth: 3 } },
      b: { ...about, isHealthy: false, message: "no report" },
      c: { ...about, isHealthy: false, message: "hangs" },
    },
  });
});

Deno.test("Manager refuses two parts of one name, parts during the run, and a second run", async () => {
  await using world = new World();
  world.manager.add("always", world.part("a"));
  throws(() => world.manager.add("caches", world.part("a")), AssertionError);
  await world.start();
  throws(() => world.manager.add("caches", world.part("b")), AssertionError);
  await rejects(world.manager.run(world.stop), AssertionError);
});

/**
 * One seed of the whole operator: everything in `lib/` is real but clock, chance and transport.
 *
 * @module
 */

import { ConfigError } from "../../lib/core/errors.ts";
import { runTogether } from "../../lib/core/tasks.ts";
import { runOperator } from "../../lib/foo/operator.ts";
import {
  type ProgramParts,
  seededRandom,
  simulate,
  type SimulationReport,
  type WeatherPlan,
  type World,
} from "../../lib/simulator/mod.ts";
import { SERIES_FLUSH_MS } from "../../lib/services/event_recorder.ts";
import { missing } from "./oracle.ts";
import { ReconcileRules } from "./reconcile_rules.ts";
import { isDefined } from "./tables.ts";
import { Witness } from "./witness.ts";
import { ACTIONS, mendCluster, prepareCluster } from "./workload.ts";
import { WriteRules } from "./write_rules.ts";

/** What a seed decides beside workload and weather. */
interface Variant {
  readonly namespaces: readonly string[];
  readonly workers: number;
  readonly resyncMs: number;
  readonly controllerDelayMs: number;
  readonly establishDelayMs: number;
  readonly expiredWatches: "event" | "http";
  readonly hasWorkloads: boolean;
  readonly hasWitness: boolean;
}

function drawVariant(seed: number): Variant {
  const random = seededRandom(seed * 31 + 17);
  return {
    namespaces: random() < 0.7 ? [] : ["default", "team"],
    workers: 1 + Math.floor(random() * 4),
    resyncMs: random() < 0.5 ? 0 : 60_000 * (1 + Math.floor(random() * 15)),
    controllerDelayMs: random() < 0.5 ? 0 : Math.ceil(random() * 5000),
    establishDelayMs: random() < 0.5 ? 0 : Math.ceil(random() * 2000),
    expiredWatches: random() < 0.7 ? "event" : "http",
    hasWorkloads: random() < 0.3,
    hasWitness: random() < 0.5,
  };
}

/** Runs `seed`. Throws a `SimulationError` if anything is wrong. */
export async function simulateFoo(
  seed: number,
  { keepTrace = false, weather }: { keepTrace?: boolean; weather?: WeatherPlan } = {},
): Promise<SimulationReport> {
  const variant = drawVariant(seed);
  const rules = new WriteRules();
  let life: Life | undefined;
  let world: World | undefined;
  return await simulate({
    seed,
    keepTrace,
    ...(weather === undefined ? {} : { weather }),
    actions: ACTIONS,
    server: {
      controllerDelayMs: variant.controllerDelayMs,
      establishDelayMs: variant.establishDelayMs,
      expiredWatches: variant.expiredWatches,
      ...(variant.hasWorkloads ? { workloads: { readyAfterMs: 2000 } } : {}),
    },
    async prepare(made) {
      world = made;
      made.trace.add(`variant ${JSON.stringify(variant)}`);
      rules.watch(made);
      await prepareCluster(made);
    },
    async program(parts) {
      if (world === undefined) throw new Error("Cannot start: the cluster is not prepared");
      const reconciles = new ReconcileRules(world, variant);
      const { fail } = world;
      const witness = variant.hasWitness
        ? new Witness(parts, (problem) => fail.call(world, problem))
        : undefined;
      life = { reconciles, witness };
      await runTogether({
        operator: (signal) => operate({ ...parts, signal }, { variant, reconciles }),
        ...(witness === undefined ? {} : { witness: (signal) => witness.run(signal) }),
      }, parts);
    },
    // A server that can't be reached at the start ends the process, which is then started again.
    mayFail: (error) => error instanceof Error && error.cause instanceof ConfigError,
    check(exchange, world) {
      const { phase } = world;
      const { method, url, target } = exchange;
      const isList = target?.verb === "list" && phase === "quiet" && isDefined(world);
      // Bookmarks keep a watch's version young, so that nothing is ever read anew.
      const problems = isList ? [`${method} ${url.pathname}: a list though nothing happened`] : [];
      return [...problems, ...rules.check(exchange)];
    },
    // Now and then the definition stays away, and the operator waits for it.
    mend: async (world) => {
      if (world.random() < 0.8) await mendCluster(world);
    },
    settleMs: SERIES_FLUSH_MS + 5 * 60_000,
    missing: (world) => [
      ...missing(world),
      ...(isDefined(world) ? missingOfLife(world, life) : []),
    ],
  });
}

/** What one life of the operator, and of the witness beside it, knows. */
interface Life {
  readonly reconciles: ReconcileRules;
  readonly witness: Witness | undefined;
}

function missingOfLife(world: World, life: Life | undefined): readonly string[] {
  if (life === undefined) return ["the operator does not run"];
  return [...life.reconciles.missing(), ...life.witness?.missing(world) ?? []];
}

/** The operator, as the process runs it. */
async function operate(
  { transport, clock, random, uuid, log, signal }: ProgramParts,
  { variant, reconciles }: { variant: Variant; reconciles: ReconcileRules },
): Promise<void> {
  const { namespaces, workers, resyncMs } = variant;
  await runOperator({
    connection: { server: "https://sim:6443", namespace: "default", userAgent: "foo-operator/1" },
    namespaces,
    workers,
    resyncMs,
    instance: "sim",
    gracePeriodMs: 30_000,
  }, {
    credentials: {
      current: () => Promise.resolve({ generation: 0 }),
      refresh: () => Promise.resolve({ generation: 0 }),
    },
    clock,
    random,
    uuid,
    log,
    transport,
    observers: reconciles,
  }, { signal });
}

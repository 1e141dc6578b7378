import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import {
  CALM,
  type ProgramParts,
  simulate,
  SimulationError,
  type SimulationOptions,
  type World,
} from "../../lib/simulator/mod.ts";

const PATH = "/api/v1/namespaces/default/configmaps";

/** Sees to it that there is a ConfigMap `a`, asking every ten seconds. */
async function program({ transport, clock, signal }: ProgramParts): Promise<void> {
  for (;; await clock.sleep(10_000, { signal })) await ensure({ transport, signal });
}

async function ensure(
  { transport, signal }: Pick<ProgramParts, "transport" | "signal">,
): Promise<void> {
  const read = await transport(`http://x${PATH}/a`, { method: "GET", headers: {}, signal });
  await read.body?.cancel();
  if (read.status !== 404) return;
  const body = JSON.stringify({ metadata: { name: "a" } });
  const headers = { "content-type": "application/json" };
  const made = await transport(`http://x${PATH}`, { method: "POST", headers, body, signal });
  await made.body?.cancel();
}

const options: SimulationOptions = {
  seed: 1,
  program,
  weather: CALM,
  stormMs: 60_000,
  convergeMs: 60_000,
  quietMs: 600_000,
  actions: {
    remove: async (world) => void await world.request("DELETE", `${PATH}/a`),
    touch: async (world) => {
      await world.request("PATCH", `${PATH}/a`, { metadata: { labels: { x: "y" } } });
    },
  },
  missing: ({ server }) =>
    server.storage.find("configmaps", "default/a") === undefined ? ["no ConfigMap"] : [],
};

/** Runs what must fail, and returns what was found. */
async function problemsOf(changed: Partial<SimulationOptions>): Promise<readonly string[]> {
  let found: readonly string[] = [];
  await rejects(simulate({ ...options, ...changed }), (error) => {
    ok(error instanceof SimulationError, String(error));
    match(error.message, /^Seed 1 failed after \d+ simulated seconds/);
    found = error.report.problems;
    return true;
  });
  return found;
}

Deno.test("simulate() passes a program that does what it should, and says what happened", async () => {
  const seen: string[] = [];
  const report = await simulate({
    ...options,
    check: ({ method, status }) => {
      seen.push(`${method} ${status}`);
      return [];
    },
  });
  deepStrictEqual(report.problems, []);
  ok(report.actions > 0 && report.writes > 0 && report.simulatedMs > 660_000);
  strictEqual(report.requests, seen.length);
  strictEqual(report.starts, 1);
  strictEqual(report.weather, "calm");
});

Deno.test("simulate() runs the program again after crashes and in any weather", async () => {
  const { weather: _calm, ...drawn } = options;
  for (let seed = 1; seed <= 10; seed++) {
    const tolerant = async (parts: ProgramParts) => {
      const { clock, signal } = parts;
      for (;; await clock.sleep(10_000, { signal })) {
        await ensure(parts).catch(() => signal.throwIfAborted());
      }
    };
    const report = await simulate({
      ...drawn,
      seed,
      program: tolerant,
      actions: { ...options.actions, crash: (world) => world.crash(), restart: (w) => w.restart() },
    });
    strictEqual(report.seed, seed);
  }
});

Deno.test("simulate() finds a program that does not get there", async () => {
  const program = async ({ clock, signal }: ProgramParts) =>
    await clock.sleep(Infinity, { signal });
  deepStrictEqual(await problemsOf({ program }), ["not converged: no ConfigMap"]);
});

Deno.test("simulate() finds a program that writes though nothing happens", async () => {
  const restless = async ({ transport, clock, signal }: ProgramParts) => {
    for (let n = 0;; n++, await clock.sleep(10_000, { signal })) {
      await ensure({ transport, signal });
      const body = JSON.stringify({ metadata: { annotations: { n: String(n) } } });
      const headers = { "content-type": "application/merge-patch+json" };
      const init = { method: "PATCH", headers, body, signal };
      await (await transport(`http://x${PATH}/a`, init)).body?.cancel();
    }
  };
  const [first = ""] = await problemsOf({ program: restless });
  match(first, /^PATCH .*\/a 200 though nothing happened$/);
});

Deno.test("simulate() finds a loop without a pause", async () => {
  const eager = async ({ transport, clock, signal }: ProgramParts) => {
    for (;; await clock.sleep(1, { signal })) await ensure({ transport, signal });
  };
  const [first = ""] = await problemsOf({ program: eager });
  match(first, /a loop without a pause$/);
});

Deno.test("simulate() finds a program that ends, fails, or does not stop", async () => {
  const ends = await problemsOf({ program: () => Promise.resolve() });
  strictEqual(ends[0], "the program ended by itself");
  const fails = await problemsOf({ program: () => Promise.reject(new Error("oops")) });
  strictEqual(fails[0], "the program failed: oops");
  const deaf = async (parts: ProgramParts) => {
    await program({ ...parts, signal: new AbortController().signal });
  };
  const stays = await problemsOf({ program: deaf });
  deepStrictEqual(stays, ["the program has not ended 60 s after its stop"]);
});

Deno.test("simulate() takes a failure that may be, and starts the program again", async () => {
  let failures = 0;
  const failing = async (parts: ProgramParts) => {
    if (failures++ < 2) throw new RangeError("not yet");
    await program(parts);
  };
  const mayFail = (error: unknown) => error instanceof RangeError;
  const report = await simulate({ ...options, program: failing, mayFail });
  strictEqual(report.starts, 3);
});

Deno.test("simulate() finds timers and watches that are left behind", async () => {
  const never = new AbortController();
  const leaky = async (parts: ProgramParts) => {
    const { clock } = parts;
    clock.sleep(10 ** 9, { signal: never.signal }).catch(() => {});
    await program(parts);
  };
  deepStrictEqual(await problemsOf({ program: leaky }), ["the program left 1 timers"]);
  const watching = async (parts: ProgramParts) => {
    const url = `http://x${PATH}?watch=1&timeoutSeconds=999999`;
    await parts.transport(url, { method: "GET", headers: {}, signal: never.signal });
    await program(parts);
  };
  strictEqual((await problemsOf({ program: watching }))[0], "the program left a watch open");
});

Deno.test("simulate() tells checks and reports what they find, and mends after the storm", async () => {
  const checked = await problemsOf({ check: ({ method }) => method === "POST" ? ["a POST"] : [] });
  strictEqual(checked[0], "a POST");
  const phases: string[] = [];
  const note = ({ phase }: World) => void phases.push(phase);
  await simulate({
    ...options,
    prepare: (world) => Promise.resolve(note(world)),
    mend: (world) => Promise.resolve(note(world)),
  });
  deepStrictEqual(phases, ["prepare", "calm"]);
});

Deno.test("simulate() gives the same history for the same seed, and another for another", async () => {
  const { weather: _calm, ...drawn } = options;
  const hashOf = async (seed: number) => {
    const forgiving = { ...drawn, seed, mayFail: () => true };
    try {
      return (await simulate(forgiving)).traceHash;
    } catch (error) {
      if (error instanceof SimulationError) return error.report.traceHash;
      throw error;
    }
  };
  const hashes = [await hashOf(1), await hashOf(2), await hashOf(1)];
  strictEqual(hashes[0], hashes[2]);
  ok(hashes[0] !== hashes[1]);
});

/**
 * The sandbox, seen from inside the running operator, and how the operator ends in it.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { openListener } from "../support/open_listener.ts";
import type { ProbeReport } from "../support/probe_main.ts";
import {
  METADATA_PROBE_NAMES,
  PROBE_NAMES,
  type ProbeResult,
  REMOTE_PROBE_NAMES,
} from "../support/probes.ts";
import { type Form, sandboxSuite, type SandboxWorld } from "./sandbox_program.ts";

const realTest = sandboxSuite();

/** Runs all attempts in a running operator; counts what reached the listeners. */
async function probe(
  world: SandboxWorld,
  form: Form,
  args: readonly string[] = [],
): Promise<ProbeReport & { connections: number }> {
  await using otherPort = openListener({ hostname: "127.0.0.1", port: 0 });
  await using otherHost = openListener({ hostname: "::1", port: world.plane.port });
  const file = await world.file("treasure", "gold");
  const targets = {
    otherPort: otherPort.address,
    otherHost: otherHost.address,
    file,
    newFile: `${world.plane.dir}/new-file`,
    module: await world.file("module.js", `await Deno.readTextFile(${JSON.stringify(file)});`),
    variable: "PROBE_VARIABLE",
  };
  await using operator = world.run(form, {
    args: ["--kubeconfig", world.plane.kubeconfig("admin"), ...args],
    order: { type: "probe", targets },
    environment: { PROBE_VARIABLE: "x" },
  });
  const line = await operator.line("PROBES ");
  strictEqual((await operator.stop()).code, 0, operator.lines.join("\n"));
  return {
    ...JSON.parse(line.slice("PROBES ".length)),
    connections: otherPort.connections + otherHost.connections,
  };
}

realTest(
  "sandbox: the running operator gets nowhere but to its API server",
  async (world, form) => {
    const { probes, connections } = await probe(world, form);
    strictEqual(connections, 0, "nobody was connected to");
    deepStrictEqual(
      outcomes(probes, [...PROBE_NAMES, ...METADATA_PROBE_NAMES]).filter(notAs("refused")),
      [],
    );
    deepStrictEqual(outcomes(probes, REMOTE_PROBE_NAMES).filter(as("done")), []);
  },
);

realTest("sandbox: without it each of the same attempts succeeds", async (world, form) => {
  const { probes, connections } = await probe(world, form, ["--no-sandbox"]);
  deepStrictEqual(outcomes(probes, PROBE_NAMES).filter(notAs("done")), []);
  deepStrictEqual(outcomes(probes, METADATA_PROBE_NAMES).filter(as("refused")), []);
  ok(connections >= 8, `${connections} connections came`);
});

/** The results of the attempts of these names, all of which were made. */
function outcomes(probes: readonly ProbeResult[], names: readonly string[]): ProbeResult[] {
  const found = probes.filter(({ name }) => names.includes(name));
  deepStrictEqual(found.map(({ name }) => name), names);
  return found;
}

const as = (outcome: ProbeResult["outcome"]) => (result: ProbeResult) => result.outcome === outcome;
const notAs = (outcome: ProbeResult["outcome"]) => (result: ProbeResult) =>
  result.outcome !== outcome;

realTest("sandbox: the main thread drops what it needs no longer", async (world, form) => {
  const { main } = await probe(world, form);
  // Certificate and key stand in the kubeconfig itself: not even a file is read again.
  deepStrictEqual(main, []);
});

for (
  const [way, said] of [
    ["throw", /died|the intruder threw/],
    ["reject", /the intruder rejected/],
    ["speak", /a message that no operator sends/],
    ["forge", /a message that no operator sends/],
    ["leave", /ended without having been told to/],
    ["flood", /asks for credentials faster than it may/],
  ] as const
) {
  realTest(
    `sandbox: an operator that ends by "${way}" ends the process with 1`,
    async (world, form) => {
      await using operator = world.run(form, {
        args: ["--kubeconfig", world.plane.kubeconfig("token")],
        order: { type: way },
      });
      const { code, lines } = await operator.ended;
      strictEqual(code, 1, lines.join("\n"));
      const errors = lines.filter((line) => !line.startsWith("{"));
      strictEqual(errors.length, 1, lines.join("\n"));
      match(errors[0] ?? "", said);
    },
  );
}

realTest("P1 sandbox: SIGTERM stops the operator in it, with exit 0", async (world, form) => {
  await using operator = world.run(form, {
    args: ["--kubeconfig", world.plane.kubeconfig("token")],
  });
  await operator.line("Controller started");
  const { code, lines } = await operator.stop();
  strictEqual(code, 0, lines.join("\n"));
  ok(lines.some((line) => line.includes("Operator stopped")), lines.join("\n"));
});

realTest("sandbox: --no-sandbox says so", async (world, form) => {
  await using operator = world.run(form, {
    args: ["--kubeconfig", world.plane.kubeconfig("token"), "--no-sandbox"],
  });
  match(await operator.line("without a sandbox"), /"level":"warn"/);
  await operator.line("Controller started");
  strictEqual((await operator.stop()).code, 0);
});

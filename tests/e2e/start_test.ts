/**
 * Starting: without the CRD, with bad input, and stopping again.
 */

import { match, ok, strictEqual } from "node:assert/strict";
import { OperatorProcess } from "../support/operator_process.ts";
import { createPki } from "../support/pki.ts";
import { deployments, foo, foos } from "./foo_objects.ts";
import { operatorSuite, type World } from "./world.ts";

const realTest = operatorSuite({ crd: "none" });

realTest(
  "W12 start: without the CRD it waits, says so once, and goes on when it appears",
  async (world) => {
    const operator = world.operator;
    await operator.line("foos.samplecontroller.k8s.io");
    await world.passes(5000);
    const told = operator.lines.filter((line) => line.includes("CustomResourceDefinition"));
    strictEqual(told.length, 1, told.join("\n"));
    await world.applyCrd();
    const ns = await world.kube.namespace("start");
    await world.eventually(() =>
      world.kube.post(foos(ns), foo("a", { deploymentName: "a", replicas: 1 }))
    );
    await world.kube.until(deployments(ns), "a", (object) => object !== undefined);
  },
);

/** Runs with bad input and demands exit 1, one sentence, no stack and no secret. */
async function refuses(
  world: World,
  kubeconfig: string,
  { args = [], expect }: { args?: string[]; expect: RegExp },
): Promise<void> {
  const path = await world.file(kubeconfig);
  const { code, lines } = await OperatorProcess.run({
    args: ["run", "--kubeconfig", path, ...args],
  });
  const said = lines.join("\n");
  strictEqual(code, 1, said);
  match(said, expect);
  ok(!/^\s+at /m.test(said), `no stack: ${said}`);
  ok(!said.includes("SECRET"), `no secret: ${said}`);
  strictEqual(lines.filter((line) => line.startsWith("error")).length, 1, said);
}

/** A kubeconfig for the control plane with another token, CA or server. */
function kubeconfig(
  world: World,
  { token = world.plane.adminToken, caPem = world.plane.caPem, server = world.plane.server } = {},
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "c", cluster: { server, "certificate-authority-data": btoa(caPem) } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "c", user: "u" } }],
  });
}

realTest("start: a missing kubeconfig is named", async () => {
  const { code, lines } = await OperatorProcess.run({
    args: ["run", "--kubeconfig", "/nowhere/kubeconfig"],
  });
  strictEqual(code, 1);
  match(lines.join("\n"), /\/nowhere\/kubeconfig/);
});

realTest("start: a malformed kubeconfig is named", async (world) => {
  await refuses(world, "clusters: [unclosed", { expect: /kubeconfig/i });
});

realTest("K3 start: an unknown context is named with those there are", async (world) => {
  await refuses(world, kubeconfig(world), {
    args: ["--context", "gone"],
    expect: /gone.*test/s,
  });
});

realTest("start: an unreachable server is named", async (world) => {
  await refuses(world, kubeconfig(world, { server: "https://127.0.0.1:1" }), {
    expect: /127\.0\.0\.1:1/,
  });
});

realTest("K16 start: a wrong CA is told as such", async (world) => {
  await refuses(world, kubeconfig(world, { caPem: (await createPki("other")).caPem }), {
    expect: /certificate|CA/,
  });
});

realTest("start: a rejected token is told without showing it", async (world) => {
  await refuses(world, kubeconfig(world, { token: "SECRET-abc" }), {
    expect: /401|credential|Unauthorized|token/i,
  });
});

realTest("W11 start: missing rights are named", async (world) => {
  await refuses(world, kubeconfig(world, { token: world.plane.nobodyToken }), {
    expect: /list.*foos\.samplecontroller\.k8s\.io|foos\.samplecontroller\.k8s\.io.*list/,
  });
});

realTest("P1 stop: SIGTERM ends an idle operator with exit 0", async (world) => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await world.restartOperator();
    await world.operator.line("Controller started");
    strictEqual((await world.operator.stop(signal)).code, 0, signal);
  }
});

/**
 * The compiled binary does the main job: from an empty environment, in an empty folder, with no more
 * than a kubeconfig to read.
 */

import { match, ok, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { hasControlPlane } from "../support/control_plane.ts";
import { OperatorProcess } from "../support/operator_process.ts";
import { deployments, foo, foos, isObserved } from "./foo_objects.ts";
import { operatorSuite } from "./world.ts";

const BINARY = fileURLToPath(new URL("../../dist/foo-operator", import.meta.url));

/** `.ci/run` and `deno task build` make it; without it there is nothing to test. */
const ignore = !await isFile(BINARY);

const realTest = operatorSuite({
  start: (args) => OperatorProcess.start({ args, binary: BINARY, cwd: emptyFolder() }),
}, { ignore: ignore || !hasControlPlane({ controllerManager: true }) });

realTest(
  "C4 binary: makes a Foo's Deployment and status from an empty environment",
  async (world) => {
    const { kube } = world;
    const ns = await kube.namespace("binary");
    const made = await kube.post(foos(ns), foo("a", { deploymentName: "web", replicas: 2 }));
    const deployment = await kube.until(deployments(ns), "web", (object) => object !== undefined);
    strictEqual(deployment.spec.replicas, 2);
    strictEqual(deployment.metadata.ownerReferences[0].uid, made.metadata.uid);
    const observed = await kube.until(foos(ns), "a", isObserved);
    strictEqual(observed.status.availableReplicas, 0);
    world.kubelet(ns);
    await kube.until(foos(ns), "a", (object) => object.status.availableReplicas === 2);
    strictEqual((await world.operator.stop()).code, 0);
  },
);

/** The file's world goes on beside these tests, with its own requests and timers. */
const BESIDE_THE_WORLD = { sanitizeOps: false, sanitizeResources: false };

for (const args of [["version"], ["manifests", "crd"], ["--help"], ["run", "--help"]]) {
  Deno.test({
    name: `C4 binary: ${args.join(" ")} needs nothing around it`,
    ignore,
    ...BESIDE_THE_WORLD,
    async fn() {
      const { code, lines } = await OperatorProcess.run({
        args,
        binary: BINARY,
        cwd: emptyFolder(),
      });
      strictEqual(code, 0, lines.join("\n"));
      ok(lines.length > 0);
    },
  });
}

Deno.test({
  name: "C1 binary: says its name and version",
  ignore,
  ...BESIDE_THE_WORLD,
  async fn() {
    const { lines } = await OperatorProcess.run({ args: ["version"], binary: BINARY });
    match(lines[0] ?? "", /^foo-operator \d+\.\d+\.\d+/);
  },
});

function emptyFolder(): string {
  return Deno.makeTempDirSync({ prefix: "empty-" });
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

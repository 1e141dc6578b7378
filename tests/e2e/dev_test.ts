/**
 * `dev --context NAME`: on a real control plane it applies the definition and its operator works.
 */

import { match, ok, strictEqual } from "node:assert/strict";
import { OperatorProcess } from "../support/operator_process.ts";
import { deployments, foo, foos, isObserved } from "./foo_objects.ts";
import { operatorSuite } from "./world.ts";

const DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD_NAME = "foos.samplecontroller.k8s.io";

// The world would start `run`: `dev` takes the same kubeconfig, and a context by its name.
const realTest = operatorSuite({
  crd: "none",
  audit: true,
  start: ([, ...flags]) => {
    const at = flags.indexOf("--log-format");
    const args = ["dev", ...flags.slice(0, at), "--context", "control-plane"];
    return OperatorProcess.start({ args });
  },
});

realTest("dev --context: applies the definition, and a Foo converges", async (world) => {
  await world.operator.line("Definition foos.samplecontroller.k8s.io created");
  await world.operator.line("Controller started");
  const { lines } = world.operator;
  match(lines.find((line) => line.includes("context")) ?? "", /control-plane/);
  ok(lines.some((line) => line.includes(world.plane.server)), lines.join("\n"));

  const ns = await world.kube.namespace("dev");
  world.kubelet(ns);
  await world.kube.post(foos(ns), foo("a", { deploymentName: "a", replicas: 2 }));
  await world.operator.line(`Foo ${ns}/a is ready: 2 of 2 Pods of Deployment a available`);
  ok(isObserved(await world.kube.get(`${foos(ns)}/a`)));
  strictEqual((await world.kube.get(`${deployments(ns)}/a`)).spec.replicas, 2);
  const end = await world.operator.stop("SIGINT");
  strictEqual(end.code, 0);
  match(end.lines.join("\n"), /^ {2}kubectl .*--context control-plane delete crd foos\.\S+$/m);
  ok((await world.kube.get(`${DEFINITION}/${CRD_NAME}`)).spec, "it says so since it stays");
});

realTest(
  "dev --context: leaves a definition that is as it should be, and corrects one that is not",
  async (world) => {
    const before = await world.kube.get(`${DEFINITION}/${CRD_NAME}`);
    await world.restartOperator();
    await world.operator.line(`Definition ${CRD_NAME} unchanged`);
    const after = await world.kube.get(`${DEFINITION}/${CRD_NAME}`);
    strictEqual(after.metadata.resourceVersion, before.metadata.resourceVersion);
    await world.operator.stop("SIGTERM");

    const { status: _, ...old } = structuredClone(before);
    delete old.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.conditions;
    old.metadata.labels = { kept: "yes" };
    await world.kube.send("PUT", `${DEFINITION}/${CRD_NAME}`, old);
    await world.restartOperator();
    await world.operator.line(`Definition ${CRD_NAME} updated`);
    const { metadata, spec } = await world.kube.get(`${DEFINITION}/${CRD_NAME}`);
    strictEqual(metadata.labels.kept, "yes");
    ok(spec.versions[0].schema.openAPIV3Schema.properties.status.properties.conditions);
    await world.operator.stop("SIGTERM");
  },
);

realTest(
  "dev without flags: asks nothing of a context that is not plainly local, and uses one that is",
  async (world) => {
    const text = await Deno.readTextFile(world.plane.kubeconfig("admin"));
    const start = async (context: string) => {
      const KUBECONFIG = await world.file(text.replaceAll("control-plane", context));
      return OperatorProcess.start({ args: ["dev"], environment: { KUBECONFIG } });
    };
    const before = (await world.requests()).length;
    await using elsewhere = await start("production");
    await elsewhere.line("Foo default/example-foo is ready");
    strictEqual((await elsewhere.stop("SIGINT")).code, 0);
    match(elsewhere.lines.join("\n"), /because +the current context is not plainly local/);
    strictEqual((await world.requests()).length, before);

    await using local = await start("kind-test");
    await local.line("Controller started");
    strictEqual((await local.stop("SIGINT")).code, 0);
    match(local.lines.join("\n"), /because +it is the current context, and plainly local/);
    ok((await world.requests()).length > before);
  },
);

/**
 * The operator of the guide's "Run it", as its reader runs it: in a project of its own, from the
 * command line that stands there, with no more rights than `rbac.yaml` gives, on a real API server.
 */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { parseYamlAll } from "../../lib/core/yaml.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { CONTROLLERS_GUIDE, documentedArguments, documentedSettings } from "../support/guide.ts";
import { type Json, Kube } from "../support/kube.ts";
import { OperatorProcess } from "../support/operator_process.ts";
import { realSuite } from "../support/real_suite.ts";
import { ROOT } from "../support/sources.ts";

const GREETER = `${ROOT}docs/guides/greeter`;

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/** Where the API takes what the guide's files hold. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  ServiceAccount: "/api/v1/namespaces/default/serviceaccounts",
  ClusterRole: `${RBAC}/clusterroles`,
  ClusterRoleBinding: `${RBAC}/clusterrolebindings`,
  Deployment: "/apis/apps/v1/namespaces/default/deployments",
};

/** Creates what a file of the guide holds; a field that the server does not know is an error. */
async function apply(kube: Kube, file: string): Promise<void> {
  for (const object of parseYamlAll(await Deno.readTextFile(`${GREETER}/${file}`)) as Json[]) {
    await kube.post(`${COLLECTIONS[object.kind]}?fieldValidation=Strict`, object);
  }
}

/** The reader's project: the documented `deno.json`, linked to this checkout, and `main.ts`. */
async function project(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await Deno.makeTempDir();
  const settings = { ...documentedSettings(CONTROLLERS_GUIDE), links: [ROOT] };
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(settings));
  await Deno.copyFile(`${GREETER}/main.ts`, `${folder}/main.ts`);
  return { folder, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

/** A kubeconfig in `folder` for the service account of `rbac.yaml`; its path. */
async function kubeconfigIn(folder: string, plane: ControlPlane, kube: Kube): Promise<string> {
  const { status } = await kube.post(`${COLLECTIONS["ServiceAccount"]}/greeter/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: ["https://kubernetes.default.svc"], expirationSeconds: 3600 },
  });
  const path = `${folder}/kubeconfig`;
  await Deno.writeTextFile(path, plane.kubeconfigText({ token: status.token }));
  return path;
}

/** The environment of a shell, as far as Deno itself needs it. */
function shell(): Record<string, string> {
  const names = ["HOME", "PATH", "DENO_DIR", "DENO_TLS_CA_STORE", "XDG_CACHE_HOME"];
  return Object.fromEntries(names.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

const suite = realSuite();

suite.test("guide: the greeter runs with the flags and the rights that stand there", async (plane) => {
  using kube = new Kube({ ...plane, token: plane.adminToken });
  for (const file of ["crd.yaml", "rbac.yaml", "deployment.yaml"]) await apply(kube, file);
  const definitions = COLLECTIONS["CustomResourceDefinition"] ?? "";
  await kube.until(
    definitions,
    "greetings.example.com",
    (definition) =>
      definition.status?.conditions?.some((condition: Json) =>
        condition.type === "Established" && condition.status === "True"
      ) ?? false,
  );
  await using world = await project();
  const KUBECONFIG = await kubeconfigIn(world.folder, plane, kube);
  await using greeter = OperatorProcess.start({
    binary: Deno.execPath(),
    args: documentedArguments(CONTROLLERS_GUIDE, "deno run --allow-net"),
    environment: { ...shell(), KUBECONFIG },
    cwd: world.folder,
  });

  const namespace = await kube.namespace("greeter");
  const greetings = `/apis/example.com/v1/namespaces/${namespace}/greetings`;
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const saysHello = (text: string) => (object: Json) => object?.data?.text === text;
  await kube.post(greetings, {
    apiVersion: "example.com/v1",
    kind: "Greeting",
    metadata: { name: "first" },
    spec: { name: "world" },
  });
  await kube.until(configMaps, "first", saysHello("Hello, world!"));
  const isReady = (object: Json) => object?.status?.conditions?.[0]?.status === "True";
  const ready = await kube.until(greetings, "first", isReady);
  strictEqual(ready.status.conditions[0].observedGeneration, 1); // the schema dropped no field
  await kube.merge(`${configMaps}/first`, { data: { text: "Bye" } });
  await kube.until(configMaps, "first", saysHello("Hello, world!"));
  await kube.merge(`${greetings}/first`, { spec: { name: "you" } });
  await kube.until(configMaps, "first", saysHello("Hello, you!"));

  const { code } = await greeter.stop("SIGTERM");
  strictEqual(code, 0);
  const records = greeter.records;
  deepStrictEqual(records.filter(({ level }) => level !== "info"), []); // no right was missing
  strictEqual(records.at(-1)?.["message"], "Stopped");
});

Deno.test("guide: the greeter can be bundled, and needs no more than what is baked in", async () => {
  await using world = await project();
  const run = (args: readonly string[]) =>
    OperatorProcess.run({
      binary: Deno.execPath(),
      args,
      environment: { ...shell(), HOME: world.folder, DENO_DIR: denoDir(), NO_COLOR: "1" },
      cwd: world.folder,
    });
  const bundle = await run(documentedArguments(CONTROLLERS_GUIDE, "deno bundle"));
  strictEqual(bundle.code, 0, bundle.lines.join("\n"));

  // What `deno compile` is told, as arguments of `deno run`.
  const compile = documentedArguments(CONTROLLERS_GUIDE, "deno compile");
  const flags = compile.filter((each) => /^--(no-prompt|allow-)/.test(each));
  const { code, lines } = await run(["run", ...flags, compile.at(-1) ?? ""]);
  match(lines.join("\n"), /"Failed","error":"No cluster configuration found/);
  deepStrictEqual([code, lines.length], [1, 1]);
});

/** Where this Deno keeps modules, which must not depend on the home that a test chooses. */
function denoDir(): string {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "."}/.cache`;
  return Deno.env.get("DENO_DIR") ?? `${cache}/deno`;
}

import { deepStrictEqual, match, notStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { ControlPlane, hasControlPlane } from "./control_plane.ts";
import { Kube, KubeError } from "./kube.ts";

const ignore = !hasControlPlane();

Deno.test({
  name: "ControlPlane.start() serves three users, logs requests, survives a crash, leaves nothing",
  ignore,
  async fn() {
    const plane = await ControlPlane.start({ audit: true });
    let dir: string;
    {
      await using _ends = plane;
      dir = plane.dir;
      using admin = new Kube({ ...plane, token: plane.adminToken });
      using nobody = new Kube({ ...plane, token: plane.nobodyToken });
      const namespace = await admin.namespace("a");
      await rejects(
        nobody.get("/api/v1/namespaces"),
        (error: unknown) => error instanceof KubeError && error.status === 403,
      );
      await plane.killApiServer();
      await rejects(admin.get("/api/v1/namespaces"), TypeError);
      await plane.startApiServer();
      strictEqual((await admin.get(`/api/v1/namespaces/${namespace}`)).metadata.name, namespace);
      const created = (await plane.auditRecords()).filter(({ verb, objectRef }) =>
        verb === "create" && objectRef?.resource === "namespaces"
      );
      deepStrictEqual(created.map(({ user }) => user.username).slice(-1), ["token-admin"]);
      await certificateWorks(plane);
    }
    await rejects(Deno.stat(dir), Deno.errors.NotFound);
    await rejects(fetch(plane.server), TypeError);
  },
});

async function certificateWorks(plane: ControlPlane): Promise<void> {
  const text = await Deno.readTextFile(plane.kubeconfig("admin"));
  const field = (name: string) => atob(new RegExp(`${name}-data: (.*)`).exec(text)?.[1] ?? "");
  using client = Deno.createHttpClient({
    caCerts: [field("certificate-authority")],
    cert: field("client-certificate"),
    key: field("client-key"),
  });
  const response = await fetch(`${plane.server}/api/v1/nodes`, { client });
  strictEqual((await response.json()).kind, "NodeList");
}

Deno.test({
  name: "ControlPlane.start() starts several at once, with kube-controller-manager if asked for",
  ignore: !hasControlPlane({ controllerManager: true }),
  async fn() {
    const [one, two] = await Promise.all([
      ControlPlane.start({ controllerManager: true }),
      ControlPlane.start(),
    ]);
    await using _one = one;
    await using _two = two;
    notStrictEqual(one.port, two.port);
    using kube = new Kube({ ...one, token: one.adminToken });
    // Made by the controller, so it runs.
    await kube.until(
      "/api/v1/namespaces/default/serviceaccounts",
      "default",
      (account) => account !== undefined,
    );
  },
});

Deno.test({
  name: "ControlPlane.start() says why the API server did not start",
  ignore,
  async fn() {
    await rejects(
      ControlPlane.start({ apiServerFlags: ["--no-such-flag"] }),
      /not ready; the end of its log:[^]*unknown flag: --no-such-flag/,
    );
  },
});

Deno.test({
  name: "ControlPlane: its processes end when the test process is killed",
  ignore,
  async fn() {
    const script = `
      import { ControlPlane } from "${new URL("./control_plane.ts", import.meta.url)}";
      const plane = await ControlPlane.start();
      console.log(plane.server);
      setInterval(() => {}, 1000);
    `;
    const dir = await Deno.makeTempDir();
    const file = `${dir}/starts.ts`;
    await Deno.writeTextFile(file, script);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", `--config=${configFile()}`, file],
      env: { TMPDIR: dir },
      stdout: "piped",
      stdin: "null",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const server = ((await reader.read()).value ?? "").trim();
    match(server, /^https:/);
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    await portCloses(Number(new URL(server).port));
    await Deno.remove(dir, { recursive: true });
  },
});

function configFile(): string {
  return new URL("../../deno.json", import.meta.url).pathname;
}

/** Waits until nobody listens on `port`. */
async function portCloses(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionRefused) return;
      throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`something still listens on port ${port}`);
}

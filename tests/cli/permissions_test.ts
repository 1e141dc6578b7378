import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { SERVICE_ACCOUNT_DIRECTORY } from "../../lib/client/config.ts";
import type { LocalFiles } from "../../lib/client/credentials.ts";
import type { Host } from "../../lib/cli/command.ts";
import { cli } from "../support/cli_host.ts";
import { base64, kubeconfigOf } from "../support/config_fixture.ts";
import { createPki } from "../support/pki.ts";

const KUBECONFIG = "/home/me/.kube/config";

/** Files that are there only for the test. */
function files(texts: Record<string, string>): LocalFiles {
  return {
    readText(path) {
      const text = texts[path];
      return text === undefined
        ? Promise.reject(new Deno.errors.NotFound(path))
        : Promise.resolve(text);
    },
  };
}

/** Compares with a golden file; to renew one, write what the failure shows. */
async function printsGolden(name: string, options: Partial<Host>, args: string[] = []) {
  const { code, stdout, stderr } = await cli(["permissions", ...args], options);
  deepStrictEqual([code, stderr], [0, ""]);
  ok(!stdout.includes("SECRET"), stdout);
  const url = new URL(`../golden/${name}`, import.meta.url);
  // The relay's port is drawn at each start.
  const shown = stdout.replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT");
  strictEqual(shown, await Deno.readTextFile(url), `tests/golden/${name}`);
}

const variables = (values: Record<string, string>): Host["environment"] => ({
  get: (name) => values[name],
  delete: (name) => void delete values[name],
});

Deno.test("permissions prints the grants of a Pod", async () => {
  const { caPem } = await createPki("cluster");
  await printsGolden("permissions_in_cluster.txt", {
    environment: variables({
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      KUBERNETES_SERVICE_PORT: "443",
    }),
    files: files({
      [`${SERVICE_ACCOUNT_DIRECTORY}/token`]: "SECRET-abc",
      [`${SERVICE_ACCOUNT_DIRECTORY}/ca.crt`]: caPem,
      [`${SERVICE_ACCOUNT_DIRECTORY}/namespace`]: "default",
    }),
    // What the image's binary has.
    permissions: {
      state: (name) => Promise.resolve(name === "net" ? "all" : "other"),
      drop: () => Promise.reject(new Error("printing drops nothing")),
    },
  });
});

Deno.test("permissions prints a plugin and the environment's proxy, without its password", async () => {
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "cloud-login",
    interactiveMode: "Never",
  };
  const config = kubeconfigOf({
    cluster: { server: "https://api.test:6443" },
    user: { exec },
  });
  await printsGolden("permissions_plugin.txt", {
    environment: variables({ HTTPS_PROXY: "http://me:SECRET-abc@proxy.test:3128" }),
    files: files({ [KUBECONFIG]: config }),
  }, ["--kubeconfig", KUBECONFIG]);
});

Deno.test("K5 permissions prints the relay and what it dials", async () => {
  const { caPem } = await createPki("cluster");
  const cluster = {
    server: "https://192.0.2.1:6443",
    "tls-server-name": "api.test",
    "certificate-authority-data": base64(caPem),
  };
  await printsGolden("permissions_relay.txt", {
    files: files({ [KUBECONFIG]: kubeconfigOf({ cluster, user: { token: "SECRET-abc" } }) }),
  }, ["--kubeconfig", KUBECONFIG]);
});

Deno.test("permissions and run refuse DENO_PERMISSION_BROKER_PATH in one sentence", async () => {
  const environment = variables({ DENO_PERMISSION_BROKER_PATH: "/run/broker.sock" });
  for (const command of ["permissions", "run"]) {
    const { code, stdout, stderr } = await cli([command], { environment });
    deepStrictEqual([code, stdout], [1, ""], command);
    match(stderr, /^error: Cannot run with DENO_PERMISSION_BROKER_PATH set: .*; unset it\n$/);
  }
});

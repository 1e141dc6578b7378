import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { parseFlags } from "../../lib/cli/flags.ts";
import { RUN, settingsOf } from "../../lib/cli/run.ts";
import { rememberingSecrets } from "../../lib/client/secrets.ts";
import type { Credential } from "../../lib/client/connection.ts";
import { Redactor } from "../../lib/core/redact.ts";
import { cli } from "../support/cli_host.ts";

const environment = (variables: Record<string, string> = {}) => ({
  environment: { get: (name: string) => variables[name], delete: () => {} },
});

Deno.test("settingsOf() makes settings of flags, and they can go to a worker", () => {
  const args = ["--namespaces", "a,b", "-n", "c", "--workers=7", "--resync", "10m"];
  const settings = settingsOf(parseFlags(args, RUN.flags), environment({ POD_NAME: "pod-1" }));
  deepStrictEqual(structuredClone(settings), {
    namespaces: ["a", "b", "c"],
    workers: 7,
    resyncMs: 600_000,
    instance: "pod-1",
    gracePeriodMs: 30_000,
  });
});

Deno.test("settingsOf() works everywhere and without resync unless told otherwise", () => {
  const settings = settingsOf(parseFlags([], RUN.flags), environment());
  deepStrictEqual([settings.namespaces, settings.resyncMs, settings.workers], [[], 0, 4]);
});

Deno.test("P8 rememberingSecrets() has every secret of every generation hidden by value", async () => {
  const redactor = new Redactor();
  const { signal } = new AbortController();
  const credentials: Credential[] = [
    { generation: 1, token: "SECRET-abc" },
    { generation: 2, basic: { username: "u", password: "SECRET-def" } },
  ];
  const source = rememberingSecrets({
    current: () => Promise.resolve(credentials[0] ?? { generation: 0 }),
    refresh: () => Promise.resolve(credentials[1] ?? { generation: 0 }),
  }, redactor);
  await source.current({ signal });
  await source.refresh(1, { signal });
  strictEqual(redactor.text("SECRET-abc SECRET-def"), "[redacted] [redacted]");
});

Deno.test("P8 run shows no token of a kubeconfig that it can't use, even at debug level", async () => {
  const path = await Deno.makeTempFile();
  try {
    // The same file is broken in each way in turn; its token must show in no message.
    const user = "users: [{name: u, user: {token: SECRET-abc}}]\n";
    const texts = [
      `${user}clusters: [unclosed`,
      `${user}current-context: gone\n`,
      `${user}clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", ` +
      `certificate-authority-data: SECRET-abc}}]\n` +
      "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n",
    ];
    for (const text of texts) {
      await Deno.writeTextFile(path, text);
      const args = ["run", "--kubeconfig", path, "--log-level", "debug"];
      const { code, stdout, stderr } = await cli(args);
      strictEqual(code, 1, stderr);
      ok(!(stdout + stderr).includes("SECRET"), stderr);
      match(stderr, /^error: /m);
    }
  } finally {
    await Deno.remove(path);
  }
});

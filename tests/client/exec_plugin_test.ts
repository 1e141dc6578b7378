import { deepStrictEqual, doesNotMatch, match, rejects, strictEqual } from "node:assert/strict";
import {
  execPart,
  PLUGIN_PAUSE_MS,
  PLUGIN_REFUSED_PAUSE_MS,
} from "../../lib/client/credential_parts.ts";
import { RefreshingCredentials } from "../../lib/client/credentials.ts";
import {
  checkExecPlugin,
  EXEC_PLUGIN_TIMEOUT_MS,
  execInfoOf,
  type ExecPlugin,
  parseExecCredential,
  runExecPlugin,
} from "../../lib/client/exec_plugin.ts";
import type { KubeconfigExec } from "../../lib/client/kubeconfig_types.ts";
import { realClock } from "../../lib/core/clock.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { silentLogger } from "../../lib/core/log.ts";
import { timeOf } from "../../lib/core/timestamps.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import {
  base64,
  configErrorOf,
  kubeconfigOf,
  load,
  type TestFolder,
  testFolder,
} from "../support/config_fixture.ts";
import { kubectl, needsKubectl } from "../support/kubectl.ts";
import { createPki } from "../support/pki.ts";

const { signal } = new AbortController();
const V1 = "client.authentication.k8s.io/v1";
const CLUSTER = { server: "https://a" };

function pluginOf(exec: Partial<KubeconfigExec>): ExecPlugin {
  const defaults = {
    apiVersion: V1,
    command: "sh",
    args: [],
    env: [],
    provideClusterInfo: false,
    interactiveMode: "Never",
  };
  return {
    user: "u",
    exec: { ...defaults, ...exec },
    stdinIsTerminal: false,
    environment: {},
  };
}

/** A plugin that is this script of the shell. */
function scriptOf(script: string, exec: Partial<KubeconfigExec> = {}): ExecPlugin {
  return pluginOf({ args: ["-c", script], ...exec });
}

function run(plugin: ExecPlugin): ReturnType<typeof runExecPlugin> {
  return runExecPlugin(plugin, { cluster: CLUSTER, clock: realClock, signal });
}

function answerOf(status: Record<string, unknown>, apiVersion = V1): string {
  return JSON.stringify({ kind: "ExecCredential", apiVersion, status });
}

/** Waits for a file that a plugin makes; real processes need real time. */
async function untilThere(path: string): Promise<void> {
  for (;;) {
    try {
      await Deno.lstat(path);
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await realClock.sleep(5, { signal });
    }
  }
}

Deno.test("runExecPlugin() hands over arguments, variables and the proxies, and reads the answer", async () => {
  const script = `printf '${answerOf({ token: "%s" })}' "$1-$OWN-$HTTPS_PROXY"`;
  const plugin = {
    ...pluginOf({ args: ["-c", script, "sh", "arg"], env: [{ name: "OWN", value: "own" }] }),
    environment: { HTTPS_PROXY: "proxy" },
  };
  deepStrictEqual(await run(plugin), { token: "arg-own-proxy" });
});

Deno.test("K10 exec: a failure tells standard error and the install hint, never the answer", async () => {
  const failing = scriptOf(
    `echo '${answerOf({ token: "SECRET-abc" })}'; echo please log in >&2; exit 3`,
    {
      installHint: "brew install cred",
    },
  );
  const message = await configErrorOf(run(failing));
  strictEqual(
    message,
    'Cannot get credentials of user "u" from its exec plugin "sh": it exited with 3 and said: ' +
      "please log in; brew install cred",
  );
  const token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2ln";
  doesNotMatch(await configErrorOf(run(scriptOf(`echo ${token} >&2; exit 1`))), /eyJ/);
  const gone = pluginOf({ command: "/nowhere/cred", installHint: "get it" });
  match(await configErrorOf(run(gone)), /"\/nowhere\/cred": its command was not found; get it$/);
});

Deno.test("K10 exec: a failure tells no key of standard error, whole or cut, and leaves paths", async () => {
  const noise = Uint8Array.from({ length: 900 }, (_, at) => (at * at * 7 + at * 31) % 256)
    .toBase64();
  const body = noise.replaceAll(/(.{64})/g, "$1\n");
  const keyPem = `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----\n`;
  const json = JSON.stringify({ token: "hunter2", clientKeyData: keyPem });
  const awsKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  const path = "/opt/google-cloud-sdk/bin/gke-gcloud-auth-plugin";
  for (
    const [shown, secrets] of [
      [keyPem, keyPem.split("\n").filter((line) => !line.startsWith("-----") && line !== "")],
      [keyPem.repeat(2).slice(0, -100), keyPem.split("\n").slice(1, -4)],
      [json, ["hunter2", ...keyPem.split("\n").slice(1, -2)]],
      [`secret ${awsKey}`, [awsKey, "K7MDENG"]],
    ] as const
  ) {
    const plugin = scriptOf(`printf '%s' "$SAID" >&2; echo " see ${path}" >&2; exit 1`, {
      env: [{ name: "SAID", value: shown }],
    });
    const message = await configErrorOf(run(plugin));
    for (const secret of secrets) {
      for (const part of secret.split("/").filter(({ length }) => length > 5)) {
        strictEqual(message.includes(part), false, `${message} has ${part}`);
      }
    }
    if (shown.startsWith("secret")) match(message, new RegExp(` see ${path};`));
  }
});

Deno.test("K10 exec: a plugin that floods standard error, and ends by a signal, still tells the end", async () => {
  const flood = "head -c 3000000 /dev/zero | tr '\\0' ' ' >&2; echo no session >&2";
  match(
    await configErrorOf(run(scriptOf(`${flood}; exit 137`))),
    /exited with 137 and said: .*no session;/,
  );
  match(
    await configErrorOf(run(scriptOf(`${flood}; kill -9 $$`))),
    /ended by SIGKILL and said: .*no session;/,
  );
  const long = scriptOf("head -c 3000000 /dev/zero | tr '\\0' ' '");
  match(await configErrorOf(run(long)), /it printed over 1048576 characters;/);
});

Deno.test("K10 exec: a token that no header can carry is refused, and not told", async () => {
  for (const token of ["SECRET-abc\nx-evil: 1", "SECRET-abc\0", "SECRET-abc\u4711", " SECRET"]) {
    const message = await configErrorOf(
      (async () => await Promise.resolve(parseExecCredential(answerOf({ token }), pluginOf({}))))(),
    );
    match(message, /: its token holds a space, a line break or another odd character; run the/);
    doesNotMatch(message, /SECRET/);
  }
});

Deno.test("K10 exec: interactive is what the mode and the terminal allow", () => {
  const cases: [mode: string | undefined, version: string, terminal: boolean, told: boolean][] = [
    ["Never", "v1", true, false],
    ["IfAvailable", "v1", true, true],
    ["IfAvailable", "v1", false, false],
    ["Always", "v1", true, true],
    // The default of v1beta1 is IfAvailable.
    [undefined, "v1beta1", true, true],
    [undefined, "v1beta1", false, false],
  ];
  for (const [interactiveMode, version, stdinIsTerminal, told] of cases) {
    const { interactiveMode: _, ...exec } = pluginOf({}).exec;
    const apiVersion = `client.authentication.k8s.io/${version}`;
    const mode = interactiveMode === undefined ? {} : { interactiveMode };
    const plugin = { ...pluginOf({}), stdinIsTerminal, exec: { ...exec, apiVersion, ...mode } };
    checkExecPlugin(plugin);
    const info = JSON.parse(execInfoOf(plugin, CLUSTER));
    deepStrictEqual(info, { kind: "ExecCredential", apiVersion, spec: { interactive: told } });
  }
});

Deno.test("K10 exec: an answer that is none says why", () => {
  const plugin = pluginOf({});
  const cases: [string, RegExp][] = [
    ["", /it printed no ExecCredential/],
    ["SECRET", /it printed no ExecCredential/],
    ["[1]", /it printed no ExecCredential/],
    [JSON.stringify({ kind: "Status", token: "SECRET" }), /it printed no ExecCredential/],
    [answerOf({ token: "SECRET" }, `${V1}beta1`), /not the configured apiVersion/],
    [answerOf({}), /neither a token nor a client certificate/],
    [JSON.stringify({ kind: "ExecCredential", apiVersion: V1 }), /neither a token/],
    [answerOf({ clientKeyData: "SECRET" }), /only one of clientCertificateData and clientKeyData/],
    [answerOf({ token: 5 }), /the token of its answer is not a string/],
    [answerOf({ token: "SECRET", expirationTimestamp: "soon" }), /"soon" is not a time/],
  ];
  for (const [stdout, expected] of cases) {
    let message = "";
    try {
      parseExecCredential(stdout, plugin);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      message = error.message;
    }
    match(message, expected);
    doesNotMatch(message, /SECRET/);
  }
});

Deno.test("K11 exec: a certificate pair is taken, and checked before TLS sees it", async () => {
  const pki = await createPki("ca");
  const [bob, eve] = [
    await pki.issue({ commonName: "bob" }),
    await pki.issue({ commonName: "eve" }),
  ];
  const status = { clientCertificateData: bob.certificatePem, clientKeyData: bob.keyPem };
  const expirationTimestamp = "2026-01-02T03:04:05Z";
  deepStrictEqual(
    parseExecCredential(answerOf({ ...status, token: "t", expirationTimestamp }), pluginOf({})),
    { clientCertificate: bob, token: "t", expiresAtMs: Date.UTC(2026, 0, 2, 3, 4, 5) },
  );
  const mixed = answerOf({ ...status, clientKeyData: eve.keyPem });
  await rejects(async () => await Promise.resolve(parseExecCredential(mixed, pluginOf({}))), {
    name: "ConfigError",
    message: /given by its exec plugin: its private key belongs to another certificate/,
  });
});

Deno.test("K10 exec: a plugin that hangs is ended, though a child of it holds the pipes", async () => {
  await using folder = await testFolder();
  const started = `${folder.path}/started`;
  const clock = new SimClock();
  // The inner shell ignores the request to end, and its child keeps standard output open.
  const plugin = scriptOf(
    `trap '' TERM; sleep 600 & echo $! > '${started}.pid'; : > '${started}'; wait; wait`,
  );
  const message = configErrorOf(runExecPlugin(plugin, { cluster: CLUSTER, clock, signal }));
  await untilThere(started);
  await clock.advance(EXEC_PLUGIN_TIMEOUT_MS + 5_000);
  match(await message, /it did not end within 60 s/);
  Deno.kill(Number(await Deno.readTextFile(`${started}.pid`)), "SIGKILL");
});

Deno.test("runExecPlugin() ends the plugin when it is aborted", async () => {
  await using folder = await testFolder();
  const started = `${folder.path}/started`;
  const stop = new AbortController();
  const plugin = scriptOf(`: > '${started}'; exec sleep 600`);
  const options = { cluster: CLUSTER, clock: realClock, signal: stop.signal };
  const running = runExecPlugin(plugin, options);
  await untilThere(started);
  stop.abort("stop");
  await rejects(running, (reason) => reason === "stop");
});

/** A plugin that counts its runs in a file and answers with what `statuses` has for each. */
async function countingPlugin(
  folder: TestFolder,
  statuses: readonly Record<string, unknown>[],
): Promise<{ plugin: ExecPlugin; runs(): Promise<number> }> {
  const log = await folder.write("runs", "");
  await Promise.all(statuses.map((status, i) => folder.write(`answer${i + 1}`, answerOf(status))));
  const script = `echo >> '${log}'; exec cat "${folder.path}/answer$(grep -c ^ '${log}')"`;
  return {
    plugin: scriptOf(script),
    runs: async () => (await Deno.readTextFile(log)).length,
  };
}

function credentialsOf(plugin: ExecPlugin, clock: SimClock): RefreshingCredentials {
  const parts = [execPart({ plugin, cluster: CLUSTER, clock })];
  return new RefreshingCredentials({ parts, clock, log: silentLogger });
}

Deno.test("K9 exec: an answer without an expiry is kept until it is refused, then asked once", async () => {
  await using folder = await testFolder();
  const clock = new SimClock();
  const statuses = [{ token: "t1" }, { token: "t2" }, { token: "t3" }];
  const { plugin, runs } = await countingPlugin(folder, statuses);
  const credentials = credentialsOf(plugin, clock);
  const first = await Promise.all([1, 2, 3].map(() => credentials.current({ signal })));
  deepStrictEqual(first.map(({ token }) => token), ["t1", "t1", "t1"]);
  await clock.advance(86_400_000);
  strictEqual((await credentials.current({ signal })).token, "t1");
  strictEqual(await runs(), 1);

  const refused = await Promise.all([1, 2, 3].map(() => credentials.refresh(1, { signal })));
  deepStrictEqual(refused.map(({ token }) => token), ["t2", "t2", "t2"]);
  strictEqual(await runs(), 2);
  // A server that refuses whatever is given does not start a process for each request.
  strictEqual((await credentials.refresh(2, { signal })).generation, 2);
  strictEqual(await runs(), 2);
  await clock.advance(PLUGIN_REFUSED_PAUSE_MS);
  strictEqual((await credentials.refresh(2, { signal })).token, "t3");
});

Deno.test("K9 exec: an answer is renewed shortly before it expires", async () => {
  await using folder = await testFolder();
  const clock = new SimClock();
  const expiring = (token: string, ms: number) => ({
    token,
    expirationTimestamp: timeOf(clock.wallMs() + ms),
  });
  const statuses = [expiring("t1", 5_000), expiring("t2", 3_604_000), { token: "t3" }];
  const { plugin, runs } = await countingPlugin(folder, statuses);
  const credentials = credentialsOf(plugin, clock);
  strictEqual((await credentials.current({ signal })).token, "t1");
  await clock.advance(3_999);
  strictEqual((await credentials.current({ signal })).token, "t1");
  await clock.advance(1);
  strictEqual((await credentials.current({ signal })).token, "t2");
  await clock.advance(3_589_999);
  strictEqual((await credentials.current({ signal })).token, "t2");
  strictEqual(await runs(), 2);
  await clock.advance(1);
  strictEqual((await credentials.current({ signal })).token, "t3");
});

Deno.test("K9 exec: a failing plugin is asked again after a pause, and heals", async () => {
  await using folder = await testFolder();
  const clock = new SimClock();
  const { plugin, runs } = await countingPlugin(folder, [{}, { token: "t2" }]);
  const credentials = credentialsOf(plugin, clock);
  await rejects(credentials.current({ signal }), {
    name: "ConfigError",
    message: /neither a token/,
  });
  await rejects(credentials.current({ signal }), {
    name: "ConfigError",
    message: /neither a token/,
  });
  strictEqual(await runs(), 1);
  await clock.advance(PLUGIN_PAUSE_MS);
  strictEqual((await credentials.current({ signal })).token, "t2");
});

/** Writes a kubeconfig whose plugin leaves its KUBERNETES_EXEC_INFO in a file. */
async function writeDumper(
  folder: TestFolder,
  { cluster, exec }: { cluster: Record<string, unknown>; exec: Record<string, unknown> },
): Promise<{ kubeconfig: string; info(): Promise<unknown> }> {
  const apiVersion = String(exec.apiVersion);
  await folder.write(
    "bin/cred",
    `#!/bin/sh\nprintf '%s' "$KUBERNETES_EXEC_INFO" > '${folder.path}/info'\n` +
      `echo '${answerOf({ token: "t" }, apiVersion)}'\n`,
    0o700,
  );
  const user = { exec: { command: "bin/cred", args: null, env: null, ...exec } };
  return {
    kubeconfig: await folder.write("config", kubeconfigOf({ cluster, user })),
    info: async () => JSON.parse(await Deno.readTextFile(`${folder.path}/info`)),
  };
}

Deno.test({
  ...await needsKubectl("K10 exec: KUBERNETES_EXEC_INFO is what kubectl gives"),
  async fn() {
    const { caPem } = await createPki("ca");
    const extension = { audience: "x", nested: [1, { a: null }] };
    const full = {
      "certificate-authority-data": base64(caPem),
      "disable-compression": true,
      extensions: [{ name: "client.authentication.k8s.io/exec", extension }],
    };
    const cases: [Record<string, unknown>, Record<string, unknown>][] = [
      [full, { apiVersion: V1, interactiveMode: "Never", provideClusterInfo: true }],
      [{}, { apiVersion: V1, interactiveMode: "IfAvailable", provideClusterInfo: true }],
      [full, { apiVersion: `${V1}beta1`, provideClusterInfo: false }],
      [
        { "insecure-skip-tls-verify": true },
        { apiVersion: `${V1}beta1`, provideClusterInfo: true },
      ],
    ];
    for (const [fields, exec] of cases) {
      await using folder = await testFolder();
      // Nothing listens on port 1: the plugin is run all the same.
      const cluster = { server: "https://127.0.0.1:1", ...fields };
      const { kubeconfig, info } = await writeDumper(folder, { cluster, exec });
      await kubectl(["--kubeconfig", kubeconfig, "get", "--raw", "/version"], {});
      const theirs = await info();
      await Deno.remove(`${folder.path}/info`);

      const { credentials, access } = await load({ kubeconfig });
      deepStrictEqual(access.commands, [`${folder.path}/bin/cred`]);
      strictEqual((await credentials.current({ signal })).token, "t");
      deepStrictEqual(await info(), theirs);
    }
  },
});

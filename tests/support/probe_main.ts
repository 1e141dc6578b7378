/**
 * The program as it ships, but for the worker's entry: that is `probe_worker.ts`. Started with the
 * order in PROBE_ORDER, it prints what came of it as a line `PROBES …` once the operator works.
 *
 * @module
 */

import { SERVICE_ACCOUNT_DIRECTORY } from "../../lib/client/config.ts";
import type { LocalFiles } from "../../lib/client/credentials.ts";
import type { Host } from "../../lib/cli/command.ts";
import { main } from "../../lib/cli/main.ts";
import { PERMISSIONS } from "../../lib/cli/grants.ts";
import { ownPermissions } from "../../lib/cli/sandbox.ts";
import { realHost, stopSignal } from "../../main.ts";
import { type ProbeResult, type ProbeTargets, runProbes } from "./probes.ts";

/** What the intruder is to do. */
export type ProbeOrder =
  | { readonly type: "probe"; readonly targets: ProbeTargets }
  /** End the worker in one of the ways there are, or break the rules of its conversation. */
  | { readonly type: "throw" | "reject" | "speak" | "forge" | "leave" | "flood" };

/** What `PROBES` is followed by, in JSON. */
export interface ProbeReport {
  readonly probes: readonly ProbeResult[];
  /** Permissions that the main thread has as a whole, after the operator was started. */
  readonly main: readonly string[];
}

async function report(probes: readonly ProbeResult[], host: { stdout(text: string): void }) {
  const main: string[] = [];
  for (const name of PERMISSIONS) {
    if (await ownPermissions.state(name) === "all") main.push(name);
  }
  host.stdout(`PROBES ${JSON.stringify({ probes, main } satisfies ProbeReport)}\n`);
}

/** The machine's files, but the service account in the folder that PROBE_SERVICE_ACCOUNT names. */
function filesOf({ environment, files }: Host): LocalFiles {
  const folder = environment.get("PROBE_SERVICE_ACCOUNT");
  if (folder === undefined) return files;
  return {
    readText: (path, options) =>
      files.readText(path.replace(SERVICE_ACCOUNT_DIRECTORY, folder), options),
  };
}

if (import.meta.main) {
  const real = realHost(stopSignal());
  const order: ProbeOrder | undefined = JSON.parse(real.environment.get("PROBE_ORDER") ?? "null") ??
    undefined;
  const channel = new BroadcastChannel("probes");
  channel.onmessage = async ({ data }: MessageEvent<"listening" | ProbeResult[]>) => {
    if (data !== "listening") await report(data, real);
  };
  const stderr = (text: string) => {
    real.stderr(text);
    // The operator works: it has used its credentials, and watches.
    if (!text.includes("Controller started") || order === undefined) return;
    if (!Deno.args.includes("--no-sandbox")) channel.postMessage(order);
    else if (order.type === "probe") runProbes(order.targets).then((all) => report(all, real));
  };
  const operatorWorker = new URL("./probe_worker.ts", import.meta.url);
  Deno.exit(await main(Deno.args, { ...real, files: filesOf(real), stderr, operatorWorker }));
}

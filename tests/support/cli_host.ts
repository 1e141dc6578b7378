/**
 * A process for the command line that is no process: what it prints is kept.
 *
 * @module
 */

import { main } from "../../lib/cli/main.ts";
import { localFiles } from "../../lib/client/credentials.ts";
import type { Host } from "../../lib/cli/command.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";

/** How a command line ended. */
export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a {@linkcode cliHost} printed so far. */
export interface Printed {
  stdout: string;
  stderr: string;
}

/** A host with an empty environment, no terminal and a clock that stands still. */
export function cliHost(options: Partial<Host> = {}): { host: Host; printed: Printed } {
  const printed: Printed = { stdout: "", stderr: "" };
  const host: Host = {
    environment: { get: () => undefined, delete: () => {} },
    stdout: (text) => void (printed.stdout += text),
    stderr: (text) => void (printed.stderr += text),
    terminals: { stdin: false, stdout: false, stderr: false },
    signal: new AbortController().signal,
    clock: new SimClock(),
    random: () => 0,
    uuid: () => "00000000-0000-4000-8000-000000000000",
    build: { version: "1.2.3", deno: "2.9.6", platform: "linux/x86_64" },
    files: localFiles,
    operatorWorker: new URL("../../lib/cli/operator_worker.ts", import.meta.url),
    permissions: { state: () => Promise.resolve("all"), drop: () => Promise.resolve() },
    program: { command: ["/nowhere/foo-operator"] },
    ...options,
  };
  return { host, printed };
}

/** Runs a command line to its end. */
export async function cli(
  args: readonly string[],
  options: Partial<Host> = {},
): Promise<CliResult> {
  const { host, printed } = cliHost(options);
  const code = await main(args, host);
  return { code, ...printed };
}

/**
 * Starts the program: makes the real process into what `lib/cli/main.ts` takes, and exits.
 *
 * The only place that touches arguments, signals and exit.
 *
 * @module
 */

import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT, type Host, type Program } from "./lib/cli/command.ts";
import { buildInfo } from "./lib/cli/build_info.ts";
import { localFiles } from "./lib/client/credentials.ts";
import { main } from "./lib/cli/main.ts";
import { ownPermissions } from "./lib/cli/sandbox.ts";
import { realClock, realRandom, realUuid } from "./lib/core/clock.ts";
import { lossyWriterTo, writerTo } from "./lib/core/output.ts";

/**
 * Signals that come within so many milliseconds are one. Ctrl-C goes to all processes of a terminal,
 * and those that started this one, such as npx, pass it on once more; nobody presses twice that fast.
 */
const SAME_SIGNAL_MS = 200;

/**
 * An abort on the first SIGTERM or SIGINT; a second one exits at once. Installed before anything
 * else: as PID 1 the kernel delivers no signal that nobody listens to (field case P1).
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  let firstMs = -Infinity;
  const onSignal = () => {
    const nowMs = realClock.monotonicMs();
    if (nowMs - firstMs < SAME_SIGNAL_MS) return;
    if (stop.signal.aborted) Deno.exit(EXIT.failure);
    firstMs = nowMs;
    stop.abort(new DOMException("The process was told to stop", "AbortError"));
  };
  // Windows has no SIGTERM; there, Ctrl-C is all there is.
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGTERM", "SIGINT"];
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  return stop.signal;
}

/** The real process. */
export function realHost(signal: AbortSignal): Host {
  return {
    environment: Deno.env,
    stdout: writerTo(Deno.stdout),
    stderr: lossyWriterTo(Deno.stderr),
    terminals: {
      stdin: Deno.stdin.isTerminal(),
      stdout: Deno.stdout.isTerminal(),
      stderr: Deno.stderr.isTerminal(),
    },
    signal,
    clock: realClock,
    random: realRandom,
    uuid: realUuid,
    build: buildInfo(),
    files: localFiles,
    // The build bundles this module apart and puts the bundle's name here.
    operatorWorker: new URL("./lib/cli/operator_worker.ts", import.meta.url),
    permissions: ownPermissions,
    program: ownProgram(),
  };
}

/** How to start this program again: a binary by itself, sources by the Deno that runs them. */
function ownProgram(): Program {
  const url = new URL(import.meta.url);
  if (Deno.build.standalone || url.protocol !== "file:") return { command: [Deno.execPath()] };
  const main = fileURLToPath(url);
  return {
    // An operator that is started so may do what the program itself may, but write no file.
    command: [Deno.execPath(), "run", "--no-prompt", ...OPERATOR_PERMISSIONS, main],
    sources: dirname(main),
  };
}

const OPERATOR_PERMISSIONS = ["net", "read", "env", "run", "sys"].map((name) => `--allow-${name}`);

if (import.meta.main) {
  const signal = stopSignal();
  // An exit, not a return: what is left open, such as idle connections, must not keep the process.
  Deno.exit(await main(Deno.args, realHost(signal)));
}

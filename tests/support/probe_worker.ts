/**
 * The operator's worker with an intruder in it: the product's entry runs as ever, and beside it, in
 * the same thread, code that obeys `probe_main.ts`.
 *
 * @module
 */

import "../../lib/cli/operator_worker.ts";
import type { ProbeOrder } from "./probe_main.ts";
import { runProbes } from "./probes.ts";

const channel = new BroadcastChannel("probes");

channel.onmessage = async ({ data }: MessageEvent<ProbeOrder>) => {
  switch (data.type) {
    case "probe":
      channel.postMessage(await runProbes(data.targets));
      break;
    case "throw":
      throw new Error("the intruder threw");
    case "reject":
      Promise.reject(new Error("the intruder rejected"));
      break;
    case "speak":
      postMessage({ type: "run", command: "/bin/sh" });
      break;
    case "forge":
      postMessage({ type: "log", line: "\x1b[2K\rall is well\n" });
      break;
    case "leave":
      postMessage({ type: "ended" });
      break;
    case "flood":
      for (let id = 0; id < 1000; id++) postMessage({ type: "refresh", id, generation: 0 });
  }
};
channel.postMessage("listening");

/** A worker's own, which the compiler does not know here. */
declare function postMessage(message: unknown): void;

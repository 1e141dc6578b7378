import { strictEqual } from "node:assert/strict";
import { GuardedProcess } from "./guarded_process.ts";

Deno.test("GuardedProcess ends with its signal, and is waited for", async () => {
  const logFile = await Deno.makeTempFile();
  const running = GuardedProcess.start({ program: "/bin/sleep", args: ["600"], logFile });
  strictEqual((await running.stop("SIGTERM")).signal, "SIGTERM");
  strictEqual(running.hasEnded, true);
  await Deno.remove(logFile);
});

Deno.test("GuardedProcess ends a program that ignores the signals its group gets, with its starter", async () => {
  const dir = await Deno.makeTempDir();
  const script = `
    import { GuardedProcess } from "${new URL("./guarded_process.ts", import.meta.url)}";
    const stubborn = "trap '' INT TERM; echo ready; while :; do sleep 1; done";
    const running = GuardedProcess.start({
      program: "/bin/sh", args: ["-c", stubborn], logFile: "${dir}/log",
    });
    while (!(await Deno.readTextFile("${dir}/log").catch(() => "")).includes("ready")) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    console.log(running.pid);
    setInterval(() => {}, 1000);
  `;
  await Deno.writeTextFile(`${dir}/starts.ts`, script);
  // "setsid": a group of its own, which then gets the signal as from a terminal.
  const starter = new Deno.Command("setsid", {
    args: [Deno.execPath(), "run", "-A", "--quiet", "--no-config", `${dir}/starts.ts`],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = starter.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const pid = Number((await reader.read()).value);
  Deno.kill(-starter.pid, "SIGTERM");
  await starter.status;
  await reader.cancel();
  while (await isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
  await Deno.remove(dir, { recursive: true });
});

async function isRunning(pid: number): Promise<boolean> {
  const args = ["-c", `kill -0 ${pid}`];
  return (await new Deno.Command("/bin/sh", { args, stderr: "null" }).output()).success;
}

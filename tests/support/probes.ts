/**
 * Attempts to get out of the operator's sandbox, as code in the operator would make them: a package
 * that turned hostile, or a fault that runs what a server sent.
 *
 * The same attempts run in the worker and, with `--no-sandbox`, in the main thread. There they must
 * succeed: else a refusal in the worker would prove nothing.
 *
 * @module
 */

/** What there is to reach for; all of it is there, and open to whoever has the permission. */
export interface ProbeTargets {
  /** Accepts connections, on the API server's host: `host:port`. */
  readonly otherPort: string;
  /** Accepts connections, on the API server's port of another host. */
  readonly otherHost: string;
  /** A file with a text in it. */
  readonly file: string;
  /** A path that can be created. */
  readonly newFile: string;
  /** A module on disk, which reads `file` when it is imported. */
  readonly module: string;
  /** A variable of the environment. */
  readonly variable: string;
}

/** How one attempt ended. */
export interface ProbeResult {
  readonly name: string;
  readonly outcome: "done" | "refused" | "failed";
  /** Of the error, for `refused` and `failed`. */
  readonly detail?: string;
}

type Probe = (targets: ProbeTargets) => unknown;

/** Longest wait for an address that may not answer at all, in milliseconds. */
const SILENCE_MAX_MS = 1000;

/** Attempts that any program with the permission carries out. */
const PROBES: Readonly<Record<string, Probe>> = {
  "fetch another port": ({ otherPort }) => get(`http://${otherPort}/`),
  "fetch another host": ({ otherHost }) => get(`http://${otherHost}/`),
  "fetch with a client of its own": async ({ otherPort }) => {
    using client = Deno.createHttpClient({});
    await get(`http://${otherPort}/`, { client });
  },
  "connect to another port": ({ otherPort }) => dial(otherPort),
  "connect to another host": ({ otherHost }) => dial(otherHost),
  "open a WebSocket": ({ otherPort }) => openWebSocket(`ws://${otherPort}/`),
  "use node:net": async ({ otherPort }) => {
    const { connect } = await import("node:net");
    const { hostname, port } = addressOf(otherPort);
    const socket = connect(port, hostname);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.on("connect", resolve).on("error", (error) => reject(unhidden(error)));
    await promise.finally(() => socket.destroy());
  },
  "use node:http": async ({ otherPort }) => {
    const { get } = await import("node:http");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = get(`http://${otherPort}/`, () => resolve())
      .on("error", (error) => reject(unhidden(error)));
    await promise.finally(() => request.destroy());
  },
  "listen on a Unix socket": ({ newFile }) =>
    Deno.listen({ transport: "unix", path: `${newFile}.sock` }).close(),
  "listen": () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).close(),
  "read a file": ({ file }) => Deno.readTextFile(file),
  "look at a file": ({ file }) => Deno.stat(file),
  "use node:fs": async ({ file }) => (await import("node:fs")).readFileSync(file),
  "write a file": ({ newFile }) => Deno.writeTextFile(newFile, "x"),
  "delete a file": async ({ newFile }) => {
    if (!isInWorker()) await Deno.writeTextFile(newFile, "x");
    await Deno.remove(newFile);
  },
  "read a variable": ({ variable }) => Deno.env.get(variable),
  "read all variables": () => Deno.env.toObject(),
  "use process.env": async ({ variable }) => (await import("node:process")).env[variable],
  "run a program": () => new Deno.Command("/bin/true").output(),
  "use node:child_process": async () =>
    (await import("node:child_process")).execFileSync("/bin/true"),
  "signal another process": () => Deno.kill(Deno.ppid, "SIGCONT"),
  "load a library": () => Deno.dlopen(libc(), {}).close(),
  "ask who this machine is": () => Deno.hostname(),
  "read in a nested worker": ({ file }) => inWorker(`await Deno.readTextFile(${json(file)})`),
  "connect in a nested worker": ({ otherPort }) =>
    inWorker(`(await Deno.connect(${json(addressOf(otherPort))})).close()`),
  "give a nested worker more": ({ file }) =>
    inWorker(`await Deno.readTextFile(${json(file)})`, {
      net: true,
      read: true,
      env: true,
      run: true,
    }),
  "read in an imported module": ({ file }) => importText(`await Deno.readTextFile(${json(file)})`),
  "read in a module from disk": ({ module }) => import(`file://${module}`),
};

/**
 * The address of a cloud's metadata, where credentials of the machine lie. Nothing answers there on
 * a test machine, so an attempt without a sandbox ends otherwise: but it is no refusal.
 */
const METADATA_PROBES: Readonly<Record<string, Probe>> = {
  "fetch cloud metadata": () => get("http://169.254.169.254/latest/meta-data/"),
  "connect to cloud metadata": () => dial("169.254.169.254:80"),
};

/**
 * The program is started without remote modules at all, so this goes nowhere without a sandbox
 * either; in it, nobody may be connected to.
 */
const REMOTE_PROBES: Readonly<Record<string, Probe>> = {
  "import a module from the network": ({ otherPort }) => import(`http://${otherPort}/module.js`),
};

/** Names of the attempts that succeed without a sandbox. */
export const PROBE_NAMES: readonly string[] = Object.keys(PROBES);
/** Names of those that are refused in a sandbox and go nowhere without one. */
export const METADATA_PROBE_NAMES: readonly string[] = Object.keys(METADATA_PROBES);

/** Names of those that go nowhere, sandbox or not. */
export const REMOTE_PROBE_NAMES: readonly string[] = Object.keys(REMOTE_PROBES);

/** Makes every attempt, one after the other. */
export async function runProbes(targets: ProbeTargets): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const [name, probe] of Object.entries({ ...PROBES, ...METADATA_PROBES, ...REMOTE_PROBES })) {
    try {
      await probe(targets);
      results.push({ name, outcome: "done" });
    } catch (error) {
      const detail = `${error instanceof Error ? `${error.name}: ${error.message}` : error}`;
      results.push({ name, outcome: isRefusal(error) ? "refused" : "failed", detail });
    }
  }
  return results;
}

/**
 * A refusal is `NotCapable`. Only the loader of modules wraps it into a TypeError with the same
 * words, and a nested worker's comes as the text that it sent.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof Deno.errors.NotCapable || error instanceof HiddenRefusal ||
    error instanceof TypeError && /^Requires (read|import) access to /.test(error.message);
}

/** `NotCapable`, thrown where its class does not get through. */
class HiddenRefusal extends Error {
  override readonly name = "HiddenRefusal";
}

/** So Deno 2.6 tells a refusal of `node:net`; the listener is open, and sees no connection. */
function unhidden(error: Error & { code?: string }): Error {
  return error.code === "ECONNREFUSED" ? new HiddenRefusal(error.message) : error;
}

function isInWorker(): boolean {
  return "DedicatedWorkerGlobalScope" in globalThis;
}

async function get(url: string, init: RequestInit & { client?: Deno.HttpClient } = {}) {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(SILENCE_MAX_MS) });
  await response.body?.cancel();
}

async function dial(address: string): Promise<void> {
  const signal = AbortSignal.timeout(SILENCE_MAX_MS);
  (await Deno.connect({ ...addressOf(address), signal })).close();
}

async function openWebSocket(url: string): Promise<void> {
  const socket = new WebSocket(url);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.onopen = () => resolve();
  socket.onerror = () => reject(new Error("the WebSocket failed"));
  await promise.finally(() => socket.close());
}

/** Runs an expression in a worker of its own, with what this thread has unless told otherwise. */
async function inWorker(
  expression: string,
  permissions?: Deno.PermissionOptionsObject,
): Promise<void> {
  const code = `
    try { ${expression}; postMessage("done"); } catch (error) {
      postMessage(error instanceof Deno.errors.NotCapable ? "refused" : String(error));
    }`;
  const worker = new Worker(dataUrl(code), {
    type: "module",
    ...(permissions !== undefined && { deno: { permissions } }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  const said = await promise.finally(() => worker.terminate());
  if (said === "refused") throw new HiddenRefusal(expression);
  if (said !== "done") throw new Error(String(said));
}

async function importText(code: string): Promise<void> {
  await import(dataUrl(`${code};`));
}

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

function addressOf(address: string): { hostname: string; port: number } {
  const { hostname, port } = new URL(`http://${address}`);
  return { hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port || 80) };
}

function libc(): string {
  return Deno.build.os === "darwin" ? "libSystem.dylib" : "libc.so.6";
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

/**
 * Builds the binary: `deno task build` → `dist/foo-operator`.
 *
 * Bundle, compile, measure, run. Bundling first keeps packages that only give types out of the
 * binary. `deno compile` puts the bundle behind a base program that it downloads; where it can't,
 * `DENO_FOR_COMPILE` names another Deno for this step alone. A wrong base makes a file that starts a
 * prompt and exits 0 (field case C1), so the result must say its version before it counts as built.
 *
 * `--image` bakes in the permissions of a container image in place of a workstation's.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { fileURLToPath } from "node:url";
import { PERMISSION_BROKER_VARIABLE } from "../lib/cli/sandbox.ts";
import { CONFIG_VARIABLES } from "../lib/client/config.ts";
import configuration from "../deno.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** How much the binary may weigh above its base, in bytes: more means a package slipped in. */
export const OWN_BYTES_MAX = 8_000_000;

/**
 * A workstation's permissions: any kubeconfig, its exec plugins, the files it is asked to write.
 * `sys` is what the host's name and process figures need.
 */
const CLI_PERMISSIONS = [
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run",
  "--allow-sys",
];

/** A container's: the API server and the mounted credentials; no program, no file to write. */
const IMAGE_PERMISSIONS = [
  "--allow-net",
  "--allow-read=/var/run/secrets,/run/secrets,/etc/foo-operator,/tmp",
  `--allow-env=${
    [...CONFIG_VARIABLES, PERMISSION_BROKER_VARIABLE, "POD_NAME", "HOSTNAME", "NO_COLOR"].join(",")
  }`,
];

/** The binary can't be built; the message is one sentence that says why and what to do. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

/** What to build, with what. */
export interface BuildOptions {
  /** Entry module, as a full path. */
  readonly main: string;
  /** The binary to write, as a full path. */
  readonly output: string;
  /** A Deno that can compile. The bundle is made by the Deno that runs this. */
  readonly compiler: string;
  /** Permission flags to bake in. */
  readonly permissions: readonly string[];
  /** What `OUTPUT version` must print. */
  readonly version: string;
  /**
   * Entry modules of workers, as full paths; bundled apart. The main module names each by a URL
   * relative to itself, which the build replaces by that of the bundle.
   */
  readonly workers?: readonly string[];
  /** Modules may be loaded by a name that is made at run time. @default {false} */
  readonly hasDynamicImports?: boolean;
}

/**
 * The loading of a module by a name that is not known here. A compiled program (tried: 2.6.10) loads
 * such a module, or a JSON file, from disk without asking for read permission: the one way out of
 * the operator's sandbox, so there must be no such call in what ships, and no text may become code
 * that calls it (`--disallow-code-generation-from-strings`). Parts of the program itself, named as
 * they are, may be loaded when they are needed.
 */
const LOADS_CODE = /\bimport\((?!"\.\/[\w-]+\.js"\)).{0,80}/;

/**
 * No text becomes code: see {@linkcode LOADS_CODE}. And one optimizing compiler is enough: the middle
 * one, which makes code fast a little sooner, costs 3 MB of an idle operator and 8 MB of a busy one,
 * and saves no CPU time that can be measured in converging 1000 Foos. Young objects get at most 4 MiB
 * a thread, in place of 16: what requests leave behind is collected sooner, at 25 MB less at the peak
 * of 1000 Foos and for the same CPU time.
 */
const V8_FLAGS = [
  "--disallow-code-generation-from-strings",
  "--no-maglev",
  "--max-semi-space-size=4",
];

/** Sizes of what was built, in bytes. */
export interface BuildResult {
  readonly binaryBytes: number;
  /** Size of an empty program from the same compiler. */
  readonly baseBytes: number;
}

/**
 * Builds and checks a binary. A binary that fails a check is deleted.
 *
 * @throws {BuildError} If a step fails, the binary is too heavy, or does not say its version.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const work = await Deno.makeTempDir({ prefix: "foo-operator-build-" });
  try {
    const folder = `${work}/bundle`;
    const entry = await bundle(options.main, ["--code-splitting", `--outdir=${folder}`]);
    const workers = [];
    for (const worker of options.workers ?? []) {
      // In one file: what a sandboxed worker loads, it loads before it is closed off.
      const path = await bundle(worker, [`--output=${folder}/${bundleNameOf(worker)}`]);
      await pointTo(path, { folder, named: relativeTo(options.main, worker) });
      workers.push(path);
    }
    if (!options.hasDynamicImports) await checkClosed(folder);
    const empty = `${work}/empty.js`;
    await Deno.writeTextFile(empty, "export {};\n");
    const base = await compile(options.compiler, empty, `${work}/base`, []);
    const flags = [...options.permissions, ...workers.map((path) => `--include=${path}`)];
    const binary = await compile(options.compiler, entry, `${work}/binary`, flags);
    const [baseBytes, binaryBytes] = [await sizeOf(base), await sizeOf(binary)];
    if (binaryBytes - baseBytes > OWN_BYTES_MAX) {
      throw new BuildError(
        `Cannot accept a binary ${megabytes(binaryBytes - baseBytes)} above its base of ` +
          `${megabytes(baseBytes)}, at most ${megabytes(OWN_BYTES_MAX)} are allowed: look in the ` +
          `bundle for a package that should not be there`,
      );
    }
    await smokeTest(binary, options.version);
    await Deno.mkdir(options.output.slice(0, options.output.lastIndexOf("/")), { recursive: true });
    await replace(binary, options.output);
    return { binaryBytes, baseBytes };
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/**
 * Bundles `module`; returns the bundle's path. Minified, with the names of functions kept for stack
 * traces: a thread keeps the text of its code in memory, comments and all (and at two bytes a letter
 * if but one of them is not ASCII), which cost 6 MB.
 */
async function bundle(module: string, target: readonly string[]): Promise<string> {
  const { success, text } = await run(Deno.execPath(), [
    "bundle",
    "--platform=deno",
    "--minify",
    "--keep-names",
    ...target,
    module,
  ]);
  if (!success) throw new BuildError(`Cannot bundle ${module}: ${lastError(text)}`);
  const path = target.at(-1)?.replace(/^--out\w+=/, "") ?? "";
  return path.endsWith(".js") ? path : `${path}/${bundleNameOf(module)}`;
}

/** `main.js` for `/x/main.ts`. */
function bundleNameOf(module: string): string {
  return module.slice(module.lastIndexOf("/") + 1).replace(/\.ts$/, ".js");
}

/**
 * Has the bundles in `folder` start the worker's bundle at `path`. `deno bundle` leaves
 * `new URL("./worker.ts", import.meta.url)` as it was written, which names a source.
 */
async function pointTo(
  path: string,
  { folder, named }: { folder: string; named: string },
): Promise<void> {
  let times = 0;
  for await (const { name } of Deno.readDir(folder)) {
    const parts = (await Deno.readTextFile(`${folder}/${name}`)).split(JSON.stringify(named));
    times += parts.length - 1;
    const bundled = JSON.stringify(`./${path.slice(path.lastIndexOf("/") + 1)}`);
    if (parts.length > 1) await Deno.writeTextFile(`${folder}/${name}`, parts.join(bundled));
  }
  if (times !== 1) {
    throw new BuildError(
      `Cannot build: the main module names its worker "${named}" ${times} times, not once`,
    );
  }
}

/** Refuses bundles that could load code which is not among them. */
async function checkClosed(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    const found = LOADS_CODE.exec(await Deno.readTextFile(`${folder}/${name}`));
    if (found === null) continue;
    throw new BuildError(
      `Cannot accept a bundle that loads code at run time: "${found[0]}" in ${name}; the sandbox ` +
        "relies on there being none",
    );
  }
}

/** The path of `module`, in the same folder as `main` or below it, as `main` would import it. */
function relativeTo(main: string, module: string): string {
  return `./${module.slice(main.lastIndexOf("/") + 1)}`;
}

async function compile(
  compiler: string,
  entry: string,
  output: string,
  flags: readonly string[],
): Promise<string> {
  const { success, text } = await run(compiler, [
    "compile",
    // The bundle was checked as sources, and needs neither configuration nor packages.
    "--no-check",
    "--no-config",
    "--no-lock",
    "--no-npm",
    "--no-remote",
    "--unstable-worker-options",
    "--no-prompt",
    `--v8-flags=${V8_FLAGS.join(",")}`,
    ...flags,
    `--output=${output}`,
    entry,
  ]);
  if (success) return output;
  if (/denort|dl\.deno\.land/.test(text)) {
    throw new BuildError(
      `Cannot compile: "${compiler}" has no base program and cannot download it from ` +
        `dl.deno.land; let it, or name one of its version in DENORT_BIN, or name a Deno that can ` +
        `compile in DENO_FOR_COMPILE`,
    );
  }
  throw new BuildError(`Cannot compile with "${compiler}": ${lastError(text)}`);
}

/** Runs the binary in an empty folder, without our environment: it must say its version. */
async function smokeTest(binary: string, version: string): Promise<void> {
  const cwd = await Deno.makeTempDir({ prefix: "foo-operator-smoke-" });
  try {
    const { success, stdout, text } = await run(binary, ["version"], cwd);
    if (success && stdout.split(/\s+/).includes(version)) return;
    throw new BuildError(
      `Cannot accept a binary whose "version" command does not print "${version}" but ` +
        `"${text.trim().slice(0, 200)}"; if that is a prompt, the compiler's base is no denort ` +
        `(see DENORT_BIN)`,
    );
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

/** Moves a file, also between file systems, so that a reader sees the old one or the new one. */
async function replace(from: string, to: string): Promise<void> {
  await Deno.copyFile(from, `${to}.new`);
  await Deno.rename(`${to}.new`, to);
}

async function run(
  program: string,
  args: readonly string[],
  emptyFolder?: string,
): Promise<{ success: boolean; stdout: string; text: string }> {
  try {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      ...(emptyFolder === undefined
        ? { cwd: ROOT, env: { NO_COLOR: "1" } }
        : { cwd: emptyFolder, clearEnv: true, env: { NO_COLOR: "1" } }),
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { success, stdout: out ?? "", text: `${out}${err}` };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new BuildError(`Cannot run "${program}": there is no such program`, { cause: error });
  }
}

/** The first line that Deno marks as an error, else the last line there is. */
function lastError(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (lines.find((line) => line.startsWith("error")) ?? lines.at(-1) ?? "no output").trim();
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== "--image");
  if (unknown !== undefined) {
    console.error(`Cannot build with "${unknown}": the only flag is --image`);
    return 2;
  }
  const output = `${ROOT}dist/foo-operator`;
  try {
    const { binaryBytes, baseBytes } = await build({
      main: `${ROOT}main.ts`,
      workers: [`${ROOT}lib/cli/operator_worker.ts`],
      output,
      compiler: Deno.env.get("DENO_FOR_COMPILE") ?? Deno.execPath(),
      permissions: args.includes("--image") ? IMAGE_PERMISSIONS : CLI_PERMISSIONS,
      version: configuration.version,
    });
    console.log(
      `${output}: ${megabytes(binaryBytes)}, of which ${megabytes(binaryBytes - baseBytes)} are ` +
        `ours and ${megabytes(baseBytes)} the base`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(error.message);
    return 1;
  }
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

/**
 * Finds, or fetches, the programs of a control plane for tests: `deno task assets`.
 *
 * In this order: the folder that `KUBEBUILDER_ASSETS` names (the ecosystem's variable), our own
 * cache, the official archive of the envtest project, whose SHA-512 is checked against its index.
 * The official archives hold etcd, kube-apiserver and kubectl; suites that need
 * kube-controller-manager too run where the folder has it.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../lib/core/errors.ts";
import { parseYaml, YamlError } from "../lib/core/yaml.ts";

/** Where the envtest project lists its archives. */
export const INDEX_URL =
  "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";

/** What every folder of assets holds. */
const PROGRAMS = ["etcd", "kube-apiserver"];

/** Longest wait for the next bytes of a download, in milliseconds. */
const STALL_MAX_MS = 30_000;

/** Reads environment variables. */
export interface Environment {
  get(name: string): string | undefined;
}

/** The assets can't be had; the message says why and what to do. */
export class AssetsError extends Error {
  override readonly name = "AssetsError";
}

/** True if the folder `assets` holds `program`. */
export function hasProgram(assets: string, program: string): boolean {
  return statSync(`${assets}/${program}`, { throwIfNoEntry: false })?.isFile() === true;
}

/**
 * The folder of assets on this machine, without any download; `undefined` if there is none.
 *
 * @throws {AssetsError} If `KUBEBUILDER_ASSETS` names a folder without the programs.
 */
export function localAssets(environment: Environment): string | undefined {
  const named = environment.get("KUBEBUILDER_ASSETS");
  if (named !== undefined && named !== "") {
    const missing = PROGRAMS.filter((program) => !hasProgram(named, program));
    if (missing.length === 0) return named;
    throw new AssetsError(
      `Cannot use KUBEBUILDER_ASSETS "${named}": it holds no ${missing.join(" and no ")}; ` +
        `name a folder that does, or unset it and run "deno task assets"`,
    );
  }
  const folder = cacheFolder(environment);
  // A file with a name, not a link: tests of this run where links may not be made.
  if (!hasProgram(folder, "current")) return undefined;
  const cached = `${folder}/${readFileSync(`${folder}/current`, "utf8")}`;
  return PROGRAMS.every((program) => hasProgram(cached, program)) ? cached : undefined;
}

function cacheFolder(environment: Environment): string {
  const cache = environment.get("XDG_CACHE_HOME") ?? `${environment.get("HOME") ?? "."}/.cache`;
  return `${cache}/foo-operator/envtest`;
}

/** One archive of the index. */
export interface Archive {
  readonly version: string;
  readonly url: string;
  /** SHA-512 of the archive, in hexadecimal. */
  readonly hash: string;
}

/**
 * The archive of `version`, by default of the newest release that is no alpha, beta or candidate,
 * for this system.
 *
 * @throws {AssetsError} If `index` lists no such archive or can't be understood.
 */
export function chooseArchive(
  index: unknown,
  { os, arch, version }: { os: string; arch: string; version?: string },
): Archive {
  const releases = recordOf(recordOf(index)?.["releases"]);
  if (releases === undefined) {
    throw new AssetsError("Cannot read the index of archives: it has no releases");
  }
  const wanted = version === undefined
    ? Object.keys(releases).filter((each) => /^v\d+\.\d+\.\d+$/.test(each)).sort(byVersion).at(-1)
    : Object.keys(releases).find((each) => each === version || each === `v${version}`);
  const name = `envtest-${wanted}-${os}-${arch}.tar.gz`;
  const entry = wanted === undefined ? undefined : recordOf(recordOf(releases[wanted])?.[name]);
  const { selfLink, hash } = entry ?? {};
  if (wanted === undefined || typeof selfLink !== "string" || typeof hash !== "string") {
    throw new AssetsError(
      `Cannot find an archive of ${version ?? "any release"} for ${os}-${arch}`,
    );
  }
  return { version: wanted, url: selfLink, hash: hash.toLowerCase() };
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? { ...value } : undefined;
}

function byVersion(a: string, b: string): number {
  const [x, y] = [a, b].map((version) => version.slice(1).split(".").map(Number));
  for (let part = 0; part < 3; part++) {
    const difference = (x?.[part] ?? 0) - (y?.[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** What {@linkcode fetchAssets} needs of the world. */
export interface FetchAssetsOptions {
  readonly environment: Environment;
  /** @default {INDEX_URL} */
  readonly indexUrl?: string;
  readonly os: string;
  readonly arch: string;
  /** Release to take, as `v1.36.0`. By default the newest. */
  readonly version?: string;
  /** Told how far the download is, in bytes; `total` is absent if the server does not say. */
  readonly onProgress: (progress: { bytes: number; total?: number }) => void;
}

/**
 * Downloads the official archive into our cache, checks it, and returns the folder of assets. A
 * download that is cut or wrong leaves the cache as it was.
 *
 * @throws {AssetsError} If the archive can't be had, or its hash is not the index' one.
 */
export async function fetchAssets(options: FetchAssetsOptions): Promise<string> {
  const { environment, indexUrl = INDEX_URL } = options;
  const archive = chooseArchive(parseIndex(await (await download(indexUrl)).text()), options);
  const folder = cacheFolder(environment);
  await Deno.mkdir(folder, { recursive: true });
  const work = await Deno.makeTempDir({ dir: folder, prefix: "download-" });
  try {
    const file = `${work}/archive.tar.gz`;
    const hash = await save(await download(archive.url), file, options.onProgress);
    if (hash !== archive.hash) {
      throw new AssetsError(
        `Cannot use ${archive.url}: its SHA-512 is ${hash.slice(0, 16)}…, ` +
          `the index says ${archive.hash.slice(0, 16)}…; try again, or tell the envtest project`,
      );
    }
    await unpack(file, work);
    return await install(work, folder, `${archive.version}-${options.os}-${options.arch}`);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

function parseIndex(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    if (!(cause instanceof YamlError)) throw cause;
    throw new AssetsError(`Cannot read the index of archives: ${cause.message}`, { cause });
  }
}

async function download(url: string): Promise<Response> {
  const stalled = new AbortController();
  const timer = setTimeout(() => stalled.abort(stallError()), STALL_MAX_MS);
  let response: Response;
  try {
    response = await fetch(url, { signal: stalled.signal });
  } catch (cause) {
    throw new AssetsError(`Cannot fetch ${url}: ${messageOf(cause)}`, { cause });
  } finally {
    clearTimeout(timer);
  }
  if (response.ok) return response;
  await response.body?.cancel();
  throw new AssetsError(`Cannot fetch ${url}: the server answered ${response.status}`);
}

function stallError(): AssetsError {
  return new AssetsError(`no data for ${STALL_MAX_MS / 1000} s`);
}

/** Writes the body to `file`; returns its SHA-512. */
async function save(
  response: Response,
  file: string,
  onProgress: FetchAssetsOptions["onProgress"],
): Promise<string> {
  const length = Number(response.headers.get("content-length") ?? NaN);
  const hash = createHash("sha512");
  let bytes = 0;
  const watch = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      hash.update(chunk);
      bytes += chunk.length;
      onProgress({ bytes, ...(Number.isNaN(length) ? {} : { total: length }) });
      controller.enqueue(chunk);
    },
  });
  const body = response.body ?? new Blob([]).stream();
  try {
    await Deno.writeFile(file, body.pipeThrough(stallGuard()).pipeThrough(watch));
  } catch (cause) {
    throw new AssetsError(
      `Cannot fetch ${response.url}: cut after ${bytes} bytes: ${messageOf(cause)}`,
      { cause },
    );
  }
  return hash.digest("hex");
}

/** Fails the stream when no chunk came for {@linkcode STALL_MAX_MS}: bodies have no timeout. */
function stallGuard<C>(): TransformStream<C, C> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return new TransformStream<C, C>({
    start: (controller) => restart(controller),
    transform(chunk, controller) {
      restart(controller);
      controller.enqueue(chunk);
    },
    flush: () => clearTimeout(timer),
    cancel: () => clearTimeout(timer),
  });
  function restart(controller: TransformStreamDefaultController<C>): void {
    clearTimeout(timer);
    timer = setTimeout(() => controller.error(stallError()), STALL_MAX_MS);
  }
}

async function unpack(file: string, folder: string): Promise<void> {
  const { code, stderr } = await new Deno.Command("tar", {
    args: ["-xzf", file, "-C", folder],
    stdin: "null",
  }).output();
  if (code === 0) return;
  throw new AssetsError(`Cannot unpack ${file}: ${new TextDecoder().decode(stderr).trim()}`);
}

/** Moves the programs into place, and points `current` at them in one step. */
async function install(work: string, folder: string, name: string): Promise<string> {
  const unpacked = `${work}/controller-tools/envtest`;
  const missing = PROGRAMS.filter((program) => !hasProgram(unpacked, program));
  if (missing.length > 0) {
    throw new AssetsError(
      `Cannot use the archive ${name}: it holds no ${missing.join(" and no ")}`,
    );
  }
  await Deno.remove(`${folder}/${name}`, { recursive: true }).catch(ignoreNotFound);
  await Deno.rename(unpacked, `${folder}/${name}`);
  await Deno.writeTextFile(`${work}/current`, name);
  await Deno.rename(`${work}/current`, `${folder}/current`);
  return `${folder}/${name}`;
}

function ignoreNotFound(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

/** What someone without the archive can do. */
const REMEDY = `
The control plane's programs come from the envtest project. Where its site is out of reach, get a
folder with etcd and kube-apiserver another way, for example on another machine with

  go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path

copy it here, and name it:

  KUBEBUILDER_ASSETS=/path/to/folder deno task test

Without it, "deno task test" runs all suites that need no API server.`;

async function main(): Promise<number> {
  const environment = { get: (name: string) => Deno.env.get(name) };
  try {
    const found = localAssets(environment);
    console.log(found ?? await fetchWithProgress(environment));
    return 0;
  } catch (error) {
    if (!(error instanceof AssetsError)) throw error;
    console.error(`${error.message}\n${REMEDY}`);
    return 1;
  }
}

function fetchWithProgress(environment: Environment): Promise<string> {
  const version = environment.get("ENVTEST_K8S_VERSION");
  let told = -1;
  return fetchAssets({
    environment,
    os: Deno.build.os,
    arch: Deno.build.arch === "x86_64" ? "amd64" : "arm64",
    ...(version === undefined ? {} : { version }),
    onProgress({ bytes, total }) {
      const percent = total === undefined ? undefined : Math.floor(100 * bytes / total);
      const megabytes = Math.floor(bytes / 1e6);
      // A line per tenth, or per 10 MB: as readable in a log file as on a terminal.
      const step = Math.floor((percent ?? megabytes) / 10);
      if (step === told) return;
      told = step;
      console.error(
        `fetching the control plane: ${megabytes} MB${
          percent === undefined ? "" : `, ${percent} %`
        }`,
      );
    },
  });
}

if (import.meta.main) Deno.exitCode = await main();

/**
 * Configuration as a machine would have it, for tests of who reads it: an environment, a folder of
 * files, and `loadConfig` with the rest filled in.
 *
 * @module
 */

import {
  loadConfig,
  type LoadConfigOptions,
  type ResolvedConfig,
} from "../../lib/client/config.ts";
import { type Clock, realClock, realUuid } from "../../lib/core/clock.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { silentLogger } from "../../lib/core/log.ts";
import type { Environment } from "../../lib/client/proxy.ts";
import type { LocalFiles } from "../../lib/client/credentials.ts";

/** Variables that a test may look at afterwards. */
export function environmentOf(variables: Record<string, string> = {}): Environment {
  const map = new Map(Object.entries(variables));
  return { get: (name) => map.get(name), delete: (name) => void map.delete(name) };
}

/** A folder that goes when the test's scope does. */
export interface TestFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file below it, with its folders, and gives its path. */
  write(name: string, text: string, mode?: number): Promise<string>;
}

/** A new, empty folder. */
export async function testFolder(): Promise<TestFolder> {
  const path = await Deno.makeTempDir({ prefix: "foo-config-" });
  return {
    path,
    async write(name, text, mode = 0o600) {
      const file = `${path}/${name}`;
      await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(file, text, { mode });
      return file;
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** The machine's files, as if `root` were the root of the file system. */
export function filesBelow(root: string): LocalFiles {
  return { readText: (path, { signal }) => Deno.readTextFile(root + path, { signal }) };
}

/** Base64 of ASCII text, as in a kubeconfig's `-data` fields. */
export const base64: (text: string) => string = btoa;

/** A kubeconfig with one context `c` of cluster `k` and user `u`. JSON, and so YAML. */
export function kubeconfigOf(
  { cluster, user = {} }: { cluster: Record<string, unknown>; user?: Record<string, unknown> },
): string {
  return JSON.stringify({
    "current-context": "c",
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
  });
}

/** `loadConfig` with defaults for what the test is not about. */
export function load(
  options: Partial<LoadConfigOptions> & { variables?: Record<string, string>; clock?: Clock },
): Promise<ResolvedConfig> {
  const { variables, ...given } = options;
  return loadConfig({
    environment: environmentOf(variables),
    userAgent: "test",
    uuid: realUuid,
    clock: realClock,
    log: silentLogger,
    signal: new AbortController().signal,
    ...given,
  });
}

/** The message of the ConfigError that `work` rejects with; fails if it does not. */
export async function configErrorOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("Expected a ConfigError, and nothing was thrown");
}

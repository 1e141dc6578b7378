/**
 * Kubeconfig files: parsing, path resolution and merging, as kubectl does them.
 *
 * Pure: it reads no file. What kubectl accepts is accepted and means the same; the differences are
 * that messages name the file and the field at fault, and never quote a value which may be secret.
 *
 * - Several files: the first file to set the current context or to hold a named entry wins, whole
 *   entry (field case K1). Nothing is merged inside an entry.
 * - A relative path counts from the folder of the file that holds it; so does the command of an
 *   exec plugin if it contains a slash (field case K2). They leave here absolute if the file's own
 *   path is.
 * - Field names are case-sensitive; unknown ones are ignored; `null` is the same as absent.
 *
 * @module
 */

import { dirname, isAbsolute, join } from "node:path";
import { ConfigError } from "../core/errors.ts";
import { parseYaml, YamlError } from "../core/yaml.ts";
import type {
  Kubeconfig,
  KubeconfigCluster,
  KubeconfigContext,
  KubeconfigExec,
  KubeconfigUser,
} from "./kubeconfig_types.ts";

/**
 * Reads one kubeconfig.
 *
 * @param text YAML or JSON.
 * @param path Where `text` comes from: for messages, and for relative paths in it.
 * @throws {ConfigError} If it is not YAML, or a field has the wrong type, naming file and field.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const text = "clusters: [{name: k, cluster: {server: 'https://a:1', certificate-authority: ca.crt}}]";
 * const { clusters } = parseKubeconfig(text, { path: "/etc/foo/config" });
 * strictEqual(clusters.get("k")?.certificateAuthority, "/etc/foo/ca.crt");
 * ```
 */
export function parseKubeconfig(text: string, { path }: { path: string }): Kubeconfig {
  const root = new Fields(parsed(text, path), "", path);
  root.expect("apiVersion", ["v1", ""]);
  root.expect("kind", ["Config", ""]);
  const currentContext = root.string("current-context");
  return {
    ...(currentContext && { currentContext }),
    clusters: root.named("clusters", (item) => clusterOf(item.child("cluster"))),
    users: root.named("users", (item) => userOf(item.child("user"))),
    contexts: root.named("contexts", (item) => contextOf(item.child("context"))),
  };
}

/**
 * Merges kubeconfigs, the first being the most important.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const a = parseKubeconfig("current-context: blue", { path: "a" });
 * const b = parseKubeconfig("current-context: green", { path: "b" });
 * strictEqual(mergeKubeconfigs([a, b]).currentContext, "blue");
 * ```
 */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const currentContext = configs.find((config) => config.currentContext)?.currentContext;
  return {
    ...(currentContext && { currentContext }),
    clusters: firstOf(configs.map((config) => config.clusters)),
    users: firstOf(configs.map((config) => config.users)),
    contexts: firstOf(configs.map((config) => config.contexts)),
  };
}

/**
 * The file names in the value of `KUBECONFIG`, in order, empty ones and repetitions left out.
 *
 * @param separator What stands between two: `;` on Windows, else `:`.
 */
export function splitKubeconfigVariable(value: string, separator: string): string[] {
  return [...new Set(value.split(separator).filter((name) => name !== ""))];
}

function firstOf<V>(maps: readonly ReadonlyMap<string, V>[]): Map<string, V> {
  const merged = new Map<string, V>();
  for (const map of maps) {
    for (const [name, value] of map) if (!merged.has(name)) merged.set(name, value);
  }
  return merged;
}

function parsed(text: string, path: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new ConfigError(
      `Cannot read kubeconfig "${path}": ${lowerFirst(error.message)}; ` +
        "correct the file or leave it out",
      { cause: error },
    );
  }
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

function clusterOf(fields: Fields): KubeconfigCluster {
  return compact({
    server: fields.string("server") ?? "",
    tlsServerName: fields.string("tls-server-name"),
    insecureSkipTlsVerify: fields.boolean("insecure-skip-tls-verify"),
    certificateAuthority: fields.path("certificate-authority"),
    certificateAuthorityData: fields.data("certificate-authority-data"),
    proxyUrl: fields.string("proxy-url"),
    disableCompression: fields.boolean("disable-compression"),
    extensions: fields.named("extensions", (item) => item.raw("extension")),
  });
}

function userOf(fields: Fields): KubeconfigUser {
  return compact({
    clientCertificate: fields.path("client-certificate"),
    clientCertificateData: fields.data("client-certificate-data"),
    clientKey: fields.path("client-key"),
    clientKeyData: fields.data("client-key-data"),
    token: fields.string("token"),
    tokenFile: fields.path("tokenFile"),
    username: fields.string("username"),
    password: fields.string("password"),
    as: fields.string("as"),
    asUid: fields.string("as-uid"),
    asGroups: fields.strings("as-groups"),
    asUserExtra: fields.record("as-user-extra", (extra, key) => extra.strings(key) ?? []),
    authProvider: fields.object("auth-provider", (provider) => ({
      name: provider.string("name") ?? "",
      config: provider.record("config", (config, key) => config.string(key) ?? "") ?? {},
    })),
    exec: fields.object("exec", execOf),
  });
}

function execOf(fields: Fields): KubeconfigExec {
  const command = fields.string("command") ?? "";
  return compact({
    apiVersion: fields.string("apiVersion") ?? "",
    // Without a slash it is looked up in PATH.
    command: /[/\\]/.test(command) ? fields.path("command") ?? "" : command,
    args: fields.strings("args") ?? [],
    env: fields.items("env", (item) => ({
      name: item.string("name") ?? "",
      value: item.string("value") ?? "",
    })),
    installHint: fields.string("installHint"),
    provideClusterInfo: fields.boolean("provideClusterInfo"),
    interactiveMode: fields.string("interactiveMode"),
  });
}

function contextOf(fields: Fields): KubeconfigContext {
  return compact({
    cluster: fields.string("cluster") ?? "",
    user: fields.string("user") ?? "",
    namespace: fields.string("namespace"),
  });
}

/** `T` whose fields that may be undefined are optional instead. */
type Compact<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** Leaves out what is undefined or the empty string, which in a kubeconfig says "not set". */
function compact<T extends object>(fields: T): Compact<T> {
  const kept = Object.entries(fields).filter(([key, value]) =>
    value !== undefined && (value !== "" || REQUIRED.has(key))
  );
  // The one cast of this parser: Object.entries loses the keys that the type keeps.
  return Object.fromEntries(kept) as Compact<T>;
}

/** Fields that are always there, if only as an empty string. */
const REQUIRED = new Set(["server", "command", "apiVersion", "cluster", "user"]);

/** One mapping of the file, read field by field; each getter throws a ConfigError on a wrong type. */
class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #where: string;
  readonly #file: string;

  constructor(value: unknown, where: string, file: string) {
    this.#where = where;
    this.#file = file;
    this.#values = isMapping(value) ? value : {};
    if (value !== null && value !== undefined && !isMapping(value)) {
      throw this.#wrong(where, "a mapping", value);
    }
  }

  string(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === "string") return value;
    throw this.#wrong(this.#at(key), "a string (put it in quotes)", value);
  }

  boolean(key: string): boolean {
    const value = this.raw(key) ?? false;
    if (typeof value === "boolean") return value;
    throw this.#wrong(this.#at(key), "true or false, without quotes", value);
  }

  strings(key: string): readonly string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.#wrong(this.#at(key), "a list", value);
    return value.map((item: unknown, index) => {
      if (typeof item === "string") return item;
      throw this.#wrong(`${this.#at(key)}[${index}]`, "a string (put it in quotes)", item);
    });
  }

  /** The file that `key` names, relative to the folder of the kubeconfig. */
  path(key: string): string | undefined {
    const value = this.string(key);
    if (!value || isAbsolute(value)) return value;
    const path = join(dirname(this.#file), value);
    // A bare name would be looked up in PATH if it is a command.
    return isAbsolute(path) || /[/\\]/.test(path) ? path : `./${path}`;
  }

  /** Text that stands in the file as base64. */
  data(key: string): string | undefined {
    const value = this.string(key);
    if (!value) return undefined;
    try {
      const bytes = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
      return new TextDecoder().decode(bytes);
    } catch {
      throw new ConfigError(
        `Cannot use kubeconfig "${this.#file}": ${this.#at(key)} is not base64; ` +
          "give what `base64 -w0 FILE` prints",
      );
    }
  }

  object<R>(key: string, read: (fields: Fields) => R): R | undefined {
    return this.raw(key) === undefined ? undefined : read(this.child(key));
  }

  record<R>(
    key: string,
    read: (fields: Fields, key: string) => R,
  ): Record<string, R> | undefined {
    if (this.raw(key) === undefined) return undefined;
    const fields = this.child(key);
    return Object.fromEntries(
      Object.keys(fields.#values).map((name) => [name, read(fields, name)]),
    );
  }

  items<R>(key: string, read: (item: Fields) => R): R[] {
    const value = this.raw(key) ?? [];
    if (!Array.isArray(value)) throw this.#wrong(this.#at(key), "a list", value);
    return value.map((item: unknown, index) =>
      read(new Fields(item, `${this.#at(key)}[${index}]`, this.#file))
    );
  }

  /** A list whose items have a unique `name`, as a map. */
  named<V>(key: string, read: (item: Fields) => V): Map<string, V> {
    const map = new Map<string, V>();
    this.items(key, (item) => {
      const name = item.string("name") ?? "";
      if (map.has(name)) {
        throw new ConfigError(
          `Cannot use kubeconfig "${this.#file}": ${this.#at(key)} holds "${name}" twice; ` +
            "remove or rename one of them",
        );
      }
      map.set(name, read(item));
    });
    return map;
  }

  /** The mapping at `key`; an empty one if there is none. */
  child(key: string): Fields {
    return new Fields(this.raw(key), this.#at(key), this.#file);
  }

  /** What stands at `key`, of any type; `null` counts as nothing. */
  raw(key: string): unknown {
    return Object.hasOwn(this.#values, key) ? this.#values[key] ?? undefined : undefined;
  }

  expect(key: string, allowed: readonly string[]): void {
    const value = this.string(key) ?? "";
    if (allowed.includes(value)) return;
    throw new ConfigError(
      `Cannot use kubeconfig "${this.#file}": its ${key} is "${value}" and not "${allowed[0]}"; ` +
        "give the path of a kubeconfig",
    );
  }

  #at(key: string): string {
    return this.#where === "" ? key : `${this.#where}.${key}`;
  }

  #wrong(where: string, wanted: string, value: unknown): ConfigError {
    const kind = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
    return new ConfigError(
      `Cannot use kubeconfig "${this.#file}": ${where || "the document"} is ${kind}; ` +
        `it must be ${wanted}`,
    );
  }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Which proxy the API server is reached through: the kubeconfig's `proxy-url`, else the
 * environment's, by the rules of Go's `net/http` and so of kubectl.
 *
 * Deno would apply the environment's variables by itself, with rules of its own: `NO_PROXY` would
 * overrule an explicit proxy, loopback would go through one. So they are read once and then removed
 * from the process ({@linkcode takeProxyVariables}), and what is decided here is all that counts.
 *
 * @module
 */

import { ConfigError } from "../core/errors.ts";

/** The process' variables, or what stands for them. `Deno.env` is one. */
export interface Environment {
  /** The value of a variable. */
  get(name: string): string | undefined;
  /** Removes a variable; again is fine. */
  delete(name: string): void;
}

/** Variables about proxies, by name, as they were when the process started. */
export type ProxyVariables = Readonly<Record<string, string>>;

/** The variables about proxies. */
export const PROXY_VARIABLES: readonly string[] = [
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
]
  .flatMap((name) => [name, name.toLowerCase()]);

/**
 * Reads the variables about proxies and removes them from `environment`. Exec plugins still get
 * them: hand the result on.
 */
export function takeProxyVariables(environment: Environment): ProxyVariables {
  const taken: Record<string, string> = {};
  for (const name of PROXY_VARIABLES) {
    const value = environment.get(name);
    if (value === undefined) continue;
    taken[name] = value;
    environment.delete(name);
  }
  return taken;
}

/**
 * The proxy that the variables name for `server`; `undefined` for a direct connection.
 *
 * As in Go: `HTTPS_PROXY` or `HTTP_PROXY` by the server's scheme, upper case first, `ALL_PROXY` not
 * at all, and neither for loopback nor for what `NO_PROXY` names.
 *
 * @throws {ConfigError} If the variable that counts is not the URL of a proxy.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const variables = { HTTPS_PROXY: "proxy.test:3128", NO_PROXY: "10.0.0.0/8" };
 * strictEqual(proxyFor(new URL("https://10.1.2.3:6443"), variables), undefined);
 * strictEqual(proxyFor(new URL("https://api.test"), variables), "http://proxy.test:3128");
 * ```
 */
export function proxyFor(server: URL, variables: ProxyVariables): string | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = variables[name] || variables[name.toLowerCase()];
  const noProxy = variables.NO_PROXY || variables.no_proxy || "";
  if (!proxy || isLoopback(hostOf(server)) || isExcepted(server, noProxy)) return undefined;
  return checkProxyUrl(/^[a-z0-9]+:\/\//.test(proxy) ? proxy : `http://${proxy}`, name);
}

/**
 * `url` as `URL` spells it, without a slash at its end.
 *
 * @param subject Where it stands, for the message: `proxy-url of cluster "k"`.
 * @throws {ConfigError} If it is not an http, https or socks5 URL.
 */
export function checkProxyUrl(url: string, subject: string): string {
  // The value is not quoted: a password may stand in it.
  const refuse = (fault: string) =>
    new ConfigError(
      `Cannot use ${subject}: ${fault}; give http://, https:// or socks5:// and HOST:PORT`,
    );
  const parsed = URL.parse(url);
  if (parsed === null || parsed.host === "") throw refuse("it is not a URL");
  if (!["http:", "https:", "socks5:"].includes(parsed.protocol)) {
    throw refuse(`its scheme is "${parsed.protocol.slice(0, -1)}"`);
  }
  if (!isDecodable(parsed.username) || !isDecodable(parsed.password)) {
    throw refuse("its user or password has a % that starts no escape (write %25)");
  }
  return parsed.href.replace(/\/$/, "");
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false; // What the error says is no more than that.
  }
}

/** Host of a URL, without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Port of a URL; its scheme's own if it names none. */
export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "http:" ? 80 : protocol === "socks5:" ? 1080 : 443;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** True if an entry of `noProxy` names the server: a name, its parent, an address or a network. */
function isExcepted(server: URL, noProxy: string): boolean {
  const host = hostOf(server);
  const address = addressOf(host);
  return noProxy.split(",").map((entry) => entry.trim().toLowerCase()).some((entry) => {
    if (entry === "" || entry === "*") return entry === "*";
    if (entry.includes("/")) return address !== undefined && isInside(address, entry);
    const [name, port] = splitPort(entry);
    if (port !== undefined && port !== portOf(server)) return false;
    const literal = addressOf(name);
    if (literal !== undefined || address !== undefined) {
      return literal !== undefined && address !== undefined && literal.bits === address.bits &&
        literal.value === address.value;
    }
    const suffix = name.replace(/^\*\./, ".");
    return suffix.startsWith(".")
      ? host.endsWith(suffix)
      : host === suffix || host.endsWith(`.${suffix}`);
  });
}

function splitPort(entry: string): [name: string, port: number | undefined] {
  const found = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(entry);
  if (found === null) return [entry.replace(/^\[(.*)\]$/, "$1"), undefined];
  return [found[1] ?? found[2] ?? "", Number(found[3])];
}

interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

function isInside(address: Address, network: string): boolean {
  const [base = "", prefix = ""] = network.split("/");
  const start = addressOf(base);
  if (start?.bits !== address.bits || !/^\d{1,3}$/.test(prefix)) return false;
  const rest = address.bits - Number(prefix);
  return rest >= 0 && address.value >> BigInt(rest) === start.value >> BigInt(rest);
}

/** The number that an IP address is; `undefined` if `text` is none. */
function addressOf(text: string): Address | undefined {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(text)) {
    const parts = text.split(".").map(Number);
    if (parts.some((part) => part > 255)) return undefined;
    return { bits: 32, value: parts.reduce((sum, part) => sum << 8n | BigInt(part), 0n) };
  }
  if (!text.includes(":")) return undefined;
  // URL spells an address in its shortest form, with hexadecimal groups only.
  const host = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1);
  if (host === undefined) return undefined;
  const [head = "", tail] = host.split("::");
  const groups = (part = "") => part === "" ? [] : part.split(":");
  const [first, last] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  const all = [...first, ...zeros, ...last];
  return { bits: 128, value: all.reduce((sum, group) => sum << 16n | BigInt(`0x${group}`), 0n) };
}

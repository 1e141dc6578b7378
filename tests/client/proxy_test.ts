import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { proxyFor, takeProxyVariables } from "../../lib/client/proxy.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { environmentOf } from "../support/config_fixture.ts";

const HTTPS_PROXY = "http://proxy:3128";

function isDirect(server: string, noProxy: string): boolean {
  return proxyFor(new URL(server), { HTTPS_PROXY, NO_PROXY: noProxy }) === undefined;
}

Deno.test("K6 proxyFor() follows NO_PROXY as Go does", () => {
  const cases: [server: string, noProxy: string, direct: boolean][] = [
    ["https://api.test", "", false],
    ["https://api.test", "*", true],
    ["https://api.test", "api.test", true],
    ["https://api.test", " API.test , x", true],
    ["https://a.api.test", "api.test", true],
    ["https://xapi.test", "api.test", false],
    ["https://api.test", ".api.test", false],
    ["https://a.api.test", ".api.test", true],
    ["https://a.api.test", "*.api.test", true],
    ["https://api.test", "*.api.test", false],
    ["https://api.test:6443", "api.test:6443", true],
    ["https://api.test:6443", "api.test:443", false],
    ["https://api.test", "api.test:443", true],
    ["https://10.1.2.3:6443", "10.0.0.0/8", true],
    ["https://11.1.2.3:6443", "10.0.0.0/8", false],
    ["https://10.1.2.3", "10.1.2.3", true],
    ["https://10.1.2.3", "10.1.2.4", false],
    ["https://10.1.2.3", "2.3", false],
    ["https://10.1.2.3", "0.0.0.0/0", true],
    ["https://10.1.2.3", "10.0.0.0/33", false],
    ["https://[fd00::1]:6443", "fd00::/8", true],
    ["https://[fe00::1]:6443", "fd00::/8", false],
    ["https://[fd00::1]:6443", "fd00:0::1", true],
    ["https://[fd00::1]:6443", "[fd00::1]:6443", true],
    ["https://[fd00::1]:6443", "[fd00::1]:443", false],
    ["https://[fd00::1]:6443", "10.0.0.0/8", false],
    ["https://127.0.0.1:6443", "", true],
    ["https://localhost:6443", "", true],
    ["https://[::1]:6443", "", true],
  ];
  for (const [server, noProxy, direct] of cases) {
    strictEqual(isDirect(server, noProxy), direct, `${server} with NO_PROXY=${noProxy}`);
  }
});

Deno.test("K6 proxyFor() takes the variable of the scheme, upper case first", () => {
  const https = new URL("https://api.test");
  const http = new URL("http://api.test");
  const variables = { HTTPS_PROXY: "a:1", https_proxy: "b:1", http_proxy: "c:1", ALL_PROXY: "d:1" };
  strictEqual(proxyFor(https, variables), "http://a:1");
  strictEqual(proxyFor(http, variables), "http://c:1");
  strictEqual(proxyFor(https, { ALL_PROXY: "d:1" }), undefined);
  strictEqual(proxyFor(https, { HTTPS_PROXY: "socks5://s:1" }), "socks5://s:1");
  throws(
    () => proxyFor(https, { HTTPS_PROXY: "ftp://u:SECRET@p" }),
    (error) =>
      error instanceof ConfigError && /HTTPS_PROXY/.test(error.message) &&
      !/SECRET/.test(error.message),
  );
});

Deno.test("K6 takeProxyVariables() removes the variables, for Deno not to see them", () => {
  const environment = environmentOf({ HTTPS_PROXY, no_proxy: "x", HOME: "/" });
  deepStrictEqual(takeProxyVariables(environment), { HTTPS_PROXY, no_proxy: "x" });
  strictEqual(environment.get("HTTPS_PROXY") ?? environment.get("no_proxy"), undefined);
  strictEqual(environment.get("HOME"), "/");
});

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { droppedBy, grantsFor, PERMISSIONS, workerPermissions } from "../../lib/cli/grants.ts";
import { PERMISSION_BROKER_VARIABLE, refusePermissionBroker } from "../../lib/cli/sandbox.ts";
import { ConfigError } from "../../lib/core/errors.ts";

const SERVER = { hostname: "10.0.0.1", port: 443, role: "server" } as const;
const NONE = {
  net: false,
  read: false,
  write: false,
  env: false,
  run: false,
  sys: false,
  ffi: false,
  import: false,
};

function grants(over: Partial<Parameters<typeof grantsFor>[0]["access"]> = {}, insecure = false) {
  return grantsFor({
    access: { hosts: [SERVER], files: [], commands: [], ...over },
    connection: { insecureSkipTlsVerify: insecure },
    listen: [],
  });
}

Deno.test("workerPermissions() grants the API server's address and nothing else", () => {
  deepStrictEqual(workerPermissions(grants()), { ...NONE, net: ["10.0.0.1:443"] });
});

Deno.test("workerPermissions() names every permission of the runtime", () => {
  deepStrictEqual(Object.keys(workerPermissions(grants())).sort(), [...PERMISSIONS].sort());
});

Deno.test("grantsFor() gives neither files nor commands of the credentials to the worker", () => {
  const { main, worker } = grants({ files: ["/run/token"], commands: ["/bin/plugin"] });
  deepStrictEqual(worker.map(({ permission }) => permission), ["net"]);
  deepStrictEqual(main.map(({ permission }) => permission), ["read", "run"]);
});

Deno.test("grantsFor() gives a proxy or the relay, but not what the relay dials", () => {
  const proxy = { hostname: "proxy.test", port: 3128, role: "proxy" } as const;
  deepStrictEqual(workerPermissions(grants({ hosts: [SERVER, proxy] })).net, [
    "10.0.0.1:443",
    "proxy.test:3128",
  ]);
  const relayed = grants({
    hosts: [
      { hostname: "api.test", port: 6443, role: "server" },
      { hostname: "127.0.0.1", port: 40_000, role: "relay" },
      { hostname: "192.0.2.1", port: 6443, role: "target" },
    ],
  });
  deepStrictEqual(workerPermissions(relayed).net, ["api.test:6443", "127.0.0.1:40000"]);
  deepStrictEqual(droppedBy(relayed).includes("net"), false, "the main thread dials");
});

Deno.test("grantsFor() writes IPv6 as Deno's permissions take it, and listens where told", () => {
  const hosts = [{ hostname: "fd00::1", port: 6443, role: "server" }] as const;
  const { worker } = grantsFor({
    access: { hosts, files: [], commands: [] },
    connection: {},
    listen: ["0.0.0.0:8080"],
  });
  deepStrictEqual(worker.map(({ value }) => value), ["[fd00::1]:6443", "0.0.0.0:8080"]);
});

Deno.test("grantsFor() gives node:https what it asks for, and only then", () => {
  deepStrictEqual(workerPermissions(grants({}, true)), {
    ...NONE,
    net: ["10.0.0.1:443"],
    env: ["NODE_USE_SYSTEM_CA"],
    sys: ["ca"],
  });
});

Deno.test("droppedBy() leaves the main thread nothing that it does not need", () => {
  deepStrictEqual(droppedBy(grants()), [...PERMISSIONS]);
  const needs = grants({ files: ["/run/token"], commands: ["/bin/plugin"] });
  deepStrictEqual(droppedBy(needs), ["net", "write", "env", "sys", "ffi", "import"]);
});

Deno.test("refusePermissionBroker() refuses to run where another process decides", () => {
  const environment = (value: string | undefined) => ({
    get: (name: string) => name === PERMISSION_BROKER_VARIABLE ? value : undefined,
  });
  strictEqual(refusePermissionBroker(environment(undefined)), undefined);
  for (const value of ["/run/broker.sock", ""]) {
    throws(() => refusePermissionBroker(environment(value)), (error: unknown) => {
      return error instanceof ConfigError && error.message.includes(PERMISSION_BROKER_VARIABLE);
    });
  }
});

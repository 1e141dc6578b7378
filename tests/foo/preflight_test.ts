import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { ApiError, ConfigError, ConnectionError, ProtocolError } from "../../lib/core/errors.ts";
import { preflight, type PreflightOptions } from "../../lib/foo/preflight.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";

const SERVER = "https://api.example.com:6443";

/** Runs a preflight whose questions get these answers: an error to throw, or nothing. */
function check(
  answers: { foos?: unknown; deployments?: unknown; definitions?: unknown },
  options: Partial<PreflightOptions> = {},
) {
  const clock = new SimClock();
  const { log, records } = recordingLogger();
  const asked: string[] = [];
  const lister = (kind: keyof typeof answers) => ({
    listPage({ namespace }: { namespace?: string }) {
      asked.push(`${kind} ${namespace ?? "*"}`);
      const answer = answers[kind];
      return answer === undefined ? Promise.resolve({}) : Promise.reject(answer);
    },
  });
  const done = preflight({
    connection: { server: SERVER, namespace: "default", contextName: "dev", userAgent: "test" },
    namespaces: [],
    foos: lister("foos"),
    deployments: lister("deployments"),
    definitions: lister("definitions"),
    hasClientCertificate: false,
    clock,
    log,
    signal: new AbortController().signal,
    ...options,
  });
  return { clock, done, asked, records };
}

function apiError(status: number, reason: string): ApiError {
  return new ApiError(`Cannot list /apis: ${reason}`, { status, reason });
}

Deno.test("preflight() asks for all that the operator reads, in each namespace", async () => {
  const { done, asked } = check({}, { namespaces: ["a", "b"] });
  deepStrictEqual(await done, { canReadDefinition: true });
  deepStrictEqual(asked, ["foos a", "deployments a", "foos b", "deployments b", "definitions *"]);
});

Deno.test("W11 preflight() names a missing right, the server and the user", async () => {
  const message = 'foos is forbidden: User "nobody" cannot list resource "foos"';
  await rejects(check({ foos: apiError(403, message) }).done, (error) => {
    ok(error instanceof ConfigError);
    match(error.message, /list foos\.samplecontroller\.k8s\.io in all namespaces/);
    match(error.message, /api\.example\.com/);
    match(error.message, /"nobody"/);
    return true;
  });
  await rejects(check({ deployments: apiError(403, "no") }, { namespaces: ["a"] }).done, {
    name: "ConfigError",
    message: /list deployments\.apps in namespace "a"/,
  });
});

Deno.test("preflight() says user, right and one remedy once, and why if the server says that", async () => {
  const refused = (end: string) =>
    apiError(
      403,
      'deployments.apps is forbidden: User "nobody" cannot list resource "deployments" in API group ' +
        `"apps" at the cluster scope${end} (GET was answered with 403 Forbidden; bind a role that ` +
        "allows it to this user)",
    );
  const remedy = "bind a Role or ClusterRole with the verbs get, list and watch to that user, or " +
    "use other credentials";
  const right =
    `Missing right of user "nobody" to list deployments.apps in all namespaces on ${SERVER}`;
  await rejects(check({ deployments: refused("") }).done, { message: `${right}: ${remedy}` });
  await rejects(check({ deployments: refused(': RBAC: clusterrole "x" not found') }).done, {
    message: `${right} (RBAC: clusterrole "x" not found): ${remedy}`,
  });
  await rejects(check({ deployments: apiError(403, "denied") }).done, {
    message: /^Missing right of the user of context "dev" to list deployments\.apps/,
  });
});

Deno.test("preflight() can do without the right to read the definition", async () => {
  const { done } = check({ definitions: apiError(403, "Forbidden") });
  deepStrictEqual(await done, { canReadDefinition: false });
});

Deno.test("preflight() names the context whose credentials the server rejects, and no secret", async () => {
  await rejects(check({ foos: apiError(401, "Unauthorized") }).done, {
    name: "ConfigError",
    message: /rejects the credentials \(401 Unauthorized\) of the user of context "dev"/,
  });
});

Deno.test("preflight() gives up on a server that is not reached within seconds, and names it", async () => {
  const { clock, done, asked } = check({ foos: new ConnectionError("Connection refused") });
  const failed = rejects(done, {
    name: "ConfigError",
    message: /Cannot reach the API server https:\/\/api\.example\.com:6443: Connection refused/,
  });
  await clock.advance(10_000);
  await failed;
  strictEqual(asked.length, 3);
});

Deno.test("preflight() says which server answers what no API server would, and what to do", async () => {
  const page = new ProtocolError("Cannot list /apis/apps/v1/deployments: the answer is not JSON");
  await rejects(check({ deployments: page }).done, {
    name: "ConfigError",
    message:
      /^https:\/\/api\.example\.com:6443 does not answer as .*: .* is not JSON; check the server/,
  });
});

Deno.test("preflight() gives up on a server that never answers", async () => {
  const never = {
    listPage: ({ signal }: { signal: AbortSignal }) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  };
  const { clock, done } = check({}, { foos: never });
  const failed = rejects(done, { name: "ConfigError", message: /took longer than/ });
  await clock.advance(60_000);
  await failed;
});

Deno.test("preflight() goes on with a server that is still starting, and without the definition", async () => {
  const busy = check({ deployments: apiError(503, "ServiceUnavailable") });
  deepStrictEqual(await busy.done, { canReadDefinition: true });
  strictEqual(busy.records.filter(({ level }) => level === "warn").length, 1);
  const missing = check({ foos: apiError(404, "NotFound") });
  deepStrictEqual(await missing.done, { canReadDefinition: true });
  deepStrictEqual(missing.records, []);
});

Deno.test("preflight() ends with the reason of its signal", async () => {
  const stop = new AbortController();
  const { clock, done } = check({ foos: new ConnectionError("refused") }, { signal: stop.signal });
  const failed = rejects(done, (error) => error === "stop");
  await clock.advance(100);
  stop.abort("stop");
  await failed;
});

Deno.test("K14 preflight() tells that a client certificate did not get through", async () => {
  const message = 'foos is forbidden: User "system:anonymous" cannot list resource "foos"';
  const answers = { foos: apiError(403, message) };
  await rejects(check(answers, { hasClientCertificate: true }).done, {
    name: "ConfigError",
    message: /did not see the client certificate of the user of context "dev".*does a proxy/,
  });
  // Whoever shows no certificate is told which right is missing, as ever.
  await rejects(check(answers).done, { name: "ConfigError", message: /list foos/ });
});

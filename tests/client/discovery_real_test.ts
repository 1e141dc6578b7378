/** Discovery and the table of built-in kinds, held against a real API server. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { Discovery } from "../../lib/client/discovery.ts";
import { DynamicClient } from "../../lib/client/dynamic_client.ts";
import { BUILT_IN_KINDS, CUSTOM_RESOURCE_DEFINITIONS } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import type { Transport } from "../../lib/client/transport.ts";
import { realClock } from "../../lib/core/clock.ts";
import { isJsonObject } from "../../lib/core/json.ts";
import { kindsOf } from "../../tools/gen_kinds.ts";
import { realClient } from "../support/real_client.ts";
import { realSuite } from "../support/real_suite.ts";

const suite = realSuite();
const { signal } = new AbortController();

suite.test("BUILT_IN_KINDS is what a real API server serves by default", async (plane) => {
  using real = realClient(plane);
  const served = [];
  for (const path of ["/api", "/apis"]) {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const answer = await real.rest.request({ verb: "get", method: "GET", path, accept, signal });
    ok(isJsonObject(answer));
    served.push(...kindsOf(answer));
  }
  const line = (kind: { plural: string; scope: string; subresources: readonly string[] }) =>
    `${kind.plural} ${kind.scope} ${kind.subresources.toSorted()}`;
  // If this fails: the supported Kubernetes has changed, and tools/gen_kinds.ts is to be run.
  deepStrictEqual(
    BUILT_IN_KINDS.map((kind) =>
      `${kind.gvk.group}/${kind.gvk.version} ${kind.gvk.kind} ${line(kind)}`
    ).toSorted(),
    served.map((kind) => `${kind.group}/${kind.version} ${kind.kind} ${line(kind)}`).toSorted(),
  );
});

suite.test("Discovery says the same by both forms of a real API server", async (plane) => {
  const requests: string[] = [];
  using real = realClient(plane, { onRequest: ({ code }) => requests.push(code) });
  const discovery = new Discovery({ rest: real.rest, clock: realClock });
  const aggregated = await discovery.catalog({ signal });
  deepStrictEqual(requests, ["200", "200"]);

  const client = Deno.createHttpClient({ caCerts: [plane.caPem], http2: false });
  const old: Transport = (url, { method, signal }) => {
    const authorization = `Bearer ${plane.adminToken}`;
    return fetch(url, { method, signal, client, headers: { authorization } });
  };
  const connection = { server: plane.server, userAgent: "test/1" };
  const rest = new RestClient({ transport: old, connection, clock: realClock });
  const legacy = await new Discovery({ rest, clock: realClock }).catalog({ signal });
  client.close();

  const sorted = ({ groups }: typeof legacy) =>
    groups.flatMap(({ name, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources.map((resource) => ({
          served: `${name}/${version}/${resource.plural}`,
          ...resource,
          verbs: resource.verbs.toSorted(),
          subresources: resource.subresources.map((each) => ({
            ...each,
            verbs: each.verbs.toSorted(),
          })).toSorted((a, b) => a.name < b.name ? -1 : 1),
        }))
      )
    ).toSorted((a, b) => a.served < b.served ? -1 : 1);
  deepStrictEqual(sorted(legacy), sorted(aggregated));
  const names = legacy.groups.map(({ name }) => name);
  strictEqual(names[0], "");
  strictEqual(aggregated.groups[0]?.name, "");
  deepStrictEqual(names.toSorted(), aggregated.groups.map(({ name }) => name).toSorted());
});

suite.test("DynamicClient finds a kind as soon as a real API server serves it", async (plane) => {
  using real = realClient(plane);
  const { client, rest } = real;
  // A second passes from one look at the clock to the next, so each miss asks the server anew.
  let seconds = 0;
  const clock = { ...realClock, monotonicMs: () => 1000 * ++seconds };
  const discovery = new Discovery({ rest, clock });
  const dynamic = new DynamicClient(client, discovery);
  strictEqual(await discovery.findByName("crons.example.com", { signal }), undefined);
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).create({
    metadata: { name: "crons.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "crons", kind: "Cron", shortNames: ["crn"] },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      }],
    },
  }, { signal });
  const cron = { apiVersion: "example.com/v1", kind: "Cron", metadata: { name: "a" }, spec: 1 };
  let found = undefined;
  for (let tries = 0; found === undefined && tries < 2000; tries++) {
    found = await discovery.findKind({ group: "example.com", kind: "Cron" }, { signal });
  }
  deepStrictEqual([found?.shortNames, found?.subresources.map(({ name }) => name)], [
    ["crn"],
    ["status"],
  ]);
  const crons = await dynamic.resource(cron, { signal });
  const created = await crons.create(cron, { namespace: "default", signal });
  strictEqual(created["spec"], 1);
  const named = await dynamic.resourceNamed("crn", { signal });
  deepStrictEqual((await named.list({ signal })).items.map(({ kind }) => kind), ["Cron"]);
  strictEqual((await dynamic.resourceNamed("hpa", { signal })).kind.gvk.version, "v2");
});

/**
 * The test that comes with the operator: on a simulated server and clock. It runs here, and again in
 * a project of its own that has nothing but the packed library (`tests/package/`).
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  Client,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  RestClient,
} from "@foo-operator/lib/client";
import { controllerRefOf, silentLogger } from "@foo-operator/lib/core";
import { ApiServer, seededRandom, seededUuid, SimClock } from "@foo-operator/lib/simulator";
import { greetingOperator, GREETINGS } from "./greeting_operator.ts";

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const DEFINITION = {
  metadata: { name: "greetings.example.com" },
  spec: {
    group: GREETINGS.gvk.group,
    scope: GREETINGS.scope,
    names: { kind: GREETINGS.gvk.kind, plural: GREETINGS.plural },
    versions: [{
      name: GREETINGS.gvk.version,
      served: true,
      storage: true,
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: { type: "object", properties: { spec: ANYTHING, status: ANYTHING } },
      },
    }],
  },
};

Deno.test("greetingOperator() makes a ConfigMap, keeps it, and then writes nothing", async () => {
  const clock = new SimClock();
  const random = seededRandom(1);
  await using server = new ApiServer({ clock, random });
  let writes = 0;
  const rest = new RestClient({
    transport: (url, init) => {
      if (init.method !== "GET") writes++;
      return server.fetch(url, init);
    },
    connection: { server: "https://sim:6443", userAgent: "greetings/1.0" },
    clock,
  });
  const client = new Client(rest);
  const stop = new AbortController();
  const { signal } = stop;
  await client.resource(CUSTOM_RESOURCE_DEFINITIONS).create(DEFINITION, { signal });
  const operator = greetingOperator({
    client,
    clock,
    random,
    uuid: seededUuid(random),
    log: silentLogger,
  });
  const running = operator.run({ signal });

  const place = { name: "a", namespace: "default" };
  const greetings = client.resource(GREETINGS);
  const maps = client.resource(CONFIG_MAPS);
  const created = await greetings.create(
    { metadata: place, spec: { whom: "world" } },
    { signal },
  );
  await clock.advance(10_000);
  const map = await maps.get({ ...place, signal });
  deepStrictEqual(map.data, { words: "Hello world" });
  strictEqual(controllerRefOf(map)?.uid, created.metadata.uid);
  deepStrictEqual((await greetings.get({ ...place, signal })).status, { configMap: "a" });

  const patch = { type: "merge", body: { data: { words: "Go away" } } } as const;
  await maps.patch({ ...place, patch, signal });
  await clock.advance(10_000);
  deepStrictEqual((await maps.get({ ...place, signal })).data, { words: "Hello world" });

  const before = writes;
  await clock.advance(3_600_000);
  strictEqual(writes, before);

  stop.abort();
  await clock.advance(10_000);
  await running;
});

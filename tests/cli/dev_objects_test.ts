/**
 * The definition of Foo in a cluster: ours is made whole, what others added stays.
 *
 * @module
 */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { ensureDefinition } from "../../lib/cli/dev_objects.ts";
import { Client } from "../../lib/client/client.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { isJsonObject, type JsonObject } from "../../lib/core/json.ts";
import { customResourceDefinition } from "../../lib/foo/crd.ts";
import { FOO_CRD_NAME } from "../../lib/foo/schema.ts";
import { ApiServer } from "../../lib/simulator/server.ts";
import { seededRandom, SimClock } from "../../lib/simulator/sim_clock.ts";

/** Our definition, with `extra` among the fields of its spec. */
function definitionWith(extra: string | undefined): JsonObject {
  const definition = customResourceDefinition();
  const text = JSON.stringify(definition);
  const from = '"deploymentName":{';
  strictEqual(text.split(from).length, 2);
  const changed: unknown = JSON.parse(
    extra === undefined ? text : text.replace(from, `"${extra}":{"type":"string"},${from}`),
  );
  if (!isJsonObject(changed)) throw new Error("an object");
  return changed;
}

Deno.test("ensureDefinition() takes away what the last definition had, and keeps what others added", async () => {
  const clock = new SimClock();
  await using server = new ApiServer({ clock, random: seededRandom(1) });
  const { signal } = new AbortController();
  const client = new Client(
    new RestClient({
      transport: (url, init) => server.fetch(url, init),
      connection: { server: "http://cluster", userAgent: "test" },
      clock,
    }),
  );
  const means = { clock, random: seededRandom(2), signal };
  const definitions = client.resource(CUSTOM_RESOURCE_DEFINITIONS);
  const specFields = async () => {
    const { spec } = await definitions.get({ name: FOO_CRD_NAME, signal });
    const root = spec.versions[0]?.schema?.openAPIV3Schema;
    return Object.keys(root?.properties?.["spec"]?.properties ?? {}).sort();
  };
  const [first, second] = [definitionWith("old"), definitionWith("other")];
  strictEqual(await ensureDefinition(client, means, { wanted: first }), "created");
  await definitions.patch({
    name: FOO_CRD_NAME,
    patch: { type: "merge", body: { metadata: { labels: { theirs: "yes" } } } },
    signal,
  });
  const again = { wanted: first, previous: first };
  strictEqual(await ensureDefinition(client, means, again), "unchanged");
  strictEqual(
    await ensureDefinition(client, means, { wanted: second, previous: first }),
    "updated",
  );
  deepStrictEqual(await specFields(), ["deploymentName", "other", "replicas"]);
  const last = { wanted: definitionWith(undefined), previous: second };
  strictEqual(await ensureDefinition(client, means, last), "updated");
  deepStrictEqual(await specFields(), ["deploymentName", "replicas"]);
  const { metadata } = await definitions.get({ name: FOO_CRD_NAME, signal });
  strictEqual(metadata.labels?.["theirs"], "yes");
});

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  DEFINITION_GRACE_MS,
  MISSING_RECHECK_MS,
  ServedStatusSource,
} from "../../lib/foo/served_status.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "../support/recording_logger.ts";
import type { CustomResourceDefinition } from "../../lib/client/kinds.ts";
import { definition, SimWorld } from "../support/sim_operator.ts";

function source() {
  const clock = new SimClock();
  const { log, records } = recordingLogger();
  return { clock, records, served: new ServedStatusSource({ clock, log }) };
}

/** Our definition, as the server gives it. */
function crd(edit?: (crd: CustomResourceDefinition) => void): CustomResourceDefinition {
  return JSON.parse(JSON.stringify(definition(edit)));
}

/** A write of which the server kept no `observedGeneration`. */
const DROPPED = {
  sent: { availableReplicas: 1, observedGeneration: 2 },
  stored: { availableReplicas: 1 },
};

Deno.test("ServedStatusSource.answered() does not count against a definition that is news", async () => {
  const { clock, served } = source();
  served.set(crd());
  await clock.advance(DEFINITION_GRACE_MS - 1000);
  strictEqual(served.answered(DROPPED), 1000);
  ok(served.current.fields.has("observedGeneration"));
  // The same definition again is no news.
  served.set(crd());
  await clock.advance(1000);
  strictEqual(served.answered(DROPPED), undefined);
  deepStrictEqual([...served.current.fields], ["availableReplicas", "conditions"]);
});

Deno.test("ServedStatusSource.answered() counts at once where no definition can be read", () => {
  const { served } = source();
  strictEqual(served.answered(DROPPED), undefined);
  ok(!served.current.fields.has("observedGeneration"));
});

Deno.test("ServedStatusSource.lacksSubresource() holds for a time if no definition can be read", async () => {
  const { clock, served, records } = source();
  strictEqual(served.recheckMs, undefined);
  ok(served.lacksSubresource());
  ok(!served.current.hasSubresource);
  strictEqual(served.recheckMs, MISSING_RECHECK_MS);
  await clock.advance(MISSING_RECHECK_MS);
  ok(served.current.hasSubresource, "asked again");
  ok(served.lacksSubresource());
  ok(!served.current.hasSubresource);
  strictEqual(records.length, 1, "told once");
  await clock.advance(MISSING_RECHECK_MS);
  served.answered({ sent: { availableReplicas: 1 }, stored: { availableReplicas: 1 } });
  ok(served.current.hasSubresource);
  strictEqual(served.recheckMs, undefined);
});

Deno.test("ServedStatusSource.lacksSubresource() is for good if the definition says so", () => {
  const { served } = source();
  served.set(crd(({ spec }) => {
    for (const version of spec.versions) delete version.subresources;
  }));
  ok(served.lacksSubresource());
  strictEqual(served.recheckMs, undefined);
});

function isStatusWrite(method: string, url: URL): boolean {
  return method === "PATCH" && url.pathname.endsWith("/foos/a/status");
}

Deno.test("R1 runOperator() writes fields that one server dropped which lagged behind the definition", async () => {
  await using world = await SimWorld.start();
  let answers = 0;
  world.intercept = async (method, url) => {
    if (!isStatusWrite(method, url) || answers++ > 0) return undefined;
    const foo = await world.foo("a");
    return Response.json({ ...foo, status: { availableReplicas: 0 } });
  };
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(2 * DEFINITION_GRACE_MS);
  strictEqual((await world.foo("a")).status?.observedGeneration, 1);
  const mark = world.mark();
  await world.clock.advance(MISSING_RECHECK_MS);
  deepStrictEqual(world.writes(mark), []);
  deepStrictEqual(await world.eventsOf("a"), ["Normal Synced: Foo synced successfully"]);
});

Deno.test("R9 runOperator() asks again for a status that an answer said to be missing", async () => {
  await using world = new SimWorld();
  await world.definitions.create(definition(), { signal: world.signal });
  let strays = 1;
  world.intercept = (method, url) => {
    const isHidden = url.pathname.includes("customresourcedefinitions");
    const code = isHidden ? 403 : isStatusWrite(method, url) && strays-- > 0 ? 404 : undefined;
    if (code === undefined) return Promise.resolve(undefined);
    const status = { kind: "Status", code, reason: code === 403 ? "Forbidden" : "NotFound" };
    return Promise.resolve(Response.json(status, { status: code }));
  };
  world.startOperator();
  await world.clock.advance(1000);
  await world.createFoo("a", { deploymentName: "web", replicas: 1 });
  await world.clock.advance(30_000);
  strictEqual((await world.foo("a")).status, undefined);
  await world.clock.advance(MISSING_RECHECK_MS);
  strictEqual((await world.foo("a")).status?.observedGeneration, 1);
});

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import {
  CONFIG_MAPS,
  type ConfigMap,
  type Deployment,
  DEPLOYMENTS,
} from "../../lib/client/kinds.ts";
import {
  apply,
  CONFLICT_ATTEMPTS_MAX,
  createOrPatch,
  createOrUpdate,
  type CreateOrWriteOptions,
  retryOnConflict,
} from "../../lib/client/read_modify_write.ts";
import { ApiError, AssertionError } from "../../lib/core/errors.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { json, scriptedRest } from "../support/scripted_transport.ts";
import { type SimClient, simClient } from "../support/sim_client.ts";
import { ResourceClient } from "../../lib/client/resource_client.ts";

const { signal } = new AbortController();
const place = { name: "a", namespace: "default" };
const conflict = () => new ApiError("changed", { status: 409, reason: "Conflict" });

/** Lets the clock run while `work` does. */
async function finished<R>(clock: SimClock, work: Promise<R>): Promise<R> {
  let isOver = false;
  const ended = () => {
    isOver = true;
  };
  work.then(ended, ended);
  while (!isOver) await clock.advance(1);
  return await work;
}

function options(
  sim: SimClient,
  want: CreateOrWriteOptions<ConfigMap>["want"],
): CreateOrWriteOptions<ConfigMap> {
  return { ...place, clock: sim.clock, random: () => 0.5, signal, want };
}

/** Wants the data `key: value` beside what is there. */
const wantKey = (value: string): CreateOrWriteOptions<ConfigMap>["want"] => (present) => ({
  ...present,
  metadata: { ...present?.metadata, name: "a" },
  data: { ...present?.data, key: value },
});

/** A world in which, once a request of `method` is on its way, someone else does `act` first. */
function interrupted(
  method: string,
  act: (sim: SimClient) => Promise<unknown>,
  times = 1,
): SimClient {
  let left = times;
  const sim: SimClient = simClient({
    before: async (_url, init) => {
      if (init.method !== method || left === 0) return;
      left--;
      const kept = left;
      left = 0; // not for the requests of `act` itself
      await act(sim);
      left = kept;
    },
  });
  return sim;
}

const setOther = (value: string) => ({ client }: SimClient) =>
  client.resource(CONFIG_MAPS).patch({
    ...place,
    patch: { type: "merge", body: { data: { other: value } } },
    signal,
  });
const createIt = ({ client }: SimClient, data = { other: "1" }) =>
  client.resource(CONFIG_MAPS).create({ metadata: place, data }, { signal });
const deleteIt = ({ client }: SimClient) =>
  client.resource(CONFIG_MAPS).delete({ ...place, signal });

Deno.test("retryOnConflict() tries again after a pause, as often as it may, and for conflicts only", async () => {
  const clock = new SimClock();
  const settings = { clock, random: () => 0.5, signal };
  let attempts = 0;
  const always = () => {
    attempts++;
    return Promise.reject(conflict());
  };
  await rejects(finished(clock, retryOnConflict(always, settings)), { reason: "Conflict" });
  strictEqual(attempts, CONFLICT_ATTEMPTS_MAX);
  strictEqual(clock.monotonicMs(), (CONFLICT_ATTEMPTS_MAX - 1) * 15);

  attempts = 0;
  const other = () => {
    attempts++;
    return Promise.reject(new ApiError("no", { status: 403, reason: "Forbidden" }));
  };
  await rejects(retryOnConflict(other, settings), { reason: "Forbidden" });
  strictEqual(attempts, 1);
  await rejects(retryOnConflict(other, { ...settings, attemptsMax: 0 }), AssertionError);
});

Deno.test("retryOnConflict() ends with its signal, also in a pause", async () => {
  const clock = new SimClock();
  const stop = new AbortController();
  const retrying = retryOnConflict(() => Promise.reject(conflict()), {
    clock,
    random: () => 0,
    signal: stop.signal,
  });
  const ended = rejects(retrying, { message: "stop" });
  await clock.settle();
  stop.abort(new Error("stop"));
  await ended;
  strictEqual(clock.pendingTimers, 0);
});

for (
  const [name, write] of [["createOrUpdate", createOrUpdate], [
    "createOrPatch",
    createOrPatch,
  ]] as const
) {
  Deno.test(`${name}() creates, changes, and leaves alone what is as it should be`, async () => {
    await using sim = simClient();
    const configMaps = sim.client.resource(CONFIG_MAPS);
    const types: string[] = [];
    for (const value of ["1", "1", "2"]) {
      types.push((await write(configMaps, options(sim, wantKey(value)))).type);
    }
    deepStrictEqual(types, ["created", "unchanged", "updated"]);
    strictEqual((await configMaps.get({ ...place, signal })).data?.["key"], "2");
    const writes = sim.requests.filter(({ method }) => method !== "GET");
    strictEqual(writes.length, 2);
  });

  Deno.test(`${name}() loses nothing that others write between its read and its write`, async () => {
    await using sim = interrupted(name === "createOrUpdate" ? "PUT" : "PATCH", setOther("2"));
    await createIt(sim);
    const work = write(sim.client.resource(CONFIG_MAPS), options(sim, wantKey("1")));
    const { type, object } = await finished(sim.clock, work);
    strictEqual(type, "updated");
    deepStrictEqual(object.data, { key: "1", other: "2" });
  });

  Deno.test(`${name}() goes on if the object comes or goes under its hands`, async () => {
    await using comes = interrupted("POST", createIt);
    const first = write(comes.client.resource(CONFIG_MAPS), options(comes, wantKey("1")));
    deepStrictEqual((await finished(comes.clock, first)).type, "updated");

    await using goes = interrupted(name === "createOrUpdate" ? "PUT" : "PATCH", deleteIt);
    await createIt(goes);
    const second = write(goes.client.resource(CONFIG_MAPS), options(goes, wantKey("1")));
    const { type, object } = await finished(goes.clock, second);
    strictEqual(type, "created");
    deepStrictEqual(object.data, { key: "1" });
  });

  Deno.test(`${name}() removes what is wanted no more, and hands on its options`, async () => {
    await using sim = simClient();
    await createIt(sim, { other: "1" });
    const configMaps = sim.client.resource(CONFIG_MAPS);
    const { object } = await write(configMaps, {
      ...options(sim, (present) => ({
        metadata: { ...present?.metadata, name: "a", labels: { x: "y" } },
        data: { key: "1" },
      })),
      fieldManager: "m",
      dryRun: true,
      fieldValidation: "Strict",
    });
    deepStrictEqual([object.data, object.metadata.labels], [{ key: "1" }, { x: "y" }]);
    const stored = await configMaps.get({ ...place, signal });
    deepStrictEqual(stored.data, { other: "1" });
    const { query } = sim.requests.find(({ method }) => /PUT|PATCH/.test(method)) ?? {};
    deepStrictEqual(Object.fromEntries(query ?? []), {
      fieldManager: "m",
      dryRun: "All",
      fieldValidation: "Strict",
    });
  });

  Deno.test(`${name}() does not retry where there is no namespace`, async () => {
    await using sim = simClient();
    const work = write(sim.client.resource(CONFIG_MAPS), {
      ...options(sim, wantKey("1")),
      namespace: "none",
    });
    await rejects(work, { status: 404 });
    strictEqual(sim.requests.length, 2);
    await rejects(
      write(sim.client.resource(CONFIG_MAPS), { ...options(sim, wantKey("1")), name: "b" }),
      AssertionError,
    );
  });

  Deno.test(`S4 ${name}() hands back numbers and fields that it does not know as they came`, async () => {
    const text = '{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7"},' +
      '"spec":{"replicas":1,"newField":{"n":9007199254740993}},"status":{"x":1}}';
    const answer = () => new Response(text);
    const { rest, requests, clock } = scriptedRest([answer, answer]);
    const deployments = new ResourceClient(rest, DEPLOYMENTS);
    const want = (present: Deployment | undefined) => {
      ok(present?.spec);
      return { ...present, spec: { ...present.spec, replicas: 2 } };
    };
    await write(deployments, { ...place, clock, random: () => 0, signal, want });
    const sent = requests[1]?.text ?? "";
    if (name === "createOrUpdate") {
      strictEqual(sent.includes('"newField":{"n":9007199254740993}'), true);
      strictEqual(sent.includes('"resourceVersion":"7"'), true);
    } else strictEqual(sent, '{"spec":{"replicas":2},"metadata":{"uid":"u"}}');
  });
}

Deno.test("createOrPatch() guards lists with the version, and what is no list with the uid alone", async () => {
  await using sim = interrupted("PATCH", ({ client }) =>
    client.resource(CONFIG_MAPS).patch({
      ...place,
      patch: { type: "merge", body: { metadata: { finalizers: ["example.com/theirs"] } } },
      signal,
    }));
  await createIt(sim);
  const want: CreateOrWriteOptions<ConfigMap>["want"] = (present) => ({
    ...present,
    metadata: {
      ...present?.metadata,
      name: "a",
      finalizers: [...present?.metadata.finalizers ?? [], "example.com/ours"],
    },
  });
  const work = createOrPatch(sim.client.resource(CONFIG_MAPS), options(sim, want));
  const { object } = await finished(sim.clock, work);
  deepStrictEqual(object.metadata.finalizers, ["example.com/theirs", "example.com/ours"]);
});

Deno.test("createOrUpdate() and createOrPatch() leave a status alone that is a subresource", async () => {
  const deployment = { metadata: { name: "a", resourceVersion: "7" }, spec: {}, status: { x: 1 } };
  const { rest, requests, clock } = scriptedRest([json(deployment), json(deployment)]);
  const deployments = new ResourceClient(rest, DEPLOYMENTS);
  for (const write of [createOrUpdate, createOrPatch]) {
    const { type } = await write<Deployment>(deployments, {
      ...place,
      clock,
      random: () => 0,
      signal,
      want: (present) => {
        ok(present?.spec);
        return { ...present, spec: present.spec, status: { replicas: 9 } };
      },
    });
    strictEqual(type, "unchanged");
  }
  strictEqual(requests.length, 2);
});

Deno.test("apply() takes back what the server gave, and says who owns what", async () => {
  await using sim = simClient();
  const configMaps = sim.client.resource(CONFIG_MAPS);
  const wanted = { metadata: place, data: { key: "1", old: "1" } };
  const applied = await apply(configMaps, wanted, { fieldManager: "ours", signal });
  strictEqual(applied.metadata.managedFields?.[0]?.manager, "ours");
  await apply(configMaps, applied, { fieldManager: "ours", signal });
  const { old: _, ...data } = wanted.data;
  const less = await apply(configMaps, { ...wanted, data }, { fieldManager: "ours", signal });
  deepStrictEqual(less.data, { key: "1" });

  const theirs = { ...wanted, data: { key: "2" } };
  await rejects(apply(configMaps, theirs, { fieldManager: "theirs", signal }), {
    reason: "Conflict",
  });
  const forced = await apply(configMaps, theirs, { fieldManager: "theirs", force: true, signal });
  deepStrictEqual(forced.data, { key: "2" });
  // The version of an object that was read is a precondition.
  await rejects(apply(configMaps, applied, { fieldManager: "ours", force: true, signal }), {
    reason: "Conflict",
  });
  await rejects(apply(configMaps, { data: {} }, { fieldManager: "ours", signal }), AssertionError);
});

/** Events against a real API server: what it takes, and how it says no. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Client } from "../../lib/client/client.ts";
import { EVENTS } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { FetchTransport } from "../../lib/client/transport.ts";
import { realClock, realRandom, realUuid } from "../../lib/core/clock.ts";
import { type EventInput, EventRecorder } from "../../lib/services/event_recorder.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { type Json, Kube } from "../support/kube.ts";
import { realSuite } from "../support/real_suite.ts";
import { type LogRecord, recordingLogger } from "../support/recording_logger.ts";

const suite = realSuite();

/** Records within `body`; returns once all that came of it is written. */
async function recording(
  plane: ControlPlane,
  body: (recorder: EventRecorder) => Promise<void> | void,
  reportingInstance = "foo-operator-0",
): Promise<{ records: LogRecord[]; dropped: number }> {
  const { log, records } = recordingLogger();
  const credential = { generation: 1, token: plane.adminToken, caPem: plane.caPem };
  const current = () => Promise.resolve(credential);
  const settings = { server: plane.server, namespace: "default", userAgent: "events-test/1" };
  using transport = new FetchTransport({
    source: { current, refresh: current },
    settings,
    clock: realClock,
    log,
  });
  const rest = new RestClient({
    transport: transport.send,
    connection: settings,
    clock: realClock,
  });
  const recorder = new EventRecorder({
    client: new Client(rest).resource(EVENTS),
    reportingController: "samplecontroller.k8s.io/foo-controller",
    reportingInstance,
    clock: realClock,
    random: realRandom,
    uuid: realUuid,
    log,
  });
  const stop = new AbortController();
  const running = recorder.run({ signal: stop.signal });
  try {
    await body(recorder);
  } finally {
    stop.abort();
    await running;
  }
  return { records, dropped: recorder.dropped };
}

function about(metadata: EventInput["regarding"]["metadata"], fields: Partial<EventInput> = {}) {
  const gvk = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
  const fixed = { type: "Normal", reason: "Synced", action: "Sync", note: "Foo synced" } as const;
  return { regarding: { gvk, metadata }, ...fixed, ...fields };
}

const path = (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;

suite.test("E2 events: a real API server takes the longest and oddest of all parts", async (plane) => {
  using kube = new Kube({ ...plane, token: plane.adminToken });
  const namespace = await kube.namespace("events");
  const metadata = { name: "a".repeat(253), namespace, uid: "u", resourceVersion: "7" };
  const { dropped, records } = await recording(plane, (recorder) => {
    recorder.record(about(metadata, { note: "漢".repeat(2000), type: "Warning" }));
    recorder.record(about(metadata, { reason: "é".repeat(200), action: "𝒜".repeat(200) }));
    recorder.record(about({ ...metadata, name: "System:Odd-.Name" }, { note: "", action: "" }));
  }, "h".repeat(200));
  deepStrictEqual([dropped, records], [0, []]);
  const { items } = await kube.get(path(namespace));
  const sizes = items.map((event: Json) => new TextEncoder().encode(event.note).length);
  deepStrictEqual(sizes.sort(), [0, 10, 1023]);
});

suite.test("E4 events: a real API server takes one about a cluster-scoped object", async (plane) => {
  using kube = new Kube({ ...plane, token: plane.adminToken });
  const name = `node-${realUuid()}`;
  const gvk = { group: "", version: "v1", kind: "Node" };
  const metadata = { name, uid: name, resourceVersion: "7" };
  const { dropped } = await recording(plane, (recorder) => {
    recorder.record({ ...about(metadata), regarding: { gvk, metadata } });
  });
  strictEqual(dropped, 0);
  const { items } = await kube.get(path("default"));
  const found = items.filter((event: Json) => event.regarding.uid === name);
  deepStrictEqual(found.map((event: Json) => event.regarding), [
    { apiVersion: "v1", kind: "Node", name, uid: name, resourceVersion: "7" },
  ]);
});

suite.test("EventRecorder patches a series on a real API server, or creates it anew", async (plane) => {
  using kube = new Kube({ ...plane, token: plane.adminToken });
  const namespace = await kube.namespace("events");
  const metadata = { name: "a", namespace, uid: "u", resourceVersion: "7" };
  const eventOf = async (note: string): Promise<Json> => {
    const { items } = await kube.get(path(namespace));
    return items.find((event: Json) => event.note === note);
  };
  const written = async (note: string): Promise<Json> => {
    const events = kube.watch(`${path(namespace)}?watch=1&timeoutSeconds=30`);
    for await (const { object } of events) if (object.note === note) return object;
    throw new Error(`No event "${note}" came within 30 s`);
  };
  let patched: Json;
  let lost: Json;
  const { dropped } = await recording(plane, async (recorder) => {
    for (const note of ["kept", "lost"]) recorder.record(about(metadata, { note }));
    patched = await written("kept");
    lost = await written("lost");
    strictEqual(patched.series, undefined);
    await kube.delete(`${path(namespace)}/${lost.metadata.name}`);
    for (const note of ["kept", "lost", "lost"]) recorder.record(about(metadata, { note }));
  });
  strictEqual(dropped, 0);
  const kept = await eventOf("kept");
  strictEqual(kept.metadata.uid, patched.metadata.uid);
  strictEqual(kept.series.count, 2);
  const anew = await eventOf("lost");
  strictEqual(anew.metadata.name === lost.metadata.name, false);
  strictEqual(anew.series.count, 3);
});

suite.test("E1 events: a real namespace that is going, or gone, makes no noise", async (plane) => {
  using kube = new Kube({ ...plane, token: plane.adminToken });
  const namespace = await kube.namespace("events");
  await kube.delete(`/api/v1/namespaces/${namespace}`); // stays Terminating: nobody finalizes it
  const metadata = { name: "a", namespace, uid: "u", resourceVersion: "7" };
  const { dropped, records } = await recording(plane, (recorder) => {
    recorder.record(about(metadata));
    recorder.record(about({ ...metadata, namespace: "never-was" }, { note: "other" }));
  });
  strictEqual(dropped, 2);
  deepStrictEqual(records.map(({ level }) => level), ["debug", "debug"]);
});

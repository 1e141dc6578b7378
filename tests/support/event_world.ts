/**
 * A running event recorder on a simulated clock, and an API server for events alone.
 *
 * @module
 */

import { strictEqual } from "node:assert/strict";
import { ApiError } from "../../lib/core/errors.ts";
import {
  END_FLUSH_LIMIT_MS,
  type EventInput,
  EventRecorder,
  type EventWriter,
} from "../../lib/services/event_recorder.ts";
import { seededRandom, seededUuid, SimClock } from "../../lib/simulator/sim_clock.ts";
import { recordingLogger } from "./recording_logger.ts";

/** What the server keeps of an event. */
export interface StoredEvent {
  note: string;
  eventTime: string;
  series?: { count: number; lastObservedTime: string };
}

/** Runs before each request is served. */
export type Weather = (options: { verb: string; signal: AbortSignal }) => Promise<void> | void;

/** An API server for events, as far as a recorder sees it; `weather` goes before each request. */
function eventServer() {
  const stored = new Map<string, StoredEvent>();
  const requests: string[] = [];
  const weather: Weather = () => {};
  const server = {
    stored,
    requests,
    weather,
    client: {
      async create(event, { namespace, signal }) {
        requests.push("create");
        await server.weather({ verb: "create", signal });
        const key = `${namespace}/${event.metadata.name}`;
        if (stored.has(key)) throw new ApiError("exists", { status: 409, reason: "AlreadyExists" });
        const { note, eventTime, series } = event;
        stored.set(key, { note, eventTime, ...(series && { series }) });
      },
      async patch({ name, namespace, patch, signal }) {
        requests.push("patch");
        await server.weather({ verb: "patch", signal });
        const event = stored.get(`${namespace}/${name}`);
        if (event === undefined) throw new ApiError("gone", { status: 404, reason: "NotFound" });
        event.series = patch.body.series;
      },
    } satisfies EventWriter,
  };
  return server;
}

/** A running recorder. Leaving the scope stops it and checks that nothing is left behind. */
export function startRecorder() {
  const clock = new SimClock();
  const server = eventServer();
  const { log, records } = recordingLogger();
  const stop = new AbortController();
  const recorder = new EventRecorder({
    client: server.client,
    reportingController: "samplecontroller.k8s.io/foo-controller",
    reportingInstance: "foo-operator-0",
    clock,
    random: seededRandom(1),
    uuid: seededUuid(seededRandom(2)),
    log,
  });
  const running = recorder.run({ signal: stop.signal });
  return {
    clock,
    server,
    records,
    recorder,
    events: () => [...server.stored.values()],
    async end() {
      stop.abort();
      await clock.advance(END_FLUSH_LIMIT_MS);
      await running;
      strictEqual(clock.pendingTimers, 0);
    },
    async [Symbol.asyncDispose]() {
      await this.end();
    },
  };
}

/** Something that happened to the Foo `name`. */
export function about(name: string, fields: Partial<EventInput> = {}): EventInput {
  const gvk = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
  const metadata = { name, namespace: "ns", uid: `uid-${name}`, resourceVersion: "7" };
  const note = "Foo synced successfully";
  return {
    regarding: { gvk, metadata },
    type: "Normal",
    reason: "Synced",
    action: "Sync",
    note,
    ...fields,
  };
}

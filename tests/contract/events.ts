/**
 * Contract cases: Events in both groups, and Leases.
 *
 * @module
 */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { ContractCase } from "./backend.ts";

/** An event as operators write it. */
function event(namespace: string, name: string, rest: object = {}): Json {
  return {
    metadata: { name },
    eventTime: "2026-01-02T03:04:05.678000Z",
    reportingController: "example.com/contract",
    reportingInstance: "contract-0",
    action: "Test",
    reason: "Tested",
    type: "Normal",
    note: "hello",
    regarding: { kind: "Pod", namespace, name: "p" },
    ...rest,
  };
}

export const EVENT_CASES: readonly ContractCase[] = [
  {
    name: "lease: times want exactly six digits",
    async run(api) {
      const path = api.path("leases", "coordination.k8s.io/v1");
      const lease = await api.create(path, {
        metadata: { name: "l" },
        spec: { holderIdentity: "me", renewTime: "2026-01-02T03:04:05.678000Z" },
      });
      strictEqual(lease.spec.renewTime, "2026-01-02T03:04:05.678000Z");
      for (
        const [renewTime, rest] of [["2026-01-02T03:04:05Z", "Z"], [
          "2026-01-02T03:04:05.678Z",
          ".678Z",
        ]]
      ) {
        await api.refused(
          api.send("POST", path, { body: { metadata: { name: "m" }, spec: { renewTime } } }),
          {
            code: 400,
            reason: "BadRequest",
            message:
              `Lease in version "v1" cannot be handled as a Lease: parsing time "${renewTime}"` +
              ` as "2006-01-02T15:04:05.000000Z07:00": cannot parse "${rest}" as ".000000"`,
          },
        );
      }
      await api.refused(
        api.send("POST", path, {
          body: { metadata: { name: "m" }, spec: { leaseDurationSeconds: 0 } },
        }),
        {
          code: 422,
          reason: "Invalid",
          causes: [["FieldValueInvalid", "spec.leaseDurationSeconds"]],
        },
      );
    },
  },
  {
    name: "event: one object in both groups",
    async run(api) {
      await api.create(api.path("events", "events.k8s.io/v1"), event(api.namespace, "e"));
      const core = await api.get(api.path("events/e"));
      strictEqual(core.apiVersion, "v1");
      strictEqual(core.message, "hello");
      deepStrictEqual(core.involvedObject, { kind: "Pod", namespace: api.namespace, name: "p" });
      strictEqual(core.reportingComponent, "example.com/contract");
      deepStrictEqual(core.source, {});
      strictEqual(core.firstTimestamp, null);
      await api.create(api.path("events"), {
        metadata: { name: "old" },
        involvedObject: { kind: "Pod", namespace: api.namespace, name: "p" },
        reason: "R",
        message: "m",
        source: { component: "c" },
        type: "Normal",
        count: 1,
        firstTimestamp: "2026-01-02T03:04:05Z",
        lastTimestamp: "2026-01-02T03:04:05Z",
      });
      const { metadata: _, ...rest } = await api.get(api.path("events/old", "events.k8s.io/v1"));
      deepStrictEqual(rest, {
        kind: "Event",
        apiVersion: "events.k8s.io/v1",
        eventTime: null,
        reason: "R",
        regarding: { kind: "Pod", namespace: api.namespace, name: "p" },
        note: "m",
        type: "Normal",
        deprecatedSource: { component: "c" },
        deprecatedFirstTimestamp: "2026-01-02T03:04:05Z",
        deprecatedLastTimestamp: "2026-01-02T03:04:05Z",
        deprecatedCount: 1,
      });
    },
  },
  {
    name: "event: only its series can be changed",
    async run(api) {
      const path = api.path("events", "events.k8s.io/v1");
      await api.create(path, event(api.namespace, "e"));
      const patched = await api.merge(`${path}/e`, {
        series: { count: 2, lastObservedTime: "2026-01-02T03:04:06.678000Z" },
      });
      strictEqual(patched.series.count, 2);
      await api.refused(
        api.send("PATCH", `${path}/e`, {
          type: "application/merge-patch+json",
          body: { note: "changed" },
        }),
        { code: 422, reason: "Invalid", message: /field is immutable$/ },
      );
    },
  },
  {
    name: "event: missing and malformed fields are refused",
    async run(api) {
      const path = api.path("events", "events.k8s.io/v1");
      const cases: [object, number, RegExp][] = [
        [{ eventTime: undefined }, 422, /eventTime: Required value$/],
        [{ eventTime: "2026-01-02T03:04:05.678Z" }, 400, /cannot parse "\.678Z" as "\.000000"$/],
        [{ reportingController: "" }, 422, /reportingController: Required value/],
        [{ reportingInstance: "i".repeat(129) }, 422, /can have at most 128 characters/],
        [{ action: "" }, 422, /action: Required value$/],
        [{ note: "n".repeat(1025) }, 422, /can have at most 1024 characters/],
        [{ type: "Odd" }, 422, /type: /],
        [
          { regarding: { kind: "Node", name: "n" } },
          422,
          /does not match event\.namespace/,
        ],
      ];
      for (const [change, code, message] of cases) {
        await api.refused(
          api.send("POST", path, { body: event(api.namespace, "e", change) }),
          { code, reason: code === 400 ? "BadRequest" : "Invalid", message },
        );
      }
    },
  },
  {
    name: "event: its namespace is that of what it is about, default for cluster-scoped objects",
    async run(api) {
      const core = (namespace: string | undefined) => ({
        metadata: { name: "e" },
        involvedObject: { kind: "Node", name: "n", namespace },
      });
      for (const namespace of [undefined, "other"]) {
        await api.refused(api.send("POST", api.path("events"), { body: core(namespace) }), {
          code: 422,
          reason: "Invalid",
          message: `Event "e" is invalid: involvedObject.namespace: Invalid value: ` +
            `"${namespace ?? ""}": does not match event.namespace`,
        });
      }
      const path = "/apis/events.k8s.io/v1/namespaces/default/events";
      const about = event("default", api.namespace, { regarding: { kind: "Node", name: "n" } });
      await api.create(path, about);
      await api.done("DELETE", `${path}/${api.namespace}`);
    },
  },
];

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { JsonObject } from "../../lib/core/json.ts";
import { deepFreeze, type ManagedFieldsEntry } from "../../lib/core/objects.ts";
import { trackUpdate, type TrackUpdateOptions } from "../../lib/simulator/managed_fields.ts";
import { StructuralSchema } from "../../lib/simulator/structural_schema.ts";

const SCHEMA = StructuralSchema.compile({
  type: "object",
  properties: {
    spec: { type: "object", additionalProperties: { type: "string" } },
    status: { type: "object", properties: { n: { type: "integer" } } },
  },
});

function object(spec: JsonObject, metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return deepFreeze({
    apiVersion: "x.io/v1",
    kind: "X",
    metadata: { name: "n", ...metadata },
    spec,
    ...rest,
  });
}

function track(options: Partial<TrackUpdateOptions>): ManagedFieldsEntry[] {
  return trackUpdate({
    before: undefined,
    after: object({}),
    manager: "m",
    schema: SCHEMA,
    hasStatus: true,
    nowMs: 0,
    ...options,
  });
}

/** `object` as it is stored after `entries`. */
function stored(after: JsonObject, entries: readonly ManagedFieldsEntry[]): JsonObject {
  const { metadata } = after;
  const managedFields = JSON.parse(JSON.stringify(entries));
  return deepFreeze({ ...after, metadata: { ...Object(metadata), managedFields } });
}

Deno.test("trackUpdate() owns neither identity nor what the server writes", () => {
  const entries = track({
    after: object({ a: "1" }, {
      namespace: "ns",
      uid: "u",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { l: "1" },
      finalizers: ["a.io/b"],
      ownerReferences: [{ apiVersion: "v1", kind: "A", name: "a", uid: "u1" }],
    }),
  });
  deepStrictEqual(entries, [{
    manager: "m",
    operation: "Update",
    apiVersion: "x.io/v1",
    time: "1970-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": {
        "f:finalizers": { ".": {}, 'v:"a.io/b"': {} },
        "f:labels": { ".": {}, "f:l": {} },
        "f:ownerReferences": { ".": {}, 'k:{"uid":"u1"}': {} },
      },
      "f:spec": { ".": {}, "f:a": {} },
    },
  }]);
});

Deno.test("trackUpdate() keeps the time of a manager that changed nothing", () => {
  const first = object({ a: "1" });
  const before = stored(first, track({ after: first }));
  const entries = track({ before, after: before, nowMs: 60_000 });
  deepStrictEqual(entries.map(({ time }) => time), ["1970-01-01T00:00:00Z"]);
  const again = track({ before, after: object({ a: "2" }), nowMs: 60_000 });
  deepStrictEqual(again.map(({ time }) => time), ["1970-01-01T00:01:00Z"]);
});

Deno.test("trackUpdate() keeps status and spec apart", () => {
  const first = object({ a: "1" });
  const before = stored(first, track({ after: first }));
  const after = object({ a: "1" }, {}, { status: { n: 1 } });
  const byStatus = track({ before, after, subresource: "status" });
  deepStrictEqual(
    byStatus.map(({ subresource, fieldsV1 }) => [subresource, fieldsV1]),
    [[undefined, { "f:spec": { ".": {}, "f:a": {} } }], [
      "status",
      { "f:status": { ".": {}, "f:n": {} } },
    ]],
  );
  deepStrictEqual(track({ before, after }).length, 1);
});

Deno.test("trackUpdate() tells a free value that changes its shape, with all that was in it", () => {
  const schema = StructuralSchema.compile({
    type: "object",
    properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  });
  const owners = (from: JsonObject, to: JsonObject) => {
    const first = object(from);
    const before = stored(first, track({ schema, after: first, manager: "a" }));
    return track({ schema, before, after: object(to), manager: "b" })
      .map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
  };
  deepStrictEqual(owners({ q: { r: { t: 1 } } }, { q: 1 }), [
    ["a", { "f:spec": {} }],
    ["b", { "f:spec": { "f:q": {} } }],
  ]);
  deepStrictEqual(owners({ q: [1] }, { q: { t: 1 } }), [
    ["a", { "f:spec": {} }],
    ["b", { "f:spec": { "f:q": { ".": {}, "f:t": {} } } }],
  ]);
});

Deno.test("trackUpdate() leaves an object without entries alone, and resets by [{}]", () => {
  deepStrictEqual(track({ before: object({ a: "1" }), after: object({ a: "2" }) }), []);
  const first = object({ a: "1" });
  const before = stored(first, track({ after: first }));
  deepStrictEqual(track({ before, after: object({ a: "2" }, { managedFields: [{}] }) }), []);
  strictEqual(track({ before, after: object({ a: "2" }, { managedFields: [] }) }).length, 1);
});

Deno.test("trackUpdate() folds the oldest of more than ten updaters into one", () => {
  let current = object({});
  for (let index = 0; index < 14; index++) {
    const spec = { ...Object(current["spec"]), [`k${index}`]: "v" };
    const after = object(spec);
    const before = index === 0 ? undefined : current;
    const manager = `m${String(index).padStart(2, "0")}`;
    current = stored(after, track({ before, after, manager, nowMs: index * 1000 }));
  }
  const entries = track({ before: current, after: current, nowMs: 99_000 });
  deepStrictEqual(entries.map(({ manager }) => manager), [
    "ancient-changes",
    ...["05", "06", "07", "08", "09", "10", "11", "12", "13"].map((index) => `m${index}`),
  ]);
  deepStrictEqual(entries[0]?.fieldsV1, {
    "f:spec": { ".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}, "f:k4": {} },
  });
});

import { deepStrictEqual, match, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  eventDraft,
  type EventInput,
  eventName,
  seriesKey,
  truncated,
} from "../../lib/services/event_draft.ts";
import { seededRandom, seededUuid } from "../../lib/simulator/sim_clock.ts";

const FOO = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
const WALL_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const source = {
  reportingController: "samplecontroller.k8s.io/foo-controller",
  reportingInstance: "foo-operator-0",
};
const uuid = () => "01234567-89ab-4def-8123-456789abcdef";

function input(fields: Partial<EventInput> = {}): EventInput {
  const metadata = { name: "a", namespace: "ns", uid: "u", resourceVersion: "7" };
  return {
    regarding: { gvk: FOO, metadata },
    type: "Normal",
    reason: "Synced",
    action: "Sync",
    note: "Foo synced successfully",
    ...fields,
  };
}

const draftOf = (fields: Partial<EventInput> = {}) =>
  eventDraft(input(fields), { source, wallMs: WALL_MS, uuid });
const bytes = (text: string) => new TextEncoder().encode(text).length;

Deno.test("L1 events: eventDraft() is what the API server takes, its time with six digits", () => {
  deepStrictEqual(draftOf(), {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "a.0123456789ab4def", namespace: "ns" },
    eventTime: "2026-01-02T03:04:05.678000Z",
    reportingController: "samplecontroller.k8s.io/foo-controller",
    reportingInstance: "foo-operator-0",
    type: "Normal",
    reason: "Synced",
    action: "Sync",
    note: "Foo synced successfully",
    regarding: {
      apiVersion: "samplecontroller.k8s.io/v1alpha1",
      kind: "Foo",
      name: "a",
      namespace: "ns",
      uid: "u",
      resourceVersion: "7",
    },
  });
});

Deno.test("E4 events: one about a cluster-scoped object lies in the namespace default", () => {
  const gvk = { group: "", version: "v1", kind: "Node" };
  for (const namespace of [{}, { namespace: "" }]) {
    const metadata = { name: "n", uid: "u", resourceVersion: "7", ...namespace };
    const draft = draftOf({ regarding: { gvk, metadata } });
    strictEqual(draft.metadata.namespace, "default");
    strictEqual("namespace" in draft.regarding, false);
    deepStrictEqual([draft.regarding.apiVersion, draft.regarding.kind], ["v1", "Node"]);
  }
});

Deno.test("E2 events: whatever is too long is cut at a character, in bytes", () => {
  const draft = eventDraft(
    input({ note: "漢".repeat(2000), reason: "é".repeat(100), action: "𝒜".repeat(50) }),
    { source: { ...source, reportingInstance: "h".repeat(200) }, wallMs: WALL_MS, uuid },
  );
  strictEqual(draft.note, "漢".repeat(340) + "…");
  strictEqual(draft.reason, "é".repeat(62) + "…");
  strictEqual(draft.action, "𝒜".repeat(31) + "…");
  strictEqual(draft.reportingInstance, "h".repeat(125) + "…");
});

Deno.test("E2 events: truncated() fits, keeps whole characters and leaves short text alone", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 });
  fc.assert(fc.property(text, fc.integer({ min: 3, max: 80 }), (text, maxBytes) => {
    const cut = truncated(text, maxBytes);
    ok(bytes(cut) <= maxBytes && cut.isWellFormed());
    if (bytes(text) <= maxBytes) strictEqual(cut, text);
    else {
      ok(cut.endsWith("…") && text.startsWith(cut.slice(0, -1)));
      ok(bytes(cut) > maxBytes - 4, "no more is cut than needed"); // a character has up to 4 bytes
    }
  }));
  strictEqual(truncated("a\ud800b", 100), "a\ufffdb");
});

Deno.test("E2 events: eventName() is a DNS subdomain for any object's name, and unique", () => {
  const newUuid = seededUuid(seededRandom(1));
  const names = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.stringMatching(/^[a-z0-9.-]{0,300}$/),
    fc.constantFrom("system:node", "A.b-.c", "...", "-", "", "a".repeat(253), "a-".repeat(150)),
  );
  fc.assert(fc.property(names, (name) => {
    const made = eventName(name, newUuid);
    match(made, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    ok(made.length <= 253);
    notStrictEqual(made, eventName(name, newUuid));
  }));
  strictEqual(eventName("my-foo.v1", uuid), "my-foo.v1.0123456789ab4def");
});

Deno.test("eventDraft() never leaves the action empty, which the API server refuses", () => {
  strictEqual(draftOf({ action: "" }).action, "Synced");
});

Deno.test("seriesKey() tells by object, type, reason, action and note what is a repeat", () => {
  const metadata = { name: "a", namespace: "ns", uid: "u", resourceVersion: "8" };
  const same = draftOf({ regarding: { gvk: FOO, metadata } }); // the object changed since
  strictEqual(seriesKey(same), seriesKey(draftOf()));
  const others = [
    draftOf({ regarding: { gvk: FOO, metadata: { ...metadata, uid: "u2" } } }),
    draftOf({ type: "Warning" }),
    draftOf({ reason: "Other" }),
    draftOf({ action: "Other" }),
    draftOf({ note: "Other" }),
  ];
  strictEqual(new Set([same, ...others].map(seriesKey)).size, 6);
});

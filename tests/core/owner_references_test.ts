import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import type { OwnerReference } from "../../lib/core/objects.ts";
import {
  AlreadyOwnedError,
  CrossNamespaceError,
  planAdoption,
  withController,
} from "../../lib/core/owner_references.ts";

const gvk = { group: "example.com", version: "v1", kind: "Backup" };
const namespaced = { gvk, scope: "Namespaced" } as const;
const cluster = { gvk, scope: "Cluster" } as const;
const owner = { metadata: { name: "a", namespace: "default", uid: "1" } };

const OURS: OwnerReference = {
  apiVersion: "example.com/v1",
  kind: "Backup",
  name: "a",
  uid: "1",
  controller: true,
  blockOwnerDeletion: true,
};
const THEIRS = { ...OURS, uid: "2" };

function child(ownerReferences?: OwnerReference[], namespace = "default") {
  const metadata = { name: "job", namespace };
  return { metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) } };
}

Deno.test("R7 withController() refers to the served version, by uid, and keeps other references", () => {
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "9" };
  const before = Object.freeze(child([other]));
  const after = withController(before, owner, namespaced);
  deepStrictEqual(after.metadata.ownerReferences, [other, OURS]);
  deepStrictEqual(before, child([other]));
  deepStrictEqual(withController(after, owner, namespaced), after);
});

Deno.test("withController() makes a plain reference to the owner the controlling one", () => {
  const { controller: _, ...plain } = OURS;
  const after = withController(child([plain]), owner, namespaced);
  deepStrictEqual(after.metadata.ownerReferences, [OURS]);
});

Deno.test("R7 owner references: another namespace, or none, is refused; a cluster-scoped owner reaches all", () => {
  throws(() => withController(child([], "other"), owner, namespaced), CrossNamespaceError);
  throws(() => withController({ metadata: { name: "node" } }, owner, namespaced), {
    name: "CrossNamespaceError",
    message: 'Cannot own "node" in no namespace: Backup "a" is in default',
  });
  throws(() => planAdoption(child([], "other"), owner, namespaced), CrossNamespaceError);
  const site = { metadata: { name: "site", uid: "1" } };
  strictEqual(withController(child(), site, cluster).metadata.ownerReferences.length, 1);
  strictEqual(withController({ metadata: {} }, site, cluster).metadata.ownerReferences.length, 1);
});

Deno.test("R6 withController() refuses what another controls, also one of the same name", () => {
  throws(() => withController(child([THEIRS]), owner, namespaced), (error) => {
    ok(error instanceof AlreadyOwnedError);
    strictEqual(error.owner?.uid, "2");
    strictEqual(
      error.message,
      'Cannot own "default/job": Backup "a" (uid 2) controls it',
    );
    return true;
  });
});

Deno.test("planAdoption() adopts only what nobody controls, while both live", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const dying = (object: ReturnType<typeof child>) => ({
    metadata: { ...object.metadata, deletionTimestamp },
  });
  const goingOwner = { metadata: { ...owner.metadata, deletionTimestamp } };
  const plan = (found: ReturnType<typeof child>, by = owner) => planAdoption(found, by, namespaced);
  deepStrictEqual(plan(child([OURS])), { type: "owned" });
  deepStrictEqual(plan(child()), { type: "adopt", ownerReferences: [OURS] });
  deepStrictEqual(plan(child([THEIRS])), { type: "foreign", owner: THEIRS });
  deepStrictEqual(plan(dying(child([THEIRS]))), { type: "foreign", owner: THEIRS });
  deepStrictEqual(plan(dying(child([OURS]))), { type: "wait" });
  deepStrictEqual(plan(dying(child())), { type: "wait" });
  deepStrictEqual(plan(child(), goingOwner), { type: "wait" });
  deepStrictEqual(plan(child([OURS]), goingOwner), { type: "owned" });
});

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { finalizerAddition, finalizerRemoval, hasFinalizer } from "../../lib/core/finalizers.ts";
import { applyJsonPatch } from "../../lib/core/patch_json.ts";

const NAME = "example.com/backup";
const metadata = { uid: "u", resourceVersion: "7" };
const deletionTimestamp = "2026-01-01T00:00:00Z";

Deno.test("finalizerAddition() keeps others' names, and asks for the version that it saw", () => {
  deepStrictEqual(finalizerAddition({ metadata }, NAME), {
    metadata: { ...metadata, finalizers: [NAME] },
  });
  const object = { metadata: { ...metadata, finalizers: ["other"] } };
  deepStrictEqual(finalizerAddition(object, NAME)?.metadata.finalizers, ["other", NAME]);
});

Deno.test("finalizerAddition() adds nothing twice, and nothing to what is being deleted", () => {
  strictEqual(
    finalizerAddition({ metadata: { ...metadata, finalizers: [NAME] } }, NAME),
    undefined,
  );
  strictEqual(finalizerAddition({ metadata: { ...metadata, deletionTimestamp } }, NAME), undefined);
});

Deno.test("finalizerRemoval() removes the one name, wherever it stands, and fails where it moved", () => {
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", NAME), { maxLength: 4 });
  fc.assert(fc.property(names, names, (seen, stored) => {
    const patch = finalizerRemoval({ metadata: { ...metadata, finalizers: seen } }, NAME);
    strictEqual(patch === undefined, !seen.includes(NAME));
    if (patch === undefined) return;
    const apply = () => applyJsonPatch({ metadata: { ...metadata, finalizers: stored } }, patch);
    if (stored[seen.indexOf(NAME)] !== NAME) return void throws(apply);
    const finalizers = stored.filter((name) => name !== NAME);
    deepStrictEqual(apply(), { metadata: { ...metadata, finalizers } });
  }));
});

Deno.test("finalizerRemoval() fails on an object that was made anew", () => {
  const object = { metadata: { ...metadata, finalizers: [NAME] } };
  const patch = finalizerRemoval(object, NAME) ?? [];
  throws(() => applyJsonPatch({ metadata: { ...object.metadata, uid: "other" } }, patch));
  strictEqual(hasFinalizer({ metadata }, NAME), false);
});

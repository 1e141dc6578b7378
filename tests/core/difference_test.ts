import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { missingIn } from "../../lib/core/difference.ts";
import type { Json } from "../../lib/core/json.ts";
import { applyMergePatch } from "../../lib/core/patch_merge.ts";

Deno.test("R1 missingIn() finds nothing in what a server made of the wanted state", () => {
  const wanted = {
    metadata: { labels: {}, annotations: undefined },
    spec: { replicas: 0, template: { containers: [{ name: "a", image: "x" }], volumes: [] } },
  };
  const stored = {
    metadata: { labels: { injected: "by someone" }, uid: "1" },
    spec: {
      replicas: 0,
      strategy: { type: "RollingUpdate" },
      template: { containers: [{ image: "x", name: "a", pullPolicy: "Always" }] },
    },
    status: { replicas: 2 },
  };
  strictEqual(missingIn(stored, wanted), undefined);
});

Deno.test("missingIn() sends what differs and no more", () => {
  const found = { a: { b: 1, c: 2 }, list: [{ n: 1, d: 0 }, { n: 2 }], gone: "x", text: "t" };
  deepStrictEqual(missingIn(found, { a: { b: 2 } }), { a: { b: 2 } });
  deepStrictEqual(missingIn(found, { list: [{ n: 1 }, { n: 3 }] }), { list: [{ n: 1 }, { n: 3 }] });
  deepStrictEqual(missingIn(found, { list: [{ n: 1 }] }), { list: [{ n: 1 }] });
  deepStrictEqual(missingIn(found, { list: [] }), { list: [] });
  deepStrictEqual(missingIn(found, { gone: null, text: "t" }), { gone: null });
  deepStrictEqual(missingIn(found, { text: { now: "an object" } }), { text: { now: "an object" } });
  deepStrictEqual(missingIn(undefined, { a: { b: 1 } }), { a: { b: 1 } });
  strictEqual(missingIn(found, { absent: null, empty: {}, none: [] }), undefined);
});

Deno.test("missingIn() is satisfied by its own patch, whatever the states", () => {
  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(null, true, 0, 1, "a"),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "c"), tie("json"), { maxKeys: 3 }),
    ),
  }));
  fc.assert(fc.property(json, json, (found, wanted) => {
    const patch = missingIn(found, wanted);
    if (patch === undefined) return;
    strictEqual(missingIn(applyMergePatch(found, patch), wanted), undefined);
  }));
});

import { deepStrictEqual, notStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { AssertionError } from "../../lib/core/errors.ts";
import { hasNamespace, inScope, selectionsOf, textOfScope } from "../../lib/cache/scope.ts";
import { thing } from "./objects.ts";

Deno.test("selectionsOf() gives one source for all, or one a namespace", () => {
  deepStrictEqual([...selectionsOf({})], [["", {}]]);
  const scope = { namespaces: ["a", "b", "a"], labelSelector: "x=y", fieldSelector: "f=g" };
  const selected = { labelSelector: "x=y", fieldSelector: "f=g" };
  deepStrictEqual([...selectionsOf(scope)], [
    ["a", { ...selected, namespace: "a" }],
    ["b", { ...selected, namespace: "b" }],
  ]);
});

Deno.test("selectionsOf() leaves namespaces out by a field selector, beside the caller's own", () => {
  deepStrictEqual(
    [...selectionsOf({ namespaces: { allBut: ["z", "y", "z"] }, fieldSelector: "type=Opaque" })],
    [["", { fieldSelector: "type=Opaque,metadata.namespace!=y,metadata.namespace!=z" }]],
  );
});

Deno.test("selectionsOf() refuses what would select nothing, or makes no sense", () => {
  throws(() => selectionsOf({ namespaces: [] }), AssertionError);
  throws(() => selectionsOf({ namespaces: [""] }), AssertionError);
  throws(() => selectionsOf({ namespaces: { allBut: [] } }), AssertionError);
  throws(() => selectionsOf({ labelSelector: "a in" }), SyntaxError);
});

Deno.test("textOfScope() is the same for the same objects, and another for others", () => {
  strictEqual(
    textOfScope({ namespaces: ["b", "a", "b"] }),
    textOfScope({ namespaces: ["a", "b"] }),
  );
  const scopes = [
    {},
    { namespaces: ["a"] },
    { namespaces: { allBut: ["a"] } },
    { labelSelector: "a=b" },
    { fieldSelector: "a=b" },
    { metadataOnly: true },
  ];
  strictEqual(new Set(scopes.map(textOfScope)).size, scopes.length);
  notStrictEqual(textOfScope({ labelSelector: "a=b" }), textOfScope({ labelSelector: "a=c" }));
});

Deno.test("inScope() agrees with the selections, for any namespaces", () => {
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 });
  fc.assert(fc.property(names, fc.constantFrom("a", "b", "c", "d"), (chosen, namespace) => {
    const object = thing("x", { version: 1, namespace });
    const several = selectionsOf({ namespaces: chosen });
    strictEqual(inScope({ namespaces: chosen }, object), several.has(namespace));
    strictEqual(inScope({ namespaces: { allBut: chosen } }, object), !several.has(namespace));
    strictEqual(hasNamespace({ namespaces: chosen }, namespace), several.has(namespace));
  }));
});

Deno.test("inScope() decides by labels, name and namespace, and says where only the server can", () => {
  const object = thing("x", { version: 1 });
  object.metadata.labels = { app: "web" };
  strictEqual(inScope({ labelSelector: "app in (web,db)" }, object), true);
  strictEqual(inScope({ labelSelector: "app=db" }, object), false);
  strictEqual(inScope({ fieldSelector: "metadata.name=x,metadata.namespace!=y" }, object), true);
  strictEqual(inScope({ fieldSelector: "metadata.name=z,status.phase=Up" }, object), false);
  strictEqual(inScope({ fieldSelector: "metadata.name=x,status.phase=Up" }, object), undefined);
});

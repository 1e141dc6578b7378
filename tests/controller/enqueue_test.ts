import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { StoreChange } from "../../lib/cache/store.ts";
import { enqueueChanges, type EnqueueOptions, specChanged } from "../../lib/controller/enqueue.ts";
import { toController, toSelf } from "../../lib/controller/mappers.ts";
import { generationChanged } from "../../lib/controller/predicates.ts";
import type { KubeObject, ObjectMeta } from "../../lib/core/objects.ts";
import { recordingLogger } from "../support/recording_logger.ts";

function foo(name: string, meta: Partial<ObjectMeta> = {}): KubeObject {
  const fixed = { uid: `uid-${name}`, resourceVersion: "1", creationTimestamp: "" };
  return {
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    metadata: { name, namespace: "default", generation: 1, ...fixed, ...meta },
  };
}

const added = (object: KubeObject): StoreChange<KubeObject> => {
  return { type: "added", object, initial: false };
};

/** Connects a source that the test drives; `calls` is what reached the queue. */
function connect(options: Partial<EnqueueOptions<KubeObject, string>> = {}) {
  const calls: string[] = [];
  const { log, records } = recordingLogger();
  let emit: (change: StoreChange<KubeObject>) => void = () => {};
  const registration = enqueueChanges({
    name: "foo/self",
    source: {
      addHandler(handler, { name }) {
        emit = (change) => handler.onChange(change);
        return `registration of ${name}`;
      },
    },
    queue: {
      add: (key) => calls.push(`add ${key}`),
      forget: (key) => calls.push(`forget ${key}`),
    },
    mapper: toSelf,
    log,
    ...options,
  });
  return { calls, records, registration, emit: (change: StoreChange<KubeObject>) => emit(change) };
}

Deno.test("enqueueChanges() adds the keys of what happened and gives the source's registration", () => {
  const { calls, emit, registration } = connect();
  strictEqual(registration, "registration of foo/self");
  emit(added(foo("a")));
  emit({ type: "updated", object: foo("b", { generation: 2 }), previous: foo("b") });
  emit({ type: "deleted", last: foo("c"), certain: false });
  deepStrictEqual(calls, ["add default/a", "add default/b", "add default/c"]);
});

Deno.test("enqueueChanges() wakes the old and the new owner of an object that changes hands", () => {
  const gvk = { group: "samplecontroller.k8s.io", version: "v1alpha1", kind: "Foo" };
  const { calls, emit } = connect({ mapper: toController({ gvk, scope: "Namespaced" }) });
  const ownedBy = (name: string) => {
    const apiVersion = "samplecontroller.k8s.io/v1alpha1";
    const reference = { apiVersion, kind: "Foo", name, uid: "1", controller: true };
    return foo("web", { ownerReferences: [reference] });
  };
  emit({ type: "updated", object: ownedBy("new"), previous: ownedBy("old") });
  deepStrictEqual(calls, ["add default/new", "add default/old"]);
});

Deno.test("enqueueChanges() leaves out what the predicate stops", () => {
  const { calls, emit } = connect({ predicate: generationChanged });
  const status = foo("a", { resourceVersion: "2" });
  emit({ type: "updated", object: status, previous: foo("a") });
  deepStrictEqual(calls, []);
});

Deno.test("Q4 enqueue: a changed spec or a deletion makes past failures void, nothing else does", () => {
  const { calls, emit } = connect({ resetsBackoff: specChanged });
  emit(added(foo("a")));
  emit({ type: "updated", object: foo("b", { resourceVersion: "2" }), previous: foo("b") });
  deepStrictEqual(calls.splice(0), ["add default/a", "add default/b"]);
  emit({ type: "updated", object: foo("c", { generation: 2 }), previous: foo("c") });
  emit({ type: "updated", object: foo("d", { deletionTimestamp: "now" }), previous: foo("d") });
  emit({ type: "deleted", last: foo("e"), certain: true });
  deepStrictEqual(
    calls,
    ["c", "d", "e"].flatMap((name) => [`forget default/${name}`, `add default/${name}`]),
  );
});

Deno.test("S2 enqueue: errors of predicates and mappers are told and cost no other change", () => {
  const errors: unknown[] = [];
  const failFor = (name: string) => (object: KubeObject) => {
    if (object.metadata.name === name) throw new Error(`no ${name}`);
  };
  const { calls, records, emit } = connect({
    predicate(change) {
      if (change.type === "added") failFor("a")(change.object);
      return true;
    },
    mapper(object) {
      failFor("b")(object);
      return toSelf(object);
    },
    resetsBackoff() {
      throw new Error("no reset");
    },
    onError: (error) => errors.push(error),
  });
  emit(added(foo("a"))); // a predicate that fails lets through
  emit(added(foo("b")));
  emit({ type: "updated", object: foo("c"), previous: foo("b") });
  deepStrictEqual(calls, ["add default/a", "add default/c"]);
  deepStrictEqual(
    records.map(({ level, fields }) => [level, fields.part, fields.key, fields.error]),
    [
      ["error", "predicate", "default/a", "no a"],
      ["error", "resetsBackoff", "default/a", "no reset"],
      ["error", "resetsBackoff", "default/b", "no reset"],
      ["error", "mapper", "default/b", "no b"],
      ["error", "resetsBackoff", "default/c", "no reset"],
      ["error", "mapper", "default/c", "no b"],
    ],
  );
  strictEqual(errors.length, 6);
});

Deno.test("enqueueChanges() puts the first list and resyncs behind changes, and says why", () => {
  const added: unknown[] = [];
  const { emit } = connect({
    queue: {
      add: (key, options) => added.push([key, options?.priority, options?.reason]),
      forget: () => {},
    },
  });
  const a = foo("a");
  emit({ type: "added", object: a, initial: true });
  emit({ type: "added", object: a, initial: false });
  emit({ type: "updated", object: a, previous: a });
  emit({ type: "updated", object: foo("a"), previous: a });
  emit({ type: "deleted", last: a, certain: true });
  deepStrictEqual(
    added,
    [
      ["low", "initial"],
      ["normal", "added"],
      ["low", "resync"],
      ["normal", "updated"],
      ["normal", "deleted"],
    ].map(([priority, type]) => ["default/a", priority, { type, source: "foo/self" }]),
  );
});

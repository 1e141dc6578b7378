import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { StoreChange } from "../../lib/cache/store.ts";
import {
  and,
  annotationsChanged,
  generationChanged,
  labelsChanged,
  not,
  or,
  type Predicate,
  resourceVersionChanged,
} from "../../lib/controller/predicates.ts";
import type { KubeObject, ObjectMeta } from "../../lib/core/objects.ts";

function foo(meta: Partial<ObjectMeta> = {}): KubeObject {
  const fixed = { name: "a", uid: "1", resourceVersion: "1", creationTimestamp: "" };
  return { apiVersion: "example.com/v1", kind: "Foo", metadata: { ...fixed, ...meta } };
}

const update = (before: Partial<ObjectMeta>, now: Partial<ObjectMeta>): StoreChange<KubeObject> => {
  return { type: "updated", previous: foo(before), object: foo({ resourceVersion: "2", ...now }) };
};

const PREDICATES = { generationChanged, labelsChanged, annotationsChanged, resourceVersionChanged };

/** Names of the predicates that let `change` through. */
function passing(change: StoreChange<KubeObject>): string[] {
  return Object.entries(PREDICATES).filter(([, keeps]) => keeps(change)).map(([name]) => name);
}

const all = Object.keys(PREDICATES);

Deno.test("predicates let additions, deletions and made-anew objects through", () => {
  deepStrictEqual(passing({ type: "added", object: foo(), initial: true }), all);
  deepStrictEqual(passing({ type: "deleted", last: foo(), certain: true }), all);
  const same = { generation: 1, resourceVersion: "1" };
  deepStrictEqual(passing(update({ ...same, uid: "1" }, { ...same, uid: "2" })), all);
});

Deno.test("predicates judge an update by what they are named for", () => {
  const only = (name: string) => [name, "resourceVersionChanged"];
  const steady = { generation: 1 };
  deepStrictEqual(passing(update(steady, steady)), ["resourceVersionChanged"]);
  deepStrictEqual(passing(update(steady, { generation: 2 })), only("generationChanged"));
  deepStrictEqual(
    passing(update(steady, { ...steady, deletionTimestamp: "now" })),
    only("generationChanged"),
  );
  for (
    const [field, name] of [["labels", "labelsChanged"], ["annotations", "annotationsChanged"]]
  ) {
    const maps = (before?: Record<string, string>, now?: Record<string, string>) =>
      passing(update(
        { ...steady, ...(before && { [String(field)]: before }) },
        { ...steady, ...(now && { [String(field)]: now }) },
      ));
    deepStrictEqual(maps({ x: "1" }, { x: "2" }), only(String(name)));
    deepStrictEqual(maps(undefined, { x: "1" }), only(String(name)));
    deepStrictEqual(maps({ x: "1", y: "2" }, { x: "1" }), only(String(name)));
    deepStrictEqual(maps({ x: "1" }, { y: "1" }), only(String(name)));
    deepStrictEqual(maps({ x: "1", y: "2" }, { y: "2", x: "1" }), ["resourceVersionChanged"]);
    deepStrictEqual(maps({}, undefined), ["resourceVersionChanged"]);
  }
});

Deno.test("generationChanged() lets updates of kinds without a generation through", () => {
  strictEqual(generationChanged(update({}, {})), true);
  strictEqual(generationChanged(update({}, { resourceVersion: "1" })), false);
});

Deno.test("predicates stop a resync, and not(resourceVersionChanged) is one", () => {
  const object = foo({ generation: 1 });
  const resync: StoreChange<KubeObject> = { type: "updated", object, previous: object };
  deepStrictEqual(passing(resync), []);
  strictEqual(or(generationChanged, not(resourceVersionChanged))(resync), true);
});

Deno.test("and(), or() and not() combine, and ask no more than they need", () => {
  const asked: string[] = [];
  const says = (answer: boolean): Predicate<KubeObject> => () => {
    asked.push(String(answer));
    return answer;
  };
  const change = update({}, {});
  strictEqual(and(says(true), says(false), says(true))(change), false);
  strictEqual(or(says(false), says(true), says(false))(change), true);
  deepStrictEqual(asked, ["true", "false", "false", "true"]);
  strictEqual(not(says(true))(change), false);
  deepStrictEqual([and()(change), or()(change)], [true, false]);
});

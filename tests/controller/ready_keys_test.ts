import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { type Link, LinkedList } from "../../lib/controller/linked_list.ts";
import { PASSES_MAX, type Priority, ReadyKeys } from "../../lib/controller/ready_keys.ts";
import { AssertionError } from "../../lib/core/errors.ts";

function takeAll(ready: ReadyKeys<string>): string[] {
  const keys: string[] = [];
  for (let key = ready.shift(); key !== undefined; key = ready.shift()) keys.push(key);
  return keys;
}

const groupOf = (key: string) => key.split("/")[0] ?? "";

Deno.test("LinkedList does what an array does, however it is taken from", () => {
  const step = fc.oneof(
    fc.constant({ type: "push" as const }),
    fc.constant({ type: "shift" as const }),
    fc.nat().map((at) => ({ type: "remove" as const, at })),
  );
  fc.assert(fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
    const list = new LinkedList<number>();
    const model: number[] = [];
    const links = new Map<number, Link<number>>();
    steps.forEach((step, n) => {
      if (step.type === "push") {
        model.push(n);
        links.set(n, list.push(n));
      } else if (step.type === "shift") {
        strictEqual(list.shift(), model.shift());
      } else {
        const link = links.get(step.at % (n + 1)); // perhaps of a value that has gone
        if (link === undefined) return;
        list.remove(link);
        if (model.includes(link.value)) model.splice(model.indexOf(link.value), 1);
      }
      strictEqual(list.size, model.length);
    });
    while (model.length > 0) strictEqual(list.shift(), model.shift());
    strictEqual(list.shift(), undefined);
  }));
});

Deno.test("ReadyKeys lets groups take turns, each in its own order", () => {
  const ready = new ReadyKeys<string>();
  for (const key of ["x/1", "x/2", "x/3", "y/1", "x/4", "y/2", "z/1"]) {
    ready.push(key, { group: groupOf(key), priority: "normal" });
  }
  deepStrictEqual(takeAll(ready), ["x/1", "y/1", "z/1", "x/2", "y/2", "x/3", "x/4"]);
  strictEqual(ready.size, 0);
});

Deno.test("ReadyKeys hands out low keys last, but one after every few that passed them", () => {
  const ready = new ReadyKeys<string>();
  for (let n = 0; n < 3; n++) ready.push(`low${n}`, { group: "", priority: "low" });
  for (let n = 0; n < 2 * PASSES_MAX + 1; n++) {
    ready.push(`live${n}`, { group: "", priority: "normal" });
  }
  const keys = takeAll(ready);
  strictEqual(keys.indexOf("low0"), PASSES_MAX);
  strictEqual(keys.indexOf("low1"), 2 * PASSES_MAX + 1);
  deepStrictEqual(keys.slice(-2), [`live${2 * PASSES_MAX}`, "low2"]);
});

Deno.test("ReadyKeys ages low keys only by those that pass them", () => {
  const ready = new ReadyKeys<string>();
  for (let n = 0; n < 5 * PASSES_MAX; n++) ready.push(`${n}`, { group: "", priority: "normal" });
  for (let n = 0; n < 3 * PASSES_MAX; n++) ready.shift();
  ready.push("low", { group: "", priority: "low" }); // is new, whatever went before
  for (let n = 0; n < PASSES_MAX; n++) ok(ready.shift() !== "low");
  strictEqual(ready.shift(), "low");
});

Deno.test("ReadyKeys.raise() moves a low key behind the normal ones of its group", () => {
  const ready = new ReadyKeys<string>();
  for (const key of ["x/a", "x/b", "y/a"]) {
    ready.push(key, { group: groupOf(key), priority: "low" });
  }
  ready.push("x/c", { group: "x", priority: "normal" });
  ready.raise("x/b");
  ready.raise("x/c"); // is normal
  ready.raise("x/d"); // is not there
  deepStrictEqual(takeAll(ready), ["x/c", "x/b", "x/a", "y/a"]);
});

Deno.test("ReadyKeys refuses a key twice, and forgets all when cleared", () => {
  const ready = new ReadyKeys<string>();
  ready.push("a", { group: "", priority: "low" });
  throws(() => ready.push("a", { group: "", priority: "normal" }), AssertionError);
  ready.clear();
  strictEqual(ready.size, 0);
  strictEqual(ready.shift(), undefined);
  ready.push("a", { group: "", priority: "normal" });
  strictEqual(ready.shift(), "a");
});

/** A key that waits, and what happened since. */
interface Waiting {
  readonly group: string;
  readonly priority: Priority;
  readonly ahead: number;
  readonly groups: Set<string>;
  normalOthers: number;
  others: number;
}

Deno.test("ReadyKeys keeps its bounds: no namespace and no low key starves, whatever comes in", () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constantFrom("flood", "b", "c", "d"), fc.boolean()) },
    { weight: 2, arbitrary: fc.constant("shift" as const) },
    { weight: 1, arbitrary: fc.nat().map((at) => ({ raise: at })) },
  );
  // Runs on until all has left, while the flood goes on for as many keys as waited.
  fc.assert(fc.property(fc.array(step, { maxLength: 300, size: "max" }), (steps) => {
    const ready = new ReadyKeys<string>();
    const waiting = new Map<string, Waiting>();
    const note = (key: string, group: string, priority: Priority) => {
      const isAhead = (other: Waiting) => other.group === group && other.priority === priority;
      const ahead = [...waiting.values()].filter(isAhead).length;
      waiting.set(key, { group, priority, ahead, groups: new Set(), normalOthers: 0, others: 0 });
      for (const mine of waiting.values()) {
        for (const other of waiting.values()) {
          if (other.priority === mine.priority) mine.groups.add(other.group);
        }
      }
    };
    const push = (key: string, group: string, priority: Priority) => {
      ready.push(key, { group, priority });
      note(key, group, priority);
    };
    const shift = () => {
      const key = ready.shift();
      const left = waiting.get(key ?? "");
      strictEqual(left === undefined, waiting.size === 0);
      if (key === undefined || left === undefined) return;
      waiting.delete(key);
      const { ahead, groups, priority } = left;
      const turns = (ahead + 1) * groups.size;
      if (priority === "normal") ok(left.normalOthers < turns, `${key} waited too long`);
      else ok(left.others < turns * (PASSES_MAX + 1), `${key} starved`);
      for (const other of waiting.values()) {
        other.others += 1;
        if (priority === "normal") other.normalOthers += 1;
      }
    };
    let serial = 0;
    for (const step of steps) {
      if (step === "shift") {
        shift();
      } else if (Array.isArray(step)) {
        push(`${step[0]}/${serial++}`, step[0], step[1] ? "normal" : "low");
      } else {
        const key = [...waiting.keys()][step.raise % Math.max(1, waiting.size)] ?? "none";
        const left = waiting.get(key);
        ready.raise(key);
        if (left?.priority !== "low") continue;
        waiting.delete(key);
        note(key, left.group, "normal");
      }
    }
    for (let rest = 12 * ready.size; rest > 0; rest--) {
      push(`flood/${serial++}`, "flood", "normal");
      shift();
    }
    ok([...waiting.values()].every(({ priority }) => priority === "normal"), "low keys starve");
  }));
});

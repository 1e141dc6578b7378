import { strictEqual } from "node:assert/strict";
import { LAG_MAX_MS, OwnWrites } from "../../lib/foo/own_writes.ts";

const KEY = "default/a";

function written(): OwnWrites {
  const writes = new OwnWrites();
  writes.wrote(KEY, { kind: "deployments", version: "100", nowMs: 0 });
  return writes;
}

Deno.test("S6 OwnWrites.isLagging() until the written kind's cache has the write", () => {
  const isLagging = (foos: string, deployments: string, nowMs = 1) =>
    written().isLagging(KEY, { reached: { foos, deployments }, nowMs });
  strictEqual(isLagging("1", "99"), true);
  strictEqual(isLagging("1", "100"), false);
  strictEqual(isLagging("1", "1000"), false, "compared as numbers");
  strictEqual(isLagging("1", "99", LAG_MAX_MS), false, "not for ever");
});

Deno.test("OwnWrites.isLagging() waits for nothing it can't order, nor for keys it does not know", () => {
  const reached = { foos: "1", deployments: "abc" };
  strictEqual(written().isLagging(KEY, { reached, nowMs: 1 }), false);
  strictEqual(written().isLagging("default/b", { reached, nowMs: 1 }), false);
  const forgotten = written();
  forgotten.forget(KEY);
  const behind = { foos: "1", deployments: "1" };
  strictEqual(forgotten.isLagging(KEY, { reached: behind, nowMs: 1 }), false);
});

Deno.test("Q2 OwnWrites.isEcho() knows an echo by its exact version", () => {
  const writes = written();
  strictEqual(writes.isEcho(KEY, { kind: "deployments", version: "100" }), true);
  strictEqual(writes.isEcho(KEY, { kind: "deployments", version: "99" }), false);
  strictEqual(writes.isEcho(KEY, { kind: "deployments", version: "101" }), false);
  strictEqual(writes.isEcho(KEY, { kind: "foos", version: "100" }), false);
});

Deno.test("OwnWrites.keepDeleted() forgets deleted objects that the cache no longer shows", () => {
  const writes = new OwnWrites();
  writes.deleted(KEY, "u1");
  writes.deleted(KEY, "u2");
  writes.keepDeleted(KEY, ["u2", "u3"]);
  strictEqual(writes.isDeleted(KEY, "u1"), false);
  strictEqual(writes.isDeleted(KEY, "u2"), true);
  strictEqual(writes.isDeleted(KEY, "u3"), false);
});

Deno.test("Q2 OwnWrites: a write that comes back after patience ended is no echo: it needs a look", () => {
  const writes = new OwnWrites();
  writes.wrote("a", { kind: "foos", version: "7", nowMs: 0 });
  writes.wrote("a", { kind: "deployments", version: "6", nowMs: 0 });
  const reached = { foos: "5", deployments: "6" };
  strictEqual(writes.isLagging("a", { reached, nowMs: LAG_MAX_MS - 1 }), true);
  strictEqual(writes.isEcho("a", { kind: "foos", version: "7" }), true);
  strictEqual(writes.isLagging("a", { reached, nowMs: LAG_MAX_MS }), false);
  strictEqual(writes.isEcho("a", { kind: "foos", version: "7" }), false);
  strictEqual(writes.isEcho("a", { kind: "deployments", version: "6" }), true);
});

import { ok, strictEqual, throws } from "node:assert/strict";
import {
  ApiError,
  assert,
  DeadlineError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isNamespaceTerminating,
  isNotFound,
  isObjectNotFound,
  messageOf,
} from "../../lib/core/errors.ts";

const failure = (status: number, reason: string, causes = [{}]) =>
  new ApiError("failed", { status, reason, causes });

Deno.test("is…() tell the reasons apart that share the status 409", () => {
  ok(isAlreadyExists(failure(409, "AlreadyExists")));
  ok(!isConflict(failure(409, "AlreadyExists")));
  ok(isConflict(failure(409, "Conflict")));
  ok(!isAlreadyExists(failure(409, "Conflict")));
});

Deno.test("isConflict() knows a patch of another uid, which the server calls Invalid", () => {
  ok(isConflict(failure(422, "Invalid", [{ field: "metadata.uid" }])));
  ok(!isConflict(failure(422, "Invalid", [{ field: "spec.replicas" }])));
});

Deno.test("W7 isExpired() knows a 410 by status and by either reason", () => {
  ok(isExpired(failure(410, "Unknown")));
  ok(isExpired(failure(200, "Expired")));
  ok(isExpired(failure(200, "Gone")));
  ok(!isExpired(failure(404, "NotFound")));
});

Deno.test("isObjectNotFound() takes only the API server's own word for an object's absence", () => {
  ok(isObjectNotFound(failure(404, "NotFound")));
  const fields = { status: 404, reason: "NotFound", hasStatus: false };
  const page = new ApiError("404 page not found", fields);
  ok(isNotFound(page) && !isObjectNotFound(page));
  ok(!isObjectNotFound(failure(410, "Gone")) && !isObjectNotFound(new Error("404")));
});

Deno.test("is…() are false for anything that is not an ApiError", () => {
  for (const value of [undefined, null, new Error("404 NotFound"), { status: 404 }]) {
    ok(!isNotFound(value) && !isExpired(value) && !isConflict(value) && !isAlreadyExists(value));
  }
});

Deno.test("E1 isNamespaceTerminating() goes by the cause, not by the 403", () => {
  ok(isNamespaceTerminating(failure(403, "Forbidden", [{ reason: "NamespaceTerminating" }])));
  ok(!isNamespaceTerminating(failure(403, "Forbidden")));
});

Deno.test("messageOf() joins causes once, on one line, and survives a cycle", () => {
  const inner = new Error("connection\n  refused");
  const outer = new Error("Cannot list foos", { cause: inner });
  inner.cause = outer;
  strictEqual(messageOf(outer), "Cannot list foos: connection refused");
});

Deno.test("messageOf() names an error without a message and tells any thrown value", () => {
  strictEqual(messageOf(new TypeError()), "TypeError");
  strictEqual(messageOf("text"), "text");
  strictEqual(messageOf(undefined), "");
});

Deno.test("assert() throws AssertionError with the claim", () => {
  throws(() => assert(false, "one is two"), { name: "AssertionError", message: "one is two" });
  assert(true, "one is one");
});

Deno.test("DeadlineError carries its limit", () => {
  strictEqual(new DeadlineError("x", 5).limitMs, 5);
});

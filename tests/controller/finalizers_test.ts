import { rejects, strictEqual } from "node:assert/strict";
import { removeFinalizer } from "../../lib/controller/finalizers.ts";
import { ApiError } from "../../lib/core/errors.ts";

const NAME = "example.com/backup";

Deno.test("removeFinalizer() gives up at once on what another look can't change, after some on what it can", async () => {
  const metadata = {
    name: "a",
    uid: "1",
    resourceVersion: "7",
    creationTimestamp: "",
    finalizers: [NAME],
  };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata };
  const attempts = async (status: number, reason: string) => {
    const error = new ApiError(reason, { status, reason });
    let patches = 0;
    const client = {
      get: () => Promise.resolve(object),
      patch: () => Promise.reject(error).finally(() => patches += 1),
    };
    const { signal } = new AbortController();
    await rejects(removeFinalizer(object, { client, finalizer: NAME, signal }), error);
    return patches;
  };
  strictEqual(await attempts(403, "Forbidden"), 1);
  strictEqual(await attempts(500, "InternalError"), 1);
  strictEqual(await attempts(422, "Invalid"), 4);
});

import { rejects, strictEqual } from "node:assert/strict";
import { removeFinalizer, withFinalizer } from "../../lib/controller/finalizers.ts";
import { IgnorableError, SETTLED } from "../../lib/controller/reconciler.ts";
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

Deno.test("withFinalizer() confirms to its caller only an object that can't go without being cleaned up", async () => {
  const metadata = {
    name: "a",
    uid: "1",
    resourceVersion: "7",
    creationTimestamp: "",
    finalizers: [NAME],
  };
  const cached = { apiVersion: "v1", kind: "ConfigMap", metadata };
  type Change = Partial<typeof metadata> & { deletionTimestamp?: string };
  const confirms = (live: Change | ApiError) =>
    withFinalizer(cached, {
      client: {
        get: () =>
          live instanceof ApiError
            ? Promise.reject(live)
            : Promise.resolve({ ...cached, metadata: { ...metadata, ...live } }),
        patch: () => Promise.reject(new Error("nothing is to be written")),
      },
      finalizer: NAME,
      signal: new AbortController().signal,
      apply: (_object, { confirm }) => confirm().then(() => SETTLED),
      cleanUp: () => Promise.reject(new Error("nothing is to be cleaned up")),
    });
  strictEqual(await confirms({ resourceVersion: "8" }), SETTLED);
  await rejects(confirms({ uid: "2" }), IgnorableError);
  await rejects(confirms({ finalizers: [] }), IgnorableError);
  await rejects(confirms({ deletionTimestamp: "2026-01-01T00:00:00Z" }), IgnorableError);
  const gone = new ApiError("not found", { status: 404, reason: "NotFound" });
  await rejects(confirms(gone), IgnorableError);
  const away = new ApiError("try again", { status: 503, reason: "ServiceUnavailable" });
  await rejects(confirms(away), away);
});

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { isJsonObject, type Json, type JsonObject } from "../../lib/core/json.ts";
import { deepFreeze, type ManagedFieldsEntry } from "../../lib/core/objects.ts";
import { applyMergePatch } from "../../lib/core/patch_merge.ts";
import { trackUpdate } from "../../lib/simulator/managed_fields.ts";
import { serverSideApply } from "../../lib/simulator/server_side_apply.ts";
import { StructuralSchema } from "../../lib/simulator/structural_schema.ts";
import recorded from "./recorded/apply.json" with { type: "json" };
import validation from "./recorded/validation.json" with { type: "json" };

/** One recorded request and what a real server answered. */
interface Step {
  readonly op: string;
  readonly manager: string;
  readonly force?: boolean;
  readonly sub?: string;
  readonly metadata?: JsonObject;
  readonly body: JsonObject;
  readonly answer: JsonObject;
}

/** What a request comes to: a code with the new object, or with a refusal. */
type Outcome =
  | { readonly code: number; readonly object: JsonObject }
  | { readonly code: number; readonly message: string; readonly causes: readonly Json[] };

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The least of a server around apply and tracking: one object, defaults, the status apart. */
class OneObject {
  stored: JsonObject | undefined;
  readonly #schema: StructuralSchema;
  readonly #identity: JsonObject;
  readonly #defaults: (object: JsonObject) => JsonObject;

  constructor(
    schema: StructuralSchema,
    identity: JsonObject,
    defaults: (object: JsonObject) => JsonObject,
  ) {
    this.#schema = schema;
    this.#identity = identity;
    this.#defaults = defaults;
  }

  run(step: Step): Outcome {
    return step.op === "apply" ? this.#apply(step) : this.#write(step);
  }

  #apply({ manager, force, sub, metadata, body }: Step): Outcome {
    const applied = {
      ...this.#identity,
      metadata: { ...objectOf(this.#identity["metadata"]), ...metadata },
      ...body,
    };
    const result = serverSideApply({
      live: this.stored,
      applied: deepFreeze(applied),
      manager,
      force: force === true,
      schema: this.#schema,
      subresource: sub === "" ? undefined : sub,
      hasStatus: true,
      nowMs: 0,
    });
    if (result.type === "conflict") {
      return { code: 409, message: result.message, causes: result.causes.map(asJson) };
    }
    if (result.type === "untyped") return { code: 500, message: result.message, causes: [] };
    const code = this.stored === undefined ? 201 : 200;
    this.stored = deepFreeze(this.#defaults(result.object));
    return { code, object: this.stored };
  }

  #write({ op, manager, sub, metadata, body }: Step): Outcome {
    const before = this.stored;
    const sent = op === "create"
      ? {
        ...this.#identity,
        metadata: { ...objectOf(this.#identity["metadata"]), ...metadata },
        ...body,
      }
      : op === "reset"
      ? withEntries(before ?? {}, [{}])
      : objectOf(applyMergePatch(before, body));
    const scoped = sub === "status" && before !== undefined
      ? { ...before, status: sent["status"] ?? {} }
      : before?.["status"] === undefined
      ? sent
      : { ...sent, status: before["status"] };
    const after = this.#defaults(scoped);
    const entries = trackUpdate({
      before,
      after,
      manager,
      schema: this.#schema,
      subresource: sub === "" ? undefined : sub,
      hasStatus: true,
      nowMs: 0,
    });
    this.stored = deepFreeze(withEntries(after, entries.map(asJson)));
    return { code: before === undefined ? 201 : 200, object: this.stored };
  }
}

function asJson(value: ManagedFieldsEntry | object): Json {
  return JSON.parse(JSON.stringify(value));
}

function withEntries(object: JsonObject, managedFields: Json[]): JsonObject {
  return { ...object, metadata: { ...objectOf(object["metadata"]), managedFields } };
}

/** The parts of an answer that are compared, in one shape for both sides. */
function shown(answer: JsonObject): Json {
  const entries = Array.isArray(answer["managedFields"]) ? answer["managedFields"] : [];
  const owners = entries.filter(isJsonObject)
    .filter(({ manager }) => manager !== "kube-controller-manager")
    .map(({ manager, operation, subresource, fieldsV1 }) =>
      JSON.stringify([manager ?? "", operation ?? "", subresource ?? "", fieldsV1 ?? {}])
    );
  return {
    code: answer["code"] ?? null,
    spec: answer["spec"] ?? null,
    labels: answer["labels"] ?? {},
    finalizers: answer["finalizers"] ?? [],
    // Nor does it tell several typing errors in a fixed order.
    message: String(answer["message"] ?? "").split("\n").toSorted(),
    // The server tells the conflicts of several managers in no fixed order.
    causes: (Array.isArray(answer["causes"]) ? answer["causes"] : [])
      .toSorted((a, b) => JSON.stringify(a) < JSON.stringify(b) ? -1 : 1),
    owners: owners.sort(),
  };
}

function answerOf(outcome: Outcome): JsonObject {
  if (!("object" in outcome)) return { ...outcome, causes: [...outcome.causes] };
  const { metadata, spec } = outcome.object;
  return { code: outcome.code, spec: spec ?? null, ...objectOf(metadata) };
}

const WIDGETS = StructuralSchema.compile(validation.schema);
const WIDGET = { apiVersion: "test.io/v1", kind: "Widget", metadata: { name: "s" } };

function replay(name: string, steps: readonly Step[], object: OneObject): void {
  for (const [index, step] of steps.entries()) {
    const outcome = object.run(step);
    const what = `${name}, step ${index}: ${step.op} by ${step.manager}`;
    deepStrictEqual(shown(answerOf(outcome)), shown(step.answer), what);
  }
}

Deno.test("serverSideApply() gives what the recorded server gave, request by request", () => {
  const steps: readonly Step[] = JSON.parse(JSON.stringify(recorded.widgets));
  replay("widgets", steps, new OneObject(WIDGETS, WIDGET, (o) => WIDGETS.applyDefaults(o)));
});

Deno.test("trackUpdate() gives what the recorded server gave, request by request", () => {
  const steps: readonly Step[] = JSON.parse(JSON.stringify(recorded.created));
  replay("created", steps, new OneObject(WIDGETS, WIDGET, (o) => WIDGETS.applyDefaults(o)));
});

Deno.test("serverSideApply() of the same again changes nothing, its time included", () => {
  const applied = deepFreeze({ ...WIDGET, spec: { must: "x", set: ["a"] } });
  const common = { applied, manager: "m", force: false, schema: WIDGETS, hasStatus: true };
  const first = serverSideApply({ ...common, live: undefined, nowMs: 0 });
  ok(first.type === "applied");
  const again = serverSideApply({ ...common, live: first.object, nowMs: 60_000 });
  ok(again.type === "applied");
  strictEqual(again.changed, false);
  deepStrictEqual(again.object, first.object);
});

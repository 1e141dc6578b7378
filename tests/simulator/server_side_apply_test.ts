import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { isJsonObject, type Json, type JsonObject } from "../../lib/core/json.ts";
import { deepFreeze, type ManagedFieldsEntry } from "../../lib/core/objects.ts";
import { applyMergePatch } from "../../lib/core/patch_merge.ts";
import { defaultedDeployment } from "../../lib/simulator/builtin_rules.ts";
import { builtinSchema } from "../../lib/simulator/builtin_schemas.ts";
import { trackUpdate } from "../../lib/simulator/managed_fields.ts";
import { serverSideApply } from "../../lib/simulator/server_side_apply.ts";
import { StructuralSchema } from "../../lib/simulator/structural_schema.ts";
import { comparableStep } from "../support/recorded.ts";
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
    deepStrictEqual(comparableStep(answerOf(outcome)), comparableStep(step.answer), what);
  }
}

Deno.test("serverSideApply() gives what the recorded server gave, request by request", () => {
  const steps: readonly Step[] = JSON.parse(JSON.stringify(recorded.widgets));
  replay("widgets", steps, new OneObject(WIDGETS, WIDGET, (o) => WIDGETS.applyDefaults(o)));
});

Deno.test("serverSideApply() merges a Deployment as the recorded server did", () => {
  const schema = builtinSchema({ group: "apps", version: "v1", kind: "Deployment" });
  ok(schema !== undefined);
  const identity = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "s" } };
  const steps: readonly Step[] = JSON.parse(JSON.stringify(recorded.deployments));
  replay("deployments", steps, new OneObject(schema, identity, defaultedDeployment));
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

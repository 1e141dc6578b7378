/**
 * The schema of one version of a kind, as the API server uses it: for custom resources pruning,
 * defaulting and validation; for built-in kinds the lookup of unknown fields and field ownership.
 *
 * Everything is pure: objects are not changed in place, results share untouched parts with their
 * input. Messages, their order and their fields are the real server's (the contract suite
 * compares). Not checked, though the server does: the estimated cost of rules.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { RuleValidator } from "./cel.ts";
import { embeddedErrors, listErrors } from "./schema_invariants.ts";
import type { FieldError } from "./field_errors.ts";
import { SCHEMA_PATH, structuralErrors } from "./schema_check.ts";
import { SchemaNode } from "./schema_node.ts";
import { OBJECT_META } from "./object_meta.ts";
import { defaultObject, type DefaultOptions, type Pruned, pruneObject } from "./schema_prune.ts";
import { openApiErrors } from "./schema_validate.ts";

/** A CustomResourceDefinition's schema is not structural, or a rule in it can't be compiled. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  /** What is wrong, place by place; answer 422 with these. */
  readonly causes: readonly FieldError[];

  /** Stores the causes; the message joins them. */
  constructor(causes: readonly FieldError[]) {
    super(causes.map((cause) => `${cause.field}: ${cause.message}`).join(", "));
    this.causes = causes;
  }
}

/** Options of {@linkcode StructuralSchema.compile}. */
export interface CompileOptions {
  /**
   * Where the schema stands in the CustomResourceDefinition, for error fields. The server uses the
   * default if all versions have the same schema, else `spec.versions[0].schema.openAPIV3Schema`.
   *
   * @default {"spec.validation.openAPIV3Schema"}
   */
  readonly path?: string;
}

/** Options of {@linkcode StructuralSchema.validate}. */
export interface ValidateOptions {
  /** The stored object; absent on create. Unchanged parts of it are not judged again. */
  readonly old?: JsonObject | undefined;
}

/** Reasons after which the server does not run the rules, since they could not rely on types. */
const BLOCKING = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** What the server adds when it did not run the rules. */
const RULES_NOT_RUN: FieldError = {
  reason: "FieldValueInvalid",
  field: "<nil>",
  message: "Invalid value: null: some validation rules were not checked because the object was " +
    "invalid; correct the existing errors to complete validation",
};

/**
 * The schema of one version of a kind.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const schema = StructuralSchema.compile({
 *   type: "object",
 *   properties: {
 *     spec: {
 *       type: "object",
 *       properties: { replicas: { type: "integer", default: 1, maximum: 5 } },
 *     },
 *   },
 * });
 * const object = schema.applyDefaults(schema.prune({ spec: { extra: true } }));
 * deepStrictEqual(object, { spec: { replicas: 1 } });
 * deepStrictEqual(schema.validate({ spec: { replicas: 6 } }), [{
 *   reason: "FieldValueInvalid",
 *   field: "spec.replicas",
 *   message: "Invalid value: 6: spec.replicas in body should be less than or equal to 5",
 * }]);
 * ```
 */
export class StructuralSchema {
  /** The schema's root, as it was given. */
  readonly root: SchemaNode;
  /** The root with the members that every object has, for field ownership. */
  readonly wholeObject: SchemaNode;
  /** True for a kind that the server implements itself, whose objects never lack their structs. */
  readonly isBuiltin: boolean;
  readonly #rules: RuleValidator;

  private constructor(root: SchemaNode, rules: RuleValidator | undefined) {
    this.root = root;
    this.wholeObject = root.withProperties({
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: OBJECT_META.json,
    });
    this.isBuiltin = rules === undefined;
    this.#rules = rules ?? RuleValidator.none();
  }

  /**
   * Checks and compiles the schema of a CustomResourceDefinition's version.
   *
   * @throws {SchemaError} If the server would refuse the definition; also for a rule that uses a
   * function which this simulator lacks: a rule is never ignored.
   */
  static compile(openAPIV3Schema: JsonObject, options: CompileOptions = {}): StructuralSchema {
    const path = options.path ?? SCHEMA_PATH;
    const errors = structuralErrors(openAPIV3Schema, path);
    if (errors.length > 0) throw new SchemaError(errors);
    const root = SchemaNode.of(openAPIV3Schema);
    const { validator, errors: ruleErrors } = RuleValidator.compile(root, path);
    if (ruleErrors.length > 0) throw new SchemaError(ruleErrors);
    return new StructuralSchema(root, validator);
  }

  /** The schema of a built-in kind: trusted, without rules. */
  static ofBuiltin(root: SchemaNode): StructuralSchema {
    return new StructuralSchema(root, undefined);
  }

  /** `object` without unknown fields. */
  prune(object: JsonObject): JsonObject {
    return this.#pruned(object).value;
  }

  /** Paths of unknown fields, as in the warning `unknown field "spec.foo"`, in its order. */
  unknownFields(object: JsonObject): string[] {
    return [...this.#pruned(object).unknown];
  }

  /**
   * `object` with defaults, and without `null` where the schema has no use for it. A built-in object
   * comes back as it is: its defaults depend on more than its schema.
   */
  applyDefaults(object: JsonObject, options: DefaultOptions = {}): JsonObject {
    return this.isBuiltin ? object : defaultObject(object, this.root, options);
  }

  /**
   * What is wrong with `object`, in the server's order: OpenAPI, embedded objects, list keys, then
   * the rules. `metadata` itself is not checked here, and nothing of a built-in object is: the
   * server decodes and validates those by code of their own.
   */
  validate(object: JsonObject, options: ValidateOptions = {}): FieldError[] {
    if (this.isBuiltin) return [];
    const { old } = options;
    const errors = [
      ...openApiErrors(withoutMetadata(object), this.root, "", oldOf(old)),
      ...embeddedErrors(object, this.root, ""),
      ...listErrors(object, this.root, "", old),
    ];
    if (this.#rules.isEmpty) return errors;
    if (errors.some((error) => BLOCKING.has(error.reason))) return [...errors, RULES_NOT_RUN];
    return [...errors, ...this.#rules.validate(object, old)];
  }

  #pruned(object: JsonObject): Pruned<JsonObject> {
    const options = { objectMeta: OBJECT_META, isBuiltin: this.isBuiltin };
    return pruneObject(object, this.root, options);
  }
}

/** The server keeps only the name in what it validates; a schema may say nothing else about it. */
function withoutMetadata(object: JsonObject): JsonObject {
  const { metadata, ...rest } = object;
  if (!isJsonObject(metadata)) return rest;
  const name: JsonObject = {};
  for (const key of ["name", "generateName"]) {
    if (metadata[key] !== undefined) name[key] = metadata[key];
  }
  return { ...rest, metadata: name };
}

function oldOf(old: JsonObject | undefined): Json | undefined {
  return old === undefined ? undefined : withoutMetadata(old);
}

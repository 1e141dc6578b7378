/**
 * Validation rules of CustomResourceDefinitions (`x-kubernetes-validations`).
 *
 * A rule is compiled and type-checked against its schema when the definition is created. One that
 * can't be compiled is an error of the definition and never skipped. Rules that mention `oldSelf`
 * run on updates only, and only where an old value can be found, unless `optionalOldSelf` is set;
 * other rules do not run where nothing changed.
 *
 * Differs from the server: the estimated cost of rules is not limited; `set` and `map` lists
 * compare as ordered lists.
 *
 * @module
 */

import { isJsonObject, type Json, jsonEqual, type JsonObject, memberOf } from "../core/json.ts";
import { type CelProgram, kubernetesEnvironment, Optional } from "./cel_library.ts";
import { ruleErrorsBefore, ruleFailure, type RuleSpec, ruleSpecOf } from "./cel_rule_spec.ts";
import { celValue, declareType, isComposite, ROOT_TYPE } from "./cel_values.ts";
import type { FieldError } from "./field_errors.ts";
import { itemKey } from "./list_keys.ts";
import type { SchemaNode } from "./schema_node.ts";
import { oldItemsByKey, typeNameOf } from "./schema_validate.ts";

/** A rule that can be run. */
interface Rule {
  readonly spec: RuleSpec;
  readonly usesOld: boolean;
  readonly run: CelProgram;
  readonly message: CelProgram | undefined;
}

/** The places of a schema at or below which there are rules. */
interface RuleTree {
  readonly schema: SchemaNode;
  readonly rules: readonly Rule[];
  readonly properties: ReadonlyMap<string, RuleTree>;
  readonly items: RuleTree | undefined;
  readonly additional: RuleTree | undefined;
}

/** Where the compiler is. */
interface Place {
  readonly path: string;
  /** Path of the list or map above whose members have no identity across updates, if any. */
  readonly uncorrelatable: string | undefined;
}

/** All rules of one schema. */
export class RuleValidator {
  readonly #tree: RuleTree | undefined;

  private constructor(tree: RuleTree | undefined) {
    this.#tree = tree;
  }

  /** No rules. */
  static none(): RuleValidator {
    return new RuleValidator(undefined);
  }

  /** Compiles all rules below `root`; `path` is where it stands in the definition. */
  static compile(
    root: SchemaNode,
    path: string,
  ): { validator: RuleValidator; errors: FieldError[] } {
    const errors: FieldError[] = [];
    const tree = compileTree(root, { path, uncorrelatable: undefined }, errors, true);
    return { validator: new RuleValidator(tree), errors };
  }

  /** True if there is no rule at all. */
  get isEmpty(): boolean {
    return this.#tree === undefined;
  }

  /** The rules that `object` breaks. `old` is the stored object, absent on create. */
  validate(object: JsonObject, old: JsonObject | undefined): FieldError[] {
    return this.#tree === undefined ? [] : validateTree(object, old, this.#tree, "");
  }
}

/**
 * Compiles the rules at and below `schema`; `undefined` if there are none, so that validation never
 * walks where no rule is.
 */
function compileTree(
  schema: SchemaNode,
  place: Place,
  errors: FieldError[],
  isRoot = false,
): RuleTree | undefined {
  const rules = compileRules(schema, place, errors, isRoot);
  const properties = new Map<string, RuleTree>();
  const atomicAt = schema.isAtomicMap ? place.path : place.uncorrelatable;
  for (const name of schema.propertyNames) {
    const property = schema.property(name);
    if (property === undefined) continue;
    const at = { path: `${place.path}.properties[${name}]`, uncorrelatable: atomicAt };
    const tree = compileTree(property, at, errors);
    if (tree !== undefined) properties.set(name, tree);
  }
  const items = schema.items && compileTree(schema.items, {
    path: `${place.path}.items`,
    uncorrelatable: place.uncorrelatable ?? (schema.listType === "map" ? undefined : place.path),
  }, errors);
  const additional = schema.additional && compileTree(schema.additional, {
    path: `${place.path}.additionalProperties`,
    uncorrelatable: atomicAt,
  }, errors);
  const isEmpty = rules.length === 0 && properties.size === 0 && items === undefined &&
    additional === undefined;
  return isEmpty ? undefined : { schema, rules, properties, items, additional };
}

/** Compiles the rules at one place. What is wrong with them is added to `errors`. */
function compileRules(
  schema: SchemaNode,
  place: Place,
  errors: FieldError[],
  isRoot: boolean,
): Rule[] {
  const declared = schema.json["x-kubernetes-validations"];
  if (!Array.isArray(declared)) return [];
  return declared.filter(isJsonObject).flatMap((json, index) => {
    const spec = ruleSpecOf(json);
    const at = `${place.path}.x-kubernetes-validations[${index}]`;
    const usesOld = mentionsOldSelf(spec.rule) || mentionsOldSelf(spec.messageExpression);
    const found = ruleErrorsBefore(spec, schema, at, usesOld);
    if (usesOld && place.uncorrelatable !== undefined) {
      found.push({
        reason: "FieldValueInvalid",
        field: `${at}.rule`,
        message: `Invalid value: ${JSON.stringify(spec.rule)}: oldSelf cannot be used on the ` +
          `uncorrelatable portion of the schema within ${place.uncorrelatable}`,
      });
    }
    if (found.length === 0) {
      const compiled = compileRule(spec, schema, at, isRoot);
      if (!Array.isArray(compiled)) return [{ spec, usesOld, ...compiled }];
      found.push(...compiled);
    }
    errors.push(...found);
    return [];
  });
}

/** Checks both expressions of a rule and makes them ready to run, or says why that can't be. */
function compileRule(
  spec: RuleSpec,
  schema: SchemaNode,
  at: string,
  isRoot: boolean,
): { run: CelProgram; message: CelProgram | undefined } | FieldError[] {
  // Checked against exact types, run with dynamic ones: the run-time values are plain objects.
  const typed = kubernetesEnvironment();
  const type = declareType(typed, schema, isRoot ? ROOT_TYPE : "Value");
  typed.registerVariable("self", type)
    .registerVariable("oldSelf", spec.optionalOldSelf === true ? `optional<${type}>` : type);
  const errors: FieldError[] = [];
  const check = (text: string, wanted: "bool" | "string", member: string, otherwise: string) => {
    const result = typed.check(text);
    if (!result.valid) {
      errors.push(ruleFailure(spec, `${at}.${member}`, {
        text,
        message: result.error?.message ?? "unknown error",
        column: result.error?.range?.start ?? 0,
      }));
    } else if (result.type !== wanted && result.type !== "dyn") {
      errors.push(ruleFailure(spec, `${at}.${member}`, otherwise));
    }
  };
  check(spec.rule, "bool", "rule", "cel expression must evaluate to a bool");
  if (spec.messageExpression !== "") {
    const otherwise = "messageExpression must evaluate to a string";
    check(spec.messageExpression, "string", "messageExpression", otherwise);
  }
  if (errors.length > 0) return errors;
  const dynamic = kubernetesEnvironment()
    .registerVariable("self", "dyn")
    .registerVariable("oldSelf", "dyn");
  return {
    run: dynamic.parse(spec.rule),
    message: spec.messageExpression === "" ? undefined : dynamic.parse(spec.messageExpression),
  };
}

/** True if the expression names `oldSelf` outside of its string literals. */
function mentionsOldSelf(expression: string): boolean {
  const code = expression.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""');
  return /(?<![.\w])oldSelf\b/.test(code);
}

/** The rules of a value before those of what is in it, members by name: the server's order. */
function validateTree(
  value: Json,
  old: Json | undefined,
  tree: RuleTree,
  path: string,
): FieldError[] {
  const errors = ownErrors(value, old, tree, path);
  if (Array.isArray(value) && tree.items !== undefined) {
    const items = tree.items;
    const oldItems = oldItemsByKey(tree.schema, old);
    value.forEach((item, index) => {
      const oldItem = oldItems?.get(itemKey(item, tree.schema) ?? "");
      errors.push(...validateTree(item, oldItem, items, `${path}[${index}]`));
    });
  }
  if (!isJsonObject(value)) return errors;
  for (const key of Object.keys(value).sort()) {
    const item = memberOf(value, key);
    const isDeclared = tree.schema.property(key) !== undefined;
    const below = isDeclared ? tree.properties.get(key) : tree.additional;
    if (item === undefined || below === undefined) continue;
    const oldItem = isJsonObject(old) ? memberOf(old, key) : undefined;
    const at = isDeclared ? (path === "" ? key : `${path}.${key}`) : `${path}[${key}]`;
    errors.push(...validateTree(item, oldItem, below, at));
  }
  return errors;
}

/** The rules at one place. `null` is judged by no rule: it stands for an absent value. */
function ownErrors(
  value: Json,
  old: Json | undefined,
  tree: RuleTree,
  path: string,
): FieldError[] {
  if (tree.rules.length === 0 || value === null) return [];
  const isUnchanged = old !== undefined && jsonEqual(value, old);
  const self = celValue(value, tree.schema);
  const oldSelf = old === undefined ? undefined : celValue(old, tree.schema);
  return tree.rules.flatMap((rule) => {
    const isOptional = rule.spec.optionalOldSelf === true;
    if (rule.usesOld && oldSelf === undefined && !isOptional) return [];
    if (!rule.usesOld && isUnchanged) return [];
    const context = {
      self,
      oldSelf: isOptional
        ? (oldSelf === undefined ? Optional.none() : Optional.of(oldSelf))
        : oldSelf,
    };
    const error = runRule(rule, context, value, path);
    return error === undefined ? [] : [error];
  });
}

/**
 * Runs one rule. A rule that fails to evaluate is an error of the object too: it is not known to
 * hold.
 */
function runRule(
  rule: Rule,
  context: Record<string, unknown>,
  value: Json,
  path: string,
): FieldError | undefined {
  try {
    if (rule.run(context) === true) return undefined;
  } catch (error) {
    const [why = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    return {
      reason: "FieldValueInvalid",
      field: path,
      message: `Invalid value: ${JSON.stringify(typeNameOf(value))}: ` +
        `${why.replace(/^No such key/, "no such key")} evaluating rule: ${rule.spec.rule}`,
    };
  }
  return failureOf(rule, context, value, `${path}${fieldPathSuffix(rule.spec.fieldPath)}`);
}

/**
 * The error of a broken rule, in the form of its reason. Containers are not shown: they may be
 * huge.
 */
function failureOf(
  rule: Rule,
  context: Record<string, unknown>,
  value: Json,
  field: string,
): FieldError {
  const text = messageFrom(rule, context);
  const shown = isComposite(value) ? "" : `${JSON.stringify(value)}`;
  switch (rule.spec.reason) {
    case "FieldValueForbidden":
      return { reason: rule.spec.reason, field, message: `Forbidden: ${text}` };
    case "FieldValueRequired":
      return { reason: rule.spec.reason, field, message: `Required value: ${text}` };
    case "FieldValueDuplicate":
      return {
        reason: rule.spec.reason,
        field,
        message: `Duplicate value${shown === "" ? "" : `: ${shown}`}`,
      };
    default:
      return {
        reason: "FieldValueInvalid",
        field,
        message: `Invalid value: ${shown === "" ? "" : `${shown}: `}${text}`,
      };
  }
}

/** A message expression that fails, or gives no good line, is passed over as the server does. */
function messageFrom(rule: Rule, context: Record<string, unknown>): string {
  const fixed = rule.spec.message.trim() === ""
    ? `failed rule: ${rule.spec.rule.trim()}`
    : rule.spec.message.trim();
  if (rule.message === undefined) return fixed;
  try {
    const text = rule.message(context);
    const isGood = typeof text === "string" && text.trim() !== "" && !/[\r\n]/.test(text);
    return isGood ? text.trim() : fixed;
  } catch {
    return fixed;
  }
}

/** `['x.y']` names the same as `.x.y`, and the server prints the latter. */
function fieldPathSuffix(fieldPath: string): string {
  return fieldPath.replaceAll(/\['((?:[^'\\]|\\.)*)'\]/g, (_whole, name) => `.${name}`);
}

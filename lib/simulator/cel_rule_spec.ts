/**
 * One entry of `x-kubernetes-validations`: its fields, the checks that need no CEL, and the error
 * texts of rules that can't be compiled.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { type FieldError, invalidField, requiredField, unsupportedField } from "./field_errors.ts";
import type { SchemaNode } from "./schema_node.ts";

/** A rule as the definition says it; absent texts are empty. */
export interface RuleSpec {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}

/** What `reason` may say. */
const REASONS = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

/** Reads one entry. */
export function ruleSpecOf(json: JsonObject): RuleSpec {
  const text = (key: string) => {
    const value = json[key];
    return typeof value === "string" ? value : "";
  };
  const optional = json["optionalOldSelf"];
  return {
    rule: text("rule"),
    message: text("message"),
    messageExpression: text("messageExpression"),
    reason: text("reason") === "" ? undefined : text("reason"),
    fieldPath: text("fieldPath"),
    optionalOldSelf: typeof optional === "boolean" ? optional : undefined,
  };
}

/** What is wrong with the entry `at`, before its expressions are looked at. */
export function ruleErrorsBefore(
  spec: RuleSpec,
  schema: SchemaNode,
  at: string,
  usesOld: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  if (spec.rule.trim() === "") {
    errors.push(requiredField(`${at}.rule`, "rule is not specified"));
  }
  if (/[\r\n]/.test(spec.message.trim())) {
    errors.push(invalidField(`${at}.message`, spec.message, "must not contain line breaks"));
  }
  if (/[\r\n]/.test(spec.rule.trim()) && spec.message.trim() === "") {
    errors.push(
      requiredField(`${at}.message`, "message must be specified if rule contains line breaks"),
    );
  }
  if (spec.reason !== undefined && !REASONS.includes(spec.reason)) {
    errors.push(unsupportedField(`${at}.reason`, spec.reason, REASONS));
  }
  if (spec.fieldPath !== "" && !namesField(spec.fieldPath, schema)) {
    errors.push(invalidField(`${at}.fieldPath`, spec.fieldPath, "must be a valid path"));
  }
  if (spec.optionalOldSelf !== undefined && !usesOld) {
    errors.push(invalidField(
      `${at}.optionalOldSelf`,
      spec.optionalOldSelf,
      "may not be set if oldSelf is not used in rule",
    ));
  }
  return errors;
}

/** True if `path` (`.a.b`, `['x.y']`) leads to a field that the schema has. */
function namesField(path: string, schema: SchemaNode): boolean {
  const parts = [...path.matchAll(/\.([A-Za-z_][\w-]*)|\['((?:[^'\\]|\\.)*)'\]/g)];
  if (parts.map((part) => part[0]).join("") !== path) return false;
  let at: SchemaNode | undefined = schema;
  for (const part of parts) at = at?.member(part[1] ?? part[2] ?? "");
  return at !== undefined;
}

/** What the library found: the expression, its message, and the column it points at, 0-based. */
export interface CompileFailure {
  readonly text: string;
  readonly message: string;
  readonly column: number;
}

/** The error of an expression that can't be used. */
export function ruleFailure(
  spec: RuleSpec,
  field: string,
  why: CompileFailure | string,
): FieldError {
  const shown = goJson({
    Rule: spec.rule,
    Message: spec.message,
    MessageExpression: spec.messageExpression,
    Reason: spec.reason ?? null,
    FieldPath: spec.fieldPath,
    OptionalOldSelf: spec.optionalOldSelf ?? null,
  });
  const detail = typeof why === "string" ? why : `compilation failed: ${pointedOut(why)}`;
  return { reason: "FieldValueInvalid", field, message: `Invalid value: ${shown}: ${detail}` };
}

/** The server's layout: message, the expression, and a mark under the place. */
function pointedOut({ text, message, column }: CompileFailure): string {
  const [first = ""] = message.split("\n");
  const words = first
    .replace(/^No such key: (.*)$/, "undefined field '$1'")
    .replace(/^Unknown variable: (.*)$/, "undeclared reference to '$1' (in container '')");
  // The server points at the dot before a field, the library behind it.
  const at = first.startsWith("No such key") && text[column - 1] === "." ? column - 1 : column;
  return `ERROR: <input>:1:${at + 1}: ${words}\n | ${text}\n | ${".".repeat(at)}^`;
}

/** Go escapes these so that its JSON can stand inside of HTML. */
const ESCAPED_IN_GO: Readonly<Record<string, string>> = {
  "&": "\\u0026",
  "<": "\\u003c",
  ">": "\\u003e",
};

/** `value` as Go's encoder writes it. */
function goJson(value: JsonObject): string {
  return JSON.stringify(value).replaceAll(/[&<>]/g, (character) => ESCAPED_IN_GO[character] ?? "");
}

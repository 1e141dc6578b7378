/**
 * YAML as Kubernetes' tools read and write it: the door to `@std/yaml`.
 *
 * Kubernetes' YAML is JSON in other clothes, so only what JSON can hold comes out: no dates, no
 * binary. As in kubectl a repeated key's last value counts.
 *
 * @module
 */

// @ts-types="./std_yaml.d.ts"
import { parseAll, stringify } from "@std/yaml";

/** The text is not YAML. Says where and why; never quotes the text, which may hold secrets. */
export class YamlError extends SyntaxError {
  /** Stands before the message in a stack. */
  override readonly name = "YamlError";
  /** Line of the fault, from 1; absent if the parser gave none. */
  readonly line: number | undefined;
  /** Column of the fault, from 1. */
  readonly column: number | undefined;

  /** Stores the place, and puts it into the message. */
  constructor(place: { line: number; column: number } | undefined) {
    super(place ? `Invalid YAML at line ${place.line}, column ${place.column}` : "Invalid YAML");
    this.line = place?.line;
    this.column = place?.column;
  }
}

/**
 * The first document of `text`; `null` if there is none.
 *
 * @throws {YamlError} If any document of `text` is malformed.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(parseYaml("kind: Foo\nreplicas: 2"), { kind: "Foo", replicas: 2 });
 * // A date stays the text that it is in JSON.
 * deepStrictEqual(parseYaml("at: 2026-01-02"), { at: "2026-01-02" });
 * ```
 */
export function parseYaml(text: string): unknown {
  return parseYamlAll(text)[0] ?? null;
}

/**
 * All documents of `text`, as in a file for `kubectl apply -f`. Empty ones are `null`.
 *
 * @throws {YamlError} If one of them is malformed.
 */
export function parseYamlAll(text: string): unknown[] {
  try {
    const documents = parseAll(text, { schema: "core", allowDuplicateKeys: true });
    return Array.isArray(documents) ? documents : [];
  } catch (error) {
    // The parser's own message and cause are left behind: they quote the line at fault.
    throw new YamlError(placeIn(error instanceof Error ? error.message : ""));
  }
}

/**
 * `value` as one YAML document, ending in a newline. Strings that any YAML reader could take for
 * something else are quoted, and long ones are not folded.
 *
 * @throws {TypeError} If `value` holds something that JSON doesn't know, e.g. `undefined`.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(stringifyYaml({ name: "a", enabled: "yes" }), "name: a\nenabled: 'yes'\n");
 * ```
 */
export function stringifyYaml(value: unknown): string {
  // Without anchors, since many readers of manifests do not know them; -1 is "never fold"; the
  // default schema knows dates, and so quotes strings that look like one.
  return stringify(value, { schema: "default", lineWidth: -1, useAnchors: false });
}

/** The only place that the parser tells is at the end of its message's first line. */
function placeIn(message: string): { line: number; column: number } | undefined {
  const found = /at line (\d+), column (\d+)/.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}

/**
 * Go's regular expressions (RE2) for patterns in schemas and rules.
 *
 * A file of its own because the two dialects differ exactly where a schema author may step: RE2 has
 * no lookaround and no back references, and spells a few things that JavaScript does not know.
 *
 * @module
 */

/** POSIX classes that Go allows inside brackets. */
const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  digit: "0-9",
  lower: "a-z",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

const compiled = new Map<string, RegExp>();

/** How many patterns are kept compiled; the rest are compiled each time. Far above any real CRD. */
const COMPILED_MAX = 1000;

/**
 * The JavaScript form of a Go pattern.
 *
 * @throws {SyntaxError} If Go would refuse it; the message is Go's where that is cheap.
 *
 * @example
 * ```ts
 * import { strictEqual, throws } from "node:assert/strict";
 * strictEqual(goPattern("^[[:alpha:]]+\\z").test("abc"), true);
 * throws(() => goPattern("(?!a)"), /unsupported Perl syntax/);
 * ```
 */
export function goPattern(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const refused = /\(\?(?:[=!]|<[=!])/.exec(pattern.replaceAll(/\\./g, "  "));
  if (refused !== null) {
    throw new SyntaxError(
      `error parsing regexp: invalid or unsupported Perl syntax: \`${refused[0]}\``,
    );
  }
  const backReference = /^(?:[^\\]|\\[^1-9])*(\\[1-9])/.exec(pattern);
  if (backReference?.[1] !== undefined) {
    throw new SyntaxError(`error parsing regexp: invalid escape sequence: \`${backReference[1]}\``);
  }
  const result = translate(pattern);
  if (compiled.size < COMPILED_MAX) compiled.set(pattern, result);
  return result;
}

function translate(pattern: string): RegExp {
  const flags = /^\(\?([imsU]+)\)/.exec(pattern);
  const source = pattern.slice(flags?.[0].length ?? 0)
    .replaceAll("\\A", "^")
    .replaceAll("\\z", "$")
    .replaceAll("(?P<", "(?<")
    .replaceAll(
      /\[:(\^?)([a-z]+):\]/g,
      (whole, negated, name) => negated === "" ? POSIX_CLASSES[name] ?? whole : whole,
    );
  const jsFlags = (flags?.[1] ?? "").replace("U", "");
  try {
    return new RegExp(source, `${jsFlags}u`);
  } catch {
    // Unicode mode refuses needless escapes such as `\-` and `\_`, which Go allows.
    try {
      return new RegExp(source, jsFlags);
    } catch {
      throw new SyntaxError(explain(pattern));
    }
  }
}

/** Go's words for the commonest mistakes. */
function explain(pattern: string): string {
  const bare = pattern.replaceAll(/\\./g, "").replaceAll(/\[[^\]]*\]/g, "");
  const opened = (bare.match(/\(/g) ?? []).length;
  const closed = (bare.match(/\)/g) ?? []).length;
  if (opened > closed) return `error parsing regexp: missing closing ): \`${pattern}\``;
  if (closed > opened) return `error parsing regexp: unexpected ): \`${pattern}\``;
  if (bare.includes("[")) {
    return `error parsing regexp: missing closing ]: \`${pattern.slice(pattern.indexOf("["))}\``;
  }
  return `error parsing regexp: invalid pattern: \`${pattern}\``;
}

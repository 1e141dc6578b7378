/**
 * Takes secrets out of what we write for people: log records and error texts.
 *
 * A file of its own because it is the last line of defence (field case P8): no layer is meant to
 * hand a secret to the log, and none can be trusted not to, since messages also come from servers,
 * exec plugins and libraries. It works three ways, each covering what the others miss: by the name
 * of a field, by the shape of a text, and by value, for secrets it was told of with
 * {@linkcode Redactor.remember}.
 *
 * It may hide too much, never too little: a hidden harmless word costs a look into the object, a
 * shown token costs a cluster.
 *
 * @module
 */

import { messageOf } from "./errors.ts";

/** What stands in place of a secret. */
export const REDACTED = "[redacted]";

/**
 * Shortest secret that is hidden by value. A shorter one would hide parts of ordinary words, and no
 * credential that a cluster issues is that short.
 */
export const SECRET_MIN_CHARS = 6;

/**
 * Most secrets remembered by value; the oldest are dropped. A credential is replaced about once an
 * hour, so this is days of them, while a log line costs at most this many searches.
 */
export const SECRETS_MAX = 64;

/** Longest text kept of one value, in characters: a record is a line to read, not a dump. */
export const TEXT_MAX_CHARS = 4096;

/**
 * How much of a text is searched at all: what lies behind is cut unread, so that a server's answer
 * of megabytes costs nothing. Well over {@linkcode TEXT_MAX_CHARS}, so that a secret which is cut in
 * two here, and no longer recognised, is not in the part that is shown.
 */
const SEARCHED_MAX_CHARS = 4 * TEXT_MAX_CHARS;

/** How deep a value is followed, how many entries of an object or array are shown. */
const DEPTH_MAX = 6;
const ENTRIES_MAX = 64;

/**
 * Field names whose whole value is a secret, in lower case without `-` and `_`. `data` is the
 * content of Secrets; every `…-data` is a kubeconfig's inline credential.
 */
const SECRET_FIELD =
  /^(?:proxy)?authorization$|(?:token|password|passwd|passphrase|secret)$|^(?:string|binary)?data$|(?:certificate|ca|key|authority)data$|^(?:tls|client|private|ca)?(?:keypem|certpem|certificatepem|capem|privatekey|clientkey|cert|certificate)$|^(?:set)?cookie$|^kubernetesexecinfo$/;

/** Field names that end like a secret but are none: names of things, and switches. */
const NOT_SECRET_FIELD = /^(?:imagepull|tls|ca)?secret(?:name|ref)$|^continuetoken$/;

/** Shapes of secrets in a text, most specific first, each with what it leaves behind. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  // PEM blocks, also cut off, also with newlines escaped once or more. The first line alone, in
  // quotes, is what we tell people to write: it holds nothing, and what follows is to be read.
  [
    /(?<!"(?=-----BEGIN [A-Z0-9 ]+-----"))-----BEGIN [A-Z0-9 ]+-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)/g,
    `${REDACTED} (PEM)`,
  ],
  // The same in base64, as kubeconfig's `…-data` fields hold it: "-----BEGIN " encoded.
  [/LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]*/g, `${REDACTED} (PEM)`],
  // The variable holds a JSON text with quotes of its own, so all up to the line's end goes.
  [/(KUBERNETES_EXEC_INFO)\b["']?\s*[=:][^\r\n]*/g, `$1=${REDACTED}`],
  // Header lines and their JSON form. Up to the end of the line or of the quoted value.
  [
    /((?:proxy-)?authorization)(\\?["'])?\s*[:=]\s*(?:\\?["'][^"'\\\r\n]*\\?["']?|[^"',;}\r\n]+)/gi,
    `$1: ${REDACTED}`,
  ],
  [/\b(bearer)\s+(?!tokens?\b)[^\s"',;\\]+/gi, `$1 ${REDACTED}`],
  [/\b(Basic)\s+[A-Za-z0-9+/=_-]{8,}/g, `$1 ${REDACTED}`],
  // JSON web tokens, which service accounts and OIDC providers issue.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?/g, REDACTED],
  // `token: x`, `"client-key-data": "x"`, `password=x` and their like in YAML, JSON and shell.
  [
    /\b([a-z_-]{0,40}(?:token|password|passphrase|client[-_]?secret|(?:key|certificate|authority)[-_]?data))(\\?["'])?\s*[:=]\s*(?:\\?["'][^"'\\\r\n]*\\?["']?|[^\s"',;}]+)/gi,
    `$1: ${REDACTED}`,
  ],
  // User and password inside a URL, as proxies are often given.
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"']+@/gi, `$1${REDACTED}@`],
];

/** Options of a {@linkcode Redactor}. */
export interface RedactorOptions {
  /** Also shows the stack of errors, redacted like any text. @default {false} */
  readonly stacks?: boolean;
}

/**
 * Hides secrets in texts and values. Never throws, and returns plain JSON data.
 *
 * @example
 * ```ts
 * import { deepStrictEqual, strictEqual } from "node:assert/strict";
 * const redactor = new Redactor();
 * strictEqual(redactor.text("sent Authorization: Bearer abc.def"), "sent Authorization: [redacted]");
 * deepStrictEqual(redactor.value({ name: "a", token: "abc" }), { name: "a", token: "[redacted]" });
 *
 * redactor.remember("s3cr3t-value");
 * strictEqual(redactor.text("plugin printed s3cr3t-value"), "plugin printed [redacted]");
 * ```
 */
export class Redactor {
  readonly #secrets = new Set<string>();
  readonly #stacks: boolean;

  /** Stores the options. */
  constructor(options: RedactorOptions = {}) {
    this.#stacks = options.stacks ?? false;
  }

  /**
   * Hides `secret` wherever it appears from now on, whatever stands around it. Secrets shorter than
   * {@linkcode SECRET_MIN_CHARS} are not hidden by value.
   */
  remember(secret: string | undefined): void {
    const value = secret?.trim() ?? "";
    if (value.length < SECRET_MIN_CHARS) return;
    this.#secrets.delete(value); // again the newest
    this.#secrets.add(value);
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= SECRETS_MAX) break;
      this.#secrets.delete(oldest);
    }
  }

  /** `text` without secrets, cut after {@linkcode TEXT_MAX_CHARS} characters. */
  text(text: string): string {
    let shown = text.slice(0, SEARCHED_MAX_CHARS);
    for (const secret of this.#secrets) shown = shown.replaceAll(secret, REDACTED);
    for (const [shape, instead] of SHAPES) shown = shown.replace(shape, instead);
    if (shown.length <= TEXT_MAX_CHARS && text.length <= SEARCHED_MAX_CHARS) return shown;
    return `${shown.slice(0, TEXT_MAX_CHARS)}… (${text.length} characters)`;
  }

  /**
   * `value` as plain JSON data without secrets. Errors become their message (with its causes),
   * cycles and what lies too deep a mark, bigints and other values text.
   */
  value(value: unknown): unknown {
    return this.#plain(value, []);
  }

  #plain(value: unknown, above: readonly object[]): unknown {
    switch (typeof value) {
      case "string":
        return this.text(value);
      case "number":
        return Number.isFinite(value) ? value : String(value); // JSON would make them null
      case "boolean":
      case "undefined":
        return value;
      case "object":
        return value === null ? null : this.#plainObject(value, above);
      default:
        return this.text(String(value));
    }
  }

  #plainObject(value: object, above: readonly object[]): unknown {
    if (value instanceof Error) return this.#plainError(value);
    if (value instanceof Date) {
      return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    }
    if (value instanceof URL) return this.text(value.href);
    if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`; // a key may be in there
    if (above.includes(value)) return "(cycle)";
    if (above.length >= DEPTH_MAX) return "(deeper)";

    const here = [...above, value];
    if (value instanceof Map) return this.#entries([...value], here);
    if (value instanceof Set) return this.#items([...value], here);
    if (Array.isArray(value)) return this.#items(value, here);
    return this.#entries(Object.entries(value), here);
  }

  #plainError(error: Error): unknown {
    const message = this.text(messageOf(error));
    if (!this.#stacks || error.stack === undefined) return message;
    return { message, stack: this.text(error.stack) };
  }

  #items(items: readonly unknown[], above: readonly object[]): unknown[] {
    const shown = items.slice(0, ENTRIES_MAX).map((item) => this.#plain(item, above));
    if (items.length > ENTRIES_MAX) shown.push(`(${items.length - ENTRIES_MAX} more)`);
    return shown;
  }

  #entries(entries: readonly (readonly [unknown, unknown])[], above: readonly object[]): unknown {
    const shown: Record<string, unknown> = {};
    for (const [name, value] of entries.slice(0, ENTRIES_MAX)) {
      const key = this.text(String(name));
      // Null prototypes are not needed here, but a field of this name must not change the object.
      if (key === "__proto__") continue;
      shown[key] = isSecretField(key) && holdsSomething(value)
        ? REDACTED
        : this.#plain(value, above);
    }
    if (entries.length > ENTRIES_MAX) shown["…"] = `(${entries.length - ENTRIES_MAX} more)`;
    return shown;
  }
}

/** True if a field of this name holds a secret, whatever its value looks like. */
export function isSecretField(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, "");
  return SECRET_FIELD.test(plain) && !NOT_SECRET_FIELD.test(plain);
}

/** Absent values and switches tell nothing, and are worth reading. */
function holdsSomething(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && typeof value !== "boolean";
}

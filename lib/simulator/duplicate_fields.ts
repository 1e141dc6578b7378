/**
 * Members that a JSON text says twice. `JSON.parse` keeps the last of them without a word, while
 * the API server warns of them, or refuses them under strict field validation.
 *
 * @module
 */

/** How deep values may nest, as in the server's decoder. */
const DEPTH_MAX = 10_000;

/**
 * Paths of members that occur twice in their object, such as `spec.replicas`, in order of
 * appearance and each once.
 *
 * @param text Well-formed JSON: what `JSON.parse` accepted.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(duplicateFields('{"a":[{"b":1,"b":2}],"c":{"d":1},"c":{}}'), ["a[0].b", "c"]);
 * ```
 */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const scanner = new Scanner(text, (path) => found.add(path));
  scanner.value("", 0);
  return [...found];
}

class Scanner {
  readonly #text: string;
  readonly #report: (path: string) => void;
  #at = 0;

  constructor(text: string, report: (path: string) => void) {
    this.#text = text;
    this.#report = report;
  }

  value(path: string, depth: number): void {
    if (depth > DEPTH_MAX) throw new RangeError(`Cannot scan JSON: nested over ${DEPTH_MAX} deep`);
    this.#space();
    const first = this.#text[this.#at];
    if (first === "{") this.#object(path, depth);
    else if (first === "[") this.#array(path, depth);
    else if (first === '"') this.#string();
    else {while (this.#at < this.#text.length && !/[,\]}\s]/.test(this.#text[this.#at] ?? "")) {
        this.#at++;
      }}
  }

  #object(path: string, depth: number): void {
    const seen = new Set<string>();
    while (this.#next("}")) {
      const key = this.#string();
      const at = path === "" ? key : `${path}.${key}`;
      if (seen.has(key)) this.#report(at);
      seen.add(key);
      this.#space();
      this.#at++; // the colon
      this.value(at, depth + 1);
    }
  }

  #array(path: string, depth: number): void {
    for (let index = 0; this.#next("]"); index++) this.value(`${path}[${index}]`, depth + 1);
  }

  /** Steps over the opening bracket or a comma; false, and over it, if `end` follows. */
  #next(end: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== end) this.#at++;
    this.#space();
    if (this.#text[this.#at] !== end) return this.#at < this.#text.length;
    this.#at++;
    return false;
  }

  #string(): string {
    const start = this.#at;
    for (this.#at++; this.#at < this.#text.length && this.#text[this.#at] !== '"'; this.#at++) {
      if (this.#text[this.#at] === "\\") this.#at++;
    }
    this.#at++;
    return String(JSON.parse(this.#text.slice(start, this.#at)));
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? "")) this.#at++;
  }
}

/**
 * How much a cache holds, and a warning when that is more than was expected.
 *
 * A cache has no upper limit of its own: half a cache would be a lie. But a cluster with a hundred
 * times the objects that were thought of should be found in a log and a metric, and not by the
 * kernel ending the process.
 *
 * @module
 */

/** What a cache is expected to hold at most. Beyond it there is a warning and nothing else. */
export interface CacheBudget {
  /** Number of objects. @default {Infinity} */
  readonly objects?: number;
  /** Memory of all objects, in bytes, as {@linkcode approximateBytes} tells. @default {Infinity} */
  readonly bytes?: number;
}

/** What a cache holds. */
export interface CacheUsage {
  /** Number of objects. */
  readonly objects: number;
  /** Memory of all objects, in bytes; only counted if the budget has a limit for it. */
  readonly bytes: number | undefined;
  /** True if that is more than the budget. */
  readonly isOverBudget: boolean;
}

/** The budget counts as kept again below this part of it, so that no warning comes twice a minute. */
export const BUDGET_KEPT_BELOW = 0.9;

/** Tells once when a budget is exceeded, and once when it is kept again. */
export class BudgetWatch {
  readonly #budget: CacheBudget;
  #isOver = false;

  /** Only stores. */
  constructor(budget: CacheBudget) {
    this.#budget = budget;
  }

  /** True while the budget is exceeded. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** What is new with this usage: `undefined` if nothing. */
  look(usage: Pick<CacheUsage, "objects" | "bytes">): "exceeded" | "kept" | undefined {
    const { objects: objectsMax = Infinity, bytes: bytesMax = Infinity } = this.#budget;
    const part = Math.max(usage.objects / objectsMax, (usage.bytes ?? 0) / bytesMax);
    if (!this.#isOver && part > 1) {
      this.#isOver = true;
      return "exceeded";
    }
    if (this.#isOver && part < BUDGET_KEPT_BELOW) {
      this.#isOver = false;
      return "kept";
    }
    return undefined;
  }
}

/** Bytes of an object or array without what it holds, in V8: map, elements, properties, length. */
const HEADER_BYTES = 24;

/** Bytes of a reference or a small number in an object or array. */
const SLOT_BYTES = 8;

/**
 * About how much memory a JSON value takes in V8, in bytes: texts by their length, in one byte or two
 * a character, fields by their slots. Names of fields are shared and cost nothing.
 *
 * Some texts are shared too, which this can't know: it tells too much rather than too little.
 *
 * @example
 * ```ts
 * import { ok } from "node:assert/strict";
 * const bytes = approximateBytes({ data: { key: "x".repeat(1000) } });
 * ok(bytes > 1000 && bytes < 1200);
 * ```
 */
export function approximateBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value === "number") return Number.isInteger(value) ? 0 : 16;
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) {
    return value.reduce<number>(
      (sum, item) => sum + SLOT_BYTES + approximateBytes(item),
      HEADER_BYTES,
    );
  }
  let bytes = HEADER_BYTES;
  for (const item of Object.values(value)) bytes += SLOT_BYTES + approximateBytes(item);
  return bytes;
}

/** Header and padding of a text. */
const TEXT_HEADER_BYTES = 16;

function textBytes(text: string): number {
  const width = NOT_LATIN1.test(text) ? 2 : 1;
  return TEXT_HEADER_BYTES + text.length * width;
}

const NOT_LATIN1 = /[\u0100-\uffff]/;

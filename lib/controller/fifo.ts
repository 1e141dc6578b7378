/**
 * First in, first out, at O(1): `Array.shift` moves all that is left, which a queue of ten thousand
 * keys would pay ten thousand times.
 *
 * @module
 */

/** Emptied slots at the front that are worth a copy of the rest to get rid of. */
const COMPACT_MIN = 1024;

/** A list that grows at its end and is taken from its front. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  /** Items that wait. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** Adds `item` at the end. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the item at the front; `undefined` if there is none. */
  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined; // or the front would keep it alive
    this.#head += 1;
    if (this.#head === this.#items.length) this.clear();
    // Copying only when more than half is empty makes each item be copied about once.
    else if (this.#head >= COMPACT_MIN && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Drops all items. */
  clear(): void {
    this.#items.length = 0;
    this.#head = 0;
  }
}

/**
 * A list that is taken from at its front, added to at its end, and left from anywhere, each at O(1).
 *
 * `Array.shift` moves all that is left, and the first entry of a `Map` whose front was deleted again
 * and again is found by walking over the holes: a queue of ten thousand keys would pay for either.
 *
 * @module
 */

/** A value's place in a list, to take it out by. */
export interface Link<T> {
  /** What is in this place. */
  readonly value: T;
}

/** First in, first out, unless taken out before. */
export class LinkedList<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  /** Values in the list. */
  get size(): number {
    return this.#size;
  }

  /** Adds `value` at the end. */
  push(value: T): Link<T> {
    const node: Node<T> = { value, list: this, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = node;
    else this.#last.after = node;
    this.#last = node;
    this.#size += 1;
    return node;
  }

  /** Takes the value at the front; `undefined` if there is none. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.remove(first);
    return first?.value;
  }

  /** Takes out the value of `link`. One that was taken before is left alone. */
  remove(link: Link<T>): void {
    const node: Partial<Node<T>> = link;
    if (node.list !== this) return;
    if (node.before === undefined) this.#first = node.after;
    else node.before.after = node.after;
    if (node.after === undefined) this.#last = node.before;
    else node.after.before = node.before;
    node.list = undefined;
    this.#size -= 1;
  }
}

interface Node<T> extends Link<T> {
  /** The list that it is in; `undefined` once it left. */
  list: LinkedList<T> | undefined;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

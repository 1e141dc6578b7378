/**
 * Keys that wait for their time: a binary heap for "which is next?", a map for "does this key wait?".
 *
 * Apart from the workqueue because it is a data structure and no more: it knows no clock, holds no
 * timer and starts nothing. A key is in it at most once, with the earliest of the times asked for.
 *
 * @module
 */

import { assert } from "../core/errors.ts";

/** A key and the monotonic time at which it is due, in milliseconds. */
export interface DelayedKey<K> {
  /** The key, as it was added. */
  readonly key: K;
  /** Monotonic time, in milliseconds. */
  readonly atMs: number;
}

/**
 * Keys ordered by due time, equal times by order of arrival, so that which of two keys goes first
 * never depends on the heap's shape. Adding and taking cost O(log n), finding O(1).
 */
export class DelayHeap<K> {
  readonly #heap: Node<K>[] = [];
  readonly #byKey = new Map<K, Node<K>>();
  #arrivals = 0;

  /** Keys that wait. */
  get size(): number {
    return this.#heap.length;
  }

  /** The key that is due next. */
  peek(): DelayedKey<K> | undefined {
    return this.#heap[0];
  }

  /** When `key` is due, if it waits. */
  find(key: K): DelayedKey<K> | undefined {
    return this.#byKey.get(key);
  }

  /** Lets `key` wait until `atMs`. If it waits already, the earlier time stays. */
  add(key: K, atMs: number): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) {
      const node = { key, atMs, order: this.#arrivals++, slot: this.#heap.length };
      this.#byKey.set(key, node);
      this.#rise(node);
    } else if (atMs < waiting.atMs) {
      waiting.atMs = atMs;
      this.#rise(waiting);
    }
  }

  /** Takes out the key that is due next, whether or not its time has come. */
  shift(): DelayedKey<K> | undefined {
    const first = this.#heap[0];
    if (first === undefined) return undefined;
    this.#byKey.delete(first.key);
    const last = this.#heap.pop();
    assert(last !== undefined, "a heap with a first node has a last one");
    if (last !== first) {
      last.slot = 0;
      this.#sink(last);
    }
    return first;
  }

  /** Forgets all keys. */
  clear(): void {
    this.#heap.length = 0;
    this.#byKey.clear();
  }

  /** Moves `node` up from its slot to where its parent is not due later. */
  #rise(node: Node<K>): void {
    while (node.slot > 0) {
      const parent = this.#heap[(node.slot - 1) >> 1];
      if (parent === undefined || isDueBefore(parent, node)) break;
      this.#swap(parent, node);
    }
    this.#heap[node.slot] = node;
  }

  /** Moves `node` down from its slot to where no child is due earlier. */
  #sink(node: Node<K>): void {
    for (;;) {
      const left = this.#heap[2 * node.slot + 1];
      const right = this.#heap[2 * node.slot + 2];
      const child = left && right && isDueBefore(right, left) ? right : left;
      if (child === undefined || isDueBefore(node, child)) break;
      this.#swap(child, node);
    }
    this.#heap[node.slot] = node;
  }

  /** Puts `settled` into the slot of `moving`, which takes the other's number and goes on from there. */
  #swap(settled: Node<K>, moving: Node<K>): void {
    const freeSlot = moving.slot;
    moving.slot = settled.slot;
    settled.slot = freeSlot;
    this.#heap[freeSlot] = settled;
  }
}

/** Mutable inside; handed out read-only. */
interface Node<K> {
  readonly key: K;
  atMs: number;
  readonly order: number;
  /** Own index in the heap, so that an earlier time moves the node in place. */
  slot: number;
}

function isDueBefore<K>(a: Node<K>, b: Node<K>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

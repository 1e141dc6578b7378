/**
 * In which order ready keys leave a workqueue: by priority, with ageing, and in turns by namespace.
 *
 * Apart from the workqueue because it is the order and nothing else: it knows no clock, no worker
 * and no state of a key but "ready". What it promises, for N the number of groups (by default:
 * namespaces) that have ready keys while a key waits, and p the number of keys ahead of it in its
 * own group and priority:
 *
 * - **Turns.** Groups take turns, so a normal key leaves after at most p + (p + 1) × (N − 1) other
 *   normal keys, however many thousands of keys a flooded group has. Within a group, keys leave in
 *   the order in which they became ready.
 * - **Priority.** Low keys leave behind normal ones, but
 * - **ageing:** each normal key that passes low ones makes those older, and after
 *   {@linkcode PASSES_MAX} passes in a row the next key to leave is a low one. So a low key leaves
 *   after at most ((p + 1) × N) × (PASSES_MAX + 1) keys, and low keys delay a normal one by at most a
 *   share of 1 / (PASSES_MAX + 1). Age is counted in keys and not in time: with slow reconciles any
 *   time would pass, and after a restart with 10,000 objects everything would count as old.
 *
 * @module
 */

import { assert } from "../core/errors.ts";
import { type Link, LinkedList } from "./linked_list.ts";

/**
 * How urgent a key is. `low` is for looks that no change asked for: the objects of the first list and
 * resyncs. A key that is wanted with both counts as normal.
 */
export type Priority = "normal" | "low";

/** All priorities, the most urgent first. */
export const PRIORITIES: readonly Priority[] = ["normal", "low"];

/** Normal keys in a row that may pass a waiting low one: 11 % of the work is the price of ageing. */
export const PASSES_MAX = 8;

/** Ready keys, each once. All operations cost O(1). */
export class ReadyKeys<K> {
  readonly #lanes = { normal: new Lane<K>(), low: new Lane<K>() };
  readonly #places = new Map<K, Place<K>>();
  #passes = 0;

  /** Keys that are ready. */
  get size(): number {
    return this.#places.size;
  }

  /** Adds `key`, which is not in here, behind the others of its group and priority. */
  push(key: K, { group, priority }: { group: string; priority: Priority }): void {
    assert(!this.#places.has(key), "a key is ready once");
    this.#places.set(key, this.#lanes[priority].push(key, group));
  }

  /** Moves `key`, if it is in here as low, behind the normal ones of its group. */
  raise(key: K): void {
    const place = this.#places.get(key);
    if (place?.lane !== this.#lanes.low) return;
    place.lane.remove(place);
    this.#places.set(key, this.#lanes.normal.push(key, place.group.name));
  }

  /** Takes the key whose turn it is; `undefined` if there is none. */
  shift(): K | undefined {
    const { normal, low } = this.#lanes;
    const isLow = normal.size === 0 || (low.size > 0 && this.#passes >= PASSES_MAX);
    this.#passes = isLow || low.size === 0 ? 0 : this.#passes + 1;
    const key = (isLow ? low : normal).shift();
    if (key !== undefined) this.#places.delete(key);
    return key;
  }

  /** Drops all keys. */
  clear(): void {
    for (const place of this.#places.values()) place.lane.remove(place);
    this.#places.clear();
    this.#passes = 0;
  }
}

/** Where a ready key is, to take it out by. */
interface Place<K> {
  readonly lane: Lane<K>;
  readonly group: Group<K>;
  readonly link: Link<K>;
}

/** The keys of one priority and one group. Gone when it has none, so that namespaces leave no trace. */
interface Group<K> {
  readonly name: string;
  readonly keys: LinkedList<K>;
  /** Its place among those that wait for their turn; always there once it is made. */
  turn: Link<Group<K>> | undefined;
}

/** The keys of one priority. */
class Lane<K> {
  readonly #groups = new Map<string, Group<K>>();
  readonly #turns = new LinkedList<Group<K>>();
  size = 0;

  push(key: K, name: string): Place<K> {
    const group = this.#groups.get(name) ?? this.#begin(name);
    this.size += 1;
    return { lane: this, group, link: group.keys.push(key) };
  }

  /** The first key of the group whose turn it is; the group then goes behind all others. */
  shift(): K | undefined {
    const group = this.#turns.shift();
    const key = group?.keys.shift();
    if (group === undefined || key === undefined) return undefined;
    this.size -= 1;
    if (group.keys.size === 0) this.#groups.delete(group.name);
    else group.turn = this.#turns.push(group);
    return key;
  }

  remove({ group, link }: Place<K>): void {
    group.keys.remove(link);
    this.size -= 1;
    if (group.keys.size > 0) return;
    this.#groups.delete(group.name);
    if (group.turn !== undefined) this.#turns.remove(group.turn);
  }

  #begin(name: string): Group<K> {
    const keys = new LinkedList<K>();
    const group: Group<K> = { name, keys, turn: undefined };
    group.turn = this.#turns.push(group);
    this.#groups.set(name, group);
    return group;
  }
}

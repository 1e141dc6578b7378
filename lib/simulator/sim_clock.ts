/**
 * Time and chance under a test's control: a clock that moves only when told to, and a random source
 * that replays from its seed.
 *
 * A fake clock alone would not make a run repeatable: before time moves on, all promise work that the
 * last timer set off has to end. So this clock owns the turns as well. It fires **one** timer, lets
 * every promise chain run dry, and only then looks at the next one, in order of time and, at the same
 * instant, in order of creation. The same seed therefore gives the same history.
 *
 * Promised for code whose waiting goes through {@linkcode Clock}, promises and in-process streams.
 * Not for sockets, files, subprocesses, `crypto.subtle` and native timers: those take the machine's
 * own time, which this clock can't see.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock, Random } from "../core/clock.ts";
import { assert, DeadlineError } from "../core/errors.ts";

/** Where the simulated wall clock starts unless told otherwise: 2026-01-01T00:00:00Z. */
export const SIM_WALL_START_MS: number = Date.UTC(2026, 0, 1);

/**
 * Most timers that may fire without time moving. Far above what any real workload sets for one
 * instant, so reaching it means a loop that waits for next to nothing and would never end.
 */
const TIMERS_AT_ONE_INSTANT_MAX = 1_000_000;

/**
 * A {@linkcode Clock} that stands still until {@linkcode SimClock.advance},
 * {@linkcode SimClock.runUntil} or {@linkcode SimClock.settle} is awaited.
 *
 * Waits behave as the real clock's do: 0, negative and NaN end at once, `Infinity` never does, an
 * abort rejects with the signal's reason and takes the timer away.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * const clock = new SimClock();
 * const { signal } = new AbortController();
 * const ticks: number[] = [];
 * const loop = (async () => {
 *   while (ticks.length < 3) {
 *     await clock.sleep(1000, { signal });
 *     ticks.push(clock.monotonicMs());
 *   }
 * })();
 * await clock.advance(3000);
 * await loop;
 * deepStrictEqual(ticks, [1000, 2000, 3000]);
 * ```
 */
export class SimClock implements Clock {
  #nowMs = 0;
  #wallOffsetMs: number;
  #created = 0;
  #isDriven = false;
  readonly #timers = new TimerHeap();

  /** Stores where wall time starts, in milliseconds since 1970. Monotonic time starts at 0. */
  constructor({ wallStartMs = SIM_WALL_START_MS }: { wallStartMs?: number } = {}) {
    this.#wallOffsetMs = wallStartMs;
  }

  /** Simulated milliseconds since the clock was made. */
  monotonicMs(): number {
    return this.#nowMs;
  }

  /** Simulated milliseconds since 1970: whole ones, as `Date.now` gives. */
  wallMs(): number {
    return Math.floor(this.#wallOffsetMs + this.#nowMs);
  }

  /** Waits that have not ended, those for `Infinity` included. 0 at a test's end: nothing leaked. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Shifts wall time by `ms` (back if negative), as an administrator or NTP does; timers stay. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** See {@linkcode Clock.sleep}. */
  sleep(ms: number, { signal }: { signal: AbortSignal }): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (!(ms > 0)) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.#timers.remove(timer);
      reject(signal.reason);
    };
    const fire = () => {
      signal.removeEventListener("abort", abort);
      resolve();
    };
    const timer = { atMs: this.#nowMs + ms, order: this.#created++, slot: -1, fire };
    signal.addEventListener("abort", abort, { once: true });
    this.#timers.push(timer);
    return promise;
  }

  /**
   * Lets `ms` milliseconds pass and fires what falls due, the end of the span included. All promise
   * work has ended before each step of time and when this resolves.
   *
   * @throws {AssertionError} If `ms` is negative or not finite, or the clock is being driven already.
   */
  async advance(ms: number): Promise<void> {
    assert(Number.isFinite(ms) && ms >= 0, `${ms} ms is a span of time that can pass`);
    await this.#drive(this.#nowMs + ms, () => false);
  }

  /**
   * Lets time pass until `predicate` holds, asking it after each timer, and stops at that instant.
   * Returns at once, after settling, if it holds already.
   *
   * @throws {DeadlineError} If it does not hold within `limitMs` simulated milliseconds, which then
   * have passed.
   * @throws {AssertionError} As {@linkcode SimClock.advance}.
   */
  async runUntil(
    predicate: () => boolean,
    { limitMs, action = "the awaited condition" }: { limitMs: number; action?: string },
  ): Promise<void> {
    assert(
      Number.isFinite(limitMs) && limitMs >= 0,
      `${limitMs} ms is a limit that can be reached`,
    );
    if (await this.#drive(this.#nowMs + limitMs, predicate)) return;
    throw new DeadlineError(action, limitMs);
  }

  /** Lets all promise work end without moving time. */
  async settle(): Promise<void> {
    // One turn of the event loop's check phase comes after every microtask, also those that they
    // queue themselves; measured to carry a whole Response → stream → generator chain.
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }

  /** Runs timers up to `untilMs`; true, and time stays there, as soon as `isDone` says so. */
  async #drive(untilMs: number, isDone: () => boolean): Promise<boolean> {
    // Two drivers would move time under each other's feet: the history would depend on the machine.
    assert(!this.#isDriven, "one caller at a time moves a simulated clock");
    this.#isDriven = true;
    try {
      await this.settle();
      let firedAtInstant = 0;
      while (!isDone()) {
        const next = this.#timers.peek();
        if (next === undefined || next.atMs > untilMs) {
          this.#nowMs = untilMs;
          return false;
        }
        firedAtInstant = next.atMs === this.#nowMs ? firedAtInstant + 1 : 0;
        assert(firedAtInstant < TIMERS_AT_ONE_INSTANT_MAX, "time moves on between timers");
        this.#timers.remove(next);
        this.#nowMs = next.atMs;
        next.fire();
        await this.settle();
      }
      return true;
    } finally {
      this.#isDriven = false;
    }
  }
}

interface Timer {
  readonly atMs: number;
  readonly order: number;
  /** Index in the heap, so that an aborted wait leaves at once; -1 when not in it. */
  slot: number;
  readonly fire: () => void;
}

/**
 * Binary heap, earliest first. Most waits are deadlines that get aborted: each timer knows its slot,
 * so taking one out costs O(log n) and leaves nothing behind.
 */
class TimerHeap {
  readonly #slots: Timer[] = [];

  get size(): number {
    return this.#slots.length;
  }

  peek(): Timer | undefined {
    return this.#slots[0];
  }

  push(timer: Timer): void {
    this.#rise(timer, this.#slots.length);
  }

  remove(timer: Timer): void {
    assert(this.#slots[timer.slot] === timer, "a timer leaves the heap once");
    const last = this.#slots.pop();
    if (last !== undefined && last !== timer) {
      // The last timer fills the gap, then goes up or down from there.
      this.#rise(last, timer.slot);
      this.#sink(last);
    }
    timer.slot = -1;
  }

  #rise(timer: Timer, from: number): void {
    let slot = from;
    while (slot > 0) {
      const parent = this.#slots[(slot - 1) >> 1];
      if (parent === undefined || isBefore(parent, timer)) break;
      this.#put(parent, slot);
      slot = (slot - 1) >> 1;
    }
    this.#put(timer, slot);
  }

  #sink(timer: Timer): void {
    let slot = timer.slot;
    for (;;) {
      const left = this.#slots[2 * slot + 1];
      const right = this.#slots[2 * slot + 2];
      if (left === undefined) break;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (isBefore(timer, child)) break;
      const childSlot = child.slot;
      this.#put(child, slot);
      slot = childSlot;
    }
    this.#put(timer, slot);
  }

  #put(timer: Timer, slot: number): void {
    this.#slots[slot] = timer;
    timer.slot = slot;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/**
 * A random source that repeats itself: the same seed gives the same numbers, on every machine.
 * Uniform over 53 bits (the sfc32 generator, two draws a number). Not for secrets.
 *
 * @throws {AssertionError} If `seed` is not a safe integer.
 *
 * @example
 * ```ts
 * import { notStrictEqual, strictEqual } from "node:assert/strict";
 * strictEqual(seededRandom(7)(), seededRandom(7)());
 * notStrictEqual(seededRandom(7)(), seededRandom(8)());
 * ```
 */
export function seededRandom(seed: number): Random {
  assert(Number.isSafeInteger(seed), `${seed} is a seed: a whole number`);
  let a = seed | 0;
  let b = Math.floor(seed / 2 ** 32) | 0;
  let c = 0x9e3779b9 | 0;
  let counter = 1;
  const next32 = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // Seeds that differ in one bit start alike; the generator's author asks for a dozen rounds or more.
  for (let round = 0; round < 16; round++) next32();
  return () => ((next32() >>> 5) * 2 ** 26 + (next32() >>> 6)) / 2 ** 53;
}

/** A source of UUIDs (version 4 in form) that repeats itself with `random`. */
export function seededUuid(random: Random): () => string {
  return () =>
    "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replaceAll(/[xy]/g, (place) => {
      const nibble = Math.floor(random() * 16);
      return (place === "x" ? nibble : (nibble & 0x3) | 0x8).toString(16);
    });
}

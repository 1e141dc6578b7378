/**
 * Seeds that once failed, and why. They run with every change.
 *
 * A seed stands for its history only as long as workload and weather are drawn alike; what it taught
 * has a test of its own beside the code at fault.
 *
 * @module
 */

/** A seed that failed. */
export interface Regression {
  readonly seed: number;
  /** What was wrong, and where it was put right. */
  readonly why: string;
}

/** All of them, oldest first. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 29,
    why:
      "simulator: what a Foo of a deleted kind left behind was never collected, not even after " +
      "the kind came back",
  },
  { seed: 56, why: "simulator: the same, in today's workload" },
  {
    seed: 211,
    why:
      "reconciler: the Deployment of a Foo that was gone was made again and again, as fast as the " +
      "garbage collector took it, for as long as the cache still had the Foo",
  },
  { seed: 352, why: "reconciler: the same, with failing status writes" },
  { seed: 31, why: "reconciler: the same, in today's workload" },
  {
    seed: 384,
    why: "weather: a repeated line brought back a Deployment that the watch selected no more",
  },
  {
    seed: 224,
    why:
      "own writes: a status that came back on a watch only after it was no longer waited for was " +
      "taken for a mere echo, and what had been decided without it stayed",
  },
];

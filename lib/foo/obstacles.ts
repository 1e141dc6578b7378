/**
 * Deployments that stand in a Foo's way and that no cache shows.
 *
 * The cache holds what bears our label, so that a cluster's other Deployments cost nothing. One that
 * has the name a Foo gives and is not ours is met only when the create fails, and nobody tells when
 * it goes. So the server is asked again, seldom: each look is one read, whatever else makes us look
 * at the Foo in between.
 *
 * @module
 */

import type { ObjectKey } from "../core/objects.ts";

/**
 * How long the server's word on such a Deployment holds, in milliseconds: a Foo heals within half a
 * minute of the obstacle's going, at a request a half-minute for each Foo that has one.
 */
export const OBSTACLE_POLL_MS = 30_000;

/** One Deployment in the way of a Foo. */
export interface Obstacle {
  /** Its name, which the Foo wants. */
  readonly name: string;
  /** Its controller, as `kind/name`, if it has one. */
  readonly owner?: string | undefined;
  /**
   * `foreign` until it goes; `ending` if it is the Foo's own and being deleted; `gone` if there is none,
   * and no Foo either any more: the cache will tell, and until it does nothing is made for it.
   */
  readonly what: "foreign" | "ending" | "gone";
  /** Monotonic time at which the server told of it. */
  readonly seenAtMs: number;
}

/** What is in the way of which Foo. */
export class Obstacles {
  /** As many as Foos that are kept from their Deployment. */
  readonly #known = new Map<ObjectKey, Obstacle>();

  /** The server says that this is in the way of `key`. */
  met(key: ObjectKey, obstacle: Obstacle): void {
    this.#known.set(key, obstacle);
  }

  /** Nothing is in the way of `key`, or nothing but what the cache shows. */
  cleared(key: ObjectKey): void {
    this.#known.delete(key);
  }

  /** What was in the way of `key` when the server was last asked about `name`. */
  find(key: ObjectKey, name: string): Obstacle | undefined {
    const known = this.#known.get(key);
    return known?.name === name ? known : undefined;
  }

  /** Milliseconds until the server is to be asked again about the obstacle of `key`, if it has one. */
  waitMs(key: ObjectKey, nowMs: number): number | undefined {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    return Math.max(0, known.seenAtMs + OBSTACLE_POLL_MS - nowMs);
  }
}

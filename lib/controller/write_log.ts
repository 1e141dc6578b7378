/**
 * Remembers what was written until the cache of its kind has it: read-your-writes, bounded.
 *
 * A cache lags behind one's own writes. Deciding on a copy from before the last write means doing it
 * again: a second create, an "already exists", a status from the past (field case S6). So a read of
 * what was written waits for the cache, and only so long.
 *
 * Nothing is kept on top of the cache: overlays of own writes have lost other people's changes in
 * every framework that had them (Q2). What is remembered is a version to wait for, never an object,
 * and nothing that the cache tells is held back.
 *
 * @module
 */

import type { KindCache } from "../cache/kind_cache.ts";
import type { SharedInformer } from "../cache/shared_informer.ts";
import { hasReached } from "../cache/store_waiters.ts";
import { type Clock, withDeadline } from "../core/clock.ts";
import { DeadlineError } from "../core/errors.ts";
import { keyOf, type KubeObject, type ObjectKey, splitKey } from "../core/objects.ts";

/**
 * How long a cache may lag behind a write, in milliseconds, before reads of what was written wait no
 * more. A watch delivers within milliseconds, and a broken one is resumed within seconds.
 */
export const LAG_MAX_MS = 10_000;

/** Entries above which those that the cache has are looked for and dropped. */
const SWEEP_ABOVE = 256;

/** What the cache does not have yet of one object. */
interface Entry {
  /** Version that the last write made, if one did; a deletion tells none. */
  readonly version: string | undefined;
  /** Whose version that is. */
  readonly uid: string | undefined;
  /** What was done to the object of that uid: written, told to go, or seen off for good. */
  readonly then: "written" | "goes" | "gone";
  readonly writtenAtMs: number;
  /** How often the cache's versions had gone back then. */
  readonly timesBack: number | undefined;
}

/** One's own writes of one kind, for one cache of it. */
export class WriteLog<T extends KubeObject> {
  readonly #cache: KindCache<T>;
  readonly #clock: Clock;
  readonly #lagMaxMs: number;
  readonly #entries = new Map<ObjectKey, Entry>();
  #sweepAbove = SWEEP_ABOVE;

  /** Only stores. */
  constructor(
    cache: KindCache<T>,
    { clock, lagMaxMs = LAG_MAX_MS }: { clock: Clock; lagMaxMs?: number },
  ) {
    this.#cache = cache;
    this.#clock = clock;
    this.#lagMaxMs = lagMaxMs;
  }

  /** Objects that were written and that the cache is not known to have. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The server made this of a write. What the cache does not select and neither holds nor is about to
   * hold will never come, so it is not waited for.
   */
  wrote(object: T): void {
    const key = keyOf(object.metadata);
    if (this.#cache.has(object) === false && this.uidOf(key) === undefined) return;
    const { resourceVersion: version, uid } = object.metadata;
    this.#add(key, { version, uid, then: isOver(object) ? "gone" : "written" });
  }

  /** A subresource of the object was written, and this was its version afterwards. */
  wrotePart(key: ObjectKey, version: string): void {
    const uid = this.uidOf(key);
    if (uid !== undefined) this.#add(key, { version, uid, then: "written" });
  }

  /**
   * The server was told to delete the object, which had this uid if it is known. What was written
   * before still counts: a cache that has not heard of the object yet will, and must not show it then.
   */
  deleted(key: ObjectKey, uid: string | undefined): void {
    const { version } = this.#pending(key) ?? {};
    if (uid !== undefined) this.#add(key, { version, uid, then: "goes" });
  }

  /** Uid of the object as own writes left it, or else as the cache has it. */
  uidOf(key: ObjectKey): string | undefined {
    return this.#pending(key)?.uid ?? this.#cache.lister.find(key)?.metadata.uid;
  }

  /**
   * Waits until the cache has all own writes: of one object, of one namespace, or of all. Rejects
   * with `signal.reason`.
   *
   * @throws {DeadlineError} If the cache has lagged for too long behind one of them, at once if that
   * was known before.
   */
  async caughtUp(
    what: { readonly key?: ObjectKey; readonly namespace?: string },
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    for (const [key, entry] of [...this.#entries]) {
      const { namespace } = splitKey(key);
      if (what.key !== undefined && what.key !== key) continue;
      if (what.namespace !== undefined && what.namespace !== namespace) continue;
      const informer = this.#cache.informerOf(namespace);
      if (informer !== undefined) await this.#wait(informer, key, entry, signal);
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    }
  }

  async #wait(
    informer: SharedInformer<T>,
    key: ObjectKey,
    entry: Entry,
    signal: AbortSignal,
  ): Promise<void> {
    if (isIn(informer, key, entry)) return;
    const action = `waiting for ${this.#cache.name} to have our own write of ${key}`;
    const leftMs = entry.writtenAtMs + this.#lagMaxMs - this.#clock.monotonicMs();
    // A version from before the server was restored may not come again for hours: the write is lost.
    if (leftMs <= 0 && informer.timesBack !== entry.timesBack) return;
    if (leftMs <= 0) throw new DeadlineError(action, this.#lagMaxMs);
    const limit = { action, limitMs: leftMs, clock: this.#clock, signal };
    await withDeadline(
      (limited) => informer.until(() => isIn(informer, key, entry), { signal: limited }),
      limit,
    );
  }

  /** What the cache lacks of the object's last write. */
  #pending(key: ObjectKey): Entry | undefined {
    const entry = this.#entries.get(key);
    const informer = this.#cache.informerOf(splitKey(key).namespace);
    return entry && informer && !isIn(informer, key, entry) ? entry : undefined;
  }

  #add(key: ObjectKey, write: Pick<Entry, "version" | "uid" | "then">): void {
    const timesBack = this.#cache.informerOf(splitKey(key).namespace)?.timesBack;
    this.#entries.set(key, { ...write, writtenAtMs: this.#clock.monotonicMs(), timesBack });
    if (this.#entries.size <= this.#sweepAbove) return;
    for (const [key, entry] of this.#entries) {
      const informer = this.#cache.informerOf(splitKey(key).namespace);
      if (informer === undefined || isIn(informer, key, entry)) this.#entries.delete(key);
    }
    // So that many writes that the cache lacks are not all looked at for each further one.
    this.#sweepAbove = Math.max(SWEEP_ABOVE, 2 * this.#entries.size);
  }
}

function isIn<T extends KubeObject>(
  { lister }: SharedInformer<T>,
  key: ObjectKey,
  { version, uid, then }: Entry,
): boolean {
  if (version !== undefined && !hasReached(lister.resourceVersion, version)) return false;
  if (then === "written") return true;
  const held = lister.find(key);
  if (held?.metadata.uid !== uid) return true;
  // With finalizers it stays for a while, and says so.
  return then === "goes" && held?.metadata.deletionTimestamp !== undefined;
}

/**
 * True if the write was the object's last: it took the last finalizer off what was to be deleted. The
 * server then answers with a version from before the end, which the cache may have long since.
 */
function isOver({ metadata }: KubeObject): boolean {
  // Absent for what goes in its own time, as a namespace does, which has finalizers elsewhere.
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 &&
    finalizers.length === 0;
}

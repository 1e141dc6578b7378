/**
 * Remembers what we wrote until the caches have caught up with it: read-your-writes, bounded.
 *
 * An informer's cache lags behind our own writes. Deciding on a copy from before the last write
 * means doing it again: a second create, an "already exists", a status from the past (field case
 * S6). So a key whose caches have not reached its last write waits, and only so long: a cache that
 * does not move is worse to wait for than to act on, since every write of ours carries
 * preconditions.
 *
 * Nothing is kept on top of the cache. Versions are compared by the helper that may (KEP-5504); where
 * they can't be ordered, nothing waits.
 *
 * @module
 */

import { hasReached } from "../cache/store_waiters.ts";
import type { ObjectKey } from "../core/objects.ts";

/**
 * How long a key waits at most for its caches, in milliseconds after its last write. A watch delivers
 * within milliseconds, and a broken one is noticed and resumed within seconds.
 */
export const LAG_MAX_MS = 10_000;

/** The caches that writes come back through. */
export type WrittenKind = "foos" | "deployments";

const KINDS: readonly WrittenKind[] = ["foos", "deployments"];

/** What was written last for one Foo. */
interface Entry {
  /** Versions that the server answered our last write of each kind with. */
  readonly versions: Partial<Record<WrittenKind, string>>;
  /** Those of them whose coming back on the watch needs no look. */
  readonly echoes: Partial<Record<WrittenKind, string>>;
  /** Uids of Deployments that we had deleted, while the cache may still show them. */
  readonly deletedUids: Set<string>;
  writtenAtMs: number;
}

/** Our last writes, by the key of the Foo that they were for. */
export class OwnWrites {
  /** As many entries as Foos that were written since they were last seen in step. */
  readonly #entries = new Map<ObjectKey, Entry>();

  /** `key` was written: `version` is what the server answered. `nowMs` is monotonic. */
  wrote(
    key: ObjectKey,
    { kind, version, nowMs }: { kind: WrittenKind; version: string; nowMs: number },
  ): void {
    const entry = this.#entry(key);
    entry.versions[kind] = version;
    entry.echoes[kind] = version;
    entry.writtenAtMs = nowMs;
  }

  /** A Deployment of `key` was deleted, whatever the cache says of it from now on. */
  deleted(key: ObjectKey, uid: string): void {
    this.#entry(key).deletedUids.add(uid);
  }

  /** True if we had this Deployment deleted. */
  isDeleted(key: ObjectKey, uid: string): boolean {
    return this.#entries.get(key)?.deletedUids.has(uid) ?? false;
  }

  /** Of the Deployments that we had deleted, only those with these uids are still to be remembered. */
  keepDeleted(key: ObjectKey, uids: readonly string[]): void {
    const deleted = this.#entries.get(key)?.deletedUids;
    for (const uid of deleted ?? []) if (!uids.includes(uid)) deleted?.delete(uid);
  }

  /**
   * True if this very state of an object is what our last write of its kind made, and nothing was
   * decided since on a cache that lacked it.
   */
  isEcho(key: ObjectKey, { kind, version }: { kind: WrittenKind; version: string }): boolean {
    return this.#entries.get(key)?.echoes[kind] === version;
  }

  /** True if something of this kind was written for `key` since it was last forgotten. */
  hasWritten(key: ObjectKey, kind: WrittenKind): boolean {
    return this.#entries.get(key)?.versions[kind] !== undefined;
  }

  /**
   * True while a cache is older than our last write, and that is not too long ago.
   *
   * The end of patience means that the caller decides on a cache without our write: what was decided
   * may be wrong once the write comes back, so that is no mere echo any more.
   */
  isLagging(
    key: ObjectKey,
    { reached, nowMs }: { reached: Readonly<Record<WrittenKind, string>>; nowMs: number },
  ): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    const behind = KINDS.filter((kind) => isBehind(reached[kind], entry.versions[kind]));
    if (nowMs - entry.writtenAtMs < LAG_MAX_MS) return behind.length > 0;
    for (const kind of behind) delete entry.echoes[kind];
    return false;
  }

  /** The Foo is gone. */
  forget(key: ObjectKey): void {
    this.#entries.delete(key);
  }

  #entry(key: ObjectKey): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = {
      versions: {},
      echoes: {},
      deletedUids: new Set(),
      writtenAtMs: -Infinity,
    };
    this.#entries.set(key, entry);
    return entry;
  }
}

function isBehind(reached: string, written: string | undefined): boolean {
  return written !== undefined && !hasReached(reached, written);
}

/**
 * Where credentials come from, and when they are renewed: the {@linkcode CredentialSource} of a
 * process that may read files and run plugins.
 *
 * Promises:
 * - One renewal at a time, however many ask; aborted when nobody waits for it any more.
 * - Files are read again at most every minute, and at once after a 401, by the
 *   same path each time: kubelet replaces a token or a CA by swapping a symbolic link on that path
 *   (field case K12).
 * - A plugin's answer is kept until shortly before it expires; after a 401 the plugin runs once
 *   (field case K9).
 * - A renewal that fails, or finds a certificate without its key (one of two files replaced so far,
 *   field case K15), leaves the credential in force in use and is tried again soon.
 * - The generation moves only if something in the credential changed.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { ConfigError, messageOf } from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { Credential, CredentialSource } from "./connection.ts";
import { type SharedWork, shareWork } from "./shared_work.ts";

/** Pause after a renewal that failed while the credential before it still serves. */
export const FAILED_RECHECK_MS = 5_000;
/**
 * Longest time before its expiry at which a credential is renewed, in milliseconds. Covers a
 * request's way to the server and clocks that differ a little.
 */
export const EXPIRY_MARGIN_MAX_MS = 10_000;
/** A {@linkcode Credential} before it is numbered; `expiresAtMs` is its true end. */
export type CredentialMaterial = Omit<Credential, "generation">;

/** One origin of parts of a credential: a file, a plugin, the kubeconfig itself. */
export interface CredentialPart {
  /** How long what it gave is believed, in milliseconds; `Infinity` if it can't change. */
  readonly recheckMs: number;
  /**
   * What it gives now.
   *
   * @param options.rejected The server refused what it gave before.
   * @param options.before What the parts before it gave.
   * @throws {ConfigError} If it can't give it.
   */
  load(options: {
    rejected: boolean;
    before: CredentialMaterial;
    signal: AbortSignal;
  }): Promise<CredentialMaterial>;
}

/** The one thing that credentials need of the file system. */
export interface LocalFiles {
  /**
   * The text of a file, as UTF-8.
   *
   * @throws {ConfigError} If it is larger than any configuration is.
   * @throws What `Deno.readTextFile` does.
   */
  readText(path: string, options: { signal: AbortSignal }): Promise<string>;
}

/** The machine's files. */
export const localFiles: LocalFiles = {
  async readText(path, { signal }) {
    signal.throwIfAborted();
    const { isFifo } = await Deno.stat(path);
    if (!isFifo) return await readBounded(path, { signal });
    // Without a bound: to open a pipe waits for its other end, and this alone can be ended then (from
    // Deno 2.9 on; before, it holds the thread, and nothing here could end it). Whoever makes a pipe
    // knows what is in it.
    return await Deno.readTextFile(path, { signal });
  },
};

/**
 * Largest file that is read, in bytes. Kubeconfigs of hundreds of clusters have about one MiB; what
 * is larger is a mistake, and what has no end (`/dev/zero`) would fill the memory.
 */
export const FILE_MAX_BYTES = 8 * 1024 * 1024;

async function readBounded(path: string, { signal }: { signal: AbortSignal }): Promise<string> {
  using file = await Deno.open(path);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  const chunk = new Uint8Array(64 * 1024);
  // The size that the system tells is no help: devices and /proc tell 0.
  for (let bytes = 0;;) {
    signal.throwIfAborted();
    const count = await file.read(chunk);
    if (count === null) return text + decoder.decode();
    bytes += count;
    if (bytes > FILE_MAX_BYTES) {
      throw new ConfigError(
        `it is larger than ${FILE_MAX_BYTES / 1024 / 1024} MiB, as no configuration is`,
      );
    }
    text += decoder.decode(chunk.subarray(0, count), { stream: true });
  }
}

/** What a {@linkcode RefreshingCredentials} is made of. */
export interface RefreshingCredentialsOptions {
  /** In order: a later part wins over an earlier one. */
  readonly parts: readonly CredentialPart[];
  /** Decides when a renewal is due: wall time for expiry, monotonic time for the rest. */
  readonly clock: Clock;
  /** Gets a warning when a renewal failed. */
  readonly log: Logger;
}

/** A credential under renewal. `forced`: because the server refused the one before. */
interface Renewal {
  readonly forced: boolean;
  readonly work: SharedWork<Credential>;
}

/** The credential in force, with what decides about its renewal. */
interface Held {
  readonly credential: Credential;
  readonly material: CredentialMaterial;
  /** Monotonic time from which it is looked after again. */
  recheckAtMs: number;
}

/** A {@linkcode CredentialSource} made of parts; the module says what it promises. */
export class RefreshingCredentials implements CredentialSource {
  readonly #parts: readonly CredentialPart[];
  readonly #clock: Clock;
  readonly #log: Logger;
  #held: Held | undefined;
  #renewal: Renewal | undefined;
  /** After a renewal that failed: until then the credential in force is used to its true end. */
  #pausedUntilMs = -Infinity;

  /** Only stores: the first call of `current` reads. */
  constructor({ parts, clock, log }: RefreshingCredentialsOptions) {
    this.#parts = parts;
    this.#clock = clock;
    this.#log = log;
  }

  /** The credential in force; renews it first if it is due. */
  async current({ signal }: { signal: AbortSignal }): Promise<Credential> {
    signal.throwIfAborted();
    if (this.#held !== undefined && !this.#isDue(this.#held)) return this.#held.credential;
    return await this.#startOrJoin(false).join({ signal });
  }

  /** Renews, unless a newer one than `generation` is there already. */
  async refresh(generation: number, { signal }: { signal: AbortSignal }): Promise<Credential> {
    for (;;) {
      signal.throwIfAborted();
      const credential = this.#held?.credential;
      if (credential !== undefined && credential.generation > generation) return credential;
      const running = this.#renewal?.work.isRunning ? this.#renewal : undefined;
      if (running === undefined || running.forced) {
        return await this.#startOrJoin(true).join({ signal });
      }
      // An ordinary renewal may have read just before the change: it does not answer the refusal.
      try {
        await running.work.join({ signal });
      } catch (error) {
        if (signal.aborted) throw error;
        this.#log.debug("Renewing credentials again after a refusal", { error: messageOf(error) });
      }
    }
  }

  #startOrJoin(forced: boolean): SharedWork<Credential> {
    if (!this.#renewal?.work.isRunning) {
      this.#renewal = { forced, work: shareWork((signal) => this.#renew(forced, signal)) };
    }
    return this.#renewal.work;
  }

  #isDue({ credential, recheckAtMs }: Held): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= recheckAtMs) return true;
    const { expiresAtMs = Infinity } = credential;
    return this.#clock.wallMs() >= expiresAtMs && nowMs >= this.#pausedUntilMs;
  }

  async #renew(forced: boolean, signal: AbortSignal): Promise<Credential> {
    try {
      return this.#adopt(await this.#load(forced, signal));
    } catch (error) {
      const held = this.#held;
      if (signal.aborted || forced || held === undefined || this.#isOver(held)) throw error;
      this.#log.warn("Cannot renew credentials; the ones before stay in use", {
        error: messageOf(error),
      });
      this.#pausedUntilMs = this.#clock.monotonicMs() + FAILED_RECHECK_MS;
      held.recheckAtMs = this.#pausedUntilMs;
      return held.credential;
    }
  }

  async #load(rejected: boolean, signal: AbortSignal): Promise<CredentialMaterial> {
    let material: CredentialMaterial = {};
    for (const part of this.#parts) {
      material = { ...material, ...await part.load({ rejected, before: material, signal }) };
    }
    return material;
  }

  #adopt(material: CredentialMaterial): Credential {
    const recheckMs = Math.min(...this.#parts.map((part) => part.recheckMs), Infinity);
    const recheckAtMs = this.#clock.monotonicMs() + recheckMs;
    const old = this.#held;
    if (old !== undefined && isSameMaterial(old.material, material)) {
      old.recheckAtMs = recheckAtMs;
      return old.credential;
    }
    const { expiresAtMs, ...rest } = material;
    const renewAtMs = expiresAtMs === undefined ? {} : { expiresAtMs: this.#renewAt(expiresAtMs) };
    const generation = (old?.credential.generation ?? 0) + 1;
    const credential = { ...rest, ...renewAtMs, generation };
    this.#held = { credential, material, recheckAtMs };
    return credential;
  }

  /** A fifth of the life before its end, but not more than the margin. */
  #renewAt(expiresAtMs: number): number {
    const lifeMs = Math.max(0, expiresAtMs - this.#clock.wallMs());
    return expiresAtMs - Math.min(EXPIRY_MARGIN_MAX_MS, lifeMs / 5);
  }

  #isOver({ material }: Held): boolean {
    return material.expiresAtMs !== undefined && this.#clock.wallMs() >= material.expiresAtMs;
  }
}

function isSameMaterial(a: CredentialMaterial, b: CredentialMaterial): boolean {
  return a.token === b.token && a.caPem === b.caPem && a.expiresAtMs === b.expiresAtMs &&
    a.basic?.username === b.basic?.username && a.basic?.password === b.basic?.password &&
    a.clientCertificate?.certificatePem === b.clientCertificate?.certificatePem &&
    a.clientCertificate?.keyPem === b.clientCertificate?.keyPem;
}

/**
 * The real transport with a scripted source of credentials, for tests that connect to a
 * `startTlsServer` with a certificate of {@linkcode pki}.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { setImmediate } from "node:timers";
import type {
  ConnectionSettings,
  Credential,
  CredentialSource,
} from "../../lib/client/connection.ts";
import { FetchTransport } from "../../lib/client/transport.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { createPki, type TestPki } from "./pki.ts";
import { type LogRecord, recordingLogger } from "./recording_logger.ts";

/** The authority that the credentials of {@linkcode sourceOf} trust. */
export const pki: TestPki = await createPki("transport tests");

const live = () => new AbortController().signal;

/** A source that a test turns. */
export interface ScriptedSource extends CredentialSource {
  /** Generations that were renewed, in order. */
  readonly renewals: readonly number[];
  /** Goes on to the next credential without having been asked to. */
  rotate(): void;
}

/** A source that gives `credentials` in turn, each after a renewal of the one before. */
export function sourceOf(...credentials: Omit<Credential, "generation">[]): ScriptedSource {
  let at = 0;
  const current = () => ({ generation: at, caPem: pki.caPem, ...credentials[at] });
  const renewals: number[] = [];
  return {
    renewals,
    rotate: () => void at++,
    current: () => Promise.resolve(current()),
    refresh: (generation) => {
      renewals.push(generation);
      if (generation === at && at < credentials.length - 1) at++;
      return Promise.resolve(current());
    },
  };
}

/** A transport and what a test needs of it. */
export interface TransportFixture {
  readonly transport: FetchTransport;
  readonly records: readonly LogRecord[];
  readonly clock: SimClock;
  /** GETs `path` and reads the answer. */
  get(path?: string, signal?: AbortSignal): Promise<{ status: number; text: string }>;
}

/** A transport to `server` with credentials of `source`. */
export function transportTo(
  server: string,
  source: CredentialSource,
  over: Partial<ConnectionSettings> = {},
): TransportFixture {
  const { log, records } = recordingLogger();
  const clock = new SimClock();
  const settings = { server, namespace: "default", userAgent: "test/1", ...over };
  const transport = new FetchTransport({ source, settings, clock, log });
  const get = async (path = "/", signal = live()) => {
    const response = await transport.send(server + path, { method: "GET", headers: {}, signal });
    return { status: response.status, text: await response.text() };
  };
  return { transport, get, records, clock };
}

/** Turns that sockets on this machine may take for what a test waits for. Takes seconds. */
const TURNS_MAX = 500_000;

/** Lets sockets take their turns until `claim` holds. No time is waited for. */
export async function untilSocketsShow(claim: () => boolean): Promise<void> {
  for (let turn = 0; !claim(); turn++) {
    ok(turn < TURNS_MAX, `the sockets show: ${claim}`);
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}

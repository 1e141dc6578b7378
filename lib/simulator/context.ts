/**
 * The parts of one server that its handlers and controllers share.
 *
 * @module
 */

import type { Clock, Random } from "../core/clock.ts";
import type { Authorizer } from "./authorization.ts";
import type { Background } from "./background.ts";
import type { Registry } from "./registry.ts";
import type { Storage } from "./storage.ts";

/** Made once by the server; only its parts change. */
export interface ServerContext {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly background: Background;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
  readonly authorizer: Authorizer;
  /** How a watch from a compacted version is answered. */
  readonly expiredWatches: "event" | "http";
}

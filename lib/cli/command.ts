/**
 * What a subcommand is, and what of the process it is given.
 *
 * @module
 */

import type { LocalFiles } from "../client/credentials.ts";
import type { Environment } from "../client/proxy.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { Redactor } from "../core/redact.ts";
import type { FlagDefinitions, Flags } from "./flags.ts";
import type { OwnPermissions } from "./sandbox.ts";

/** The process, as `main.ts` makes it of the real one and tests of literals. */
export interface Host {
  readonly environment: Environment;
  /** Writes text as it is. Throws if it can't be written. */
  readonly stdout: (text: string) => void;
  /** Writes text as it is. Never throws: what nobody takes is dropped. */
  readonly stderr: (text: string) => void;
  /** Which of the three a person sits at. */
  readonly terminals: {
    readonly stdin: boolean;
    readonly stdout: boolean;
    readonly stderr: boolean;
  };
  /** Aborts on the first SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
  readonly build: BuildInfo;
  /** Where configuration and credentials are read from. */
  readonly files: LocalFiles;
  /** Module that an operator's worker runs: `operator_worker.ts`. */
  readonly operatorWorker: URL;
  /** What the process may do. */
  readonly permissions: OwnPermissions;
  readonly program: Program;
}

/** How this program is started once more, as another process. */
export interface Program {
  /** Program and first arguments; a subcommand follows. */
  readonly command: readonly string[];
  /** Folder of `main.ts`, if it runs from source: then a new start may run other code. */
  readonly sources?: string;
}

/** What runs. */
export interface BuildInfo {
  readonly version: string;
  /** Of the source; absent when run from a working copy. */
  readonly commit?: string;
  /** Of the runtime. */
  readonly deno: string;
  /** `linux/x86_64`. */
  readonly platform: string;
}

/** What a subcommand gets besides the host. */
export interface Invocation {
  readonly flags: Flags;
  /** Takes secrets out of whatever is printed; tell it of those you come to know. */
  readonly redactor: Redactor;
}

/** One subcommand. */
export interface Command {
  readonly name: string;
  /** One line for the list of subcommands. */
  readonly summary: string;
  /** What it does, for its help. */
  readonly description: string;
  /** What stands after the name in the usage line, besides flags. */
  readonly words?: string;
  /** Words that it takes; others are refused. @default none */
  readonly choices?: readonly string[];
  readonly flags: FlagDefinitions;
  /** Each a command line and what it is for. */
  readonly examples: readonly { readonly line: string; readonly what: string }[];
  /** Does it. @returns the exit code. */
  run(invocation: Invocation, host: Host): Promise<number>;
}

/** Exit codes: part of the command line's contract. */
export const EXIT = { ok: 0, failure: 1, usage: 2 } as const;

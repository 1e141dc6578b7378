/**
 * The command line: finds the subcommand, hands it its flags, and turns what it throws into one
 * sentence and an exit code.
 *
 * @module
 */

import { ConfigError, messageOf } from "../core/errors.ts";
import { oneLine } from "../core/one_line.ts";
import { Redactor } from "../core/redact.ts";
import { type Command, EXIT, type Host } from "./command.ts";
import { type FlagDefinitions, type Flags, parseFlags, suggestion, UsageError } from "./flags.ts";
import { commandHelp, PROGRAM, programHelp } from "./help.ts";
import { DEV } from "./dev.ts";
import { MANIFESTS } from "./manifests.ts";
import { PERMISSIONS } from "./permissions.ts";
import { RUN } from "./run.ts";
import { VERSION } from "./version.ts";

/** All subcommands, in the order of the help. */
export const COMMANDS: readonly Command[] = [RUN, DEV, MANIFESTS, PERMISSIONS, VERSION];

/** Flags that every subcommand has. */
const COMMON_FLAGS: FlagDefinitions = {
  help: { type: "switch", aliases: ["h"], help: "Show this help" },
};

/**
 * Runs the command line `args`.
 *
 * @returns The exit code: 0 clean end, 1 failure, 2 wrong usage. Never rejects: what went wrong is
 * told on `host.stderr`, in one sentence, without secrets.
 */
export async function main(args: readonly string[], host: Host): Promise<number> {
  const isDebug = isDebugWanted(args);
  const redactor = new Redactor({ stacks: isDebug });
  try {
    return await dispatch(args, { host, redactor });
  } catch (error) {
    if (error instanceof UsageError) {
      host.stderr(`error: ${oneLine(redactor.text(error.message))}\n`);
      return EXIT.usage;
    }
    if (host.signal.aborted && error === host.signal.reason) return EXIT.ok; // stopped, as asked
    // The configuration's errors say all there is; others only together with what caused them.
    const message = error instanceof ConfigError ? error.message : messageOf(error);
    const sentence = redactor.text(message).replaceAll(/\s*[\r\n]+\s*/g, " ");
    host.stderr(`error: ${oneLine(sentence)}\n`);
    if (isDebug && error instanceof Error) {
      const stacks = redactor.text(stacksOf(error)).split("\n").map(oneLine);
      host.stderr(`${stacks.join("\n")}\n`);
    }
    return EXIT.failure;
  }
}

async function dispatch(
  args: readonly string[],
  { host, redactor }: { host: Host; redactor: Redactor },
): Promise<number> {
  const [name, ...rest] = args;
  switch (name) {
    case undefined:
      host.stderr(programHelp(COMMANDS));
      return EXIT.usage;
    case "help":
      return help(rest, host);
    case "--help":
    case "-h":
      return help([], host);
    case "--version":
      return await dispatch(["version", ...rest], { host, redactor });
  }
  const command = commandOf(name);
  const flags = parseFlags(rest, { ...command.flags, ...COMMON_FLAGS });
  if (flags.isSet("help")) return help([name], host);
  checkWords(command, flags);
  return await command.run({ flags, redactor }, host);
}

function help([name]: readonly string[], host: Host): number {
  if (name === undefined) host.stdout(programHelp(COMMANDS));
  else {
    const command = commandOf(name);
    host.stdout(commandHelp({ ...command, flags: { ...command.flags, ...COMMON_FLAGS } }));
  }
  return EXIT.ok;
}

function commandOf(name: string): Command {
  const command = COMMANDS.find((each) => each.name === name);
  if (command !== undefined) return command;
  const known = COMMANDS.map((each) => each.name);
  throw new UsageError(
    `Unknown command "${name}", "${PROGRAM} --help" lists all${suggestion(name, known)}`,
  );
}

function checkWords({ name, choices }: Command, { words }: Flags): void {
  const takes = choices === undefined ? 0 : 1;
  const extra = words[takes];
  if (extra !== undefined) throw new UsageError(`Unexpected "${extra}" after "${PROGRAM} ${name}"`);
  if (choices === undefined) return;
  const [word] = words;
  if (word === undefined) {
    throw new UsageError(`"${PROGRAM} ${name}" needs one of: ${choices.join(", ")}`);
  }
  if (!choices.includes(word)) {
    throw new UsageError(
      `Unknown "${word}" for "${PROGRAM} ${name}", which takes one of ${choices.join(", ")}` +
        suggestion(word, choices),
    );
  }
}

/** Before the flags are parsed, since parsing them may be what fails. */
function isDebugWanted(args: readonly string[]): boolean {
  return args.some((arg, index) =>
    arg === "--log-level=debug" || arg === "debug" && args[index - 1] === "--log-level"
  );
}

/** The stacks of an error and its causes. */
function stacksOf(error: Error): string {
  const stacks: string[] = [];
  // Bounded, since a cause may form a cycle.
  for (let at: unknown = error; at instanceof Error && stacks.length < 8; at = at.cause) {
    stacks.push(at.stack ?? at.message);
  }
  return stacks.join("\nCaused by: ");
}

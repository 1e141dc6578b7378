/**
 * Help texts, made of the same declarations that the parser works by.
 *
 * @module
 */

import type { Command } from "./command.ts";
import { dashed, type FlagDefinitions } from "./flags.ts";

/** Name of the program, as users type it. */
export const PROGRAM = "foo-operator";

/** The list of subcommands. */
export function programHelp(commands: readonly Command[]): string {
  return [
    `${PROGRAM} turns each Foo (samplecontroller.k8s.io/v1alpha1) into a Deployment.`,
    "",
    `Usage: ${PROGRAM} COMMAND [FLAGS]`,
    "",
    "Commands:",
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    "",
    `"${PROGRAM} COMMAND --help" tells more of each. Exit codes: 0 clean end, 1 failure, 2 wrong usage.`,
    "",
  ].join("\n");
}

/** The help of one subcommand. */
export function commandHelp(command: Command): string {
  const { name, words, description, flags, examples } = command;
  const usage = [PROGRAM, name, words, "[FLAGS]"].filter((part) => part !== undefined).join(" ");
  return [
    description,
    "",
    `Usage: ${usage}`,
    "",
    "Flags:",
    ...columns(flagRows(flags)),
    "",
    "Examples:",
    ...examples.flatMap(({ line, what }, index) => [
      ...(index > 0 ? [""] : []),
      `  # ${what}`,
      `  ${line}`,
    ]),
    "",
  ].join("\n");
}

function flagRows(flags: FlagDefinitions): [string, string][] {
  return Object.entries(flags).map(([name, { aliases = [], value, help }]) => {
    const names = [name, ...aliases].sort((a, b) => Number(a.length > 1) - Number(b.length > 1));
    const text = names.map(dashed).join(", ");
    return [value === undefined ? text : `${text} ${value}`, help];
  });
}

/** Two columns, the first as wide as its widest cell; a cell too wide has a line of its own. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const widthMax = 32;
  const width = Math.min(widthMax, Math.max(...rows.map(([left]) => left.length)));
  return rows.map(([left, right]) =>
    left.length > width
      ? `  ${left}\n  ${" ".repeat(width)}  ${right}`
      : `  ${left.padEnd(width)}  ${right}`
  );
}

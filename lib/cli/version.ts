/**
 * `foo-operator version`.
 *
 * @module
 */

import { type Command, EXIT } from "./command.ts";
import { PROGRAM } from "./help.ts";

/** Prints what runs. */
export const VERSION: Command = {
  name: "version",
  summary: "Print the version",
  description: "Prints the version of the program, its source and its runtime.",
  flags: {
    json: { type: "switch", help: "Print JSON" },
  },
  examples: [
    { line: `${PROGRAM} version`, what: "For people" },
    { line: `${PROGRAM} version --json`, what: "For programs" },
  ],
  run({ flags }, { build, stdout }) {
    if (flags.isSet("json")) stdout(`${JSON.stringify({ name: PROGRAM, ...build })}\n`);
    else {
      const commit = build.commit === undefined ? "" : `commit ${build.commit}, `;
      stdout(`${PROGRAM} ${build.version} (${commit}Deno ${build.deno}, ${build.platform})\n`);
    }
    return Promise.resolve(EXIT.ok);
  },
};

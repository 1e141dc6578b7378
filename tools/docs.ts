/**
 * The API reference of the library as web pages, of all that the package exports:
 * `deno task docs` writes `dist/docs/index.html`, `deno task docs --output=FOLDER` elsewhere.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { fileURLToPath } from "node:url";
import configuration from "../deno.json" with { type: "json" };
import { FACES } from "./doc_lint.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Where the pages go unless told otherwise, from the repository's root. */
const OUTPUT = "dist/docs";

async function main(args: readonly string[]): Promise<number> {
  const [argument, ...more] = args;
  const output = argument === undefined ? OUTPUT : /^--output=(.+)$/.exec(argument)?.[1];
  if (output === undefined || more.length > 0) {
    console.error(`Cannot understand "${args.join(" ")}": give --output=FOLDER or nothing`);
    return 2;
  }
  const { code } = await new Deno.Command(Deno.execPath(), {
    // Quiet: it else lists types of packages that pages of ours don't show.
    args: [
      "doc",
      "--quiet",
      "--html",
      `--name=${configuration.name}`,
      `--output=${output}`,
      ...FACES,
    ],
    cwd: ROOT,
    stdin: "null",
    stdout: "null", // the number of files
    stderr: "inherit",
  }).output();
  if (code === 0) console.log(`${output}/index.html`);
  return code;
}

if (import.meta.main) Deno.exitCode = await main(Deno.args);

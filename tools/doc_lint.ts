/**
 * `deno doc --lint` over all that the library exports, part of `deno task check`: each exported
 * symbol and each member of it is documented, and refers only to types that can be imported too.
 *
 * One kind of finding is let through: the types of built-in kinds refer to those of
 * `@kubernetes/client-node`, which `deno doc` counts as private since they come from a package, and
 * their conversion to plain JSON to helper types that nobody needs to name.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { fileURLToPath } from "node:url";
import configuration from "../deno.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The modules whose exports must be documented: whatever the package exports. */
export const FACES: readonly string[] = Object.values(configuration.exports);

/** Types of client-node bear their version: `V1Pod`, `EventsV1Event`. */
const LET_THROUGH = /^error\[private-type-ref\].* private type '(\w*V\d+[a-zA-Z]\w*|WireName)'/;

/** The findings in the output of `deno doc --lint` that count, each as its lines. */
export function findingsOf(output: string): string[] {
  return output.split(/\n(?=error)/).map((block) => block.trim()).filter((block) =>
    block.startsWith("error[") && !LET_THROUGH.test(block)
  );
}

async function main(): Promise<number> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--lint", ...FACES],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
  }).output();
  if (success) return 0;
  const output = new TextDecoder().decode(stderr);
  const findings = findingsOf(output);
  // Failed without a finding of the kind that we know: show all there is.
  if (!output.includes("error[")) findings.push(output.trim());
  console.error(findings.join("\n\n"));
  return findings.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exitCode = await main();

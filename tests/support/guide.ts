/**
 * What the guides tell their readers to write and run, so that tests do just that.
 *
 * @module
 */

import { ok } from "node:assert/strict";
import { ROOT } from "./sources.ts";

/** The guide from which a newcomer makes an operator. */
export const CONTROLLERS_GUIDE = "docs/guides/controllers.md";

/** All code blocks in `language` of the document at `path`. */
export function blocksOf(path: string, language: string): string[] {
  const text = Deno.readTextFileSync(ROOT + path);
  const blocks = [...text.matchAll(/^```([^\n]*)\n([^]*?)^```$/gm)];
  return blocks.filter(([, info]) => info === language).map(([, , code = ""]) => code);
}

/** The `deno.json` of a project that has the library, as the document at `path` gives it. */
export function documentedSettings(path: string): { links: string[]; imports: object } {
  const [settings] = blocksOf(path, "json").filter((block) => block.includes('"links"'));
  ok(settings !== undefined, `${path} has a deno.json with "links"`);
  return JSON.parse(settings);
}

/** The arguments after `deno` of the line of the document at `path` that starts with `start`. */
export function documentedArguments(path: string, start: string): string[] {
  const lines = blocksOf(path, "sh").join("\n").replaceAll("\\\n", " ").split("\n");
  const line = lines.find((each) => each.startsWith(`${start} `));
  ok(line !== undefined, `${path} has a line "${start} …"`);
  return line.split(/\s+/).slice(1);
}

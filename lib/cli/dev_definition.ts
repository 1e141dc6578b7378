/**
 * The definition of Foo that the sources say now, which may not be what this process was loaded with.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../core/json.ts";
import { parseYaml } from "../core/yaml.ts";
import type { Program } from "./command.ts";

/** What another process of the program found out. */
export type SourceDefinition =
  | { readonly type: "found"; readonly definition: JsonObject }
  /** `why`: what the program said last. */
  | { readonly type: "failed"; readonly why: string };

/**
 * Has the program print its definition, as `manifests crd` does.
 *
 * @throws The reason of `signal`, once it aborts; the other process is gone then.
 */
export async function definitionOfSources(
  { command }: Pick<Program, "command">,
  { signal }: { signal: AbortSignal },
): Promise<SourceDefinition> {
  signal.throwIfAborted();
  const [executable = "", ...words] = command;
  const { success, stdout, stderr } = await new Deno.Command(executable, {
    args: [...words, "manifests", "crd"],
    // Out of the terminal's group: it ends by our signal, and not by a Ctrl-C before we know of one.
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal,
  }).output();
  signal.throwIfAborted();
  const decoder = new TextDecoder();
  if (!success) return { type: "failed", why: firstLine(decoder.decode(stderr)) };
  try {
    const definition = parseYaml(decoder.decode(stdout));
    if (isJsonObject(definition)) return { type: "found", definition };
    return { type: "failed", why: "manifests crd prints no object" };
  } catch (error) {
    return { type: "failed", why: error instanceof Error ? error.message : String(error) };
  }
}

function firstLine(text: string): string {
  return text.split("\n").map((line) => line.trim()).find((line) => line !== "") ??
    "manifests crd failed without a word";
}

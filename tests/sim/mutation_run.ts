/**
 * Runs seeds on a copy of our sources with one mistake in it.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import type { Mutation } from "./mutations.ts";
import type { SeedResult } from "./run_seeds.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What the simulation needs of the repository. */
const COPIED = ["lib", "tests/sim", "deno.json", "deno.lock"];

/** A copy of our sources in which mistakes are made. */
export class MutationLab implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes a copy in a temporary folder. */
  static async open(): Promise<MutationLab> {
    const folder = await Deno.makeTempDir({ prefix: "mutations-" });
    for (const path of COPIED) await copy(`${ROOT}${path}`, `${folder}/${path}`);
    return new MutationLab(folder);
  }

  /**
   * Makes the mistake, runs `seeds` until one fails, and takes the mistake back.
   *
   * @param seeds As `run_seeds.ts` takes them.
   * @returns The seed that failed; `undefined` if none did.
   * @throws {RangeError} If the text to replace does not stand in the file exactly once.
   */
  async run(
    mutation: Pick<Mutation, "file" | "find" | "replace">,
    seeds: readonly string[],
  ): Promise<SeedResult | undefined> {
    const path = `${this.#folder}/${mutation.file}`;
    const text = await Deno.readTextFile(path);
    const parts = text.split(mutation.find);
    if (parts.length !== 2) {
      throw new RangeError(
        `Cannot mutate ${mutation.file}: ${parts.length - 1} places have "${mutation.find}"`,
      );
    }
    await Deno.writeTextFile(path, parts.join(mutation.replace));
    try {
      return await this.#firstFailure(seeds);
    } finally {
      await Deno.writeTextFile(path, text);
    }
  }

  async #firstFailure(seeds: readonly string[]): Promise<SeedResult | undefined> {
    const script = `${this.#folder}/tests/sim/run_seeds.ts`;
    const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--allow-read", "--no-prompt", script, "--stop", ...seeds],
      stdin: "null",
    }).output();
    const lines = new TextDecoder().decode(stdout).trim().split("\n").filter((line) => line !== "");
    const results: SeedResult[] = lines.map((line) => JSON.parse(line));
    const failed = results.find(({ problems }) => problems.length > 0);
    if (failed === undefined && !success) {
      // What ends the whole process is caught as well, if not by a checker.
      throw new Error(`Cannot run the seeds: ${new TextDecoder().decode(stderr)}`);
    }
    return failed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  const { isDirectory } = await Deno.stat(from);
  if (!isDirectory) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

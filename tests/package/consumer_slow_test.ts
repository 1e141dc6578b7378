/**
 * The library as others get it: exactly the files that would be published, in a project that has
 * nothing else and lies outside this one.
 *
 * The project links the packed folder in place of the registry, which is not asked. A linked package
 * is type-checked with the project's own, strict options: sources and all.
 */
import { deepStrictEqual, match, ok } from "node:assert/strict";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import configuration from "../../deno.json" with { type: "json" };
import { CONTROLLERS_GUIDE, documentedSettings } from "../support/guide.ts";
import { ROOT, sourcePaths } from "../support/sources.ts";

const CONSUMER = "tests/package/consumer";

/** Stricter than our own, but for habits of style (unused names, brackets for index signatures). */
const STRICT = {
  ...configuration.compilerOptions,
  allowUnreachableCode: false,
  allowUnusedLabels: false,
  noImplicitThis: true,
  verbatimModuleSyntax: true,
};

/** What a run of `deno` printed. */
interface Output {
  readonly code: number;
  readonly text: string;
}

async function deno(cwd: string, ...args: string[]): Promise<Output> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Runs `deno` and expects success. */
async function denoSucceeds(cwd: string, ...args: string[]): Promise<string> {
  const { code, text } = await deno(cwd, ...args);
  ok(code === 0, `deno ${args.join(" ")}: exit code ${code}\n${text}`);
  return text;
}

/** The files that would be published, from the repository's root; all checks of publishing pass. */
async function publishedFiles(): Promise<string[]> {
  const text = await denoSucceeds(ROOT, "publish", "--dry-run", "--allow-dirty");
  ok(!/^warning/im.test(text), text); // what the registry would not understand
  const root = pathToFileURL(ROOT).href;
  return text.split("\n").flatMap((line) => {
    const [url = ""] = line.trim().split(" ");
    return url.startsWith(root) ? [decodeURIComponent(url.slice(root.length))] : [];
  });
}

/** The example of the simulator's documentation: a test in ten lines. */
async function documentedTest(): Promise<string> {
  const text = await Deno.readTextFile(`${ROOT}lib/simulator/mod.ts`);
  const [, example = ""] = /@example A test in ten lines[^]*?```ts\n([^]*?)```/.exec(text) ?? [];
  const code = example.replaceAll(/^ \* ?/gm, "");
  match(code, /new ApiServer/);
  return code;
}

/** An empty project that has the packed library, and what a user wrote in it. */
async function project(files: readonly string[]): Promise<AsyncDisposable & { folder: string }> {
  const root = await Deno.makeTempDir();
  const folder = `${root}/project`;
  for (const file of files) {
    await Deno.mkdir(dirname(`${root}/library/${file}`), { recursive: true });
    await Deno.copyFile(`${ROOT}${file}`, `${root}/library/${file}`);
  }
  await Deno.mkdir(folder);
  // As the guide has it, but for the folder's name.
  const settings = {
    ...documentedSettings(CONTROLLERS_GUIDE),
    links: ["../library"],
    compilerOptions: STRICT,
  };
  await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(settings, undefined, 2));
  for (const path of sourcePaths(CONSUMER)) {
    await Deno.copyFile(`${ROOT}${path}`, `${folder}${path.slice(CONSUMER.length)}`);
  }
  await Deno.copyFile(`${ROOT}docs/guides/greeter/main.ts`, `${folder}/main.ts`);
  await Deno.writeTextFile(`${folder}/ten_lines.ts`, await documentedTest());
  return { folder, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

/** What the package must hold, and must not. */
function checkFiles(files: readonly string[]): void {
  const others = files.filter((file) => !file.startsWith("lib/"));
  const named = configuration.publish.include.filter((each) => each !== "lib");
  deepStrictEqual(others.sort(), named.sort());
  deepStrictEqual(files.filter((file) => /^lib\/(cli|foo)\//.test(file)), []);
  const entries = Object.values(configuration.exports).map((path) => path.slice("./".length));
  deepStrictEqual(entries.filter((entry) => !files.includes(entry)), []);
}

Deno.test("package: a project that has nothing else checks and runs an operator with it", async (t) => {
  let files: string[] = [];
  await t.step("it can be published, and has the library and nothing else", async () => {
    files = await publishedFiles();
    checkFiles(files);
  });
  await using world = await project(files);
  const { folder } = world;
  await t.step(
    "it type-checks under strict settings, and mistakes in using it are found",
    async () => {
      // `types.ts` expects an error: one that is missing is an error.
      await denoSucceeds(folder, "check", ".");
    },
  );
  await t.step("files that no entry names can't be imported", async () => {
    const inner = 'import "@foo-operator/lib/lib/cache/reflection.ts";';
    const { code, text } = await deno(folder, "eval", inner);
    ok(code !== 0, text);
    match(text, /reflection\.ts/);
  });
  await t.step("the documented test in ten lines runs, without any permission", async () => {
    await denoSucceeds(folder, "run", "--no-check", "--no-prompt", "ten_lines.ts");
  });
  await t.step("an operator's test runs, without any permission", async () => {
    match(await denoSucceeds(folder, "test", "--no-check", "--no-prompt"), /1 passed/);
  });
});

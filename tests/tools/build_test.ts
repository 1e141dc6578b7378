import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { build, BuildError, type BuildOptions, OWN_BYTES_MAX } from "../../tools/build.ts";

/**
 * A folder with an entry module and a compiler that makes a shell script of it: enough to see what
 * is baked in and what is checked. Compiling for real is the end-to-end tests' part.
 */
async function scratch(compile: string): Promise<AsyncDisposable & { options: BuildOptions }> {
  const dir = await Deno.makeTempDir();
  await Deno.writeTextFile(`${dir}/main.ts`, 'console.log("app 1.2.3");\n');
  const script = `#!/bin/sh
for arg; do case "$arg" in --output=*) output="\${arg#--output=}" ;; esac; entry="$arg"; done
echo "$@" >>"${dir}/calls"
${compile}
`;
  await Deno.writeTextFile(`${dir}/compiler`, script, { mode: 0o755 });
  return {
    options: {
      main: `${dir}/main.ts`,
      output: `${dir}/dist/app`,
      compiler: `${dir}/compiler`,
      permissions: ["--allow-net"],
      version: "1.2.3",
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

/** Writes a program that prints `line`. */
function printing(line: string): string {
  return `printf '#!/bin/sh\\necho "${line}"\\n' >"$output"; chmod 755 "$output"`;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function refuses(compile: string, message: RegExp): Promise<void> {
  await using world = await scratch(compile);
  await rejects(
    build(world.options),
    (error: unknown) => {
      ok(error instanceof BuildError, String(error));
      match(error.message, message);
      return true;
    },
  );
  strictEqual(await exists(world.options.output), false);
}

Deno.test("build() compiles the bundle with the permissions asked for, and measures it", async () => {
  await using world = await scratch(printing("app 1.2.3"));
  const { binaryBytes, baseBytes } = await build(world.options);
  ok(binaryBytes > 0 && baseBytes > 0);
  const { mode } = await Deno.stat(world.options.output);
  strictEqual((mode ?? 0) & 0o111, 0o111);
  const calls = await Deno.readTextFile(`${world.options.compiler.replace("compiler", "calls")}`);
  const [base, binary] = calls.trim().split("\n").map((line) => line.split(" "));
  deepStrictEqual(
    [base, binary].map((args) => args?.filter((arg) => arg.startsWith("--allow"))),
    [[], ["--allow-net"]],
  );
  ok(binary?.includes("--no-prompt"));
  match(binary?.at(-1) ?? "", /main\.js$/);
});

Deno.test("C1 build() says what to do when there is no base to compile with", async () => {
  await refuses(
    'echo "error: Setting up base binary: error sending request for url (https://dl.deno.land/x)" >&2; exit 1',
    /^Cannot compile: .* has no base program .* DENO_FOR_COMPILE$/,
  );
});

Deno.test("C1 build() refuses a binary that starts a prompt and exits 0", async () => {
  await refuses(printing("exit using ctrl+d, ctrl+c, or close()"), /whose "version" command/);
});

Deno.test("build() refuses a binary of another version, or one that fails", async () => {
  await refuses(printing("app 1.2.4"), /does not print "1\.2\.3" but "app 1\.2\.4"/);
  await refuses(
    `printf '#!/bin/sh\\necho app 1.2.3; exit 1\\n' >"$output"; chmod 755 "$output"`,
    /whose "version" command/,
  );
});

Deno.test("build() refuses a binary that weighs too much above its base", async () => {
  await refuses(
    `${printing("app 1.2.3")}
case "$entry" in */main.js) head -c ${OWN_BYTES_MAX + 1} /dev/zero >>"$output" ;; esac`,
    /^Cannot accept a binary 8\.0 MB above its base of 0\.0 MB/,
  );
});

Deno.test("build() names a compiler that is not there, and one that fails otherwise", async () => {
  await refuses('echo "error: unexpected argument" >&2; exit 1', /error: unexpected argument$/);
  await using world = await scratch("");
  await rejects(
    build({ ...world.options, compiler: "/nowhere/deno" }),
    /Cannot run "\/nowhere\/deno": there is no such program/,
  );
});

Deno.test("build() says why the sources can't be bundled", async () => {
  await using world = await scratch(printing("app 1.2.3"));
  await Deno.writeTextFile(world.options.main, 'import "./absent.ts";\n');
  await rejects(build(world.options), /^BuildError: Cannot bundle .*main\.ts: error.*absent\.ts/);
});

Deno.test("build() bundles a worker apart, and has the main module start that bundle", async () => {
  await using world = await scratch(`
for arg; do case "$arg" in --include=*) worker="\${arg#--include=}" ;; esac; done
line="no worker"
if grep -q 'URL("./worker.js"' "$entry" && grep -q "the worker" "$worker"; then line="app 1.2.3"; fi
printf '#!/bin/sh\necho "%s"\n' "$line" >"$output"; chmod 755 "$output"`);
  const folder = world.options.main.replace("main.ts", "");
  await Deno.mkdir(`${folder}lib`);
  await Deno.writeTextFile(`${folder}lib/worker.ts`, 'console.log("the worker");\n');
  await Deno.writeTextFile(
    world.options.main,
    'new Worker(new URL("./lib/worker.ts", import.meta.url), { type: "module" });\n',
  );
  await build({ ...world.options, workers: [`${folder}lib/worker.ts`] });
});

Deno.test("build() refuses a main module that does not name its worker", async () => {
  await using world = await scratch(printing("app 1.2.3"));
  const worker = world.options.main.replace("main.ts", "worker.ts");
  await Deno.writeTextFile(worker, "export {};\n");
  await rejects(
    build({ ...world.options, workers: [worker] }),
    /names its worker "\.\/worker\.ts" 0 times, not once/,
  );
});

Deno.test("build() refuses a bundle that loads code at run time, unless it may", async () => {
  await using world = await scratch(printing("app 1.2.3"));
  await Deno.writeTextFile(world.options.main, "await import(Deno.args[0]);\n");
  await rejects(build(world.options), /Cannot accept a bundle that loads code at run time/);
  await build({ ...world.options, hasDynamicImports: true });

  await Deno.writeTextFile(world.options.main.replace("main", "part"), 'console.log("part");\n');
  await Deno.writeTextFile(world.options.main, 'await import("./part.ts");\n');
  await build(world.options);
  const calls = await Deno.readTextFile(world.options.compiler.replace("compiler", "calls"));
  match(calls, /--disallow-code-generation-from-strings/);
});

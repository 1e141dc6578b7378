import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { COMMANDS } from "../../lib/cli/main.ts";
import { VERSION_NUMBER } from "../../lib/cli/build_info.ts";
import { parseYaml } from "../../lib/core/yaml.ts";
import { customResourceDefinition } from "../../lib/foo/crd.ts";
import { cli } from "../support/cli_host.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

/** The golden file of a text; to renew one, write what the failure shows. */
async function equalsGolden(text: string, name: string): Promise<void> {
  strictEqual(text, await read(`tests/golden/${name}`), `tests/golden/${name}`);
}

Deno.test("main() lists the commands", async () => {
  for (const args of [["--help"], ["-h"], ["help"]]) {
    const { code, stdout, stderr } = await cli(args);
    deepStrictEqual([code, stderr], [0, ""]);
    await equalsGolden(stdout, "help.txt");
  }
});

Deno.test("main() shows the help of each command, however it is asked for", async () => {
  for (const { name } of COMMANDS) {
    for (const args of [["help", name], [name, "--help"], [name, "-h"]]) {
      const { code, stdout, stderr } = await cli(args);
      deepStrictEqual([code, stderr], [0, ""], name);
      match(stdout, /\nExamples:\n {2}# /);
      await equalsGolden(stdout, `help_${name}.txt`);
    }
  }
});

Deno.test("main() without a command shows the help as wrong usage", async () => {
  const { code, stdout, stderr } = await cli([]);
  deepStrictEqual([code, stdout], [2, ""]);
  match(stderr, /Usage: foo-operator COMMAND/);
});

Deno.test("main() says what is wrong with a command line in one sentence, with exit code 2", async () => {
  const cases: [string[], string][] = [
    [["rn"], 'Unknown command "rn", "foo-operator --help" lists all: did you mean run?'],
    [["help", "xyzzy"], 'Unknown command "xyzzy", "foo-operator --help" lists all'],
    [["run", "--workrs", "3"], "Unknown flag --workrs: did you mean --workers?"],
    [["run", "--worker=3"], "Unknown flag --worker: did you mean --workers?"],
    [["run", "--leader-elect"], "Unknown flag --leader-elect"],
    [["run", "-x"], "Unknown flag -x: did you mean -n?"],
    [["run", "here"], 'Unexpected "here" after "foo-operator run"'],
    [["run", "--kubeconfig"], "Flag --kubeconfig needs a value"],
    [["run", "--context="], "Flag --context needs a value"],
    [
      ["run", "--workers", "0"],
      'Invalid value "0" for --workers: give a whole number from 1 to 256',
    ],
    [
      ["run", "--workers=1e1"],
      'Invalid value "1e1" for --workers: give a whole number from 1 to 256',
    ],
    [
      ["run", "--resync", "soon"],
      'Invalid value "soon" for --resync: give a duration such as 30s, 10m or 1h30m, or 0',
    ],
    [
      ["run", "--namespace", "Bad/Name"],
      'Invalid value "Bad/Name" for --namespace: not a namespace\'s name',
    ],
    [
      ["run", "--log-level", "loud"],
      'Invalid value "loud" for --log-level: give debug, info, warn, error',
    ],
    [["manifests"], '"foo-operator manifests" needs one of: crd'],
    [
      ["manifests", "crb"],
      'Unknown "crb" for "foo-operator manifests", which takes one of crd: did you mean crd?',
    ],
    [["version", "--jsn"], "Unknown flag --jsn: did you mean --json?"],
  ];
  for (const [args, message] of cases) {
    const result = await cli(args);
    const expected = { code: 2, stdout: "", stderr: `error: ${message}\n` };
    deepStrictEqual(result, expected, args.join(" "));
  }
});

Deno.test("main() prints the definition as kubectl takes it, the same as crds/foo.yaml", async () => {
  const { code, stdout, stderr } = await cli(["manifests", "crd"]);
  deepStrictEqual([code, stderr], [0, ""]);
  deepStrictEqual(parseYaml(stdout), customResourceDefinition());
  strictEqual(stdout, await read("crds/foo.yaml"));
});

Deno.test("main() prints the version for people and for programs", async () => {
  const text = "foo-operator 1.2.3 (Deno 2.9.6, linux/x86_64)\n";
  strictEqual((await cli(["version"])).stdout, text);
  strictEqual((await cli(["--version"])).stdout, text);
  const build = { version: "1.2.3", commit: "abc1234", deno: "2.9.6", platform: "linux/x86_64" };
  strictEqual(
    (await cli(["version"], { build })).stdout,
    "foo-operator 1.2.3 (commit abc1234, Deno 2.9.6, linux/x86_64)\n",
  );
  deepStrictEqual(JSON.parse((await cli(["version", "--json"], { build })).stdout), {
    name: "foo-operator",
    ...build,
  });
});

Deno.test("the version is that of deno.json", async () => {
  strictEqual(JSON.parse(await read("deno.json")).version, VERSION_NUMBER);
});

Deno.test("main() fails with one sentence and exit code 1 for a configuration that can't be used", async () => {
  const { code, stdout, stderr } = await cli(["run", "--kubeconfig", "/nowhere/config"]);
  deepStrictEqual([code, stdout], [1, ""]);
  const errors = stderr.split("\n").filter((line) => line.startsWith("error"));
  strictEqual(errors.length, 1);
  match(errors[0] ?? "", /\/nowhere\/config/);
  ok(!/^\s+at /m.test(stderr), "no stack");
});

Deno.test("main() shows the stack at --log-level debug", async () => {
  const args = ["run", "--kubeconfig", "/nowhere/config", "--log-level", "debug"];
  match((await cli(args)).stderr, /^\s+at /m);
});

Deno.test("main() says what is wrong on one line that drives no terminal, whatever it was given", async () => {
  for (const args of [["a\n\u001b[31mb"], ["run", "--x\u009b31m\r\nb"], ["run", "a\u2028b"]]) {
    const { code, stderr } = await cli(args);
    strictEqual(code, 2);
    // deno-lint-ignore no-control-regex -- those are what must not reach a terminal
    match(stderr, /^error: [^\u0000-\u001f\u007f-\u009f\u2028\u2029]+\n$/);
  }
  const path = "/nowhere/\u001b]0;title\u0007";
  for (const more of [[], ["--log-level=debug"]]) {
    const { code, stderr } = await cli(["run", "--kubeconfig", path, ...more]);
    strictEqual(code, 1);
    // deno-lint-ignore no-control-regex -- those are what must not reach a terminal
    match(stderr, /^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]+$/);
  }
});

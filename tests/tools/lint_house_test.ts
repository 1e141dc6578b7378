import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import plugin, { FUNCTION_LINES_MAX, repositoryPath } from "../../tools/lint_house.ts";

/** Rules that fire on `source`, were it the file at `path` of the repository; sorted, each once. */
function findings(path: string, source: string): string[] {
  const root = new URL("../..", import.meta.url).pathname;
  return [...new Set(Deno.lint.runPlugin(plugin, root + path, source).map(({ id }) => id))].sort();
}

const cases: { rule: string; path: string; refused: string[]; allowed: [string, string][] }[] = [
  {
    rule: "house/ambient-time",
    path: "lib/cache/store.ts",
    refused: [
      "Date.now();",
      "new Date();",
      "performance.now();",
      "setTimeout(f, 1);",
      "globalThis.setInterval(f, 1);",
      "AbortSignal.timeout(1);",
      'import { setTimeout } from "node:timers/promises";',
    ],
    allowed: [
      ["lib/cache/store.ts", "new Date(wallMs); clearTimeout(timer); clock.sleep(1, { signal });"],
      ["lib/core/clock.ts", "Date.now(); setTimeout(f, 1);"],
      ["main.ts", "Date.now();"],
      ["lib/cli/operator_worker.ts", "performance.now();"],
      ["lib/simulator/sim_clock.ts", 'import { setImmediate } from "node:timers";'],
      ["tests/support/kube.ts", "performance.now();"],
      ["tests/e2e/life_test.ts", "Date.now();"],
      ["tools/build.ts", "Date.now();"],
    ],
  },
  {
    rule: "house/ambient-chance",
    path: "lib/core/backoff.ts",
    refused: ["Math.random();", "crypto.randomUUID();", "crypto.getRandomValues(bytes);"],
    allowed: [["lib/core/clock.ts", "Math.random();"], ["lib/core/backoff.ts", "Math.min(1, 2);"]],
  },
  {
    rule: "house/no-abort-signal-any",
    path: "tests/core/a_test.ts",
    refused: ["AbortSignal.any([a, b]);"],
    allowed: [["lib/core/a.ts", "Promise.any([a, b]);"]],
  },
  {
    rule: "house/no-default-export",
    path: "lib/core/a.ts",
    refused: ["export default 1;", "const a = 1; export { a as default };"],
    allowed: [["lib/core/a.ts", "export const a = 1;"], [
      "tools/lint_house.ts",
      "export default 1;",
    ]],
  },
  {
    rule: "house/no-exported-arrow",
    path: "lib/core/a.ts",
    refused: ["export const f = () => { return 1; };"],
    allowed: [["lib/core/a.ts", "export const f = () => 1; const g = () => { return 1; };"]],
  },
  {
    rule: "house/deno-doors",
    path: "lib/controller/controller.ts",
    refused: [
      'Deno.env.get("HOME");',
      "Deno.exit(1);",
      "Deno.serve(handler);",
      "Deno.upgradeWebSocket(request);",
      'Deno.readTextFile("x");',
      "new Deno.Command(program);",
      "Deno.createHttpClient({});",
      'Deno["args"];',
      "const { args } = Deno;",
      "globalThis.Deno.args;",
      'new Worker("x");',
    ],
    allowed: [
      ["lib/controller/controller.ts", "error instanceof Deno.errors.NotFound;"],
      ["lib/controller/controller.ts", "let client: Deno.HttpClient;"],
      ["lib/cli/main.ts", 'Deno.env.get("HOME"); Deno.exit(1); new Worker("x");'],
      ["main.ts", "Deno.args; Deno.exit(0);"],
      ["lib/client/transport.ts", "Deno.createHttpClient({});"],
      ["lib/client/credentials.ts", 'Deno.readTextFile("x"); new Deno.Command(program);'],
      ["lib/services/server.ts", "Deno.serve(handler);"],
      ["lib/simulator/http_front.ts", "Deno.upgradeWebSocket(request);"],
      ["tests/core/a_test.ts", "Deno.test('a', f);"],
    ],
  },
  {
    rule: "house/no-bare-fetch",
    path: "lib/client/rest.ts",
    refused: ['fetch("https://a");', 'globalThis.fetch("https://a");'],
    allowed: [
      ["lib/client/transport.ts", 'fetch("https://a");'],
      ["lib/client/rest.ts", 'server.fetch("https://a");'],
    ],
  },
  {
    rule: "house/no-void-promise",
    path: "lib/core/a.ts",
    refused: ["void work();"],
    allowed: [["lib/core/a.ts", "const f = () => void set.delete(key);"]],
  },
  {
    rule: "house/no-stored-signal",
    path: "lib/core/a.ts",
    refused: ["class A { #signal: AbortSignal; }", "class A { readonly stop: AbortSignal; }"],
    allowed: [["lib/core/a.ts", "class A { #stop: AbortController; }"]],
  },
  {
    rule: "house/function-length",
    path: "tools/build.ts",
    refused: [
      `function f() {${"\n".repeat(FUNCTION_LINES_MAX)}}`,
      `const f = () => {${"\n".repeat(FUNCTION_LINES_MAX)}};`,
      `class A { f() {${"\n".repeat(FUNCTION_LINES_MAX)}} }`,
    ],
    allowed: [
      ["tools/build.ts", `function f() {${"\n".repeat(FUNCTION_LINES_MAX - 1)}}`],
      ["tests/core/a_test.ts", `function f() {${"\n".repeat(FUNCTION_LINES_MAX)}}`],
    ],
  },
];

for (const { rule, path, refused, allowed } of cases) {
  Deno.test(`${rule} refuses what it is for and allows it behind its door`, () => {
    for (const source of refused) deepStrictEqual(findings(path, source), [rule], source);
    for (const [where, source] of allowed) {
      strictEqual(findings(where, source).includes(rule), false, `${where}: ${source}`);
    }
  });
}

Deno.test("lint_house: each rule has a case here", () => {
  deepStrictEqual(
    cases.map(({ rule }) => rule.replace("house/", "")).sort(),
    Object.keys(plugin.rules).sort(),
  );
});

Deno.test("deno-doors says which capability and where it belongs", () => {
  const [finding] = Deno.lint.runPlugin(plugin, "/x/lib/core/a.ts", "Deno.exit(1);");
  match(finding?.message ?? "", /^Deno\.exit: .*main\.ts and lib\/cli\//);
});

Deno.test("repositoryPath() finds the path in any checkout", () => {
  strictEqual(repositoryPath(new URL(import.meta.url).pathname), "tests/tools/lint_house_test.ts");
  strictEqual(repositoryPath("/home/a/lib/repo/lib/core/a.ts"), "lib/core/a.ts");
  strictEqual(repositoryPath("C:\\repo\\lib\\core\\a.ts"), "lib/core/a.ts");
  strictEqual(repositoryPath("/home/a/repo/main.ts"), "main.ts");
  strictEqual(repositoryPath("/home/a/repo/docs/a.ts"), "/home/a/repo/docs/a.ts");
});

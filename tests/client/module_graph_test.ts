/** What loads with the library and with an operator in a cluster: not the whole of client-node. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { ROOT } from "../support/sources.ts";

const HEAVY = /^npm:\/?@kubernetes\/client-node/;

interface Dependency {
  readonly specifier: string;
  readonly code?: { readonly specifier?: string };
  readonly isDynamic?: boolean;
}

interface Graph {
  readonly roots: readonly string[];
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly Dependency[];
  }[];
  readonly redirects?: Readonly<Record<string, string>>;
}

async function graphOf(entry: string): Promise<Graph> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: ROOT,
  }).output();
  ok(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Modules that are loaded before `entry` runs: values only, and nothing behind an `import()`. */
function loadedAtStart(graph: Graph): Set<string> {
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  const seen = new Set<string>();
  const queue = [...graph.roots];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const specifier = graph.redirects?.[next] ?? next;
    if (seen.has(specifier)) continue;
    seen.add(specifier);
    for (const { code, isDynamic } of modules.get(specifier)?.dependencies ?? []) {
      if (code?.specifier !== undefined && isDynamic !== true) queue.push(code.specifier);
    }
  }
  return seen;
}

/** Entries that must not load it. `lib/client/config.ts` is what decides to, where it is needed. */
const ENTRIES = ["main.ts", "lib/mod.ts", "lib/client/config.ts", "lib/client/client.ts"];
const present = new Set([...Deno.readDirSync(`${ROOT}lib`)].map(({ name }) => `lib/${name}`));

for (const entry of ENTRIES) {
  Deno.test({
    name: `${entry} does not load client-node before it is needed`,
    ignore: entry === "lib/mod.ts" && !present.has(entry),
    async fn() {
      const loaded = [...loadedAtStart(await graphOf(entry))];
      deepStrictEqual(loaded.filter((specifier) => HEAVY.test(specifier)), []);
      ok(loaded.some((specifier) => specifier.endsWith("/lib/core/errors.ts")));
    },
  });
}

Deno.test("loadedAtStart() follows values, and neither types nor import()", () => {
  const dependency = (specifier: string, fields: object = {}) => ({
    specifier,
    code: { specifier },
    ...fields,
  });
  const graph = {
    roots: ["a"],
    redirects: { "npm:@kubernetes/client-node": "npm:/@kubernetes/client-node@2" },
    modules: [
      {
        specifier: "a",
        dependencies: [
          dependency("b"),
          { specifier: "t", type: { specifier: "t" } },
          dependency("d", { isDynamic: true }),
        ],
      },
      { specifier: "b", dependencies: [dependency("npm:@kubernetes/client-node")] },
      { specifier: "d", dependencies: [dependency("e")] },
    ],
  };
  const loaded = [...loadedAtStart(graph)];
  deepStrictEqual(loaded.toSorted(), ["a", "b", "npm:/@kubernetes/client-node@2"]);
  strictEqual(loaded.filter((specifier) => HEAVY.test(specifier)).length, 1);
});

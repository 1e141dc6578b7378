import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import configuration from "../deno.json" with { type: "json" };
import { LAYERS, LIBRARY, PACKAGE_DOORS, SIMULATOR } from "../tools/layers.ts";
import {
  findCycle,
  type Import,
  importsOf,
  readSource,
  resolveImport,
  ROOT,
  type Source,
  sourcePaths,
} from "./support/sources.ts";

/** Longest file, in lines: longer ones hold a second concept. */
const FILE_LINES_MAX = 400;

const MAIN = "main.ts";
const hasMain = [...Deno.readDirSync(ROOT)].some(({ name }) => name === MAIN);
const sources = [...sourcePaths("lib"), ...(hasMain ? [MAIN] : [])].map(readSource);

/** `core` for `lib/core/clock.ts`; `mod.ts` for `lib/mod.ts`; `main.ts` for itself. */
function layerOf(path: string): string {
  return path.startsWith("lib/") ? path.split("/")[1] ?? path : path;
}

function mayImport(from: string, to: string): boolean {
  if (from === to || from === MAIN) return true;
  const allowed: Readonly<Record<string, readonly string[]>> = {
    ...LAYERS,
    [SIMULATOR.name]: SIMULATOR.imports,
    "mod.ts": LIBRARY,
  };
  return allowed[from]?.includes(to) === true;
}

/** What is wrong with the layers of `file`'s imports. */
function layerFaults(file: Pick<Source, "path" | "imports">): string[] {
  return file.imports.flatMap(({ specifier }) => {
    const target = resolveImport(file.path, specifier);
    if (target === undefined) return [];
    const [from, to] = [layerOf(file.path), layerOf(target)];
    return mayImport(from, to) ? [] : [`${file.path} imports ${target}: ${from} may not use ${to}`];
  });
}

/** What is wrong with the packages that `file` imports. */
function doorFaults(file: Pick<Source, "path" | "imports">): string[] {
  return file.imports.flatMap(({ specifier, kind }: Import) => {
    if (resolveImport(file.path, specifier) !== undefined) return [];
    const door = PACKAGE_DOORS.find(({ name }) => name.test(specifier));
    if (door === undefined) return [`${file.path}: "${specifier}" has no door in tools/layers.ts`];
    if (!door.where.test(file.path)) {
      return [`${file.path}: "${specifier}" belongs to ${door.where}`];
    }
    if (door.lazy && kind === "static") return [`${file.path}: load "${specifier}" by import()`];
    return [];
  });
}

function edges(): Map<string, string[]> {
  return new Map(sources.map(({ path, imports }) => [
    path,
    imports.flatMap(({ specifier }) => resolveImport(path, specifier) ?? []),
  ]));
}

Deno.test("architecture: layers import downwards only", () => {
  ok(sources.length > 0);
  deepStrictEqual(sources.flatMap(layerFaults), []);
});

Deno.test("architecture: no file imports itself by a detour", () => {
  strictEqual(findCycle(edges())?.join(" → "), undefined);
});

Deno.test("architecture: packages and Node's modules are imported at their doors only", () => {
  deepStrictEqual(sources.flatMap(doorFaults), []);
});

Deno.test("architecture: deno lint holds the doors of the runtime, in all sources", () => {
  deepStrictEqual(configuration.lint.plugins, ["./tools/lint_house.ts"]);
  deepStrictEqual(
    Object.keys(configuration.lint).sort(),
    ["plugins", "rules"],
    "nothing is left out",
  );
  deepStrictEqual(configuration.exclude, ["dist"]);
});

Deno.test(`architecture: files have at most ${FILE_LINES_MAX} lines`, () => {
  const files = [...sources, ...sourcePaths("tools").map(readSource)];
  const long = files.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > FILE_LINES_MAX);
  deepStrictEqual(long, []);
});

Deno.test("architecture: each folder of lib is a layer", () => {
  const folders = [...Deno.readDirSync(`${ROOT}lib`)].filter(({ isDirectory }) => isDirectory);
  const known = [...Object.keys(LAYERS), SIMULATOR.name];
  deepStrictEqual(folders.map(({ name }) => name).filter((name) => !known.includes(name)), []);
});

Deno.test("ARCHITECTURE.md states the order of the layers", () => {
  const text = Deno.readTextFileSync(`${ROOT}ARCHITECTURE.md`);
  const line = text.split("\n").find((each) => each.startsWith("main.ts →")) ?? "";
  const stated = [...line.matchAll(/lib\/(\w+)/g)].map(([, name]) => name);
  deepStrictEqual(stated.reverse(), Object.keys(LAYERS));
});

Deno.test("layerFaults() and doorFaults() find what they are for", () => {
  const file = (path: string, text: string) => ({ path, imports: importsOf(path, text) });
  const layers = (path: string, text: string) => layerFaults(file(path, text)).length;
  strictEqual(layers("lib/core/a.ts", 'import { b } from "../client/b.ts";'), 1);
  strictEqual(layers("lib/core/a.ts", 'import type { B } from "../client/b.ts";'), 1);
  strictEqual(layers("lib/cache/a.ts", 'export * from "../client/b.ts";'), 1);
  strictEqual(layers("lib/cache/a.ts", 'await import("../foo/b.ts");'), 1);
  strictEqual(layers("lib/mod.ts", 'export { b } from "./foo/b.ts";'), 1);
  strictEqual(layers("lib/cache/a.ts", 'import { b } from "../core/b.ts";'), 0);
  strictEqual(layers("lib/core/a.ts", '/** import { b } from "../client/b.ts"; */'), 0);
  const doors = (path: string, text: string) => doorFaults(file(path, text)).length;
  const node = "@kubernetes/client-node";
  strictEqual(doors("lib/client/a.ts", `import { KubeConfig } from "${node}";`), 1);
  strictEqual(doors("lib/client/a.ts", `import type { V1Pod } from "${node}";`), 0);
  strictEqual(doors("lib/client/a.ts", `await import("${node}");`), 0);
  strictEqual(doors("lib/foo/a.ts", `import type { V1Pod } from "${node}";`), 1);
  strictEqual(doors("lib/core/a.ts", 'import "left-pad";'), 1);
});

Deno.test("findCycle() finds a cycle and names it", () => {
  const graph = new Map([["a", ["b"]], ["b", ["c", "d"]], ["c", []], ["d", ["b"]]]);
  deepStrictEqual(findCycle(graph), ["b", "d", "b"]);
  graph.set("d", ["c"]);
  strictEqual(findCycle(graph), undefined);
});

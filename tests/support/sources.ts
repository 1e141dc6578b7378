/**
 * The product's source files and what they import, read with the parser of `deno lint`.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { posix } from "node:path";

/** One import, export-from, `import()` or module URL of a source file. */
export interface Import {
  /** As written: `../core/clock.ts`, `@std/yaml`. */
  readonly specifier: string;
  readonly kind: "type" | "static" | "dynamic";
}

/** One file. */
export interface Source {
  /** From the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

/** The repository's root, with a final `/`. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

/** All files of `folder` and below whose names end in `.ts`, declarations left out; sorted. */
export function sourcePaths(folder: string): string[] {
  const found: string[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(ROOT + folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...sourcePaths(path));
    else if (name.endsWith(".ts") && !name.endsWith(".d.ts")) found.push(path);
  }
  return found.sort();
}

/** Reads and parses one file. */
export function readSource(path: string): Source {
  const text = Deno.readTextFileSync(ROOT + path);
  return { path, text, imports: importsOf(path, text) };
}

/** What `text`, were it the file at `path`, imports. */
export function importsOf(path: string, text: string): Import[] {
  const imports: Import[] = [];
  const add = (specifier: unknown, kind: Import["kind"]) => {
    if (typeof specifier === "string") imports.push({ specifier, kind });
  };
  const rule: Deno.lint.Rule = {
    create: () => ({
      ImportDeclaration: (node) =>
        add(node.source.value, node.importKind === "type" ? "type" : "static"),
      ExportAllDeclaration: (node) =>
        add(node.source.value, node.exportKind === "type" ? "type" : "static"),
      ExportNamedDeclaration: (node) =>
        add(node.source?.value, node.exportKind === "type" ? "type" : "static"),
      ImportExpression: (node) =>
        add(node.source.type === "Literal" ? node.source.value : undefined, "dynamic"),
    }),
  };
  Deno.lint.runPlugin({ name: "imports", rules: { all: rule } }, ROOT + path, text);
  return imports;
}

/** The path that `specifier`, written in the file at `from`, names; `undefined` for packages. */
export function resolveImport(from: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : undefined;
}

/** One cycle among `edges`, as a path that ends where it starts; `undefined` if there is none. */
export function findCycle(edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (node: string): string[] | undefined => {
    if (done.has(node)) return undefined;
    const start = trail.indexOf(node);
    if (start >= 0) return [...trail.slice(start), node];
    trail.push(node);
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    done.add(node);
    return undefined;
  };
  for (const node of edges.keys()) {
    const cycle = visit(node);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/**
 * No file that imports a package exports `any`: some packages come without types of their own, and
 * an `any` that leaves its door switches checking off wherever it arrives.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { FACES } from "../tools/doc_lint.ts";
import { readSource, resolveImport, ROOT, sourcePaths } from "./support/sources.ts";

/** Files that import values from packages, and the library's faces. */
function doors(): string[] {
  const importing = sourcePaths("lib").map(readSource).filter(({ path, imports }) =>
    imports.some(({ specifier, kind }) =>
      kind !== "type" && !specifier.startsWith("node:") &&
      resolveImport(path, specifier) === undefined
    )
  );
  return [...importing.map(({ path }) => path), ...FACES];
}

async function documentation(paths: readonly string[]): Promise<unknown> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...paths],
    cwd: ROOT,
  }).output();
  ok(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Names of the declarations around each `any` in `value`. */
function findAny(value: unknown, around: readonly string[] = []): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => findAny(item, around));
  if (typeof value !== "object" || value === null) return [];
  const { name, kind, keyword } = value as Record<string, unknown>;
  const names = typeof name === "string" ? [...around, name] : around;
  if (kind === "keyword" && (keyword ?? (value as Record<string, unknown>)["value"]) === "any") {
    return [names.join(".")];
  }
  return Object.values(value).flatMap((member) => findAny(member, names));
}

Deno.test("no door of a package, and nothing on the library's faces, exports any", async () => {
  const paths = doors();
  ok(paths.includes("lib/core/yaml.ts"), String(paths));
  deepStrictEqual(findAny(await documentation(paths)), []);
});

Deno.test("findAny() finds an any wherever it stands", async () => {
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(
      path,
      "export function f(a: { b: any[] }): string { return String(a); }\n" +
        "export const c: Map<string, any> = new Map();\n" +
        "export const d: unknown = 'any';\n",
    );
    const found = findAny(await documentation([path]));
    strictEqual(found.length, 2);
  } finally {
    await Deno.remove(path);
  }
});

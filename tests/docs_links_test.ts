/**
 * The documents: each link between them leads somewhere, and the index names them all.
 */
import { deepStrictEqual, ok } from "node:assert/strict";
import { posix } from "node:path";
import { ROOT } from "./support/sources.ts";

/** Folders that hold nothing that we wrote. */
const NOT_OURS = new Set([".git", "coverage", "dist", "node_modules"]);

/** All Markdown files below `folder`, as paths from the repository's root; sorted. */
function documents(folder = ""): string[] {
  return [...Deno.readDirSync(`${ROOT}${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}${name}`;
    if (isDirectory) return NOT_OURS.has(name) ? [] : documents(`${path}/`);
    return name.endsWith(".md") ? [path] : [];
  }).sort();
}

/** The document without what is quoted as code, where brackets mean something else. */
function withoutCode(text: string): string {
  return text.replace(/^( *)(`{3,}|~{3,})[^]*?^\1\2 *$/gm, "").replace(/(`+)[^`][^]*?\1/g, "code");
}

/** Where the links, images and reference definitions of a document lead. */
function targetsOf(text: string): string[] {
  const plain = withoutCode(text);
  const inline = [...plain.matchAll(/\]\(\s*<?([^\s)>]+)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/g)];
  const defined = [...plain.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)>?/gm)];
  return [...inline, ...defined].map(([, target = ""]) => target);
}

/** The anchors of a document's headings, as code hosts make them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  const fences = /^( *)(`{3,}|~{3,})[^]*?^\1\2 *$/gm;
  for (const [, title = ""] of text.replace(fences, "").matchAll(/^#{1,6} +(.+?) *#* *$/gm)) {
    const words = title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

/** What `path` is: a folder, a file, or nothing that exists. */
function kindOf(path: string): "folder" | "file" | "nothing" {
  try {
    return Deno.statSync(`${ROOT}${path}`).isDirectory ? "folder" : "file";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "nothing";
    throw error;
  }
}

/** What is wrong with the links of the document at `path`. */
function faultsOf(path: string, text: string): string[] {
  return targetsOf(text).flatMap((target) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return []; // of another host, and not ours to ask
    const [file = "", anchor] = target.split("#");
    const to = file === "" ? path : posix.join(posix.dirname(path), decodeURIComponent(file));
    const fault = `${path}: ${target} leads nowhere`;
    if (to.startsWith("..") || kindOf(to) === "nothing") return [fault];
    if (anchor === undefined || !to.endsWith(".md")) return [];
    const there = to === path ? text : Deno.readTextFileSync(`${ROOT}${to}`);
    return anchorsOf(there).has(decodeURIComponent(anchor)) ? [] : [fault];
  });
}

Deno.test("documents: each relative link leads to a file, and to a heading that it has", () => {
  const paths = documents();
  ok(paths.includes("README.md") && paths.includes("docs/README.md"), paths.join());
  deepStrictEqual(
    paths.flatMap((path) => faultsOf(path, Deno.readTextFileSync(`${ROOT}${path}`))),
    [],
  );
});

Deno.test("docs/README.md names each document of docs", () => {
  const targets = targetsOf(Deno.readTextFileSync(`${ROOT}docs/README.md`));
  const named = new Set(targets.map((target) => posix.join("docs", target.split("#")[0] ?? "")));
  // Decisions have an index of their own.
  const missing = documents("docs/").filter((path) =>
    path !== "docs/README.md" && !named.has(path) && !/^docs\/adr\/(?!README)/.test(path)
  );
  deepStrictEqual(missing, [], "Give each a line in docs/README.md");
});

Deno.test("docs/adr/README.md names each decision", () => {
  const named = new Set(targetsOf(Deno.readTextFileSync(`${ROOT}docs/adr/README.md`)));
  const missing = documents("docs/adr/").map((path) => posix.basename(path))
    .filter((name) => name !== "README.md" && !named.has(name));
  deepStrictEqual(missing, []);
});

Deno.test("faultsOf() finds dead links, and nothing else", () => {
  const faults = (text: string) => faultsOf("docs/README.md", text).length;
  deepStrictEqual(faults("[a](nothing.md)"), 1);
  deepStrictEqual(faults("![a](../nothing.png 'b') [a](../nothing.png \"b\")"), 2);
  deepStrictEqual(faults("[a]: nothing.md\n"), 1);
  deepStrictEqual(faults("[a](../../outside.md)"), 1);
  deepStrictEqual(faults("[a](../README.md#nothing-like-it)"), 1);
  deepStrictEqual(faults("[a](#here)"), 1);
  deepStrictEqual(faults("# Here: `it` is\n[a](#here-it-is) [b](../README.md) [c](../lib)"), 0);
  deepStrictEqual(faults("`[a](nothing.md)` [b](https://example.com/nothing)"), 0);
  deepStrictEqual(faults("```ts\nconst a = [b](nothing.md);\n```\n"), 0);
  deepStrictEqual([...anchorsOf("# A b\n## A b\n")], ["a-b", "a-b-1"]);
});

/** docs/field-cases.md names exactly the cases that tests are named by. */

import { deepStrictEqual, ok } from "node:assert/strict";

const TESTS = new URL(".", import.meta.url);

/** Ids at the start of a test's name, e.g. the two of `"R1 R2 economy: …"`. */
function idsIn(source: string): string[] {
  const starts = source.matchAll(/["`]((?:[KWSQRLEHPC]\d+ )+)/g);
  return [...starts].flatMap((match) => (match[1] ?? "").trim().split(" "));
}

async function testIds(folder: URL): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const entry of Deno.readDir(folder)) {
    const path = new URL(entry.name + (entry.isDirectory ? "/" : ""), folder);
    const found = entry.isDirectory
      ? await testIds(path)
      : entry.name.endsWith(".ts")
      ? idsIn(await Deno.readTextFile(path))
      : [];
    for (const id of found) ids.add(id);
  }
  return ids;
}

Deno.test("docs/field-cases.md lists each case that a test shows, and no other", async () => {
  const text = await Deno.readTextFile(new URL("../docs/field-cases.md", TESTS));
  const listed = [...text.matchAll(/^\| ([A-Z]\d+) +\|/gm)].map((match) => match[1]);
  ok(listed.length > 0);
  deepStrictEqual([...new Set(listed)].sort(), [...await testIds(TESTS)].sort());
});

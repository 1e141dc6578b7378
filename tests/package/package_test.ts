/** What the package exports: each layer, and all of them (but for the simulator) as one. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import configuration from "../../deno.json" with { type: "json" };
import * as everything from "@foo-operator/lib";
import * as cache from "@foo-operator/lib/cache";
import * as client from "@foo-operator/lib/client";
import * as controller from "@foo-operator/lib/controller";
import * as core from "@foo-operator/lib/core";
import * as services from "@foo-operator/lib/services";
import { LIBRARY } from "../../tools/layers.ts";
import { importsOf, readSource, resolveImport, sourcePaths } from "../support/sources.ts";

const LAYERS: Readonly<Record<string, object>> = { core, client, services, cache, controller };

/** Folders of the library: the package has these and no other sources. */
const isPublished = (path: string) =>
  path === "lib/mod.ts" || LIBRARY.some((layer) => path.startsWith(`lib/${layer}/`));

Deno.test("package: each layer has an entry of its own, and the log that writes; there is no other", () => {
  const layers = LIBRARY.map((layer) => [`./${layer}`, `./lib/${layer}/mod.ts`] as const);
  // The log that writes is apart: who brings another does not load it.
  const log = ["./log", "./lib/core/log_mod.ts"] as const;
  const wanted = new Map<string, string>([[".", "./lib/mod.ts"], ...layers, log]);
  deepStrictEqual(new Map(Object.entries(configuration.exports)), wanted);
});

Deno.test("package: its main entry has what the layers have, and nothing twice", () => {
  const names = Object.values(LAYERS).flatMap((layer) => Object.keys(layer));
  deepStrictEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  deepStrictEqual(Object.keys(everything).sort(), names.sort());
  deepStrictEqual([...Object.keys(LAYERS), "simulator"].sort(), [...LIBRARY].sort());
});

Deno.test("package: who does not ask for the log that writes does not load it", () => {
  const loaded = new Set<string>();
  const load = (path: string) => {
    if (loaded.has(path) || !path.endsWith(".ts")) return;
    loaded.add(path);
    for (const { specifier } of readSource(path).imports) {
      const target = resolveImport(path, specifier);
      if (target !== undefined) load(target);
    }
  };
  load("lib/mod.ts");
  load("lib/simulator/mod.ts");
  strictEqual(loaded.has("lib/core/log_sink.ts"), false);
  load("lib/core/log_mod.ts");
  strictEqual(loaded.has("lib/core/log_sink.ts"), true);
});

Deno.test("package: what is published imports nothing that is not", () => {
  const published = sourcePaths("lib").filter(isPublished).map(readSource);
  ok(published.length > 100);
  const strays = published.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier }) => {
      const target = resolveImport(path, specifier);
      return target === undefined || isPublished(target) ? [] : [`${path} imports ${target}`];
    })
  );
  deepStrictEqual(strays, []);
  // The check itself: Foo is no part of it.
  strictEqual(isPublished(resolveImport("lib/mod.ts", "./foo/plan.ts") ?? ""), false);
});

Deno.test("package: programs of users, as tested here, import it by its names alone", () => {
  const consumer = sourcePaths("tests/package/consumer").map(readSource);
  const names = new Set(
    consumer.flatMap(({ path, text }) => importsOf(path, text).map(({ specifier }) => specifier)),
  );
  const others = [...names].filter((name) => !name.startsWith("@foo-operator/lib/"));
  deepStrictEqual(others.sort(), ["./greeting_operator.ts", "node:assert/strict"]);
});

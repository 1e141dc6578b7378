/** What the documents tell newcomers about the library, held against the library. */
import { deepStrictEqual, ok } from "node:assert/strict";
import configuration from "../../deno.json" with { type: "json" };
import { blocksOf, CONTROLLERS_GUIDE, documentedSettings } from "../support/guide.ts";
import { ROOT } from "../support/sources.ts";

const GREETER = "docs/guides/greeter";

/** Folders and files with texts for people, or with comments that name tasks. */
const TEXTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "Dockerfile"];
const FOLDERS = ["docs", "lib", "tests", "tools", "crds"];

function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(ROOT + folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : [`${folder}/${name}`]
  );
}

/** Names of the tasks that `text` tells somebody to run. A `:` or `.` at the end is a sentence's. */
function tasksIn(text: string): string[] {
  return [...text.matchAll(/\bdeno task ([a-z]+(?::[a-z0-9]+)*)/g)].map(([, name = ""]) => name);
}

Deno.test("guide: the greeter stands in it as it is in its files", () => {
  const read = (name: string) => Deno.readTextFileSync(`${ROOT}${GREETER}/${name}`);
  const names = [...Deno.readDirSync(ROOT + GREETER)].map(({ name }) => name).sort();
  deepStrictEqual(names, ["crd.yaml", "deployment.yaml", "main.ts", "rbac.yaml"]);
  deepStrictEqual(blocksOf(CONTROLLERS_GUIDE, "ts ignore"), [read("main.ts")]);
  const yaml = blocksOf(CONTROLLERS_GUIDE, "yaml");
  deepStrictEqual(yaml, ["crd.yaml", "rbac.yaml", "deployment.yaml"].map(read));
});

Deno.test("documents: each way to get the library is the same, and names its version", () => {
  const { name, version } = configuration;
  const wanted = {
    links: ["../foo-operator"],
    imports: { [name]: `jsr:${name}@^${version}` },
  };
  for (const path of ["README.md", "docs/versioning.md", CONTROLLERS_GUIDE]) {
    deepStrictEqual(documentedSettings(path), wanted, path);
  }
});

Deno.test("docs/versioning.md names each entry of the package", () => {
  const text = Deno.readTextFileSync(`${ROOT}docs/versioning.md`);
  const entries = Object.keys(configuration.exports).map((entry) => entry.slice(1));
  deepStrictEqual(entries.filter((entry) => entry !== "" && !text.includes(`\`${entry}\``)), []);
});

Deno.test("documents and comments: each task that they name exists", () => {
  const paths = [...TEXTS, ...FOLDERS.flatMap(filesBelow)].filter((path) =>
    /(\.(md|ts|txt|yaml)|Dockerfile)$/.test(path)
  );
  const known = new Set(Object.keys(configuration.tasks));
  const named = paths.flatMap((path) =>
    tasksIn(Deno.readTextFileSync(ROOT + path)).map((task) => ({ path, task }))
  );
  ok(named.length > 20);
  deepStrictEqual(named.filter(({ task }) => !known.has(task)), []);
});

Deno.test("tasksIn() takes names, and no punctuation", () => {
  deepStrictEqual(tasksIn("`deno task test`, deno task test:e2e: deno task sim."), [
    "test",
    "test:e2e",
    "sim",
  ]);
});

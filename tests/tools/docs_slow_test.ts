import { match, ok, strictEqual } from "node:assert/strict";
import configuration from "../../deno.json" with { type: "json" };
import { ROOT } from "../support/sources.ts";

/** Runs the tool as its task does. */
async function docs(...args: string[]): Promise<{ code: number; stderr: string }> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--allow-read", "--allow-run", "--allow-write", "tools/docs.ts", ...args],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

Deno.test("docs: the reference has a page for each entry, with what its classes promise", async () => {
  const folder = await Deno.makeTempDir();
  try {
    strictEqual((await docs(`--output=${folder}`)).code, 0);
    const page = (path: string) => Deno.readTextFile(`${folder}/${path}`);
    match(await page("index.html"), /The parts of a Kubernetes operator/);
    for (const entry of Object.keys(configuration.exports).filter((each) => each !== ".")) {
      ok((await page(`${entry.slice("./".length)}/index.html`)).length > 0, entry);
    }
    match(await page("controller/~/Workqueue.html"), /Nothing lost/);
    match(await page("simulator/index.html"), /A test in ten lines/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("docs: an argument that it does not know is an error of usage", async () => {
  const { code, stderr } = await docs("--folder=x");
  strictEqual(code, 2);
  match(stderr, /--output=FOLDER/);
});

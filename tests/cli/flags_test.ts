import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  durationMs,
  type FlagDefinitions,
  oneOf,
  parseFlags,
  UsageError,
  wholeNumber,
} from "../../lib/cli/flags.ts";

const DEFINITIONS: FlagDefinitions = {
  name: { type: "text", aliases: ["n", "title"], help: "" },
  place: { type: "list", help: "" },
  quiet: { type: "switch", aliases: ["q"], help: "" },
};

Deno.test("parseFlags() reads values in both forms, under all names, the last one counting", () => {
  for (const args of [["--name", "x"], ["--name=x"], ["-n", "x"], ["--title=x"]]) {
    strictEqual(parseFlags(args, DEFINITIONS).text("name"), "x", args.join(" "));
  }
  strictEqual(parseFlags(["--name=x", "-n", "y"], DEFINITIONS).text("name"), "y");
  strictEqual(parseFlags([], DEFINITIONS).text("name"), undefined);
});

Deno.test("parseFlags() keeps values as text", () => {
  strictEqual(parseFlags(["--name", "007"], DEFINITIONS).text("name"), "007");
  deepStrictEqual(parseFlags(["12", "1e3"], DEFINITIONS).words, ["12", "1e3"]);
});

Deno.test("parseFlags() gathers lists from repetitions and commas", () => {
  const flags = parseFlags(["--place", "a, b", "--place=c,"], DEFINITIONS);
  deepStrictEqual(flags.list("place"), ["a", "b", "c"]);
});

Deno.test("parseFlags() refuses a list that is given and names nothing", () => {
  for (const args of [["--place", ","], ["--place= , "], ["--place=a", "--place", ",,"]]) {
    throws(() => parseFlags(args, DEFINITIONS), new UsageError("Flag --place needs a value"));
  }
});

Deno.test("parseFlags() reads switches", () => {
  const isQuiet = (...args: string[]) => parseFlags(args, DEFINITIONS).isSet("quiet");
  deepStrictEqual([isQuiet("--quiet"), isQuiet("-q"), isQuiet()], [true, true, false]);
  strictEqual(isQuiet("--quiet=false"), false);
  deepStrictEqual(parseFlags(["--quiet", "word"], DEFINITIONS).words, ["word"]);
});

Deno.test("parseFlags() takes what follows -- for words", () => {
  deepStrictEqual(parseFlags(["--", "--quiet"], DEFINITIONS).words, ["--quiet"]);
});

Deno.test("parseFlags() refuses every flag that is not declared", () => {
  const known = ["name", "n", "title", "place", "quiet", "q"];
  const flag = fc.stringMatching(/^[a-z][a-z-]{0,10}$/).filter((name) => {
    return !known.includes(name) && !(name.startsWith("no-") && known.includes(name.slice(3)));
  });
  fc.assert(fc.property(flag, (name) => {
    throws(() => parseFlags([`--${name}`], DEFINITIONS), UsageError);
    throws(() => parseFlags([`--${name}=1`], DEFINITIONS), UsageError);
  }));
});

Deno.test("durationMs() reads what other Kubernetes tools write", () => {
  const cases = { "0": 0, "5s": 5000, "500ms": 500, "1h30m": 5_400_000, "1.5h": 5_400_000 };
  for (const [text, ms] of Object.entries(cases)) strictEqual(durationMs(text, { flag: "x" }), ms);
  for (const text of ["5", "s", "-5s", "5 s", "5d", "", "5s!", "1e3s"]) {
    throws(() => durationMs(text, { flag: "x" }), UsageError, text);
  }
});

Deno.test("wholeNumber() and oneOf() take what they name and nothing else", () => {
  strictEqual(wholeNumber("7", { flag: "x", min: 1, max: 9 }), 7);
  for (const text of ["0", "10", "7.5", "-7", "", "7a", "0x7", "Infinity"]) {
    throws(() => wholeNumber(text, { flag: "x", min: 1, max: 9 }), UsageError, text);
  }
  strictEqual(oneOf("b", { flag: "x", choices: ["a", "b"] }), "b");
  throws(() => oneOf("B", { flag: "x", choices: ["a", "b"] }), UsageError);
});

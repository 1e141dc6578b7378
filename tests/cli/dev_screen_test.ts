import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { Screen } from "../../lib/cli/dev_screen.ts";

function screen({ color = false } = {}): { screen: Screen; text: () => string } {
  let text = "";
  return {
    screen: new Screen({ write: (part) => void (text += part), color }),
    text: () => text,
  };
}

Deno.test("Screen.operatorLine() shortens log records and leaves all else as it is", () => {
  const { screen: on, text } = screen();
  const record = {
    time: "2026-01-02T03:04:05.678Z",
    level: "info",
    message: "Created Deployment",
    name: "a",
    reconcileID: "x",
  };
  strictEqual(on.operatorLine(JSON.stringify(record)), "Created Deployment");
  match(text(), /^\d\d:\d\d:05\.678 INFO {2}Created Deployment name=a\n$/);
  const others = ["error: SyntaxError", "{", "{}", '{"level":"info"}', "[1]", ""];
  deepStrictEqual(others.map((line) => on.operatorLine(line)), others.map(() => undefined));
  ok(text().endsWith(others.map((line) => `${line}\n`).join("")));
});

Deno.test("Screen.operatorLine() lets no field drive the terminal", () => {
  const { screen: on, text } = screen();
  const record = { time: "2026-01-02T03:04:05.678Z", level: "warn", message: "\u001b[2J", a: "\r" };
  on.operatorLine(JSON.stringify(record));
  deepStrictEqual([...text()].filter((char) => char < " "), ["\n"], JSON.stringify(text()));
});

Deno.test("Screen.supervisor() says what happened and what comes next", () => {
  const { screen: on, text } = screen();
  on.supervisor({ type: "changed", paths: ["lib/a.ts"] });
  on.supervisor({ type: "changed", paths: ["a", "b", "c", "d", "lib/simulator/e.ts"] });
  on.supervisor({ type: "ended", end: { code: 1, wasLoaded: true }, retryMs: 4000 });
  on.supervisor({ type: "ended", end: { code: 1, wasLoaded: false } });
  deepStrictEqual(text().split("\n"), [
    "↻ lib/a.ts changed: restarting the operator",
    "↻ a, b, c and 2 more changed: restarting the operator",
    "  The simulated server and dev itself change when dev starts anew",
    "✗ The operator ended with exit code 1: starting again in 4 s, or at a change",
    "✗ The operator's sources can't be loaded: waiting for a change",
    "",
  ]);
});

Deno.test("Screen aligns facts and suggestions, and colours only if asked to", () => {
  const plain = screen();
  plain.screen.facts({ context: "a", server: "https://b" });
  plain.screen.suggestions("Try:", [{ line: "export A=b" }, { line: "x", what: "see" }, {
    line: "longer",
    what: "more",
  }]);
  deepStrictEqual(plain.text().split("\n"), [
    "  context  a",
    "  server   https://b",
    "",
    "",
    "Try:",
    "  export A=b",
    "  x       # see",
    "  longer  # more",
    "",
    "",
  ]);
  const colored = screen({ color: true });
  colored.screen.good("done");
  // The user's NO_COLOR wins over who asks.
  strictEqual(colored.text().includes("\u001b["), !Deno.noColor);
});

Deno.test("Screen.suggestions() puts comments above commands that leave no room beside them", () => {
  const { screen: on, text } = screen();
  const line = `kubectl --context ${"long".repeat(25)} get foos -w`;
  on.suggestions("Try:", [{ line: "export A=b" }, { line, what: "follow it" }, {
    line: "x",
    what: "see",
  }]);
  deepStrictEqual(text().split("\n"), [
    "",
    "Try:",
    "  export A=b",
    "  # follow it",
    `  ${line}`,
    "  # see",
    "  x",
    "",
    "",
  ]);
});

Deno.test("Screen outlives its terminal", () => {
  const on = new Screen({
    write: () => {
      throw new Error("EIO");
    },
    color: false,
  });
  on.show("nobody sees this");
});

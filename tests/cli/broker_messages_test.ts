import { strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type FromWorker, readFromWorker, TEXT_MAX_CHARS } from "../../lib/cli/broker_messages.ts";
import { oneLine } from "../../lib/core/one_line.ts";

const count = fc.nat();
const line = fc.string().map((text) => `\x1b[1;31m${oneLine(text)}\x1b[0m\n`);
const failure = fc.record(
  { message: fc.string(), isConfig: fc.boolean(), stack: fc.string() },
  { requiredKeys: ["message", "isConfig"] },
);

/** Every message that an operator sends. */
const message: fc.Arbitrary<FromWorker> = fc.oneof(
  fc.record({ type: fc.constant("ready" as const) }),
  fc.record({ type: fc.constant("pong" as const) }),
  fc.record({ type: fc.constant("current" as const), id: count }),
  fc.record({ type: fc.constant("refresh" as const), id: count, generation: count }),
  fc.record({ type: fc.constant("log" as const), line }),
  fc.record({ type: fc.constant("ended" as const), failure }, { requiredKeys: ["type"] }),
);

Deno.test("readFromWorker() takes every message as it is, also across a thread's border", () => {
  fc.assert(fc.property(message, (each) => {
    const arrived = structuredClone(each);
    strictEqual(readFromWorker(arrived), arrived);
  }));
});

Deno.test("readFromWorker() refuses a message with one field more, whatever it is", () => {
  const name = fc.oneof(
    fc.constantFrom("path", "command", "args", "host", "url", "kubeconfig", "env"),
    fc.string(),
  );
  fc.assert(fc.property(message, name, fc.jsonValue(), (each, extra, value) => {
    fc.pre(!Object.hasOwn(each, extra) && extra !== "__proto__");
    fc.pre(!(each.type === "ended" && extra === "failure"));
    strictEqual(readFromWorker({ ...each, [extra]: value }), undefined);
  }));
});

Deno.test("readFromWorker() refuses a message with one field less, but for what may be absent", () => {
  fc.assert(fc.property(message, fc.nat(), (each, at) => {
    const names = Object.keys(each).filter((name) => name !== "failure");
    const { [names[at % names.length] ?? ""]: _, ...rest } = { ...each } as Record<string, unknown>;
    strictEqual(readFromWorker(rest), undefined);
  }));
});

Deno.test("readFromWorker() refuses all else", () => {
  fc.assert(fc.property(fc.anything(), (each) => {
    // Nothing that is made by chance happens to be one of six exact shapes.
    strictEqual(readFromWorker(each), undefined);
  }));
  const cases: unknown[] = [
    { type: "run", command: "sh" },
    { type: "toString" },
    { type: "__proto__" },
    { type: "current", id: -1 },
    { type: "current", id: 0.5 },
    { type: "current", id: "1" },
    { type: "refresh", id: 1, generation: NaN },
    { type: "log", line: "no end" },
    { type: "log", line: "two\nlines\n" },
    { type: "log", line: "" },
    { type: "log", line: "wiped\x1b[2K\rlevel=info forged\n" },
    { type: "log", line: "\x1b]0;title\x07\n" },
    { type: "log", line: "two\u2028lines\n" },
    { type: "log", line: "\x9b2J\n" },
    { type: "log", line: `${"x".repeat(TEXT_MAX_CHARS)}\n` },
    { type: "log", line: ["a\n"] },
    { type: "ended", failure: "x" },
    { type: "ended", failure: { message: "x" } },
    { type: "ended", failure: { message: "x", isConfig: true, path: "/etc" } },
    [{ type: "ready" }],
  ];
  for (const each of cases) strictEqual(readFromWorker(each), undefined, Deno.inspect(each));
});

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { openLog, type OpenLogOptions } from "../../lib/core/log_sink.ts";
import type { Logger } from "../../lib/core/log.ts";
import { Redactor } from "../../lib/core/redact.ts";

const clock = { wallMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) };

/** The lines that `use` makes a log write. */
function linesOf(use: (logger: Logger) => void, options: Partial<OpenLogOptions> = {}): string[] {
  const lines: string[] = [];
  using log = openLog({
    level: "debug",
    format: "json",
    write: (line) => lines.push(line),
    redactor: new Redactor(),
    clock,
    ...options,
  });
  use(log.logger);
  return lines;
}

Deno.test("openLog() writes JSON lines with the fixed keys first", () => {
  const [line] = linesOf((log) => log.warn("Requeued", { key: "default/a", afterMs: 250 }));
  strictEqual(
    line,
    '{"time":"2026-01-02T03:04:05.678Z","level":"warn","message":"Requeued",' +
      '"key":"default/a","afterMs":250}\n',
  );
});

Deno.test("openLog() writes text for people", () => {
  const lines = linesOf((log) => {
    log.info("Starting", { server: "https://127.0.0.1:6443", note: "two words", none: undefined });
    log.error("Failed");
  }, { format: "text" });
  deepStrictEqual(lines, [
    '2026-01-02T03:04:05.678Z INFO  Starting server=https://127.0.0.1:6443 note="two words"\n',
    "2026-01-02T03:04:05.678Z ERROR Failed\n",
  ]);
});

Deno.test("openLog() drops records below its level", () => {
  const write = (log: Logger) => {
    log.debug("d");
    log.info("i");
    log.warn("w");
    log.error("e");
  };
  const count = (level: OpenLogOptions["level"]) => linesOf(write, { level }).length;
  deepStrictEqual([count("debug"), count("info"), count("warn"), count("error")], [4, 3, 2, 1]);
});

Deno.test("P8 openLog() redacts messages and fields in both formats", () => {
  for (const format of ["json", "text"] as const) {
    const text = linesOf((log) => {
      log.debug("Sent Authorization: Bearer SECRET-abc", {
        token: "SECRET-abc",
        error: new Error("401 for Bearer SECRET-abc"),
      });
    }, { format }).join("");
    ok(!text.includes("SECRET-abc"), text);
  }
});

Deno.test("openLog() leaves braces in a message alone", () => {
  const [line] = linesOf((log) => log.info("Read {name}", { name: "x" }));
  strictEqual(JSON.parse(line ?? "").message, "Read {name}");
});

Deno.test("openLog() keeps a field that has the name of a fixed key", () => {
  const [line] = linesOf((log) => log.info("Read", { level: 9, message: "own" }));
  const record = JSON.parse(line ?? "");
  deepStrictEqual([record.level, record.level_, record.message_], ["info", 9, "own"]);
});

Deno.test("openLog() writes one line a record, whatever the record holds", () => {
  const hostile = fc.string({ unit: "binary" })
    .map((text) => `${text}\n\r\u2028\u001b[31m\u007f\u009b31m`);
  fc.assert(fc.property(hostile, fc.dictionary(hostile, hostile), (message, fields) => {
    for (const format of ["json", "text"] as const) {
      const lines = linesOf((log) => log.info(message, fields), { format });
      strictEqual(lines.length, 1);
      strictEqual(lines[0]?.split(/[\n\r]/).length, 2); // the end of the line, nothing after it
      // deno-lint-ignore no-control-regex -- those are what must not reach a terminal
      ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/.test(lines[0] ?? ""));
      if (format === "json") strictEqual(JSON.parse(lines[0] ?? "").message, message);
    }
  }));
});

Deno.test("openLog() drops a line that cannot be written and goes on", () => {
  let calls = 0;
  linesOf((log) => {
    log.info("one");
    log.info("two");
  }, {
    write: () => {
      calls++;
      throw new Error("Broken pipe");
    },
  });
  strictEqual(calls, 2);
});

Deno.test("openLog() stops when its scope is left", () => {
  let kept: Logger | undefined;
  const lines = linesOf((log) => {
    kept = log;
    log.info("inside");
  });
  kept?.info("outside");
  strictEqual(lines.length, 1);
});

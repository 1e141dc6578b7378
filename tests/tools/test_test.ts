import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { filterOf, readReport, skippedMessage, skippedSuites } from "../../tools/test.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="5" failures="1" errors="0" time="0.009">
    <testsuite name="./tests/a_test.ts" tests="4" disabled="1" errors="0" failures="1">
        <testcase name="good" classname="./tests/a_test.ts" time="0.001" line="1" col="6">
        </testcase>
        <testcase name="ign &amp; &lt;skipped&gt;" classname="./tests/a_test.ts" time="0.000">
            <skipped/>
        </testcase>
        <testcase name="bad" classname="./tests/a_test.ts" time="0.001" line="3" col="6">
            <failure message="Uncaught Error: x">Error: x &lt;skipped/&gt;</failure>
        </testcase>
        <testcase name="bad &gt; step" classname="./tests/a_test.ts" time="0.000"/>
    </testsuite>
    <testsuite name="./tests/b_test.ts" tests="1" disabled="1" errors="0" failures="0">
        <testcase name="other"><skipped/></testcase>
    </testsuite>
</testsuites>`;

Deno.test("readReport() counts passed, failed and skipped tests", () => {
  const { passed, failed, skipped } = readReport(REPORT);
  deepStrictEqual([passed, failed], [2, 1]);
  deepStrictEqual([...skipped], [["./tests/a_test.ts", 1], ["./tests/b_test.ts", 1]]);
});

Deno.test("readReport() does not take for skipped what a filter left out", () => {
  const skipped = (filter: string) => [...readReport(REPORT, { filter }).skipped];
  deepStrictEqual(skipped("good"), []);
  deepStrictEqual(skipped("& <skip"), [["./tests/a_test.ts", 1]]);
  deepStrictEqual(skipped("/^oth?er$/"), [["./tests/b_test.ts", 1]]);
});

Deno.test("filterOf() finds the filter in either form", () => {
  deepStrictEqual(
    [["--filter", "a b"], ["-q", "--filter=a=b"], ["-q"]].map(filterOf),
    ["a b", "a=b", undefined],
  );
});

Deno.test("skippedSuites() names test files, also those whose tests a helper registered", () => {
  const texts = new Map([
    ["tests/c_test.ts", 'import { register } from "./support/helper.ts";'],
    ["tests/d_test.ts", 'import { other } from "./support/other.ts";'],
  ]);
  const skipped = new Map([["./tests/support/helper.ts", 2], ["./tests/a_test.ts", 1]]);
  deepStrictEqual(skippedSuites(skipped, texts), ["tests/a_test.ts", "tests/c_test.ts"]);
});

Deno.test("skippedMessage() names the suites and the one command that enables them", () => {
  const { skipped } = readReport(REPORT);
  const suites = ["tests/a_test.ts", "tests/b_test.ts"];
  strictEqual(
    skippedMessage(skipped, { suites, hasAssets: false, task: "test" }),
    `Skipped: 2 tests of
  tests/a_test.ts
  tests/b_test.ts
They need a real API server. To run them too: deno task assets && deno task test`,
  );
  match(skippedMessage(skipped, { suites, hasAssets: true, task: "test" }) ?? "", /program\.$/);
  strictEqual(skippedMessage(new Map(), { suites, hasAssets: false, task: "test" }), undefined);
});

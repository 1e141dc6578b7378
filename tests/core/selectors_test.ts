/**
 * @module
 */

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  formatFieldSelector,
  formatLabelSelector,
  isLabelKey,
  isLabelValue,
  type LabelRequirement,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  requirementsOf,
} from "../../lib/core/selectors.ts";

const WORD = fc.stringMatching(/^[a-z]([-a-z0-9]{0,5}[a-z0-9])?$/);
const VALUE = fc.oneof(WORD, fc.constant(""));

/** Records with the prototype that parsed ones have. */
function plain<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

const REQUIREMENT: fc.Arbitrary<LabelRequirement> = fc.oneof(
  plain({
    key: WORD,
    operator: fc.constantFrom("=" as const, "!=" as const),
    values: fc.tuple(VALUE),
  }),
  plain({
    key: WORD,
    operator: fc.constantFrom("in" as const, "notin" as const),
    values: fc.uniqueArray(WORD, { minLength: 1, maxLength: 3 }).map((values) => values.sort()),
  }),
  plain({
    key: WORD,
    operator: fc.constantFrom("exists" as const, "!" as const),
    values: fc.constant([]),
  }),
  plain({
    key: WORD,
    operator: fc.constantFrom(">" as const, "<" as const),
    values: fc.tuple(fc.integer().map(String)),
  }),
);

Deno.test("parseLabelSelector() reads back what formatLabelSelector() writes", () => {
  fc.assert(fc.property(fc.array(REQUIREMENT, { maxLength: 4 }), (selector) => {
    deepStrictEqual(parseLabelSelector(formatLabelSelector(selector)), selector);
  }));
});

Deno.test("matchesLabels() gives opposite answers for opposite operators", () => {
  const labels = fc.dictionary(WORD, VALUE, { maxKeys: 3 });
  fc.assert(fc.property(WORD, fc.array(WORD, { minLength: 1 }), labels, (key, values, object) => {
    const holds = (operator: LabelRequirement["operator"]) =>
      matchesLabels([{ key, operator, values }], object);
    strictEqual(holds("in"), !holds("notin"));
    strictEqual(holds("exists"), !holds("!"));
    strictEqual(holds("="), !holds("!="));
  }));
});

Deno.test("matchesLabels() needs all requirements, and nothing matches everything", () => {
  const labels = { app: "nginx", size: "10" };
  const matches = (text: string) => matchesLabels(parseLabelSelector(text), labels);
  strictEqual(matches(""), true);
  strictEqual(matches("app=nginx,size>9"), true);
  strictEqual(matches("app=nginx,size<9"), false);
  strictEqual(matches("app>1"), false);
  strictEqual(matches("toString"), false);
  strictEqual(matchesLabels(parseLabelSelector("!app"), undefined), true);
});

Deno.test("parseLabelSelector() takes blanks, ==, and empty values", () => {
  deepStrictEqual(parseLabelSelector(" a == b , c in ( d , ) "), [
    { key: "a", operator: "=", values: ["b"] },
    { key: "c", operator: "in", values: ["d", ""] },
  ]);
  deepStrictEqual(parseLabelSelector("a=,b!="), [
    { key: "a", operator: "=", values: [""] },
    { key: "b", operator: "!=", values: [""] },
  ]);
});

Deno.test("parseLabelSelector() refuses what the server refuses", () => {
  const cases = [
    "a,,b",
    "a,",
    "=a",
    "a in b",
    "a in (b",
    "a b",
    "a=b=c",
    "a>x",
    "-a",
    "a=-",
    "!",
    "x/y/z",
    `a=${"v".repeat(64)}`,
    `${"a,".repeat(40_000)}a`,
  ];
  for (const text of cases) throws(() => parseLabelSelector(text), SyntaxError, text.slice(0, 40));
});

Deno.test("isLabelKey() and isLabelValue() hold to the limits of names", () => {
  strictEqual(isLabelKey("app.kubernetes.io/managed-by"), true);
  strictEqual(isLabelKey("UPPER_ok.x"), true);
  strictEqual(isLabelKey("k".repeat(63)), true);
  strictEqual(isLabelKey("k".repeat(64)), false);
  strictEqual(isLabelKey("Upper.io/x"), false);
  strictEqual(isLabelKey("/x"), false);
  strictEqual(isLabelKey(""), false);
  strictEqual(isLabelValue(""), true);
  strictEqual(isLabelValue("a".repeat(64)), false);
  strictEqual(isLabelValue("not ok"), false);
});

Deno.test("parseFieldSelector() reads back what formatFieldSelector() writes, whatever the value", () => {
  const requirement = plain({
    field: fc.constantFrom("metadata.name", "status.phase"),
    operator: fc.constantFrom("=" as const, "!=" as const),
    value: fc.string({ unit: fc.constantFrom("a", ",", "=", "\\", "!", " ") }),
  });
  fc.assert(fc.property(fc.array(requirement, { minLength: 1, maxLength: 3 }), (selector) => {
    deepStrictEqual(parseFieldSelector(formatFieldSelector(selector)), selector);
  }));
});

Deno.test("parseFieldSelector() refuses a part without operator", () => {
  throws(() => parseFieldSelector("a=b,c"), {
    name: "SyntaxError",
    message: "invalid selector: 'a=b,c'; can't understand 'c'",
  });
});

Deno.test("matchesFields() compares what the kind gives; absent fields are empty", () => {
  const matches = (text: string) =>
    matchesFields(parseFieldSelector(text), (field) => field === "metadata.name" ? "a" : "");
  strictEqual(matches("metadata.name=a"), true);
  strictEqual(matches("metadata.name==a,spec.x="), true);
  strictEqual(matches("metadata.name!=a"), false);
});

Deno.test("requirementsOf() reads the API's selector; an absent one selects nothing", () => {
  strictEqual(requirementsOf(undefined), undefined);
  deepStrictEqual(requirementsOf({}), []);
  deepStrictEqual(
    requirementsOf({
      matchLabels: { a: "b" },
      matchExpressions: [
        { key: "c", operator: "NotIn", values: ["d"] },
        { key: "e", operator: "DoesNotExist" },
      ],
    }),
    [
      { key: "a", operator: "=", values: ["b"] },
      { key: "c", operator: "notin", values: ["d"] },
      { key: "e", operator: "!", values: [] },
    ],
  );
  throws(() => requirementsOf({ matchExpressions: [{ key: "a", operator: "Like" }] }), SyntaxError);
});

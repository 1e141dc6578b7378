import { deepStrictEqual, match } from "node:assert/strict";
import { findingsOf } from "../../tools/doc_lint.ts";

const OUTPUT = `error[private-type-ref]: public type 'Pod' references private type 'V1Pod'
  --> /repo/lib/client/builtin_types.ts:81:1
   |
81 | export type Pod = BuiltIn<V1Pod>;
   | ^^^

error[private-type-ref]: public type 'A' references private type 'B'
  --> /repo/lib/client/kinds.ts:1:1

error[missing-jsdoc]: exported symbol is missing JSDoc documentation
  --> /repo/lib/client/builtin_types.ts:82:1

error: Found 3 documentation lint errors.
`;

Deno.test("findingsOf() lets through references to the package's types, and nothing else", () => {
  const findings = findingsOf(OUTPUT);
  deepStrictEqual(findings.length, 2);
  match(findings[0] ?? "", /'A' references private type 'B'/);
  match(findings[1] ?? "", /missing-jsdoc/);
});

import { deepStrictEqual, doesNotMatch, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { parseYaml, parseYamlAll, stringifyYaml, YamlError } from "../../lib/core/yaml.ts";

Deno.test("parseYaml() reads back what stringifyYaml() wrote, for any JSON", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
    // JSON knows no -0; YAML does.
    const plain: unknown = JSON.parse(JSON.stringify(value));
    deepStrictEqual(parseYaml(stringifyYaml(plain)), plain);
    deepStrictEqual(parseYaml(JSON.stringify(plain)), plain);
  }));
});

Deno.test("parseYaml() gives only what JSON can hold, and the last of repeated keys", () => {
  deepStrictEqual(parseYaml("date: 2026-01-02\nyes: no\nnull: ~\nlist: [1, 0.5, true]"), {
    date: "2026-01-02",
    yes: "no",
    null: null,
    list: [1, 0.5, true],
  });
  deepStrictEqual(parseYaml("a: 1\na: 2"), { a: 2 });
  strictEqual(parseYaml(""), null);
  throws(() => parseYaml("a: !!binary aGk="), YamlError);
});

Deno.test("parseYamlAll() gives each document; parseYaml() the first", () => {
  const text = "---\na: 1\n---\n---\nb: 2\n";
  deepStrictEqual(parseYamlAll(text), [{ a: 1 }, null, { b: 2 }]);
  deepStrictEqual(parseYaml(text), { a: 1 });
});

Deno.test("YamlError says the place and quotes nothing", () => {
  for (
    const text of ["ok: 1\ntoken: [SECRET", "token: *SECRET", "token: !SECRET x", "a: 'SECRET"]
  ) {
    throws(() => parseYaml(text), (error) => {
      if (!(error instanceof YamlError)) return false;
      doesNotMatch(`${error.message} ${error.stack} ${error.cause}`, /SECRET/);
      return error.line !== undefined && error.column !== undefined;
    });
  }
});

Deno.test("stringifyYaml() quotes what other readers would not take for a string", () => {
  const texts = [
    "yes",
    "No",
    "on",
    "y",
    "null",
    "~",
    "1",
    "1e3",
    "0x1f",
    "012",
    "2026-01-02",
    "a: b",
  ];
  for (const text of texts) strictEqual(stringifyYaml(text), `'${text}'\n`);
  const long = "word ".repeat(60).trim();
  strictEqual(stringifyYaml({ long }), `long: ${long}\n`);
  const shared = { a: 1 };
  strictEqual(stringifyYaml([shared, shared]), "- a: 1\n- a: 1\n");
  throws(() => stringifyYaml({ a: undefined }), TypeError);
});

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { ndjson } from "../../lib/client/ndjson.ts";
import { ConnectionError, ProtocolError } from "../../lib/core/errors.ts";
import { parseJson } from "../../lib/core/json_text.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** `bytes` cut at `cuts`, which may repeat: then a chunk is empty. */
async function* cutAt(
  bytes: Uint8Array,
  cuts: readonly number[],
): AsyncGenerator<Uint8Array, void, void> {
  let start = 0;
  for (const end of [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b)]) {
    yield bytes.subarray(start, end);
    start = end;
  }
  yield bytes.subarray(start);
  await Promise.resolve();
}

Deno.test("W10 ndjson() gives the same values wherever the bytes are cut", async () => {
  const value = fc.jsonValue({ stringUnit: "grapheme" });
  await fc.assert(fc.asyncProperty(
    fc.array(value, { maxLength: 6 }),
    fc.array(fc.nat(), { maxLength: 20 }),
    async (values, cuts) => {
      const bytes = encode(values.map((each) => JSON.stringify(each) + "\n").join(""));
      const expected = values.map((each) => parseJson(JSON.stringify(each)));
      deepStrictEqual(await Array.fromAsync(ndjson(cutAt(bytes, cuts))), expected);
    },
  ));
});

Deno.test("W10 ndjson() reads a line that comes byte by byte", async () => {
  const note = { note: "pâté 漢字 🚀" };
  const bytes = encode(JSON.stringify(note) + "\n");
  const cuts = [...bytes.keys()];
  deepStrictEqual(await Array.fromAsync(ndjson(cutAt(bytes, cuts))), [note]);
});

Deno.test("W10 ndjson() takes a stream that ends inside a line for a cut connection", async () => {
  const seen: unknown[] = [];
  await rejects(async () => {
    for await (const value of ndjson(cutAt(encode('{"a":1}\n{"a":2}'), [3]))) seen.push(value);
  }, (error) => error instanceof ConnectionError && error.stage === "body");
  deepStrictEqual(seen, [{ a: 1 }]);
});

Deno.test("W10 ndjson() says of a complete line that it is no JSON, without quoting it", async () => {
  await rejects(
    Array.fromAsync(ndjson(cutAt(encode('{"password":"hunter2"\n{}\n'), []))),
    (error) => {
      strictEqual(error instanceof ProtocolError, true);
      strictEqual(Deno.inspect(error).includes("hunter2"), false);
      return true;
    },
  );
});

Deno.test("W10 ndjson() replaces bytes that are not UTF-8", async () => {
  const bytes = new Uint8Array([...encode('{"a":"'), 0xff, ...encode('"}\n')]);
  deepStrictEqual(await Array.fromAsync(ndjson(cutAt(bytes, []))), [{ a: "\ufffd" }]);
});

Deno.test("ndjson() skips empty lines and refuses longer ones than its limit", async () => {
  const line = JSON.stringify("x".repeat(8));
  const read = (cuts: number[]) =>
    Array.fromAsync(ndjson(cutAt(encode(`\n${line}\n\n`), cuts), { lineBytesMax: line.length }));
  deepStrictEqual(await read([]), ["x".repeat(8)]);

  const limit = { lineBytesMax: line.length - 1 };
  for (const cuts of [[], [4], [...Array(line.length).keys()]]) {
    // Also without a line feed: an endless line must not fill the memory first.
    await rejects(Array.fromAsync(ndjson(cutAt(encode(line), cuts), limit)), ProtocolError);
    await rejects(Array.fromAsync(ndjson(cutAt(encode(line + "\n"), cuts), limit)), ProtocolError);
  }
});

Deno.test("ndjson() ends its source when it is left early", async () => {
  let isEnded = false;
  async function* source(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) yield await Promise.resolve(encode("{}\n"));
    } finally {
      isEnded = true;
    }
  }
  for await (const _ of ndjson(source())) break;
  strictEqual(isEnded, true);
});

import { deepStrictEqual, throws } from "node:assert/strict";
import { type ByteSink, lossyWriterTo, writerTo } from "../../lib/core/output.ts";

/** Takes `steps` bytes a write, in turn; an error instead of a number is thrown. */
function sink(...steps: (number | Error)[]): { stream: ByteSink; taken: number[] } {
  const taken: number[] = [];
  const stream = {
    writeSync(bytes: Uint8Array): number {
      const step = steps.shift() ?? bytes.length;
      if (step instanceof Error) throw step;
      taken.push(...bytes.subarray(0, step));
      return Math.min(step, bytes.length);
    },
  };
  return { stream, taken };
}

const bytesOf = (text: string) => [...new TextEncoder().encode(text)];

Deno.test("writerTo() writes all of a text to a stream that takes a part at a time", () => {
  const { stream, taken } = sink(1, 3, 2);
  writerTo(stream)("a \u2603 and more\n");
  deepStrictEqual(taken, bytesOf("a \u2603 and more\n"));
});

Deno.test("writerTo() tells when the stream takes no more", () => {
  const { stream } = sink(1, new Deno.errors.BrokenPipe("gone"));
  throws(() => writerTo(stream)("abc"), Deno.errors.BrokenPipe);
});

Deno.test("lossyWriterTo() drops what the stream does not take, and goes on", () => {
  const { stream, taken } = sink(
    new Deno.errors.BrokenPipe("gone"),
    new Deno.errors.WouldBlock("full"),
    new Error("No space left on device"),
  );
  const write = lossyWriterTo(stream);
  for (const text of ["a\n", "b\n", "c\n", "d\n"]) write(text);
  deepStrictEqual(taken, bytesOf("d\n"));
});

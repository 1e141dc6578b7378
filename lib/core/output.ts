/**
 * Writes text to the process' streams.
 *
 * @module
 */

/** All that is needed of a stream. */
export interface ByteSink {
  /** Writes a first part of `bytes`, and says how long that was. */
  writeSync(bytes: Uint8Array): number;
}

/**
 * Writes all of each text, however often that takes: one write may take only a part.
 *
 * @throws What the stream throws, such as for a closed pipe: a result that was asked for and can't
 * be handed over is a failure.
 */
export function writerTo(stream: ByteSink): (text: string) => void {
  const encoder = new TextEncoder();
  return (text) => {
    let bytes = encoder.encode(text);
    while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
  };
}

/**
 * Writes as {@linkcode writerTo} does, and drops what the stream does not take. For logs and
 * complaints: when whoever reads them is gone, the disk is full or a pipe that does not block is,
 * there is no place left to tell it, and it is no reason to end the work that they tell of.
 */
export function lossyWriterTo(stream: ByteSink): (text: string) => void {
  const write = writerTo(stream);
  return (text) => {
    try {
      write(text);
    } catch {
      // See above: nobody can be told.
    }
  };
}

/**
 * A log that writes: JSON lines for machines or text for people, without secrets. Any other
 * `Logger` does as well; this one is apart because it brings LogTape, which only programs need that
 * use it.
 *
 * {@linkcode openLog} starts it, and is the program's to call, once; everything else takes the
 * {@linkcode Logger} that comes out. A {@linkcode Redactor} takes secrets out of each record, by the
 * name of a field, by shape, and by value for those that it was told of (`rememberingSecrets` of
 * `@foo-operator/lib/client` tells it of credentials). {@linkcode lossyWriterTo} is what writes to a
 * stream of the process.
 *
 * LogTape has one configuration in a process, which `openLog` replaces: a program that configures
 * LogTape itself writes its own {@linkcode Logger}, four methods, in place of this one.
 *
 * @example
 * ```ts
 * import { realClock } from "@foo-operator/lib/core";
 * import { lossyWriterTo, openLog, Redactor } from "@foo-operator/lib/log";
 *
 * using log = openLog({
 *   level: "info",
 *   format: "json",
 *   write: lossyWriterTo(Deno.stderr),
 *   redactor: new Redactor(),
 *   clock: realClock,
 * });
 * log.logger.info("Started", { version: "1.0.0" });
 * ```
 *
 * @module
 */

export type { Clock } from "./clock.ts";
export type { LogFields, Logger, LogLevel } from "./log.ts";
export {
  LOG_FORMATS,
  LOG_LEVELS,
  type LogFormat,
  type OpenLog,
  openLog,
  type OpenLogOptions,
} from "./log_sink.ts";
export { type ByteSink, lossyWriterTo } from "./output.ts";
export { REDACTED, Redactor, type RedactorOptions } from "./redact.ts";

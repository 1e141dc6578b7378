/**
 * The logger that every layer takes, and the fields it carries. It writes nowhere by itself: sinks
 * are made in `log_sink.ts` by whoever starts the process.
 *
 * @module
 */

/** Fields of a record: data beside the constant message, never inside it. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Levels in rising order. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Takes log records. The message is a constant; what varies is in `fields`. */
export interface Logger {
  /** For whoever looks for a fault. */
  debug(message: string, fields?: LogFields): void;
  /** What happened, in normal operation. */
  info(message: string, fields?: LogFields): void;
  /** What needs a look, though work goes on. */
  warn(message: string, fields?: LogFields): void;
  /** What failed. */
  error(message: string, fields?: LogFields): void;
}

/** A logger that adds `fields` to every record of `logger`; a record's own fields win. */
export function withFields(logger: Logger, fields: LogFields): Logger {
  const at = (level: LogLevel) => (message: string, own?: LogFields) =>
    logger[level](message, { ...fields, ...own });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A logger that forgets everything: a default for library code used à la carte. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};

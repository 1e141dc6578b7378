/**
 * A logger that keeps its records, for tests whose claim is what a person gets to read.
 *
 * @module
 */

import type { LogFields, Logger, LogLevel } from "../../lib/core/log.ts";

export interface LogRecord {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger and the records it was given, oldest first. */
export function recordingLogger(): { log: Logger; records: LogRecord[] } {
  const records: LogRecord[] = [];
  const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
    records.push({ level, message, fields });
  };
  return {
    records,
    log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
  };
}

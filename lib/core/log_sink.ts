/**
 * Where log records go: LogTape behind our {@linkcode Logger}, with a redactor in between.
 *
 * A file of its own because it is the one door to LogTape. Each record is one line, JSON or text,
 * whatever it holds: newlines and control characters are escaped, so that a value cannot forge a
 * second record. The order of lines is the order of calls. A line that cannot be written is
 * dropped: the log never stops the work that it tells of.
 *
 * LogTape's configuration is one per process, so {@linkcode openLog} may be open once at a time.
 *
 * @module
 */

import { configureSync, getLogger, type LogRecord, resetSync } from "@logtape/logtape";
// @ts-types="./std_colors.d.ts"
import { bold, cyan, dim, green, red, yellow } from "@std/fmt/colors";
import type { Clock } from "./clock.ts";
import type { LogFields, Logger, LogLevel } from "./log.ts";
import { oneLine } from "./one_line.ts";
import type { Redactor } from "./redact.ts";

/** How a record is written: a JSON object a line for machines, or text for people. */
export type LogFormat = "json" | "text";

/** All levels in rising order, for the parsers of settings. */
export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** All formats, for the parsers of settings. */
export const LOG_FORMATS: readonly LogFormat[] = ["json", "text"];

/** What {@linkcode openLog} needs. */
export interface OpenLogOptions {
  /** Records below this level are dropped. */
  readonly level: LogLevel;
  /** How records are written. */
  readonly format: LogFormat;
  /** Colours the text format; ignored for JSON. @default {false} */
  readonly color?: boolean;
  /** Takes one whole line, newline included. What it throws is dropped with the line. */
  readonly write: (line: string) => void;
  /** Takes secrets out of each record. */
  readonly redactor: Redactor;
  /** Gives records their time. */
  readonly clock: Pick<Clock, "wallMs">;
}

/** A log that is open until its scope is left. */
export interface OpenLog extends Disposable {
  /** Writes until then; afterwards it forgets what it is told. */
  readonly logger: Logger;
}

/** A record as the formatters see it, its fields free of secrets. */
export interface PlainRecord {
  /** When it happened, as it is to be shown. */
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How text is marked on a terminal. */
export type StyleName = "bold" | "dim" | "cyan" | "green" | "yellow" | "red";

/** Marks text, each in its way. */
export type Styles = Readonly<Record<StyleName, (text: string) => string>>;

/** Styles for a terminal; without `color` they leave the text as it is. */
export function stylesFor({ color }: { color: boolean }): Styles {
  const plain = (text: string) => text;
  return color
    ? { bold, dim, cyan, green, yellow, red }
    : { bold: plain, dim: plain, cyan: plain, green: plain, yellow: plain, red: plain };
}

const CATEGORY = "foo-operator";

/**
 * Starts logging.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { realClock } from "./clock.ts";
 * import { Redactor } from "./redact.ts";
 *
 * const lines: string[] = [];
 * using log = openLog({
 *   level: "info",
 *   format: "json",
 *   write: (line) => lines.push(line),
 *   redactor: new Redactor(),
 *   clock: realClock,
 * });
 * log.logger.info("Started", { token: "abc" });
 * log.logger.debug("Not shown");
 * strictEqual(lines.length, 1);
 * strictEqual(JSON.parse(lines[0] ?? "").token, "[redacted]");
 * ```
 */
export function openLog(options: OpenLogOptions): OpenLog {
  const format = options.format === "json"
    ? jsonLine
    : textFormatter({ color: options.color ?? false });
  configureSync({
    reset: true,
    sinks: {
      lines(record: LogRecord) {
        try {
          options.write(format(plainRecord(record, options.redactor)));
        } catch {
          // A closed pipe or a full disk: there is no place left to tell it.
        }
      },
    },
    loggers: [
      { category: CATEGORY, lowestLevel: lowest(options.level), sinks: ["lines"] },
      // LogTape speaks of its own troubles there; they go the same way.
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["lines"] },
    ],
  });
  return { logger: logTapeLogger(options.clock), [Symbol.dispose]: resetSync };
}

/** Our logger on LogTape's. `emit` takes our clock, and the message as it is, `{…}` and all. */
function logTapeLogger(clock: Pick<Clock, "wallMs">): Logger {
  const target = getLogger(CATEGORY);
  const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (!target.isEnabledFor(lowest(level))) return;
    target.emit({
      level: lowest(level),
      message: [message],
      rawMessage: message,
      timestamp: clock.wallMs(),
      properties: fields,
    });
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** LogTape's name of a level. */
function lowest(level: LogLevel): LogRecord["level"] {
  return level === "warn" ? "warning" : level;
}

function levelOf(level: LogRecord["level"]): LogLevel {
  switch (level) {
    case "trace":
    case "debug":
      return "debug";
    case "info":
      return "info";
    case "warning":
      return "warn";
    case "error":
    case "fatal":
      return "error";
    default:
      return level satisfies never;
  }
}

function plainRecord(record: LogRecord, redactor: Redactor): PlainRecord {
  const fields = redactor.value(record.properties);
  return {
    time: new Date(record.timestamp).toISOString(),
    level: levelOf(record.level),
    message: redactor.text(record.message.map(String).join("")),
    fields: typeof fields === "object" && fields !== null ? { ...fields } : {},
  };
}

/** The fixed keys come first; a field that has the name of one of them gets a trailing `_`. */
function jsonLine({ time, level, message, fields }: PlainRecord): string {
  const record: Record<string, unknown> = { time, level, message };
  for (const [name, value] of Object.entries(fields)) {
    record[name in record ? `${name}_` : name] = value;
  }
  // JSON leaves some characters as they are that drive a terminal, where such logs are read as well.
  return `${oneLine(JSON.stringify(record))}\n`;
}

/**
 * The text format: `time LEVEL message key=value …`, newline included. Values that hold more than
 * one plain word are quoted.
 */
export function textFormatter({ color }: { color: boolean }): (record: PlainRecord) => string {
  const { bold, cyan, dim, red, yellow } = stylesFor({ color });
  const levels: Record<LogLevel, (text: string) => string> = {
    debug: dim,
    info: cyan,
    warn: yellow,
    error: (text) => bold(red(text)),
  };
  return ({ time, level, message, fields }) => {
    const words = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => ` ${dim(`${oneLine(name)}=`)}${word(value)}`);
    const label = levels[level](level.toUpperCase().padEnd(5));
    return `${time} ${label} ${oneLine(message)}${words.join("")}\n`;
  };
}

function word(value: unknown): string {
  if (typeof value !== "string") return oneLine(JSON.stringify(value) ?? String(value));
  return /^[\w./:@%+,-]+$/.test(value) ? value : oneLine(JSON.stringify(value));
}

/**
 * What `dev` shows: where it works, what the operator does, and what to try next.
 *
 * @module
 */

import { isJsonObject, type JsonObject } from "../core/json.ts";
import type { LogLevel } from "../core/log.ts";
import { LOG_LEVELS, type Styles, stylesFor, textFormatter } from "../core/log_sink.ts";
import type { SupervisorNews } from "./dev_supervisor.ts";

/** A command line for the user, and what it is for. */
export interface Suggestion {
  readonly line: string;
  readonly what?: string;
}

/** Widest row of a command with its comment beside it, in columns. */
const ROW_MAX = 100;

/** Most changed files that are named. */
const PATHS_SHOWN_MAX = 3;

/** Writes for a person at a terminal. */
export class Screen {
  /** Styles of this screen. */
  readonly styles: Styles;
  readonly #write: (text: string) => void;
  readonly #format: ReturnType<typeof textFormatter>;

  /** Only stores. */
  constructor({ write, color }: { write: (text: string) => void; color: boolean }) {
    this.styles = stylesFor({ color });
    this.#write = write;
    this.#format = textFormatter({ color });
  }

  /** Writes lines as they are. */
  show(...lines: readonly string[]): void {
    this.#put(lines.map((line) => `${line}\n`).join(""));
  }

  /** Names and values, one below the other. */
  facts(facts: Readonly<Record<string, string>>): void {
    const width = Math.max(...Object.keys(facts).map((name) => name.length));
    const rows = Object.entries(facts).map(([name, value]) =>
      `  ${this.styles.dim(name.padEnd(width))}  ${value}`
    );
    this.show(...rows, "");
  }

  /** Something went as it should. */
  good(text: string): void {
    this.show(`${this.styles.green("✓")} ${text}`);
  }

  /** Something has to be looked at. */
  bad(text: string): void {
    this.show(`${this.styles.red("✗")} ${text}`);
  }

  /** What to type, in a column, with what it does beside it; above it where the rows get too wide. */
  suggestions(title: string, suggestions: readonly Suggestion[]): void {
    const { bold, dim, cyan } = this.styles;
    const commented = suggestions.filter(({ what }) => what !== undefined);
    const width = Math.max(0, ...commented.map(({ line }) => line.length));
    const isWide = commented.some(({ what = "" }) =>
      `  ${"".padEnd(width)}  # ${what}`.length > ROW_MAX
    );
    const rows = suggestions.flatMap(({ line, what }) => {
      if (what === undefined) return [`  ${cyan(line)}`];
      const comment = dim(`# ${what}`);
      if (isWide) return [`  ${comment}`, `  ${cyan(line)}`];
      return [`  ${cyan(line.padEnd(width))}  ${comment}`];
    });
    this.show("", bold(title), ...rows, "");
  }

  /**
   * One line of the operator: a log record with a short time, anything else as it is.
   *
   * @returns The record's message, if it was one.
   */
  operatorLine(line: string): string | undefined {
    const record = recordOf(line);
    if (record === undefined) {
      this.show(line);
      return undefined;
    }
    this.#put(this.#format(record));
    return record.message;
  }

  /** What the supervisor has to tell. */
  supervisor(news: SupervisorNews): void {
    if (news.type === "changed") return this.#changed(news.paths);
    const { end: { code, wasLoaded }, retryMs } = news;
    const what = wasLoaded || retryMs !== undefined
      ? `The operator ended with exit code ${code}`
      : "The operator's sources can't be loaded";
    const next = retryMs === undefined
      ? "waiting for a change"
      : `starting again in ${Math.round(retryMs / 1000)} s, or at a change`;
    this.bad(`${what}: ${next}`);
  }

  #changed(paths: readonly string[]): void {
    const named = paths.slice(0, PATHS_SHOWN_MAX).join(", ");
    const more = paths.length > PATHS_SHOWN_MAX
      ? ` and ${paths.length - PATHS_SHOWN_MAX} more`
      : "";
    this.show(`${this.styles.cyan("↻")} ${named}${more} changed: restarting the operator`);
    const own = paths.filter((path) => /^lib\/(simulator\/|cli\/dev)/.test(path));
    if (own.length > 0) {
      this.show(
        this.styles.dim("  The simulated server and dev itself change when dev starts anew"),
      );
    }
  }

  #put(text: string): void {
    try {
      this.#write(text);
    } catch {
      // A terminal or a pipe that was closed: nobody looks any more, and the end must still be clean.
    }
  }
}

/**
 * A log record in JSON, as the formatter takes it; `undefined` if the line is none. What tells one
 * reconcile from another among thousands is left out: here they are few, and lines short.
 */
function recordOf(line: string): Parameters<ReturnType<typeof textFormatter>>[0] | undefined {
  const value = parsed(line);
  if (value === undefined) return undefined;
  const { time, level, message, reconcileID: _, ...fields } = value;
  const known = LOG_LEVELS.find((each): each is LogLevel => each === level);
  if (typeof time !== "string" || typeof message !== "string" || known === undefined) {
    return undefined;
  }
  return { time: clockTime(time), level: known, message, fields };
}

function parsed(line: string): JsonObject | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Something that a developer prints while trying things out.
    return undefined;
  }
}

/** The time of day here, to the millisecond: nobody reads the date of what just happened. */
function clockTime(iso: string): string {
  const date = new Date(iso);
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${date.toTimeString().slice(0, 8)}.${ms}`;
}

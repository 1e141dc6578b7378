/**
 * Which source files change, as one answer per burst: an editor's save is several events, a change
 * of branch hundreds.
 *
 * @module
 */

import { abortScope, type Clock } from "../core/clock.ts";
import { unlessAborted } from "../core/tasks.ts";

/** How long it must be quiet until a burst counts as over, in milliseconds. */
export const QUIET_MS = 100;

/** The longest burst, in milliseconds: then whatever came is told. */
const BURST_MAX_MS = 2000;

/** Something that has changed files to tell. */
export interface Changes {
  /**
   * Paths that changed since the last answer, sorted; waits until there are any. An aborted call
   * takes nothing from the next.
   */
  next(options: { signal: AbortSignal }): Promise<readonly string[]>;
}

/** Where a program has no sources: nothing ever changes. */
export const NO_CHANGES: Changes = {
  next: ({ signal }) => unlessAborted(Promise.withResolvers<never>().promise, signal),
};

/** Gathers paths into bursts. */
export class ChangeBursts implements Changes {
  readonly #clock: Clock;
  readonly #paths = new Set<string>();
  #arrivals = 0;
  #arrived = Promise.withResolvers<void>();

  /** Only stores. */
  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** Takes changed paths. */
  add(paths: readonly string[]): void {
    if (paths.length === 0) return;
    paths.forEach((path) => this.#paths.add(path));
    this.#arrivals += 1;
    this.#arrived.resolve();
  }

  async next({ signal }: { signal: AbortSignal }): Promise<readonly string[]> {
    await unlessAborted(this.#arrived.promise, signal);
    const untilMs = this.#clock.monotonicMs() + BURST_MAX_MS;
    let seen: number;
    do {
      seen = this.#arrivals;
      await this.#clock.sleep(QUIET_MS, { signal });
    } while (seen !== this.#arrivals && this.#clock.monotonicMs() < untilMs);
    const paths = [...this.#paths].sort();
    this.#paths.clear();
    this.#arrived = Promise.withResolvers();
    return paths;
  }
}

/** Where {@linkcode watchSources} looks. */
export interface SourcesOptions {
  /** Folder of `main.ts`, as a full path. */
  readonly root: string;
  /** Called with paths below the root; more than once for one change. */
  readonly onChange: (paths: readonly string[]) => void;
  readonly signal: AbortSignal;
}

/**
 * Watches the files that a restart would read anew, until aborted.
 *
 * Folders are watched, not files: an editor that writes a new file and renames it leaves a watch of
 * the old one behind.
 */
export async function watchSources({ root, onChange, signal }: SourcesOptions): Promise<void> {
  signal.throwIfAborted();
  using top = Deno.watchFs(root, { recursive: false });
  using library = Deno.watchFs(`${root}/lib`);
  const watchers = [top, library];
  using scope = abortScope(signal);
  // Disposing again, when the function is left, is fine; closing again would not be.
  const close = () => watchers.forEach((watcher) => watcher[Symbol.dispose]());
  scope.signal.addEventListener("abort", close, { once: true });
  await Promise.all(watchers.map(async (watcher) => {
    for await (const event of watcher) onChange(changedSources(event, root));
  }));
}

/** What of an event is a changed source file, relative to the root. */
export function changedSources(
  { kind, paths }: Pick<Deno.FsEvent, "kind" | "paths">,
  root: string,
): string[] {
  // Reading is an event too.
  if (kind === "access" || kind === "any" || kind === "other") return [];
  return paths
    .map((path) => path.replaceAll("\\", "/"))
    .map((path) => path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path)
    .filter((path) => /^(main\.ts|deno\.json|lib\/.*\.(ts|json))$/.test(path));
}

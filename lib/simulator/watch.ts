/**
 * Watches: a stream of changes from a revision on, with the initial state, bookmarks, the time limit
 * and the end that the server gives them.
 *
 * A watch is told of each change inside the write that made it, so its lines are in the order of
 * revisions and none is missed between its start and its first line.
 *
 * @module
 */

import { abortScope } from "../core/clock.ts";
import { apiVersionOf, isOrderedVersion } from "../core/objects.ts";
import { type ApiObject, objectOfJson } from "./api_object.ts";
import { serverError, tooOldVersion } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import {
  checkListOptions,
  isSelected,
  type Selection,
  selectionOf,
  versionProblem,
  waitForVersion,
} from "./list.ts";
import { present } from "./present.ts";
import { negotiate, objectText, type Representation } from "./representation.ts";
import { type ApiRequest, integerOf, isTrue, type Reply } from "./request.ts";
import type { Resource } from "./resource_type.ts";
import type { StoredChange } from "./storage.ts";

/** Time between bookmarks, in milliseconds: the real server's minute. */
export const BOOKMARK_MS = 60_000;
/** How long before its end a watch gets a last bookmark, in milliseconds. */
export const LAST_BOOKMARK_MS = 2000;
/** Shortest time of a watch without `timeoutSeconds`, in milliseconds; the longest is twice that. */
export const WATCH_MIN_MS = 30 * 60_000;
/**
 * Most lines that wait for a slow reader. A real server ends the watch of a reader that falls
 * behind much earlier; this bounds memory only.
 */
export const WATCH_BUFFER_MAX = 100_000;

/** The open watches of a server, to end them from outside. */
export class WatchSet {
  readonly #open = new Set<Watch>();

  /** Number of open watches. */
  get size(): number {
    return this.#open.size;
  }

  /** Adds an open watch; disposing of the result takes it out. */
  add(watch: Watch): Disposable {
    this.#open.add(watch);
    return { [Symbol.dispose]: () => void this.#open.delete(watch) };
  }

  /**
   * Ends all watches, or those of one table: cleanly, or with `error` as a broken connection ends.
   *
   * @returns How many there were.
   */
  cut({ table, error }: { table?: string; error?: unknown } = {}): number {
    const cut = [...this.#open].filter((watch) => table === undefined || watch.table === table);
    for (const watch of cut) watch.end(error);
    return cut.length;
  }

  /** Ends all watches and waits until their timers are gone. */
  async close(): Promise<void> {
    const ended = [...this.#open].map((watch) => watch.ended);
    this.cut();
    await Promise.all(ended);
  }
}

/**
 * Answers a watch request.
 *
 * @throws {StatusError} If its options are refused; a version that is too old is told on the stream.
 */
export async function openWatch(
  context: ServerContext,
  request: ApiRequest,
  { resource, namespace, name, watches }: {
    resource: Resource;
    namespace: string;
    name: string;
    watches: WatchSet;
  },
): Promise<Reply> {
  const { query } = request;
  checkListOptions(query);
  const selection = selectionOf(query, resource, namespace);
  const fields = name === ""
    ? selection.fields
    : [...selection.fields, { field: "metadata.name", operator: "=", value: name } as const];
  const version = query.get("resourceVersion") ?? "";
  if (version !== "" && !isOrderedVersion(version)) throw serverError(versionProblem(version));
  const representation = negotiate(request.headers.get("accept"), query);
  const timeoutSeconds = integerOf(query, "timeoutSeconds") ?? 0;
  const wantsInitial = isTrue(query.get("sendInitialEvents"));
  if (wantsInitial) await waitForVersion(context, version, request.signal);
  const watch = new Watch(context, {
    selection: { ...selection, fields },
    representation,
    timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : WATCH_MIN_MS * (1 + context.random()),
    bookmarks: isTrue(query.get("allowWatchBookmarks")),
  });
  watch.start({
    version,
    initialEvents: query.get("sendInitialEvents") === null ? undefined : wantsInitial,
    watches,
    signal: request.signal,
  });
  return { status: 200, body: watch.stream, contentType: "application/json" };
}

interface WatchOptions {
  readonly selection: Selection;
  readonly representation: Representation;
  readonly timeoutMs: number;
  readonly bookmarks: boolean;
}

/** One open watch. */
class Watch {
  /** Its lines, as bytes. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The table that it watches. */
  readonly table: string;
  /** Resolves when it has ended and holds nothing any more. */
  readonly ended: Promise<void>;
  readonly #context: ServerContext;
  readonly #options: WatchOptions;
  readonly #encoder = new TextEncoder();
  readonly #stop = new AbortController();
  readonly #resolveEnded: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  #hasSentRow = false;
  /** Revision up to which its reader knows everything. */
  #told = 0;

  constructor(context: ServerContext, options: WatchOptions) {
    this.#context = context;
    this.#options = options;
    this.table = options.selection.resource.type.table;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#resolveEnded = resolve;
    this.stream = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => this.end(),
    });
  }

  /** Sends what there is and goes on with what comes. */
  start({ version, initialEvents, watches, signal }: {
    version: string;
    initialEvents: boolean | undefined;
    watches: WatchSet;
    signal: AbortSignal | undefined;
  }): void {
    const { storage } = this.#context;
    const isFromNow = version === "" || version === "0";
    const sendsState = initialEvents ?? isFromNow;
    const from = sendsState || isFromNow ? storage.revision : Number(version);
    if (from < storage.compactedRevision) {
      const error = tooOldVersion(version, String(storage.compactedRevision));
      if (this.#context.expiredWatches === "http") throw error;
      this.#send("ERROR", JSON.stringify(error.status));
      this.end();
      this.#resolveEnded();
      return;
    }
    this.#told = from;
    if (sendsState) this.#sendState();
    for (const change of storage.changesAfter(this.table, from)) this.#tell(change);
    const listening = storage.listen((change) => {
      if (change.table === this.table && change.revision > from) this.#tell(change);
    });
    const listed = watches.add(this);
    const abort = () => this.end(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.#keepTime().finally(() => {
      listening[Symbol.dispose]();
      listed[Symbol.dispose]();
      signal?.removeEventListener("abort", abort);
      this.#resolveEnded();
    });
  }

  /** Ends the stream: cleanly, or with `error` as a broken connection does. Again is fine. */
  end(error?: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(ENDED);
    if (error === undefined) this.#close();
    else this.#controller?.error(error);
  }

  #close(): void {
    try {
      this.#controller?.close();
    } catch (error) {
      // The reader has cancelled: the stream is closed already.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  #sendState(): void {
    const { selection } = this.#options;
    for (const stored of this.#context.storage.all(this.table)) {
      const object = present(stored, selection.resource);
      if (isSelected(object, selection)) this.#sendObject("ADDED", object);
    }
    if (this.#options.bookmarks) this.#bookmark(true);
  }

  /** Tells of one change as it looks through the selection. */
  #tell(change: StoredChange): void {
    const { selection } = this.#options;
    const { resource } = selection;
    const object = present(change.object, resource);
    const previous = change.previous === undefined ? undefined : present(change.previous, resource);
    const was = previous !== undefined && isSelected(previous, selection);
    const is = change.type !== "DELETED" && isSelected(object, selection);
    if (is || was) this.#told = change.revision;
    if (is) this.#sendObject(was ? "MODIFIED" : "ADDED", object);
    else if (was && previous !== undefined) {
      const gone = change.type === "DELETED" ? object : asGone(previous, object);
      this.#sendObject("DELETED", gone);
    }
  }

  /** Sends bookmarks and ends the watch in time. */
  async #keepTime(): Promise<void> {
    const { clock } = this.#context;
    const { timeoutMs, bookmarks } = this.#options;
    const endsAtMs = clock.monotonicMs() + timeoutMs;
    using scope = abortScope(this.#stop.signal);
    try {
      for (;;) {
        const restMs = endsAtMs - clock.monotonicMs();
        const untilLastMs = restMs - LAST_BOOKMARK_MS;
        const isLast = !bookmarks || untilLastMs <= 0;
        await clock.sleep(isLast ? restMs : Math.min(BOOKMARK_MS, untilLastMs), scope);
        if (isLast) return this.end();
        // A bookmark that says nothing new is not sent.
        if (this.#context.storage.revision > this.#told) this.#bookmark(false);
      }
    } catch (error) {
      if (error !== ENDED) throw error;
    }
  }

  #bookmark(isInitialEnd: boolean): void {
    const { resource } = this.#options.selection;
    const { type, version } = resource;
    const apiVersion = apiVersionOf({ group: type.group, version: version.name });
    this.#told = this.#context.storage.revision;
    const bookmark = objectOfJson({
      kind: type.kind,
      apiVersion,
      metadata: {
        resourceVersion: String(this.#context.storage.revision),
        ...(isInitialEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
      },
    });
    this.#sendObject("BOOKMARK", bookmark);
  }

  #sendObject(type: string, object: ApiObject): void {
    const { selection, representation } = this.#options;
    const text = objectText(object, representation, {
      resource: selection.resource,
      nowMs: this.#context.clock.wallMs(),
      isFirst: !this.#hasSentRow,
    });
    this.#hasSentRow = true;
    this.#send(type, text);
  }

  #send(type: string, text: string): void {
    if (this.#stop.signal.aborted) return;
    const controller = this.#controller;
    if (controller === undefined) return;
    controller.enqueue(this.#encoder.encode(`{"type":"${type}","object":${text}}\n`));
    if ((controller.desiredSize ?? 0) < -WATCH_BUFFER_MAX) this.end();
  }
}

const ENDED = new DOMException("The watch has ended", "AbortError");

/** `previous` under the version of the change by which it left the selection. */
function asGone(previous: ApiObject, now: ApiObject): ApiObject {
  const { resourceVersion } = now.metadata;
  return { ...previous, metadata: { ...previous.metadata, resourceVersion } };
}

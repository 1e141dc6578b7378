/**
 * Objects as the server would print them: the columns and cells of `kubectl get`.
 *
 * For programs that show kinds they do not know. The columns of a kind are its author's choice and
 * no API: do not compute with cells.
 *
 * @module
 */

import { ProtocolError } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import type { KubeObject } from "../core/objects.ts";
import type { WatchEvent } from "../core/watch_event.ts";
import type { KindDefinition } from "./kinds.ts";
import { ndjson } from "./ndjson.ts";
import {
  type GetOptions,
  type ListPageOptions,
  WATCH_INACTIVITY_MS,
  type WatchOptions,
} from "./resource_options.ts";
import { collectionPath, objectPath } from "./resource_path.ts";
import { listQuery, watchQuery } from "./resource_query.ts";
import type { RestClient } from "./rest.ts";
import { parseBookmarkOrError } from "./wire_objects.ts";

/** One column. */
export interface TableColumn {
  /** Its heading. */
  readonly name: string;
  /** OpenAPI type of its cells: `string`, `integer`, `number`, `boolean`. */
  readonly type: string;
  /** OpenAPI format: `name` marks the column of the object's name. */
  readonly format: string;
  /** What it tells. */
  readonly description: string;
  /** 0 is always shown, higher ones only with `-o wide`. */
  readonly priority: number;
}

/** One object's row. */
export interface TableRow {
  /** One a column. A duration is a text that was true when the server wrote it. */
  readonly cells: readonly unknown[];
  /** The object, as much of it as was asked for; absent if nothing was. */
  readonly object?: Pick<KubeObject, "metadata">;
}

/** Objects as a table. */
export interface Table {
  /** Empty in a watch but for the first event. */
  readonly columns: readonly TableColumn[];
  /** One row an object, in the order of the list. */
  readonly rows: readonly TableRow[];
  /** Version of the whole table. */
  readonly resourceVersion: string;
  /** Token of the next page; absent on the last one. */
  readonly continue?: string;
}

/** What else a table's options say. */
export interface TableOptions {
  /** How much of each object comes along. @default {"Metadata"} */
  readonly includeObject?: "None" | "Metadata" | "Object";
}

const ACCEPT_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";

/** The reading verbs of one kind, answered with tables. Made by `Client.table`. */
export class TableClient<T extends KubeObject> {
  readonly #rest: RestClient;
  /** The kind that this client is for. */
  readonly kind: KindDefinition<T>;

  /** Only stores. */
  constructor(rest: RestClient, kind: KindDefinition<T>) {
    this.#rest = rest;
    this.kind = kind;
  }

  /** A table of one row. */
  async get(
    { name, namespace, resourceVersion, includeObject, signal }: GetOptions & TableOptions,
  ): Promise<Table> {
    const value = await this.#rest.request({
      verb: "get",
      method: "GET",
      path: objectPath(this.kind, { name, namespace }),
      query: { resourceVersion, includeObject },
      accept: ACCEPT_TABLE,
      signal,
    });
    return this.#table(value);
  }

  /** One page. The next is asked for with its `continue`. */
  async list(options: ListPageOptions & TableOptions): Promise<Table> {
    const value = await this.#rest.request({
      verb: "list",
      method: "GET",
      path: collectionPath(this.kind, options.namespace),
      query: { ...listQuery(options), includeObject: options.includeObject },
      accept: ACCEPT_TABLE,
      signal: options.signal,
    });
    return this.#table(value);
  }

  /**
   * As `ResourceClient.watch`, but each object is a table of one row. Only the first event's table
   * has columns.
   */
  async *watch(
    options: WatchOptions & TableOptions,
  ): AsyncGenerator<WatchEvent<Table>, void, void> {
    const { inactivityMs = WATCH_INACTIVITY_MS, onOpen, includeObject, signal } = options;
    const chunks = this.#rest.stream({
      verb: "watch",
      method: "GET",
      path: collectionPath(this.kind, options.namespace),
      query: { ...watchQuery(options), includeObject },
      accept: ACCEPT_TABLE,
      signal,
    }, { inactivityMs, ...(onOpen && { onOpen }) });
    for await (const line of ndjson(chunks)) yield this.#event(line);
  }

  #event(line: unknown): WatchEvent<Table> {
    const { type, object } = isJsonObject(line) ? line : {};
    if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") {
      return { type, object: this.#table(object) };
    }
    return parseBookmarkOrError({ type, object: bookmarked(object) }, this.kind);
  }

  /** Throws ProtocolError if `value` is no table. */
  #table(value: unknown): Table {
    const { kind, metadata, columnDefinitions, rows } = isJsonObject(value) ? value : {};
    if (kind !== "Table" || !isJsonObject(metadata)) {
      throw new ProtocolError(`Cannot read a table of ${this.kind.plural}: it is none`);
    }
    const { resourceVersion, continue: token } = metadata;
    return {
      columns: objectsOf(columnDefinitions).map(columnOf),
      rows: objectsOf(rows).map(rowOf),
      resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
      ...(typeof token === "string" && token !== "" && { continue: token }),
    };
  }
}

/** A bookmark comes as a table as well: the object that it is about is in its row. */
function bookmarked(object: unknown): unknown {
  const row = isJsonObject(object) ? objectsOf(object["rows"])[0] : undefined;
  return row?.["object"] ?? object;
}

type Fields = Readonly<Record<string, unknown>>;

function objectsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function columnOf({ name, type, format, description, priority }: Fields): TableColumn {
  return {
    name: String(name ?? ""),
    type: String(type ?? ""),
    format: String(format ?? ""),
    description: String(description ?? ""),
    priority: typeof priority === "number" ? priority : 0,
  };
}

function rowOf({ cells, object }: Fields): TableRow {
  const row: TableRow = { cells: Array.isArray(cells) ? cells : [] };
  if (!isJsonObject(object) || !isJsonObject(object["metadata"])) return row;
  // The boundary: what the server puts into a row is an object of the kind, or its metadata.
  const included: unknown = object;
  return { ...row, object: included as Pick<KubeObject, "metadata"> };
}

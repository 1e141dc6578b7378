/**
 * Server-side tables: what `kubectl get` prints. Columns are data; custom ones come from
 * `additionalPrinterColumns`.
 *
 * @module
 */

import type { Json, JsonObject } from "../core/json.ts";
import { parseTime } from "../core/timestamps.ts";
import { type ApiObject, jsonOfObject, objectOfJson, stringAt, stringsAt } from "./api_object.ts";
import { jsonPath } from "./json_path.ts";
import type { ColumnDefinition, Resource } from "./resource_type.ts";

/** The Name column that every table starts with. */
export const NAME_COLUMN: ColumnDefinition = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name of the object, unique within its namespace.",
  cell: ({ metadata }) => metadata.name,
};

/** The Age column of built-in kinds. */
export const AGE_COLUMN: ColumnDefinition = {
  name: "Age",
  type: "string",
  description: "Time since the object was created.",
  cell: ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs),
};

/** Kinds without columns of their own show when they were created. */
const DEFAULT_COLUMNS: readonly ColumnDefinition[] = [NAME_COLUMN, {
  name: "Created At",
  type: "date",
  description: "When the object was created.",
  cell: ({ metadata }) => metadata.creationTimestamp ?? "<unknown>",
}];

/** Columns of a custom kind, from its definition's `additionalPrinterColumns`. */
export function customColumns(definitions: readonly JsonObject[]): ColumnDefinition[] {
  if (definitions.length === 0) {
    return [
      NAME_COLUMN,
      customColumn({
        name: "Age",
        type: "date",
        jsonPath: ".metadata.creationTimestamp",
      }),
    ];
  }
  return [NAME_COLUMN, ...definitions.map(customColumn)];
}

function customColumn(definition: JsonObject): ColumnDefinition {
  const path = stringAt(definition, "jsonPath");
  const type = COLUMN_TYPES.get(stringAt(definition, "type")) ?? "string";
  return {
    name: stringAt(definition, "name"),
    type,
    format: stringAt(definition, "format"),
    description: stringAt(definition, "description") ||
      `Custom resource definition column (in JSONPath format): ${path}`,
    priority: typeof definition.priority === "number" ? definition.priority : 0,
    cell: (object, nowMs) => customCell(jsonPath(jsonOfObject(object), path), type, nowMs),
  };
}

const COLUMN_TYPES: ReadonlyMap<string, ColumnDefinition["type"]> = new Map([
  ["integer", "integer"],
  ["number", "number"],
  ["boolean", "boolean"],
  ["date", "date"],
  ["string", "string"],
]);

function customCell(found: readonly Json[], type: ColumnDefinition["type"], nowMs: number): Json {
  const [value] = found;
  if (value === undefined || value === null) return null;
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageOf(value, nowMs) : "<unknown>";
    case "string":
      return found.length === 1 && typeof value === "string"
        ? value
        : found.map((each) => typeof each === "string" ? each : JSON.stringify(each)).join(",");
    default:
      return type satisfies never;
  }
}

/** A table of `objects` as text. */
export function tableText(
  objects: readonly ApiObject[],
  metadata: object,
  { resource, nowMs, version, includeObject, isFirst = true }: {
    resource: Resource;
    nowMs: number;
    version: string;
    includeObject: string;
    isFirst?: boolean;
  },
): string {
  const columns = resource.version.columns ?? DEFAULT_COLUMNS;
  const definitions = isFirst ? columns.map(definitionOf) : [];
  const rows = objects.map((object) => ({
    cells: columns.map((column) => column.cell(object, nowMs)),
    ...(includeObject === "None" ? {} : { object: rowObject(object, version, includeObject) }),
  }));
  return JSON.stringify({
    kind: "Table",
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: definitions,
    rows,
  });
}

function definitionOf(
  { name, type, format = "", description = "", priority = 0 }: ColumnDefinition,
): JsonObject {
  return { name, type, format, description, priority };
}

function rowObject(object: ApiObject, version: string, includeObject: string): ApiObject {
  if (includeObject === "Object") return object;
  return objectOfJson({
    kind: "PartialObjectMetadata",
    apiVersion: `meta.k8s.io/${version}`,
    metadata: jsonOfObject(object).metadata ?? {},
  });
}

/** How long ago `time` was, in kubectl's words. */
export function ageOf(time: string | undefined, nowMs: number): string {
  if (time === undefined || time === "") return "<unknown>";
  return humanDuration(nowMs - parseTime(time));
}

/**
 * A duration in the units that kubectl picks: two units while the larger one is small.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(humanDuration(90_000), "90s");
 * strictEqual(humanDuration(5 * 60_000 + 3000), "5m3s");
 * strictEqual(humanDuration(3 * 86_400_000 + 3_600_000), "3d1h");
 * ```
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return withRest(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return withRest(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 8) return withRest(days, "d", hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return days < 365 * 8 ? withRest(years, "y", days % 365, "d") : `${years}y`;
}

function withRest(value: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${value}${unit}` : `${value}${unit}${rest}${restUnit}`;
}

/** `key=value` pairs of a label map, or `<none>`. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`).sort();
  return pairs.length === 0 ? "<none>" : pairs.join(",");
}

/** Joined strings at `path`, or `<none>`. */
export function joined(object: ApiObject, ...path: string[]): string {
  return stringsAt(object, ...path).join(",") || "<none>";
}

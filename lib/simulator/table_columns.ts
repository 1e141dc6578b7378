/**
 * Columns of built-in kinds in server-side tables.
 *
 * @module
 */

import type { Json } from "../core/json.ts";
import {
  type ApiObject,
  numberAt,
  objectsAt,
  stringAt,
  stringMapAt,
  stringsAt,
  valueAt,
} from "./api_object.ts";
import type { ColumnDefinition } from "./resource_type.ts";
import { AGE_COLUMN, ageOf, labelsText, NAME_COLUMN } from "./tables.ts";

type Cell = (object: ApiObject, nowMs: number) => Json;

/** A column of text, unless said otherwise. */
function column(
  name: string,
  cell: Cell,
  options: { type?: ColumnDefinition["type"]; priority?: number; description?: string } = {},
): ColumnDefinition {
  return { name, type: "string", description: `${name}.`, ...options, cell };
}

const count = (...path: string[]): Cell => (object) => numberAt(object, ...path) ?? 0;
const text = (...path: string[]): Cell => (object) => stringAt(object, ...path);
const textOrNone = (...path: string[]): Cell => (object) => stringAt(object, ...path) || "<none>";
const WIDE = { priority: 1 };
const INTEGER = { type: "integer" } as const;

/** Names or images of all containers of a template. */
function containers(part: "name" | "image"): Cell {
  return (object) =>
    objectsAt(object, "spec", "template", "spec", "containers").map((each) => stringAt(each, part))
      .join(",");
}

const selector: Cell = (object) => {
  const pairs = Object.entries(stringMapAt(object, "spec", "selector", "matchLabels"))
    .map(([key, value]) => `${key}=${value}`).sort();
  return pairs.join(",") || "<none>";
};

const WORKLOAD_WIDE = [
  column("Containers", containers("name"), WIDE),
  column("Images", containers("image"), WIDE),
  column("Selector", selector, WIDE),
];

const DEPLOYMENT = [
  NAME_COLUMN,
  column(
    "Ready",
    (object) =>
      `${numberAt(object, "status", "readyReplicas") ?? 0}/${
        numberAt(object, "spec", "replicas") ?? 0
      }`,
  ),
  column("Up-to-date", count("status", "updatedReplicas")),
  column("Available", count("status", "availableReplicas")),
  AGE_COLUMN,
  ...WORKLOAD_WIDE,
];

const REPLICA_SET = [
  NAME_COLUMN,
  column("Desired", count("spec", "replicas"), INTEGER),
  column("Current", count("status", "replicas"), INTEGER),
  column("Ready", count("status", "readyReplicas"), INTEGER),
  AGE_COLUMN,
  ...WORKLOAD_WIDE,
];

/** Ready containers of all. */
function podReady(object: ApiObject): string {
  const all = objectsAt(object, "spec", "containers").length;
  const ready =
    objectsAt(object, "status", "containerStatuses").filter((each) => each.ready === true).length;
  return `${ready}/${all}`;
}

/** One word for the state of a Pod: what waits, else its phase. */
function podStatus(object: ApiObject): string {
  if (object.metadata.deletionTimestamp !== undefined) return "Terminating";
  const waiting = objectsAt(object, "status", "containerStatuses")
    .map((each) => stringAt(each, "state", "waiting", "reason"))
    .find((reason) => reason !== "");
  return waiting ?? (stringAt(object, "status", "reason") || stringAt(object, "status", "phase"));
}

/** Restarts of all containers together. */
function podRestarts(object: ApiObject): string {
  return String(
    objectsAt(object, "status", "containerStatuses").reduce(
      (sum, each) => sum + (numberAt(each, "restartCount") ?? 0),
      0,
    ),
  );
}

const POD = [
  NAME_COLUMN,
  column("Ready", podReady),
  column("Status", podStatus),
  column("Restarts", podRestarts),
  AGE_COLUMN,
  column("IP", textOrNone("status", "podIP"), WIDE),
  column("Node", textOrNone("spec", "nodeName"), WIDE),
  column("Nominated Node", textOrNone("status", "nominatedNodeName"), WIDE),
  column("Readiness Gates", () => "<none>", WIDE),
];

/** Ports as `80/TCP`, with the node port where there is one. */
function servicePorts(object: ApiObject): string {
  return objectsAt(object, "spec", "ports").map((port) => {
    const nodePort = numberAt(port, "nodePort");
    const middle = nodePort === undefined ? "" : `:${nodePort}`;
    return `${numberAt(port, "port") ?? ""}${middle}/${stringAt(port, "protocol")}`;
  }).join(",") || "<none>";
}

const SERVICE = [
  NAME_COLUMN,
  column("Type", text("spec", "type")),
  column("Cluster-IP", textOrNone("spec", "clusterIP")),
  column("External-IP", (object) => stringsAt(object, "spec", "externalIPs").join(",") || "<none>"),
  column("Port(s)", servicePorts),
  AGE_COLUMN,
  column("Selector", (object) => labelsText(stringMapAt(object, "spec", "selector")), WIDE),
];

/** The newest time that an event holds, in either of its forms. */
function lastSeen(object: ApiObject, nowMs: number): string {
  const times = [
    stringAt(object, "series", "lastObservedTime"),
    stringAt(object, "lastTimestamp"),
    stringAt(object, "deprecatedLastTimestamp"),
    stringAt(object, "firstTimestamp"),
    stringAt(object, "deprecatedFirstTimestamp"),
    stringAt(object, "eventTime"),
  ];
  return ageOf(times.find((time) => time !== ""), nowMs);
}

/** What an event is about, in either of its forms. */
function regarding(object: ApiObject): string {
  const at = valueAt(object, "regarding") ?? valueAt(object, "involvedObject");
  return `${stringAt(at, "kind").toLowerCase()}/${stringAt(at, "name")}`;
}

const EVENT = [
  column("Last Seen", lastSeen),
  column("Type", text("type")),
  column("Reason", text("reason")),
  column("Object", regarding),
  column("Message", (object) => (stringAt(object, "note") || stringAt(object, "message")).trim()),
  column("Name", ({ metadata }) => metadata.name, WIDE),
];

const CONFIG_MAP = [
  NAME_COLUMN,
  column("Data", (object) =>
    Object.keys(stringMapAt(object, "data")).length +
    Object.keys(stringMapAt(object, "binaryData")).length),
  AGE_COLUMN,
];

const SECRET = [
  NAME_COLUMN,
  column("Type", text("type")),
  column("Data", (object) => Object.keys(stringMapAt(object, "data")).length),
  AGE_COLUMN,
];

const COLUMNS: Readonly<Record<string, readonly ColumnDefinition[]>> = {
  Deployment: DEPLOYMENT,
  ReplicaSet: REPLICA_SET,
  Pod: POD,
  Service: SERVICE,
  Event: EVENT,
  ConfigMap: CONFIG_MAP,
  Secret: SECRET,
  Namespace: [NAME_COLUMN, column("Status", text("status", "phase")), AGE_COLUMN],
  Lease: [NAME_COLUMN, column("Holder", text("spec", "holderIdentity")), AGE_COLUMN],
  ServiceAccount: [
    NAME_COLUMN,
    column("Secrets", (object) => objectsAt(object, "secrets").length),
    AGE_COLUMN,
  ],
  Role: [NAME_COLUMN, createdAt()],
  ClusterRole: [NAME_COLUMN, createdAt()],
  RoleBinding: [NAME_COLUMN, roleOf(), AGE_COLUMN],
  ClusterRoleBinding: [NAME_COLUMN, roleOf(), AGE_COLUMN],
  CustomResourceDefinition: [NAME_COLUMN, createdAt()],
  ValidatingWebhookConfiguration: [NAME_COLUMN, webhooks(), AGE_COLUMN],
  MutatingWebhookConfiguration: [NAME_COLUMN, webhooks(), AGE_COLUMN],
};

function createdAt(): ColumnDefinition {
  return {
    ...column("Created At", ({ metadata }) => metadata.creationTimestamp),
    type: "date",
  };
}

function roleOf(): ColumnDefinition {
  return column(
    "Role",
    (object) => `${stringAt(object, "roleRef", "kind")}/${stringAt(object, "roleRef", "name")}`,
  );
}

function webhooks(): ColumnDefinition {
  return column("Webhooks", (object) => objectsAt(object, "webhooks").length, INTEGER);
}

/** Columns of a built-in kind; Name and Age where it has none of its own. */
export function columnsOf(kind: string): readonly ColumnDefinition[] {
  return Object.hasOwn(COLUMNS, kind) ? COLUMNS[kind] ?? [] : [NAME_COLUMN, AGE_COLUMN];
}

/**
 * The built-in kinds: names, scope, subresources and rules, as data.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { type ApiObject, objectOf, stringAt } from "./api_object.ts";
import {
  defaultedDeployment,
  defaultedNamespace,
  defaultedPod,
  defaultedReplicaSet,
  defaultedSecret,
  defaultedService,
  leaseErrors,
  podErrors,
  workloadErrors,
} from "./builtin_rules.ts";
import { builtinSchema } from "./builtin_schemas.ts";
import { crdErrors, defaultedCrd } from "./crd_rules.ts";
import {
  checkMicroTime,
  coreEventErrors,
  eventErrors,
  fromCoreEvent,
  toCoreEvent,
  withCoreDefaults,
} from "./events_kind.ts";
import type {
  AllocationSource,
  ResourceRules,
  ResourceType,
  ScalePaths,
  ServedVersion,
} from "./resource_type.ts";
import { POLICY_ROWS, type ResourceRow, REVIEW_ROWS } from "./policy_resources.ts";
import { columnsOf } from "./table_columns.ts";

const WORKLOAD_SCALE: ScalePaths = {
  replicas: ["spec", "replicas"],
  statusReplicas: ["status", "replicas"],
  selector: ["spec", "selector"],
};

/** Rules of kinds whose status is a part of their own, as that of most built-in ones. */
const WITH_STATUS: ResourceRules = { statusTakesMetadata: true, unconditionalUpdate: true };

const EVENT_FIELDS = [
  "involvedObject.kind",
  "involvedObject.namespace",
  "involvedObject.name",
  "involvedObject.uid",
  "involvedObject.apiVersion",
  "involvedObject.resourceVersion",
  "involvedObject.fieldPath",
  "regarding.kind",
  "regarding.namespace",
  "regarding.name",
  "regarding.uid",
  "regarding.apiVersion",
  "regarding.resourceVersion",
  "regarding.fieldPath",
  "reason",
  "reportingComponent",
  "reportingController",
  "source",
  "type",
];

/** `source` means the component, whichever of the two members names it. */
function eventField(object: ApiObject, field: string): string | undefined {
  if (field !== "source") return undefined;
  return stringAt(object, "source", "component") ||
    stringAt(object, "deprecatedSource", "component") ||
    stringAt(object, "reportingComponent") || stringAt(object, "reportingController");
}

const CORE_ROWS: readonly ResourceRow[] = [
  { group: "", kind: "ConfigMap", plural: "configmaps", isNamespaced: true, shortNames: ["cm"] },
  {
    group: "",
    kind: "Event",
    plural: "events",
    isNamespaced: true,
    shortNames: ["ev"],
    table: "events",
    selectableFields: EVENT_FIELDS,
    rules: {
      updateCreates: true,
      unconditionalUpdate: true,
      defaults: withCoreDefaults,
      validate: coreEventErrors,
      fieldOf: eventField,
    },
  },
  {
    group: "",
    kind: "Namespace",
    plural: "namespaces",
    isNamespaced: false,
    shortNames: ["ns"],
    hasStatus: true,
    selectableFields: ["status.phase"],
    rules: {
      ...WITH_STATUS,
      verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
      nameRule: "label",
      defaults: defaultedNamespace,
      prepareUpdate: (object, previous) => ({ ...object, spec: objectOf(previous.spec) }),
    },
  },
  {
    group: "",
    kind: "Pod",
    plural: "pods",
    isNamespaced: true,
    shortNames: ["po"],
    categories: ["all"],
    hasStatus: true,
    selectableFields: [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName",
    ],
    rules: {
      ...WITH_STATUS,
      generation: "spec",
      returnsDeleted: true,
      initialStatus: { phase: "Pending", qosClass: "BestEffort" },
      defaults: defaultedPod,
      validate: podErrors,
    },
  },
  {
    group: "",
    kind: "Secret",
    plural: "secrets",
    isNamespaced: true,
    selectableFields: ["type"],
    rules: { unconditionalUpdate: true, defaults: defaultedSecret },
  },
  {
    group: "",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    isNamespaced: true,
    shortNames: ["sa"],
    rules: { unconditionalUpdate: true, returnsDeleted: true },
  },
  {
    group: "",
    kind: "Service",
    plural: "services",
    isNamespaced: true,
    shortNames: ["svc"],
    categories: ["all"],
    hasStatus: true,
    selectableFields: ["spec.clusterIP", "spec.type"],
    rules: {
      ...WITH_STATUS,
      nameRule: "label1035",
      updateCreates: true,
      returnsDeleted: true,
      initialStatus: { loadBalancer: {} },
      defaults: defaultedService,
      complete: withClusterIp,
      prepareUpdate: (object, previous) => ({
        ...object,
        spec: {
          ...clusterIpOf(objectOf(previous.spec)),
          ...objectOf(object.spec),
        },
      }),
    },
  },
];

/** Last part of the highest address that Services get: 10.0.0.0/24 is the real default's start. */
const ADDRESS_MAX = 254;

/** `service` with a free cluster IP, unless it is headless, external or has one. */
function withClusterIp(service: JsonObject, { storage, random }: AllocationSource): JsonObject {
  const spec = objectOf(service.spec);
  if (spec.clusterIP !== undefined || spec.type === "ExternalName") return service;
  const taken = new Set(
    storage.all("services").map((other) => stringAt(other, "spec", "clusterIP")),
  );
  let part = 2 + Math.floor(random() * (ADDRESS_MAX - 1));
  // Further than that there are no free ones; the demo cluster then shares addresses.
  for (let tries = 0; tries < ADDRESS_MAX && taken.has(`10.0.0.${part}`); tries++) {
    part = part === ADDRESS_MAX ? 2 : part + 1;
  }
  const clusterIP = `10.0.0.${part}`;
  return { ...service, spec: { ...spec, clusterIP, clusterIPs: [clusterIP] } };
}

/** The address that a Service keeps through updates that do not name it. */
function clusterIpOf(spec: Record<string, unknown>): Record<string, string | string[]> {
  const clusterIP = stringAt(spec, "clusterIP");
  return clusterIP === "" ? {} : { clusterIP, clusterIPs: [clusterIP] };
}

const GROUP_ROWS: readonly ResourceRow[] = [
  {
    group: "apps",
    kind: "Deployment",
    plural: "deployments",
    isNamespaced: true,
    shortNames: ["deploy"],
    categories: ["all"],
    hasStatus: true,
    scale: WORKLOAD_SCALE,
    rules: {
      ...WITH_STATUS,
      generation: "spec-and-annotations",
      initialStatus: {},
      defaults: defaultedDeployment,
      validate: workloadErrors,
    },
  },
  {
    group: "apps",
    kind: "ReplicaSet",
    plural: "replicasets",
    isNamespaced: true,
    shortNames: ["rs"],
    categories: ["all"],
    hasStatus: true,
    scale: WORKLOAD_SCALE,
    selectableFields: ["status.replicas"],
    rules: {
      ...WITH_STATUS,
      generation: "spec",
      initialStatus: { replicas: 0 },
      defaults: defaultedReplicaSet,
      validate: workloadErrors,
    },
  },
  {
    group: "events.k8s.io",
    kind: "Event",
    plural: "events",
    isNamespaced: true,
    shortNames: ["ev"],
    table: "events",
    selectableFields: EVENT_FIELDS,
    rules: {
      updateCreates: true,
      unconditionalUpdate: true,
      toStorage: toCoreEvent,
      fromStorage: fromCoreEvent,
      defaults: (object) => ({
        deprecatedSource: {},
        deprecatedFirstTimestamp: null,
        deprecatedLastTimestamp: null,
        ...object,
      }),
      validate: eventErrors,
      fieldOf: eventField,
    },
  },
  {
    group: "coordination.k8s.io",
    kind: "Lease",
    plural: "leases",
    isNamespaced: true,
    rules: {
      updateCreates: true,
      defaults: (object) => {
        checkMicroTime(object, "Lease", "spec", "acquireTime");
        checkMicroTime(object, "Lease", "spec", "renewTime");
        return { ...object, spec: objectOf(object.spec) };
      },
      validate: leaseErrors,
    },
  },
  {
    group: "apiextensions.k8s.io",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    isNamespaced: false,
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    hasStatus: true,
    rules: {
      generation: "spec",
      statusTakesMetadata: true,
      defaults: defaultedCrd,
      validate: crdErrors,
      returnsDeleted: true,
    },
  },
];

/** Table in which a kind's objects are, by default: `group/plural`, or `plural` alone. */
function tableOf({ group, plural, table }: ResourceRow): string {
  return table ?? (group === "" ? plural : `${group}/${plural}`);
}

function typeOf(row: ResourceRow): ResourceType {
  const version: ServedVersion = {
    name: "v1",
    // Unpacking all schemas takes a while, and most are never asked for.
    get schema() {
      return builtinSchema({ group: row.group, version: "v1", kind: row.kind });
    },
    hasStatus: row.hasStatus ?? false,
    ...(row.scale === undefined ? {} : { scale: row.scale }),
    ...(row.selectableFields === undefined ? {} : { selectableFields: row.selectableFields }),
    columns: columnsOf(row.kind),
  };
  return {
    group: row.group,
    plural: row.plural,
    singular: row.kind.toLowerCase(),
    kind: row.kind,
    listKind: `${row.kind}List`,
    shortNames: row.shortNames ?? [],
    categories: row.categories ?? [],
    isNamespaced: row.isNamespaced,
    versions: [version],
    storageVersion: "v1",
    table: tableOf(row),
    isCustom: false,
    rules: row.rules ?? { unconditionalUpdate: true },
  };
}

/** The built-in kinds, core ones first. */
export function builtinResources(): ResourceType[] {
  return [...CORE_ROWS, ...GROUP_ROWS, ...POLICY_ROWS, ...REVIEW_ROWS].map(typeOf);
}

/**
 * What the workload stand-ins write into statuses, as pure functions.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { parseTime, timeOf } from "../core/timestamps.ts";
import { type ApiObject, numberAt, objectAt, objectsAt, stringAt } from "./api_object.ts";

/** A controller reference to `owner`, as the control plane writes it. */
export function ownerReference({ apiVersion, kind, metadata }: ApiObject): JsonObject {
  return {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

const HASH_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a Pod template: equal templates have equal ones (FNV-1a over its JSON). */
export function templateHash(template: JsonObject): string {
  let hash = 0x811c9dc5;
  for (const char of sortedText(template)) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  let text = "";
  for (let rest = hash; text.length < 9; rest = Math.imul(rest, 0x5bd1e995) >>> 0) {
    text += HASH_CHARACTERS[rest % HASH_CHARACTERS.length] ?? "";
  }
  return text;
}

/** JSON with members in order of their names. */
function sortedText(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, part) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => a < b ? -1 : 1))
        : part,
  );
}

/** Since when `pod` is ready, in wall-clock milliseconds; `undefined` if it is not. */
function readySinceMs(pod: ApiObject): number | undefined {
  const ready = objectsAt(pod, "status", "conditions").find((each) =>
    each.type === "Ready" && each.status === "True"
  );
  return ready === undefined ? undefined : parseTime(stringAt(ready, "lastTransitionTime"));
}

/** Pods beyond `wanted`: those that are not ready first, then the youngest. */
export function surplus(pods: readonly ApiObject[], wanted: number): ApiObject[] {
  if (pods.length <= wanted) return [];
  const rank = (pod: ApiObject) => readySinceMs(pod) === undefined ? 0 : 1;
  return [...pods].sort((a, b) =>
    rank(a) - rank(b) ||
    parseTime(b.metadata.creationTimestamp) - parseTime(a.metadata.creationTimestamp) ||
    (a.metadata.name < b.metadata.name ? -1 : 1)
  ).slice(0, pods.length - wanted);
}

/** A ReplicaSet's status from its Pods. Zeros are left out, as the real one leaves them. */
export function replicaSetStatus(
  set: ApiObject,
  pods: readonly ApiObject[],
  { minReadyMs, podsMax, nowMs }: { minReadyMs: number; podsMax: number; nowMs: number },
): JsonObject {
  const since = pods.map(readySinceMs).filter((ms) => ms !== undefined);
  const available = since.filter((ms) => nowMs - ms >= minReadyMs).length;
  const wanted = numberAt(set, "spec", "replicas") ?? 1;
  return {
    replicas: pods.length,
    ...(pods.length === 0 ? {} : { fullyLabeledReplicas: pods.length }),
    ...(since.length === 0 ? {} : { readyReplicas: since.length }),
    ...(available === 0 ? {} : { availableReplicas: available }),
    observedGeneration: set.metadata.generation ?? 1,
    ...(wanted <= podsMax ? {} : { conditions: [replicaFailure(set, podsMax, nowMs)] }),
  };
}

const REPLICA_FAILURE = "ReplicaFailure";

/** What the real controller says of a Pod that a quota refuses. */
function replicaFailure(set: ApiObject, podsMax: number, nowMs: number): JsonObject {
  const old = conditionOf(set, REPLICA_FAILURE);
  return {
    type: REPLICA_FAILURE,
    status: "True",
    lastTransitionTime: stringAt(old, "lastTransitionTime") || timeOf(nowMs),
    reason: "FailedCreate",
    message: `pods "${set.metadata.name}-" is forbidden: exceeded quota: simulated-server, ` +
      `requested: pods=1, used: pods=${podsMax}, limited: pods=${podsMax}`,
  };
}

/** True if `status`, of a ReplicaSet, says that it can't get its Pods. */
export function hasReplicaFailure(status: JsonObject): boolean {
  return conditionOf({ status }, REPLICA_FAILURE) !== undefined;
}

function conditionOf(object: JsonObject | ApiObject, type: string): JsonObject | undefined {
  return objectsAt(object, "status", "conditions").find((each) => each.type === type);
}

/** A Deployment's status from its ReplicaSets. Zeros are left out, as the real one leaves them. */
export function deploymentStatus(
  deployment: JsonObject,
  { current, sets, nowMs }: {
    current: ApiObject | undefined;
    sets: readonly ApiObject[];
    nowMs: number;
  },
): JsonObject {
  const sum = (member: string) =>
    sets.reduce((total, set) => total + (numberAt(set, "status", member) ?? 0), 0);
  const wanted = numberAt(deployment, "spec", "replicas") ?? 1;
  const counts: [string, number][] = [
    ["replicas", sum("replicas")],
    ["updatedReplicas", numberAt(current, "status", "replicas") ?? 0],
    ["readyReplicas", sum("readyReplicas")],
    ["availableReplicas", sum("availableReplicas")],
    ["unavailableReplicas", Math.max(0, wanted - sum("availableReplicas"))],
  ];
  return {
    observedGeneration: numberAt(deployment, "metadata", "generation") ?? 1,
    ...Object.fromEntries(counts.filter(([, count]) => count > 0)),
    terminatingReplicas: 0,
    conditions: [
      ...deploymentConditions(deployment, sum("availableReplicas"), wanted, nowMs),
      ...failureOf(deployment, current, nowMs),
    ],
  };
}

/** Available and Progressing, as the real controller words them. */
function deploymentConditions(
  deployment: JsonObject,
  available: number,
  wanted: number,
  nowMs: number,
): JsonObject[] {
  const isAvailable = available >= minimumAvailable(wanted);
  const isComplete = available >= wanted;
  return [
    condition(deployment, nowMs, {
      type: "Available",
      status: isAvailable ? "True" : "False",
      reason: isAvailable ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      message: isAvailable
        ? "Deployment has minimum availability."
        : "Deployment does not have minimum availability.",
    }),
    condition(deployment, nowMs, {
      type: "Progressing",
      status: "True",
      reason: isComplete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
      message: isComplete
        ? "ReplicaSet has successfully progressed."
        : "ReplicaSet is progressing.",
    }),
  ];
}

/** That the current ReplicaSet can't get its Pods, in the form of a Deployment's condition. */
function failureOf(
  deployment: JsonObject,
  current: ApiObject | undefined,
  nowMs: number,
): JsonObject[] {
  const failure = current && conditionOf(current, REPLICA_FAILURE);
  if (failure === undefined) return [];
  const [reason, message] = [stringAt(failure, "reason"), stringAt(failure, "message")];
  return [condition(deployment, nowMs, { type: REPLICA_FAILURE, status: "True", reason, message })];
}

/** Replicas that must be available with the default maxUnavailable of 25 %. */
function minimumAvailable(wanted: number): number {
  return wanted - Math.floor(wanted * 0.25);
}

/** A condition that keeps its times while it says the same. */
function condition(
  deployment: JsonObject,
  nowMs: number,
  { type, status, reason, message }: Record<"type" | "status" | "reason" | "message", string>,
): JsonObject {
  const old = conditionOf(deployment, type);
  if (old?.status === status && old.reason === reason) return old;
  const now = timeOf(nowMs);
  return {
    type,
    status,
    lastUpdateTime: now,
    lastTransitionTime: old?.status === status ? stringAt(old, "lastTransitionTime") : now,
    reason,
    message,
  };
}

/** The status of a Pod whose containers all run and are ready. */
export function runningStatus(pod: JsonObject, nowMs: number): JsonObject {
  const now = timeOf(nowMs);
  const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: now,
  }));
  return {
    ...objectAt(pod, "status"),
    phase: "Running",
    startTime: now,
    hostIP: "192.0.2.1", // an address reserved for documentation
    conditions,
    containerStatuses: objectsAt(pod, "spec", "containers").map((container) => ({
      name: stringAt(container, "name"),
      image: stringAt(container, "image"),
      imageID: "",
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: now } },
    })),
  };
}

/**
 * What a Foo's status must say, and what of it has to be written. Pure decisions.
 *
 * A status is written only where it differs, and only in fields that the served schema has: with
 * sample-controller's own definition the server drops our conditions, and comparing them would
 * make each look at the Foo a write (field cases R1, R2).
 *
 * `Ready` is True while the Deployment has the Pods that the Foo wants. Its reason and message hold
 * nothing of the Deployment's passing state, so they change only together with `availableReplicas`
 * or the spec.
 *
 * @module
 */

import type { CustomResourceDefinition, Deployment } from "../client/kinds.ts";
import { type ConditionClaim, findCondition, withCondition } from "../core/conditions.ts";
import { jsonEqual } from "../core/json.ts";
import { type Foo, type FooCondition, FOOS, type FooSpec, type FooStatus } from "./schema.ts";

/** Fields of a status that we write. */
export type StatusField = "availableReplicas" | "observedGeneration" | "conditions";

/** All of them. */
export const STATUS_FIELDS: readonly StatusField[] = [
  "availableReplicas",
  "observedGeneration",
  "conditions",
];

/** What the served definition of Foo lets us report. */
export interface ServedStatus {
  /** False if there is no `foos/status` to write to (field case R9). */
  readonly hasSubresource: boolean;
  /** Fields that the server keeps. */
  readonly fields: ReadonlySet<StatusField>;
}

/** A merge patch of a Foo's status, with its preconditions. */
export interface StatusPatch {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly status: FooStatus;
}

/** What our own definition serves. */
export const OWN_SERVED_STATUS: ServedStatus = {
  hasSubresource: true,
  fields: new Set(STATUS_FIELDS),
};

/** How things stand with a Foo after a reconcile. */
export type FooOutcome =
  /** Its Deployment is ours and has the spec that the Foo wants. */
  | { readonly type: "synced"; readonly spec: FooSpec; readonly deployment: Deployment }
  /**
   * It can't have its Deployment. `deployment` is the one that it still owns under an old name.
   * `reason` and `message` are told in the condition and in an event; the event says `note` in
   * place of `message`, if there is one.
   */
  | {
    readonly type: "blocked";
    readonly reason: "ErrResourceExists" | "InvalidSpec" | "DeploymentRefused";
    readonly message: string;
    readonly note?: string;
    readonly deployment: Deployment | undefined;
  };

/**
 * What the definition serves of a Foo's status, for the version that we speak.
 *
 * @returns `undefined` if the definition does not serve our version at all.
 */
export function servedStatusOf(crd: CustomResourceDefinition): ServedStatus | undefined {
  const version = crd.spec.versions.find(({ name, served }) => name === FOOS.gvk.version && served);
  if (version === undefined) return undefined;
  const root = version.schema?.openAPIV3Schema;
  const status = root?.properties?.["status"];
  // What a schema keeps beyond its properties, it keeps no more inside of one that it declares.
  const keepsAll = (status ?? root)?.["x-kubernetes-preserve-unknown-fields"] === true;
  const known = status?.properties ?? {};
  return {
    hasSubresource: version.subresources?.status !== undefined,
    fields: new Set(STATUS_FIELDS.filter((field) => keepsAll || Object.hasOwn(known, field))),
  };
}

/** The condition `Ready` of a Foo, if it has one. */
export function readyConditionOf(foo: Foo): FooCondition | undefined {
  return findCondition(foo.status?.conditions, "Ready");
}

/** The whole status that says `outcome` of `foo`. `now` is a `metav1.Time`. */
export function statusOf(
  { foo, outcome, now }: { foo: Foo; outcome: FooOutcome; now: string },
): FooStatus {
  const { generation } = foo.metadata;
  return {
    availableReplicas: outcome.deployment?.status?.availableReplicas ?? 0,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: withCondition(
      foo.status?.conditions,
      { type: "Ready", ...readyClaim(outcome) },
      { now, generation },
    ),
  };
}

function readyClaim(outcome: FooOutcome): Omit<ConditionClaim, "type"> {
  if (outcome.type === "blocked") {
    return { status: "False", reason: outcome.reason, message: outcome.message };
  }
  return isAvailable(outcome)
    ? {
      status: "True",
      reason: "DeploymentAvailable",
      message: "The Deployment has the Pods that the Foo wants",
    }
    : {
      status: "False",
      reason: "DeploymentUnavailable",
      message: "The Deployment does not have all the Pods that the Foo wants",
    };
}

/**
 * With replicas given, all of them must be available. Without, someone else scales the Deployment,
 * and one Pod is enough: else each of their steps would flip the condition.
 */
function isAvailable({ spec, deployment }: FooOutcome & { type: "synced" }): boolean {
  const wanted = spec.replicas ?? Math.min(1, deployment.spec?.replicas ?? 1);
  return (deployment.status?.availableReplicas ?? 0) >= wanted;
}

/**
 * The least merge patch that makes the stored status say `wanted`, as far as the server keeps it,
 * or `undefined` if it does already. Its preconditions are the Foo's uid and version: a status is a
 * statement about the state it was made from.
 */
export function statusPatch(
  { foo, wanted, served }: { foo: Foo; wanted: FooStatus; served: ServedStatus },
): StatusPatch | undefined {
  if (!served.hasSubresource) return undefined;
  const have = foo.status ?? {};
  const status: FooStatus = {};
  for (const field of STATUS_FIELDS) {
    if (served.fields.has(field) && !jsonEqual(have[field], wanted[field])) {
      Object.assign(status, { [field]: wanted[field] });
    }
  }
  if (Object.keys(status).length === 0) return undefined;
  const { uid, resourceVersion } = foo.metadata;
  return { metadata: { uid, resourceVersion }, status };
}

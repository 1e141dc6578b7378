/**
 * The caches that the operator works from, and which changes in them lead to a look at which Foo.
 *
 * A Deployment concerns the Foo that controls it, and every Foo that names it: one that found the
 * name taken by another Foo is looked at again when the Deployment changes hands or goes (R6).
 *
 * @module
 */

import type { ListWatch } from "../cache/list_watch.ts";
import { type HandlerRegistration, SharedInformer } from "../cache/shared_informer.ts";
import type { StoreChange } from "../cache/store.ts";
import type { Client } from "../client/client.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type Deployment,
  DEPLOYMENTS,
} from "../client/kinds.ts";
import { enqueueChanges, specChanged } from "../controller/enqueue.ts";
import { toController, toSelf } from "../controller/mappers.ts";
import { generationChanged, type Predicate } from "../controller/predicates.ts";
import type { Workqueue } from "../controller/workqueue.ts";
import type { Clock, Random } from "../core/clock.ts";
import { jsonEqual } from "../core/json.ts";
import type { Logger } from "../core/log.ts";
import { controllerRefOf, keyOf, type KubeObject, type ObjectKey } from "../core/objects.ts";
import type { OwnWrites, WrittenKind } from "./own_writes.ts";
import { MANAGED_BY, MANAGED_BY_LABEL, slimDeployment, slimFoo } from "./plan.ts";
import { BY_OWNER } from "./reconciler_options.ts";
import { type Foo, FOO_CRD_NAME, FOOS } from "./schema.ts";

/** Name of the index of Foos by the key of the Deployment that they name. */
const BY_DEPLOYMENT = "deployment";

/** What every informer here needs. */
export interface InformerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Where the objects of one namespace, or of all, come from. */
export interface FooSources {
  readonly foos: ListWatch<Foo>;
  readonly deployments: ListWatch<Deployment>;
}

/** The caches of one namespace, or of all. */
export interface FooInformers {
  readonly foos: SharedInformer<Foo>;
  readonly deployments: SharedInformer<Deployment>;
}

/** Makes caches of `sources`. They are empty until they are run. */
export function fooInformers(
  sources: FooSources,
  { resyncMs, ...parts }: InformerParts & { readonly resyncMs: number },
): FooInformers {
  return {
    foos: new SharedInformer({
      ...parts,
      name: `${FOOS.plural}.${FOOS.gvk.group}`,
      source: sources.foos,
      indexers: { [BY_DEPLOYMENT]: (foo) => deploymentKeysOf(foo) },
      transform: slimFoo,
      resyncMs,
    }),
    // No resync: each Foo's brings its Deployment with it.
    deployments: new SharedInformer({
      ...parts,
      name: `${DEPLOYMENTS.plural}.${DEPLOYMENTS.gvk.group}`,
      source: sources.deployments,
      indexers: { [BY_OWNER]: (deployment) => ownerUidsOf(deployment) },
      transform: slimDeployment,
    }),
  };
}

/**
 * The Foos of `namespace`, or of all namespaces, and the Deployments that bear our label. The other
 * Deployments of a cluster may be many, and are not ours to know: the reconciler meets one of them
 * when its name is taken (`obstacles.ts`).
 */
export function fooSources(
  client: Client,
  { namespace }: { namespace: string | undefined },
): FooSources {
  const place = namespace === undefined ? {} : { namespace };
  return {
    foos: client.resource(FOOS).listWatch(place),
    deployments: client.resource(DEPLOYMENTS).listWatch({
      ...place,
      labelSelector: `${MANAGED_BY_LABEL}=${MANAGED_BY}`,
    }),
  };
}

/** A cache of the one definition that matters. */
export function definitionInformer(
  client: Client,
  parts: InformerParts,
): SharedInformer<CustomResourceDefinition> {
  const { plural, gvk } = CUSTOM_RESOURCE_DEFINITIONS;
  return new SharedInformer({
    ...parts,
    name: `${plural}.${gvk.group}`,
    source: client.resource(CUSTOM_RESOURCE_DEFINITIONS).listWatch({
      fieldSelector: `metadata.name=${FOO_CRD_NAME}`,
    }),
  });
}

/** An unchecked Foo may name nothing, or not by a text. */
function deploymentKeysOf(
  foo: { readonly metadata: Foo["metadata"]; spec?: unknown },
): ObjectKey[] {
  const { spec, metadata: { namespace } } = foo;
  if (typeof spec !== "object" || spec === null || !("deploymentName" in spec)) return [];
  const { deploymentName: name } = spec;
  if (typeof name !== "string" || namespace === undefined) return [];
  return [keyOf({ namespace, name })];
}

function ownerUidsOf(deployment: Deployment): string[] {
  const owner = controllerRefOf(deployment);
  return owner === undefined ? [] : [owner.uid];
}

/** Has every change that concerns a Foo put its key into `queue`. */
export function watchForWork(
  { foos, deployments }: FooInformers,
  { queue, ownWrites, log }: { queue: Workqueue<ObjectKey>; ownWrites: OwnWrites; log: Logger },
): readonly HandlerRegistration[] {
  const toOwner = toController(FOOS);
  return [
    enqueueChanges({
      name: "foos",
      source: foos,
      queue,
      mapper: toSelf,
      predicate: fooNeedsLook(ownWrites),
      resetsBackoff: specChanged,
      log,
    }),
    enqueueChanges({
      name: "deployments",
      source: deployments,
      queue,
      mapper: (deployment) => [
        ...toOwner(deployment),
        ...foos.lister.byIndex(BY_DEPLOYMENT, keyOf(deployment.metadata)).map(({ metadata }) =>
          keyOf(metadata)
        ),
      ],
      predicate: deploymentNeedsLook({ ownWrites, toOwner }),
      log,
    }),
  ];
}

/**
 * All but the echo of our own status write. An echo is known by its exact version, never by being
 * older or newer than ours, and a change of the spec passes in any case: one that came in together
 * with our write must not be lost (field case Q2).
 */
function fooNeedsLook(ownWrites: OwnWrites): Predicate<Foo> {
  return (change) => {
    const isNews = change.type !== "added" && generationChanged(change);
    const key = keyOf(objectOf(change).metadata);
    return isNews || isResync(change) || !isEcho(change, { key, kind: "foos", ownWrites });
  };
}

/**
 * Of an update, only what we own or report; of what is left, all but the echo of our own write.
 * A Deployment's status changes many times while its Pods come up, its availability few times.
 */
function deploymentNeedsLook(
  { ownWrites, toOwner }: {
    ownWrites: OwnWrites;
    toOwner: (object: KubeObject) => readonly ObjectKey[];
  },
): Predicate<Deployment> {
  return (change) => {
    if (change.type === "updated" && !differs(change.object, change.previous)) return false;
    const [key] = toOwner(objectOf(change));
    return key === undefined || !isEcho(change, { key, kind: "deployments", ownWrites });
  };
}

function differs(now: Deployment, before: Deployment): boolean {
  return generationChanged({ type: "updated", object: now, previous: before }) ||
    now.status?.availableReplicas !== before.status?.availableReplicas ||
    !jsonEqual(now.metadata.labels, before.metadata.labels) ||
    !jsonEqual(now.metadata.ownerReferences, before.metadata.ownerReferences);
}

function isEcho<T extends KubeObject>(
  change: StoreChange<T>,
  { key, kind, ownWrites }: { key: ObjectKey; kind: WrittenKind; ownWrites: OwnWrites },
): boolean {
  if (change.type === "deleted") return false;
  return ownWrites.isEcho(key, { kind, version: change.object.metadata.resourceVersion });
}

function isResync<T>(change: StoreChange<T>): boolean {
  return change.type === "updated" && change.object === change.previous;
}

function objectOf<T>(change: StoreChange<T>): T {
  return change.type === "deleted" ? change.last : change.object;
}

/**
 * What the world must look like once the operator had its time: said again, from the promises to
 * users, without any of the operator's own code, which a mutation may have spoilt.
 *
 * @module
 */

import type { ApiObject, World } from "../../lib/simulator/mod.ts";
import {
  at,
  controllingFoo,
  deploymentsOf,
  foosOf,
  isDefined,
  nameOf,
  servesConditions,
} from "./tables.ts";

/** What is missing, in sentences. */
export function missing(world: World): string[] {
  const deployments = deploymentsOf(world);
  const keepsConditions = servesConditions(world);
  const uids = new Set(foosOf(world).map(({ metadata }) => metadata.uid));
  // Of a kind that is not served, the garbage collector knows nothing.
  const strays = !isDefined(world) ? [] : deployments.filter((each) => {
    const uid = controllingFoo(each);
    return uid !== undefined && !uids.has(uid);
  });
  return [
    ...strays.map((each) => `Deployment ${nameOf(each)} outlives its Foo`),
    ...foosOf(world).flatMap((foo) => {
      return missingOf(foo, { deployments, keepsConditions }).map((what) =>
        `Foo ${nameOf(foo)}: ${what}`
      );
    }),
  ];
}

function missingOf(
  foo: ApiObject,
  { deployments, keepsConditions }: {
    deployments: readonly ApiObject[];
    keepsConditions: boolean;
  },
): string[] {
  const { namespace, uid, generation, deletionTimestamp } = foo.metadata;
  if (deletionTimestamp !== undefined) return ["is still being deleted"];
  const name = at(foo, "spec", "deploymentName");
  const found = deployments.find(({ metadata }) =>
    metadata.namespace === namespace && metadata.name === name
  );
  // One that lost our label is known by its name alone, and not missed under an old one.
  const owned = deployments.filter((each) => controllingFoo(each) === uid && hasLabel(each));
  if (found === undefined) return [`Deployment ${name} is not there`];
  const isObserved = at(foo, "status", "observedGeneration") === generation;
  const observed = isObserved || !keepsConditions ? [] : ["its generation is not observed"];
  if (controllingFoo(found) !== uid) return keepsConditions ? [...observed, ...ofBlocked(foo)] : [];
  const ready = keepsConditions ? ofReady(foo, found) : [];
  return [...observed, ...ofSynced(foo, found, owned), ...ready];
}

/** Of a Foo whose Deployment is its own. */
function ofSynced(foo: ApiObject, found: ApiObject, owned: readonly ApiObject[]): string[] {
  const problems: string[] = [];
  const claim = (holds: boolean, what: string) => {
    if (!holds) problems.push(what);
  };
  const replicas = at(foo, "spec", "replicas");
  const isAsked = replicas === undefined || at(found, "spec", "replicas") === replicas;
  claim(isAsked, `the Deployment has ${at(found, "spec", "replicas")} replicas, not ${replicas}`);
  const containers = at(found, "spec", "template", "spec", "containers");
  const images = Array.isArray(containers) ? containers.map((each) => at(each, "image")) : [];
  claim(images.includes("nginx:latest"), `the Deployment runs ${images}`);
  claim(hasLabel(found), "the Deployment lacks our label");
  const reference = found.metadata.ownerReferences?.find(({ uid }) => uid === foo.metadata.uid);
  claim(reference?.blockOwnerDeletion === true, "its reference does not block the Foo's deletion");
  const others = owned.filter((each) => each !== found).map(nameOf);
  claim(others.length === 0, `it still owns ${others}`);

  const available = at(found, "status", "availableReplicas") ?? 0;
  const told = at(foo, "status", "availableReplicas");
  claim(told === available, `its status says ${told} replicas of ${available}`);
  return problems;
}

/** The condition of a Foo whose Deployment is its own. */
function ofReady(foo: ApiObject, found: ApiObject): string[] {
  const problems: string[] = [];
  const claim = (holds: boolean, what: string) => {
    if (!holds) problems.push(what);
  };
  const replicas = at(foo, "spec", "replicas");
  const available = at(found, "status", "availableReplicas") ?? 0;
  const wanted = Number(replicas ?? Math.min(1, Number(at(found, "spec", "replicas") ?? 1)));
  const ready = conditionOf(foo);
  const status = Number(available) >= wanted ? "True" : "False";
  claim(at(ready, "status") === status, `Ready is ${at(ready, "status")}, not ${status}`);
  const generation = at(ready, "observedGeneration");
  claim(generation === foo.metadata.generation, "Ready is about another generation");
  return problems;
}

/** Of a Foo whose Deployment is someone else's: what it had before stays, be it one or two. */
function ofBlocked(foo: ApiObject): string[] {
  const ready = conditionOf(foo);
  const isTold = at(ready, "status") === "False" && at(ready, "reason") === "ErrResourceExists";
  return isTold ? [] : [`Ready is ${JSON.stringify(ready)}, though the name is taken`];
}

function hasLabel(deployment: ApiObject): boolean {
  return deployment.metadata.labels?.["app.kubernetes.io/managed-by"] === "foo-operator";
}

function conditionOf(foo: ApiObject): unknown {
  const conditions = at(foo, "status", "conditions");
  return Array.isArray(conditions)
    ? conditions.find((each) => at(each, "type") === "Ready")
    : undefined;
}

/**
 * What users and other writers do to Foos, Deployments and the definition of Foo, as actions of a
 * simulation. Few names, so that they get into each other's way.
 *
 * @module
 */

import type { JsonObject } from "../../lib/core/json.ts";
import { customResourceDefinition } from "../../lib/foo/crd.ts";
import { FOO_CRD_NAME } from "../../lib/foo/schema.ts";
import type { Action, ApiObject, World } from "../../lib/simulator/mod.ts";
import { DEPLOYMENTS_TABLE, FOOS_TABLE } from "./tables.ts";

const NAMESPACES = ["default", "team"];
const FOO_NAMES = ["a", "b", "c", "d", "e"];
const DEPLOYMENT_NAMES = ["web", "api", "db"];
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const STRATEGIC = { contentType: "application/strategic-merge-patch+json" };

/** Path of a Foo, or of all of a namespace. */
export function fooPath(namespace: string, name?: string): string {
  const path = `/apis/samplecontroller.k8s.io/v1alpha1/namespaces/${namespace}/foos`;
  return name === undefined ? path : `${path}/${name}`;
}

/** Path of a Deployment, or of all of a namespace. */
export function deploymentPath(namespace: string, name?: string): string {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  return name === undefined ? path : `${path}/${name}`;
}

/** Puts what the operator needs into an empty cluster. */
export async function prepareCluster(world: World): Promise<void> {
  const changed = new Map<string, ApiObject>();
  lastChanged.set(world, changed);
  world.server.storage.listen(({ table, object, type }) => {
    if (type === "DELETED") changed.delete(table);
    else changed.set(table, object);
  });
  await mendCluster(world);
}

/** Puts back what was deleted of it. */
export async function mendCluster(world: World): Promise<void> {
  await createDefinition(world);
  await createTeam(world);
}

/** Our definition; in every fifth seed sample-controller's, which keeps but one field of the status. */
async function createDefinition(world: World): Promise<void> {
  const definition: JsonObject = JSON.parse(
    JSON.stringify(customResourceDefinition(), (name, value) => {
      const isStatus = name === "properties" && value.observedGeneration && value.availableReplicas;
      if (world.seed % 5 !== 0 || !isStatus) return value;
      return { availableReplicas: value.availableReplicas };
    }),
  );
  await world.request("POST", DEFINITIONS, definition);
}

async function createTeam(world: World): Promise<void> {
  await world.request("POST", "/api/v1/namespaces", { metadata: { name: "team" } });
}

function pick<T>({ random }: World, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError("Cannot pick: there is nothing");
  return value;
}

function place(world: World): { namespace: string; name: string } {
  return { namespace: pick(world, NAMESPACES), name: pick(world, FOO_NAMES) };
}

/** The object of each table that changed last: where the operator may be at work. */
const lastChanged = new WeakMap<World, Map<string, ApiObject>>();

/** An object that exists, often the one that changed last; `undefined` if there is none. */
function existing(world: World, table: string): { namespace: string; name: string } | undefined {
  const objects = world.server.storage.all(table);
  if (objects.length === 0) return undefined;
  const last = lastChanged.get(world)?.get(table);
  const drawn = world.random() < 0.5 ? last : undefined;
  const { namespace = "", name } = (drawn ?? pick(world, objects)).metadata;
  return { namespace, name };
}

function spec(world: World): JsonObject {
  const draw = world.random();
  return {
    deploymentName: pick(world, DEPLOYMENT_NAMES),
    ...(draw < 0.25 ? {} : { replicas: Math.floor(draw * 4) }),
  };
}

async function createFoo(world: World): Promise<void> {
  const { namespace, name } = place(world);
  await world.request("POST", fooPath(namespace), {
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    metadata: { name, annotations: { "example.com/note": "für später" } },
    spec: spec(world),
  });
}

async function patchFoo(world: World, body: JsonObject, subresource = ""): Promise<void> {
  const found = existing(world, FOOS_TABLE);
  if (found === undefined) return await createFoo(world);
  await world.request("PATCH", fooPath(found.namespace, found.name) + subresource, body);
}

async function deleteFoo(world: World, propagationPolicy: string): Promise<void> {
  const found = existing(world, FOOS_TABLE);
  if (found === undefined) return;
  await world.request("DELETE", fooPath(found.namespace, found.name), { propagationPolicy });
}

/** Gone and there again, with another uid, before anyone looks. */
async function replaceFoo(world: World): Promise<void> {
  const found = existing(world, FOOS_TABLE);
  if (found === undefined) return;
  const { body } = await world.request("GET", fooPath(found.namespace, found.name));
  await world.request("DELETE", fooPath(found.namespace, found.name), {
    propagationPolicy: "Background",
  });
  const { name } = found;
  const again: JsonObject = { metadata: { name }, spec: body["spec"] ?? spec(world) };
  await world.request("POST", fooPath(found.namespace), {
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    ...again,
  });
}

async function createForeign(world: World): Promise<void> {
  const labels = { app: "theirs" };
  const containers = [{ name: "nginx", image: "nginx:latest" }];
  await world.request("POST", deploymentPath(pick(world, NAMESPACES)), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: pick(world, DEPLOYMENT_NAMES) },
    spec: {
      replicas: Math.floor(world.random() * 3),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
}

async function patchDeployment(world: World, body: JsonObject): Promise<void> {
  const found = existing(world, DEPLOYMENTS_TABLE);
  if (found === undefined) return;
  await world.request("PATCH", deploymentPath(found.namespace, found.name), body, STRATEGIC);
}

async function deleteDeployment(world: World): Promise<void> {
  const found = existing(world, DEPLOYMENTS_TABLE);
  if (found === undefined) return;
  await world.request("DELETE", deploymentPath(found.namespace, found.name), {
    propagationPolicy: "Background",
  });
}

/** Makes a Foo the controller of a Deployment that has none, or another. */
async function handOver(world: World): Promise<void> {
  const deployment = existing(world, DEPLOYMENTS_TABLE);
  const foos = world.server.storage.all(FOOS_TABLE).filter(({ metadata }) =>
    metadata.namespace === deployment?.namespace && metadata.deletionTimestamp === undefined
  );
  if (deployment === undefined || foos.length === 0) return;
  const { name, uid } = pick(world, foos).metadata;
  const ownerReferences = [{
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    name,
    uid,
    controller: true,
  }];
  // A merge patch replaces the list: nobody else controls it from now on.
  await world.request("PATCH", deploymentPath(deployment.namespace, deployment.name), {
    metadata: { ownerReferences },
  });
}

async function release(world: World): Promise<void> {
  const found = existing(world, DEPLOYMENTS_TABLE);
  if (found === undefined) return;
  await world.request("PATCH", deploymentPath(found.namespace, found.name), {
    metadata: { ownerReferences: null },
  });
}

/** Scales as an autoscaler does, but not what a Foo has a say in. */
async function autoscale(world: World): Promise<void> {
  const found = existing(world, DEPLOYMENTS_TABLE);
  if (found === undefined) return;
  await world.request("PATCH", `${deploymentPath(found.namespace, found.name)}/scale`, {
    spec: { replicas: Math.floor(world.random() * 4) },
  });
}

async function setAvailable(world: World): Promise<void> {
  const found = existing(world, DEPLOYMENTS_TABLE);
  if (found === undefined) return;
  const count = Math.floor(world.random() * 4);
  await world.request("PATCH", `${deploymentPath(found.namespace, found.name)}/status`, {
    status: { replicas: count, readyReplicas: count, availableReplicas: count },
  });
}

async function createMany(world: World): Promise<void> {
  for (let n = 0; n < 8; n++) await createFoo(world);
}

/** The kind Foo goes, with all Foos; sometimes it is there again at once. */
async function deleteDefinition(world: World): Promise<void> {
  await world.request("DELETE", `${DEFINITIONS}/${FOO_CRD_NAME}`);
  if (world.random() < 0.5) await createDefinition(world);
}

async function strangers(world: World): Promise<void> {
  const path = "/api/v1/namespaces/default/configmaps";
  const name = `stranger-${Math.floor(world.random() * 1e9)}`;
  await world.request("POST", path, { metadata: { name } });
}

/** All actions, by name. */
export const ACTIONS: Readonly<Record<string, Action>> = {
  createFoo,
  createFooAgain: createFoo, // so that there is something to act on
  createMany,
  scaleFoo: (world) => patchFoo(world, { spec: { replicas: Math.floor(world.random() * 4) } }),
  scaleFooAgain: (world) => patchFoo(world, { spec: { replicas: Math.floor(world.random() * 4) } }),
  unsetReplicas: (world) => patchFoo(world, { spec: { replicas: null } }),
  renameDeployment: (world) =>
    patchFoo(world, { spec: { deploymentName: pick(world, DEPLOYMENT_NAMES) } }),
  annotateFoo: (world) =>
    patchFoo(world, { metadata: { annotations: { "example.com/note": "größer" } } }),
  spoilStatus: (world) =>
    patchFoo(world, { status: { availableReplicas: 77, conditions: [] } }, "/status"),
  deleteFoo: (world) => deleteFoo(world, "Background"),
  deleteFooInForeground: (world) => deleteFoo(world, "Foreground"),
  orphan: (world) => deleteFoo(world, "Orphan"),
  replaceFoo,
  createForeign,
  deleteDeployment,
  handOver,
  release,
  autoscale,
  setAvailable,
  spoilImage: (world) =>
    patchDeployment(world, {
      spec: { template: { spec: { containers: [{ name: "nginx", image: "nginx:bad" }] } } },
    }),
  spoilReplicas: (world) =>
    patchDeployment(world, { spec: { replicas: Math.floor(world.random() * 4) } }),
  spoilLabel: (world) =>
    patchDeployment(world, { metadata: { labels: { "app.kubernetes.io/managed-by": null } } }),
  deleteDefinition: async (world) => {
    if (world.random() < 0.3) await deleteDefinition(world);
  },
  createDefinition,
  deleteTeam: async (world) => {
    if (world.random() < 0.3) await world.request("DELETE", "/api/v1/namespaces/team");
  },
  createTeam,
  strangers,
  // Seldom: a new start heals what a long life gets wrong.
  crash: (world) => {
    if (world.random() < 0.15) world.crash();
  },
  restart: (world) => {
    if (world.random() < 0.15) world.restart();
  },
};

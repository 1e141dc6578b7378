/**
 * Where the simulated server keeps what these tests are about, and how to look into it.
 *
 * @module
 */

import { FOO_CRD_NAME } from "../../lib/foo/schema.ts";
import type { ApiObject, World } from "../../lib/simulator/mod.ts";

export const FOOS_TABLE = "samplecontroller.k8s.io/foos";
export const DEPLOYMENTS_TABLE = "apps/deployments";

/** The member at `path`, or `undefined` where anything is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) {
      return undefined;
    }
    found = Object.getOwnPropertyDescriptor(found, name)?.value;
  }
  return found;
}

/** The uid of the Foo that controls `object`; `undefined` if none does. */
export function controllingFoo({ metadata }: ApiObject): string | undefined {
  return metadata.ownerReferences?.find((each) => each.controller === true && each.kind === "Foo")
    ?.uid;
}

/** All Foos. */
export function foosOf({ server }: World): readonly ApiObject[] {
  return server.storage.all(FOOS_TABLE);
}

/** All Deployments. */
export function deploymentsOf({ server }: World): readonly ApiObject[] {
  return server.storage.all(DEPLOYMENTS_TABLE);
}

/** `namespace/name`, for messages. */
export function nameOf({ metadata }: ApiObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** True if there is a kind Foo. */
export function isDefined(world: World): boolean {
  return definitionOf(world) !== undefined;
}

/** True if the definition keeps more of the status than sample-controller's does. */
export function servesConditions(world: World): boolean {
  const versions = at(definitionOf(world), "spec", "versions");
  const [version] = Array.isArray(versions) ? versions : [];
  const path = ["schema", "openAPIV3Schema", "properties", "status", "properties", "conditions"];
  return at(version, ...path) !== undefined;
}

function definitionOf({ server }: World): ApiObject | undefined {
  return server.storage.find("apiextensions.k8s.io/customresourcedefinitions", FOO_CRD_NAME);
}

/**
 * What a user's compiler sees of the library: never `any`, also not of types that come from the
 * packages it depends on. Checked, not run.
 *
 * @module
 */

import type { ConfigMap, Deployment, Pod } from "@foo-operator/lib/client";
import type { Client, ResourceClient } from "@foo-operator/lib/client";
import type { Reconciler } from "@foo-operator/lib/controller";
import type { ApiServer } from "@foo-operator/lib/simulator";

/** `true`, unless `T` is `any`. */
type Known<T> = 0 extends 1 & T ? false : true;

/** Does not compile if one of them is `any`. */
export const KNOWN: readonly [
  Known<ConfigMap>,
  Known<ConfigMap["data"]>,
  Known<NonNullable<Deployment["spec"]>["replicas"]>,
  Known<NonNullable<Pod["status"]>["phase"]>,
  Known<ReturnType<Client["resource"]>>,
  Known<Awaited<ReturnType<ResourceClient<Pod>["get"]>>>,
  Known<Reconciler>,
  Known<Awaited<ReturnType<ApiServer["fetch"]>>>,
] = [true, true, true, true, true, true, true, true];

/** A Pod's phase is text, and a Deployment's `replicas` a number. */
export const PHASE: NonNullable<Pod["status"]>["phase"] = "Running";
/** See {@linkcode PHASE}. */
export const REPLICAS: NonNullable<Deployment["spec"]>["replicas"] = 3;

// @ts-expect-error: what client-node has as a number is not text here either.
export const NOT_REPLICAS: NonNullable<Deployment["spec"]>["replicas"] = "3";

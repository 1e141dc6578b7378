/**
 * What the reconciler of Foos needs of the world: as little as can be, so that what it may do to a
 * cluster can be read here.
 *
 * @module
 */

import type { Lister } from "../cache/store.ts";
import type { Deployment } from "../client/kinds.ts";
import type { Patch } from "../client/patch.ts";
import type { Clock } from "../core/clock.ts";
import type { Draft } from "../core/objects.ts";
import type { EventSink } from "./news.ts";
import type { Foo } from "./schema.ts";
import type { ServedStatusSource } from "./served_status.ts";

/** Name of the index of Deployments by their controller's uid. */
export const BY_OWNER = "owner";

/** A place of an object, and what every call carries. */
interface Call {
  readonly name: string;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** All that is needed of a client for Foos. */
export interface FooWriter {
  get(call: Call): Promise<Foo>;
  patch(call: Call & { patch: Patch<Foo>; subresource: "status" }): Promise<Foo>;
}

/** All that is needed of a client for Deployments. */
export interface DeploymentWriter {
  get(call: Call): Promise<Deployment>;
  create(draft: Draft<Deployment>, options: { signal: AbortSignal }): Promise<Deployment>;
  patch(call: Call & { patch: Patch<Deployment> }): Promise<Deployment>;
  delete(
    call: Call & {
      preconditions: { uid: string; resourceVersion: string };
      propagationPolicy: "Background";
    },
  ): Promise<void>;
}

/** The caches of one namespace. */
export interface FooListers {
  readonly foos: Pick<Lister<Foo>, "find" | "resourceVersion">;
  /** With the index {@linkcode BY_OWNER}. */
  readonly deployments: Pick<Lister<Deployment>, "find" | "byIndex" | "resourceVersion">;
}

/** What a {@linkcode FooReconciler} is made of. */
export interface FooReconcilerOptions {
  readonly listersOf: (namespace: string) => FooListers;
  readonly foos: FooWriter;
  readonly deployments: DeploymentWriter;
  readonly events: EventSink;
  readonly served: ServedStatusSource;
  readonly clock: Pick<Clock, "monotonicMs" | "wallMs">;
}

/**
 * Watches how the Foos of a cluster fare, to tell a person when one is as it should be.
 *
 * @module
 */

import { SharedInformer } from "../cache/shared_informer.ts";
import type { Client } from "../client/client.ts";
import type { Clock, Random } from "../core/clock.ts";
import { silentLogger } from "../core/log.ts";
import { type Foo, FOO_CRD_NAME, FOOS } from "../foo/schema.ts";
import { readyConditionOf } from "../foo/status.ts";

/** Where and how to look. */
export interface FollowOptions {
  readonly client: Client;
  /** Told of each Foo that became ready, or is so again for a new spec. */
  readonly onReady: (foo: Foo) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Follows the Foos of all namespaces until aborted. Foos that were ready before are not told. */
export async function followFoos(options: FollowOptions): Promise<void> {
  const { client, onReady, clock, random, signal } = options;
  const informer = new SharedInformer({
    name: FOO_CRD_NAME,
    source: client.resource(FOOS).listWatch({}),
    clock,
    random,
    // The operator has the same troubles with the same server, and tells of them.
    log: silentLogger,
  });
  using _handler = informer.addHandler({
    onChange(change) {
      if (change.type === "deleted" || (change.type === "added" && change.initial)) return;
      const { object } = change;
      const wasReady = change.type === "updated" && isConverged(change.previous) &&
        change.previous.metadata.generation === object.metadata.generation;
      if (isConverged(object) && !wasReady) onReady(object);
    },
  }, { name: "dev" });
  await informer.run({ signal });
}

/**
 * True if the operator has seen the Foo's present spec, and the Pods that it asks for are there and no
 * others: `Ready` itself is content with more.
 */
export function isConverged(foo: Foo): boolean {
  const { metadata: { generation }, spec: { replicas }, status } = foo;
  return status?.observedGeneration === generation && readyConditionOf(foo)?.status === "True" &&
    (replicas === undefined || status?.availableReplicas === replicas);
}

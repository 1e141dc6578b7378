/**
 * A small operator as a user of the library writes it: one kind, one reconciler. A `Greeting` becomes
 * a ConfigMap with its words, and its status says which one.
 *
 * @module
 */

import { InformerSet } from "@foo-operator/lib/cache";
import {
  type Client,
  CONFIG_MAPS,
  defineKind,
  type KindDefinition,
} from "@foo-operator/lib/client";
import {
  buildController,
  CachedClient,
  cachesPart,
  ensureChild,
  Manager,
  owns,
  patchStatus,
  type Reconciler,
  SETTLED,
} from "@foo-operator/lib/controller";
import type { Clock, KubeObject, Logger, Random } from "@foo-operator/lib/core";

/** Words for somebody. */
export interface Greeting extends KubeObject {
  spec: { whom: string };
  status?: { configMap?: string };
}

/** The kind, as its CustomResourceDefinition has it. */
export const GREETINGS: KindDefinition<Greeting> = defineKind({
  group: "example.com",
  version: "v1",
  kind: "Greeting",
  plural: "greetings",
  scope: "Namespaced",
  subresources: ["status"],
});

/** What the operator is made of. */
export interface GreetingOperatorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly uuid: () => string;
  readonly log: Logger;
}

/** The operator, ready to run. */
export function greetingOperator(options: GreetingOperatorOptions): Manager {
  const informers = new InformerSet(options);
  const caches = new CachedClient({ ...options, caches: informers });
  const greetings = buildController({
    for: GREETINGS,
    watches: [owns(CONFIG_MAPS)],
    reconcile: reconcileWith(caches),
  }, { ...options, caches });
  return new Manager(options).add("caches", cachesPart(informers)).add("elected", greetings);
}

function reconcileWith(caches: CachedClient): Reconciler {
  return async ({ namespace, name }, { signal }) => {
    const greetings = caches.resource(GREETINGS);
    const maps = caches.resource(CONFIG_MAPS);
    const greeting = await greetings.find({ namespace, name, signal });
    if (greeting === undefined) return SETTLED;
    await ensureChild({
      client: maps,
      owner: greeting,
      ownerKind: GREETINGS,
      wanted: { metadata: { name, namespace }, data: { words: `Hello ${greeting.spec.whom}` } },
      found: await maps.find({ namespace, name, signal }),
      signal,
    });
    await patchStatus(greeting, { configMap: name }, { client: greetings, signal });
    return SETTLED;
  };
}

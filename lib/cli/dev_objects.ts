/**
 * What `dev` puts into its cluster before the operator starts.
 *
 * @module
 */

import type { Client } from "../client/client.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type CustomResourceDefinition } from "../client/kinds.ts";
import { createOrPatch } from "../client/read_modify_write.ts";
import { type Clock, type Random, withDeadline } from "../core/clock.ts";
import { findCondition } from "../core/conditions.ts";
import { missingIn } from "../core/difference.ts";
import { ConfigError, DeadlineError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Draft } from "../core/objects.ts";
import { applyMergePatch, diffMergePatch } from "../core/patch_merge.ts";
import { customResourceDefinition } from "../foo/crd.ts";
import { type Foo, FOO_CRD_NAME, FOOS } from "../foo/schema.ts";

/** The same as `crds/examples/foo.yaml`: a binary has no files beside it. */
export const EXAMPLE_FOO: Draft<Foo> = {
  apiVersion: `${FOOS.gvk.group}/${FOOS.gvk.version}`,
  kind: FOOS.gvk.kind,
  metadata: { name: "example-foo" },
  spec: { deploymentName: "example-foo", replicas: 2 },
};

/** How long a server may take until it serves a new definition, in milliseconds; one second is much. */
const ESTABLISHED_MAX_MS = 30_000;

/** How often it is asked, in milliseconds. */
const ESTABLISHED_POLL_MS = 50;

interface Means {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * Makes the cluster serve our definition of Foo: creates it, or corrects it where it lacks something
 * of ours. What others added to it stays. Resolves once it is served.
 *
 * @param definition.wanted By default that of this process' own code.
 * @param definition.previous What was applied before: what of it is wanted no more goes.
 * @throws {ConfigError} If the server does not come to serve it.
 */
export async function ensureDefinition(
  client: Client,
  means: Means,
  { wanted = customResourceDefinition(), previous }: {
    readonly wanted?: JsonObject;
    readonly previous?: JsonObject;
  } = {},
): Promise<"created" | "updated" | "unchanged"> {
  const definitions = client.resource(CUSTOM_RESOURCE_DEFINITIONS);
  const { type } = await createOrPatch(definitions, {
    ...means,
    name: FOO_CRD_NAME,
    want: (present) => {
      // The boundary: objects of the API are JSON, and ours is made as such.
      const found = present as unknown as JsonObject | undefined;
      const kept = found === undefined || previous === undefined
        ? found
        : applyMergePatch(found, diffMergePatch(previous, wanted));
      const missing = missingIn(kept, wanted);
      const merged = missing === undefined ? kept : applyMergePatch(kept, missing);
      return merged as unknown as Draft<CustomResourceDefinition>;
    },
  });
  await established(client, means);
  return type;
}

async function established(client: Client, { clock, signal }: Means): Promise<void> {
  const definitions = client.resource(CUSTOM_RESOURCE_DEFINITIONS);
  const isEstablished = async (limit: AbortSignal) => {
    const { status } = await definitions.get({ name: FOO_CRD_NAME, signal: limit });
    return findCondition(status?.conditions, "Established")?.status === "True";
  };
  try {
    await withDeadline(async (limit) => {
      while (!await isEstablished(limit)) await clock.sleep(ESTABLISHED_POLL_MS, { signal: limit });
    }, { action: "the definition", limitMs: ESTABLISHED_MAX_MS, clock, signal });
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw new ConfigError(
      `The API server does not serve ${FOO_CRD_NAME} within ${ESTABLISHED_MAX_MS / 1000} s: ` +
        `"kubectl describe crd ${FOO_CRD_NAME}" may tell why`,
      { cause: error },
    );
  }
}

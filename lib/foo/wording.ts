/**
 * What people are told of a Deployment: what of it was corrected, and whose one is that is not ours.
 *
 * @module
 */

import type { Deployment } from "../client/kinds.ts";
import type { StrategicPartial } from "../client/patch.ts";
import { controllerRefOf } from "../core/objects.ts";

/**
 * The fields that `patch` changes of `found`, each as its path, with the old and the new value if
 * that is a number or a text: `spec.replicas: 5 → 3`. Preconditions are no change.
 */
export function correctedFields(
  { found, patch }: { found: Deployment; patch: StrategicPartial<Deployment> },
): readonly string[] {
  const { metadata = {}, spec = {} } = patch;
  const fields: string[] = [];
  for (const [label, value] of Object.entries(metadata?.labels ?? {})) {
    fields.push(change(`metadata.labels[${label}]`, found.metadata.labels?.[label], value));
  }
  if (metadata?.ownerReferences !== undefined) fields.push("metadata.ownerReferences");
  if (spec?.replicas !== undefined) {
    fields.push(change("spec.replicas", found.spec?.replicas, spec.replicas));
  }
  const [had, template] = [found.spec?.template, spec?.template];
  for (const [label, value] of Object.entries(template?.metadata?.labels ?? {})) {
    const before = had?.metadata?.labels?.[label];
    fields.push(change(`spec.template.metadata.labels[${label}]`, before, value));
  }
  for (const container of template?.spec?.containers ?? []) {
    const before = had?.spec?.containers.find(({ name }) => name === container?.name)?.image;
    fields.push(change(`container ${container?.name} image`, before, container?.image));
  }
  return fields;
}

function change(field: string, before: unknown, now: unknown): string {
  return `${field}: ${before ?? "none"} → ${now}`;
}

/**
 * Who the controller of `object` is, as `kind/name`: `Foo/a`. `undefined` if it has none.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(controllerNameOf({ metadata: {} }), undefined);
 * ```
 */
export function controllerNameOf(
  object: { readonly metadata: Pick<Deployment["metadata"], "ownerReferences"> },
): string | undefined {
  const controller = controllerRefOf(object);
  return controller === undefined ? undefined : `${controller.kind}/${controller.name}`;
}

/**
 * What is said of a Deployment of the name that a Foo wants and that is not its own.
 *
 * @returns `note` is the event's text, which is sample-controller's; `message`, for the condition and
 * the log, names `owner` too. Neither holds a state that may pass.
 */
export function nameTaken(
  { name, owner }: { name: string; owner: string | undefined },
): { readonly message: string; readonly note: string } {
  const note = `Resource "${name}" already exists and is not managed by Foo`;
  if (owner === undefined) return { message: note, note };
  const message = `Resource "${name}" already exists and is not managed by this Foo: its ` +
    `controller is ${owner}`;
  return { message, note };
}

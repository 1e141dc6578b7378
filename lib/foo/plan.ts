/**
 * What a Foo's Deployment must look like, and what it takes to get there. Pure decisions; the
 * reconciler carries them out.
 *
 * Of a Deployment that is ours we own what we set when we create it, and nothing else: the owner
 * reference, the label that names us, the Pods' labels, the image of the container `nginx`, and
 * `replicas` if the Foo gives it. Everything else may be set by the server, by other controllers and
 * by people, and is neither compared nor sent (field cases R1, R4). The selector is ours too, but
 * can't be changed by anyone.
 *
 * @module
 */

import type { Deployment } from "../client/kinds.ts";
import type { StrategicPartial } from "../client/patch.ts";
import {
  controllerReferenceTo,
  controllerRefOf,
  type Draft,
  isControlledBy,
  type OwnerReference,
} from "../core/objects.ts";
import { type Foo, FOOS, type FooSpec } from "./schema.ts";

/** The label that tells who manages an object, by Kubernetes' recommendation. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";
/** Our value of {@linkcode MANAGED_BY_LABEL}. */
export const MANAGED_BY = "foo-operator";

/** Name and image of the one container, as sample-controller has them. */
const CONTAINER = { name: "nginx", image: "nginx:latest" };

/** Longest value of a label. */
const LABEL_MAX_CHARS = 63;

/** What to do about a Deployment that has the name a Foo gives. If there is none, it is created. */
export type DeploymentPlan =
  /** It is ours and differs: `patch` holds just what differs. */
  | { readonly type: "correct"; readonly patch: StrategicPartial<Deployment> }
  /** It is ours and as it should be. */
  | { readonly type: "keep" }
  /** It is ours and being deleted: its end will be told, and then it is made anew. */
  | { readonly type: "wait" }
  /** It is someone else's, and never touched. */
  | { readonly type: "foreign" };

/** Decides what to do about `found`, the Deployment of the name that `spec` gives. */
export function planDeployment(
  { foo, spec, found }: { foo: Foo; spec: FooSpec; found: Deployment },
): DeploymentPlan {
  if (!isControlledBy(found, foo)) return { type: "foreign" };
  if (found.metadata.deletionTimestamp !== undefined) return { type: "wait" };
  const patch = correction({ foo, spec, found });
  return patch === undefined ? { type: "keep" } : { type: "correct", patch };
}

/** Of all Deployments that the Foo owns, those that its present one has replaced. */
export function superseded(
  { owned, current }: { owned: readonly Deployment[]; current: Deployment },
): readonly Deployment[] {
  return owned.filter(({ metadata }) =>
    metadata.name !== current.metadata.name && metadata.deletionTimestamp === undefined
  );
}

/** The Deployment of a Foo, as it is created. */
export function draftDeployment(foo: Foo, spec: FooSpec): Draft<Deployment> {
  const labels = podLabels(foo);
  const { namespace } = foo.metadata;
  return {
    metadata: {
      name: spec.deploymentName,
      // A reference to an owner in another namespace would make the garbage collector delete the
      // Deployment at some later time (field case R7).
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
      ownerReferences: [controllerReferenceTo(foo, FOOS.gvk)],
    },
    spec: {
      ...(spec.replicas === undefined ? {} : { replicas: spec.replicas }),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ ...CONTAINER }] },
      },
    },
  };
}

/**
 * Labels of the Pods of a Foo, and the selector of its Deployment.
 *
 * @example
 * ```ts
 * import { deepStrictEqual } from "node:assert/strict";
 * deepStrictEqual(podLabels({ metadata: { name: "a" } }), { app: "nginx", controller: "a" });
 * ```
 */
export function podLabels(
  foo: { readonly metadata: { readonly name: string } },
): { app: string; controller: string } {
  return { app: "nginx", controller: labelValueOf(foo.metadata.name) };
}

/**
 * `name` as a label's value. A name may be longer than a label; then a hash keeps two names with
 * the same beginning apart. Selectors can't be changed, so neither can this function.
 */
function labelValueOf(name: string): string {
  if (name.length <= LABEL_MAX_CHARS) return name;
  return `${name.slice(0, 54)}-${fnv1a(name).toString(16).padStart(8, "0")}`;
}

/** 32-bit FNV-1a: not against attackers, who gain nothing by two Foos of theirs sharing Pods' labels. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash;
}

/** The least patch after which `found` has all that we own as we want it. */
function correction(
  { foo, spec, found }: { foo: Foo; spec: FooSpec; found: Deployment },
): StrategicPartial<Deployment> | undefined {
  const metadata = metadataCorrection(foo, found);
  const template = templateCorrection(foo, found);
  const replicas = spec.replicas !== undefined && spec.replicas !== found.spec?.replicas
    ? { replicas: spec.replicas }
    : undefined;
  if (metadata === undefined && template === undefined && replicas === undefined) return undefined;
  return {
    metadata: {
      ...metadata,
      // Preconditions: the Deployment that we decided about, in the state we decided on.
      uid: found.metadata.uid,
      resourceVersion: found.metadata.resourceVersion,
    },
    ...(template === undefined && replicas === undefined
      ? {}
      : { spec: { ...replicas, ...template } }),
  };
}

function metadataCorrection(
  foo: Foo,
  { metadata }: Deployment,
): { labels?: Record<string, string>; ownerReferences?: OwnerReference[] } | undefined {
  const label = metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY
    ? undefined
    : { labels: { [MANAGED_BY_LABEL]: MANAGED_BY } };
  const wanted = controllerReferenceTo(foo, FOOS.gvk);
  const reference = isSameReference(controllerRefOf({ metadata }), wanted)
    ? undefined
    : { ownerReferences: [wanted] }; // merged by uid: references to others stay
  return label === undefined && reference === undefined ? undefined : { ...label, ...reference };
}

function isSameReference(have: OwnerReference | undefined, want: OwnerReference): boolean {
  return have?.apiVersion === want.apiVersion && have.kind === want.kind &&
    have.name === want.name && have.blockOwnerDeletion === want.blockOwnerDeletion;
}

function templateCorrection(
  foo: Foo,
  { spec }: Deployment,
): { template: StrategicPartial<NonNullable<Deployment["spec"]>["template"]> } | undefined {
  const have: Readonly<Record<string, string>> = spec?.template.metadata?.labels ?? {};
  const selector: Readonly<Record<string, string>> = spec?.selector.matchLabels ?? {};
  const labels = Object.entries(podLabels(foo)).filter(([name, value]) =>
    // A Deployment that was handed to us with a selector of its own: the server refuses Pods that
    // don't match it, and no retry would change that.
    have[name] !== value && (selector[name] ?? value) === value
  );
  const container = spec?.template.spec?.containers.find(({ name }) => name === CONTAINER.name);
  const isImageRight = container?.image === CONTAINER.image;
  if (labels.length === 0 && isImageRight) return undefined;
  return {
    template: {
      ...(labels.length > 0 ? { metadata: { labels: Object.fromEntries(labels) } } : {}),
      // Merged by name: containers of others, and other fields of ours, stay.
      ...(isImageRight ? {} : { spec: { containers: [{ ...CONTAINER }] } }),
    },
  };
}

/**
 * What is kept of a Deployment in the cache: what the decisions above and the status read. A
 * Deployment has tens of kilobytes at times, most of it annotations and Pod template.
 */
export function slimDeployment(deployment: Deployment): Deployment {
  const { apiVersion, kind, metadata, spec, status } = deployment;
  const { annotations: _unread, ...slimMetadata } = metadata;
  const available = status?.availableReplicas;
  return {
    apiVersion,
    kind,
    metadata: slimMetadata,
    ...(spec === undefined ? {} : { spec: slimSpec(spec) }),
    ...(available === undefined ? {} : { status: { availableReplicas: available } }),
  };
}

function slimSpec(spec: NonNullable<Deployment["spec"]>): NonNullable<Deployment["spec"]> {
  const { replicas, selector, template } = spec;
  const labels = template.metadata?.labels;
  return {
    ...(replicas === undefined ? {} : { replicas }),
    selector,
    template: {
      ...(labels === undefined ? {} : { metadata: { labels } }),
      spec: {
        containers: (template.spec?.containers ?? []).map(({ name, image }) => ({
          name,
          ...(image === undefined ? {} : { image }),
        })),
      },
    },
  };
}

/** What is kept of a Foo: annotations often hold a copy of the whole object, and are not read. */
export function slimFoo(foo: Foo): Foo {
  const { annotations: _unread, ...metadata } = foo.metadata;
  return { ...foo, metadata };
}

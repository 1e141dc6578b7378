/**
 * Paths and literals that the end-to-end tests share.
 *
 * @module
 */

import type { Json } from "../support/kube.ts";

export const GROUP = "/apis/samplecontroller.k8s.io/v1alpha1";

/** Collection of Foos in `namespace`. */
export const foos = (namespace: string) => `${GROUP}/namespaces/${namespace}/foos`;

/** Collection of Deployments in `namespace`. */
export const deployments = (namespace: string) =>
  `/apis/apps/v1/namespaces/${namespace}/deployments`;

/** A Foo as a user would write it; `replicas` absent means "not mine to say". */
export function foo(name: string, spec: { deploymentName: string; replicas?: number }): Json {
  return {
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    metadata: { name },
    spec,
  };
}

/** A Deployment that has nothing to do with us. */
export function foreignDeployment(name: string): Json {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "theirs" } },
      template: {
        metadata: { labels: { app: "theirs" } },
        spec: { containers: [{ name: "theirs", image: "theirs:1" }] },
      },
    },
  };
}

/** The condition of `type`, if the Foo has one. */
export function condition(foo: Json, type: string): Json | undefined {
  return foo?.status?.conditions?.find((each: Json) => each.type === type);
}

/** True once the operator has said that it has seen the Foo's present spec. */
export function isObserved(foo: Json): boolean {
  return foo?.status?.observedGeneration === foo?.metadata.generation;
}

/** Events of events.k8s.io about the object with this uid. */
export function eventsAbout(list: Json, uid: string): Json[] {
  return list.items.filter((event: Json) => event.regarding?.uid === uid);
}

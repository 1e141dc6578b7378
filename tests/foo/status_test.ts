import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { CustomResourceDefinition, Deployment } from "../../lib/client/kinds.ts";
import { applyMergePatch } from "../../lib/core/patch_merge.ts";
import type { Foo, FooCondition } from "../../lib/foo/schema.ts";
import {
  type FooOutcome,
  OWN_SERVED_STATUS,
  readyConditionOf,
  servedStatusOf,
  STATUS_FIELDS,
  statusOf,
  statusPatch,
} from "../../lib/foo/status.ts";
import { definition } from "../support/sim_operator.ts";

const THEN = "2026-01-01T00:00:00Z";
const NOW = "2026-02-02T00:00:00Z";

const FOO: Foo = {
  apiVersion: "samplecontroller.k8s.io/v1alpha1",
  kind: "Foo",
  metadata: {
    name: "a",
    namespace: "default",
    uid: "foo-uid",
    resourceVersion: "5",
    generation: 3,
    creationTimestamp: THEN,
  },
  spec: { deploymentName: "web", replicas: 2 },
};

function deployment(replicas: number, availableReplicas?: number): Deployment {
  const labels = { app: "nginx" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", uid: "d", resourceVersion: "9", creationTimestamp: THEN },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels } } },
    status: availableReplicas === undefined ? {} : { availableReplicas },
  };
}

function synced(available: number | undefined, replicas: number | undefined = 2): FooOutcome {
  const spec = { deploymentName: "web", ...(replicas === undefined ? {} : { replicas }) };
  return { type: "synced", spec, deployment: deployment(replicas ?? 4, available) };
}

function withStatus(foo: Foo, outcome: FooOutcome, now: string): Foo {
  return { ...foo, status: statusOf({ foo, outcome, now }) };
}

Deno.test("statusOf() says what is available, which generation it is about, and Ready", () => {
  deepStrictEqual(statusOf({ foo: FOO, outcome: synced(1), now: NOW }), {
    availableReplicas: 1,
    observedGeneration: 3,
    conditions: [{
      type: "Ready",
      status: "False",
      reason: "DeploymentUnavailable",
      message: "The Deployment does not have all the Pods that the Foo wants",
      observedGeneration: 3,
      lastTransitionTime: NOW,
    }],
  });
});

Deno.test("statusOf() is Ready when the Pods that are wanted are available", () => {
  const ready = (outcome: FooOutcome) => readyConditionOf(withStatus(FOO, outcome, NOW))?.status;
  strictEqual(ready(synced(undefined)), "False");
  strictEqual(ready(synced(2)), "True");
  strictEqual(ready(synced(3)), "True", "scaling down");
  strictEqual(ready(synced(undefined, 0)), "True", "none are wanted");
});

Deno.test("R4 statusOf() is Ready with one Pod where someone else scales", () => {
  const spec = { deploymentName: "web" };
  const ready = (replicas: number, available: number) =>
    readyConditionOf(withStatus(FOO, {
      type: "synced",
      spec,
      deployment: deployment(replicas, available),
    }, NOW))?.status;
  deepStrictEqual([ready(4, 0), ready(4, 1), ready(9, 4), ready(0, 0)], [
    "False",
    "True",
    "True",
    "True",
  ]);
});

Deno.test("R2 statusOf() moves lastTransitionTime when the status flips, and only then", () => {
  const before = withStatus(FOO, synced(0), THEN);
  const later = readyConditionOf(withStatus(before, synced(1), NOW));
  strictEqual(later?.lastTransitionTime, THEN);
  const blocked: FooOutcome = {
    type: "blocked",
    reason: "ErrResourceExists",
    message: "taken",
    deployment: undefined,
  };
  strictEqual(readyConditionOf(withStatus(before, blocked, NOW))?.lastTransitionTime, THEN);
  strictEqual(readyConditionOf(withStatus(before, synced(2), NOW))?.lastTransitionTime, NOW);
});

Deno.test("statusOf() keeps conditions of others", () => {
  const theirs: FooCondition = {
    type: "example.com/Audited",
    status: "True",
    reason: "Yes",
    message: "",
    lastTransitionTime: THEN,
  };
  const before: Foo = { ...FOO, status: { conditions: [theirs] } };
  const status = statusOf({ foo: before, outcome: synced(2), now: NOW });
  deepStrictEqual(status.conditions?.map(({ type }) => type), ["example.com/Audited", "Ready"]);
});

Deno.test("R2 statusPatch() asks for nothing once the status is stored, whatever the clock says", () => {
  const outcome = fc.oneof(
    fc.nat(5).map((available) => synced(available)),
    fc.constantFrom<FooOutcome>({
      type: "blocked",
      reason: "InvalidSpec",
      message: "bad",
      deployment: undefined,
    }),
  );
  const fields = fc.subarray([...STATUS_FIELDS]).map((kept) => new Set(kept));
  fc.assert(fc.property(outcome, outcome, fields, (first, second, kept) => {
    const served = { hasSubresource: true, fields: kept };
    let foo = FOO;
    for (const each of [first, second]) {
      const wanted = statusOf({ foo, outcome: each, now: NOW });
      const patch = statusPatch({ foo, wanted, served });
      foo = patch === undefined ? foo : JSON.parse(JSON.stringify(applyMergePatch(
        JSON.parse(JSON.stringify(foo)),
        JSON.parse(JSON.stringify({ status: patch.status })),
      )));
      const again = statusOf({ foo, outcome: each, now: "2027-01-01T00:00:00Z" });
      // Without stored conditions every look would see a flip: they are not compared then.
      strictEqual(statusPatch({ foo, wanted: again, served }), undefined);
    }
  }));
});

Deno.test("statusPatch() holds just the differing fields, and preconditions", () => {
  const foo = withStatus(FOO, synced(2), THEN);
  const wanted = statusOf({ foo, outcome: synced(3), now: NOW });
  deepStrictEqual(statusPatch({ foo, wanted, served: OWN_SERVED_STATUS }), {
    metadata: { uid: "foo-uid", resourceVersion: "5" },
    status: { availableReplicas: 3 },
  });
});

Deno.test("R9 statusPatch() asks for nothing where there is no status subresource", () => {
  const wanted = statusOf({ foo: FOO, outcome: synced(3), now: NOW });
  const served = { ...OWN_SERVED_STATUS, hasSubresource: false };
  strictEqual(statusPatch({ foo: FOO, wanted, served }), undefined);
});

Deno.test("servedStatusOf() reads what a definition serves", () => {
  const served = (edit: (crd: CustomResourceDefinition) => void) => {
    const crd: CustomResourceDefinition = JSON.parse(JSON.stringify(definition(edit)));
    const { hasSubresource, fields = new Set() } = servedStatusOf(crd) ?? {};
    return [hasSubresource, ...fields];
  };
  deepStrictEqual(served(() => {}), [true, ...STATUS_FIELDS]);
  deepStrictEqual(served((crd) => delete crd.spec.versions[0]?.subresources), [
    false,
    ...STATUS_FIELDS,
  ]);
  deepStrictEqual(
    served((crd) => {
      const root = crd.spec.versions[0]?.schema?.openAPIV3Schema;
      Object.assign(root?.properties ?? {}, {
        status: { type: "object", properties: { availableReplicas: { type: "integer" } } },
      });
    }),
    [true, "availableReplicas"],
  );
  deepStrictEqual(
    served((crd) => {
      const root = crd.spec.versions[0]?.schema?.openAPIV3Schema;
      Object.assign(root?.properties ?? {}, {
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      });
    }),
    [true, ...STATUS_FIELDS],
  );
  deepStrictEqual(served((crd) => Object.assign(crd.spec.versions[0] ?? {}, { name: "v9" })), [
    undefined,
  ]);
});

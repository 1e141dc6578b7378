import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { Deployment } from "../../lib/client/kinds.ts";
import {
  draftDeployment,
  planDeployment,
  podLabels,
  slimDeployment,
  superseded,
} from "../../lib/foo/plan.ts";
import type { Foo, FooSpec } from "../../lib/foo/schema.ts";

const CREATED = { creationTimestamp: "2026-01-01T00:00:00Z" };

function foo(spec: FooSpec, { name = "a", uid = "foo-uid" } = {}): Foo {
  return {
    apiVersion: "samplecontroller.k8s.io/v1alpha1",
    kind: "Foo",
    metadata: { name, namespace: "default", uid, resourceVersion: "5", generation: 1, ...CREATED },
    spec,
  };
}

/** What the server stores of our draft, defaults of its own included. */
function stored(owner: Foo, edit: (deployment: Deployment) => void = () => {}): Deployment {
  const draft = draftDeployment(owner, owner.spec);
  const deployment: Deployment = structuredClone({
    apiVersion: "apps/v1",
    kind: "Deployment",
    ...draft,
    metadata: {
      ...draft.metadata,
      name: owner.spec.deploymentName,
      uid: "deployment-uid",
      resourceVersion: "9",
      ...CREATED,
    },
    ...(draft.spec === undefined ? {} : {
      spec: { ...draft.spec, replicas: draft.spec.replicas ?? 1, progressDeadlineSeconds: 600 },
    }),
  });
  edit(deployment);
  return deployment;
}

function planFor(owner: Foo, found: Deployment) {
  return planDeployment({ foo: owner, spec: owner.spec, found });
}

const WEB = foo({ deploymentName: "web", replicas: 2 });

Deno.test("draftDeployment() makes sample-controller's Deployment and the label that names us", () => {
  deepStrictEqual(draftDeployment(WEB, WEB.spec), {
    metadata: {
      name: "web",
      namespace: "default",
      labels: { "app.kubernetes.io/managed-by": "foo-operator" },
      ownerReferences: [{
        apiVersion: "samplecontroller.k8s.io/v1alpha1",
        kind: "Foo",
        name: "a",
        uid: "foo-uid",
        controller: true,
        blockOwnerDeletion: true,
      }],
    },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "nginx", controller: "a" } },
      template: {
        metadata: { labels: { app: "nginx", controller: "a" } },
        spec: { containers: [{ name: "nginx", image: "nginx:latest" }] },
      },
    },
  });
});

Deno.test("R4 draftDeployment() sends no replicas that the Foo does not give, but 0 if it gives 0", () => {
  const absent = foo({ deploymentName: "web" });
  ok(!("replicas" in (draftDeployment(absent, absent.spec).spec ?? {})));
  const none = foo({ deploymentName: "web", replicas: 0 });
  strictEqual(draftDeployment(none, none.spec).spec?.replicas, 0);
});

Deno.test("podLabels() makes valid, stable and distinct labels of any name", () => {
  deepStrictEqual(podLabels({ metadata: { name: "n".repeat(63) } }).controller, "n".repeat(63));
  // Written out: selectors can't be changed, so this value may never change either.
  strictEqual(
    podLabels({ metadata: { name: "n".repeat(100) } }).controller,
    `${"n".repeat(54)}-a17d4815`,
  );
  const label = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{62,250}[a-z0-9]$/);
  fc.assert(fc.property(label, label, (a, b) => {
    const of = (name: string) => podLabels({ metadata: { name } }).controller;
    ok(/^[a-z0-9][-a-z0-9_.]{0,61}[a-z0-9]$/.test(of(a)), of(a));
    return a === b || of(a) !== of(b);
  }));
});

Deno.test("R1 planDeployment() keeps what the server stored of our draft, defaults and all", () => {
  fc.assert(fc.property(fc.option(fc.nat(10), { nil: undefined }), (replicas) => {
    const owner = foo({ deploymentName: "web", ...(replicas === undefined ? {} : { replicas }) });
    return planFor(owner, stored(owner)).type === "keep" &&
      planFor(owner, slimDeployment(stored(owner))).type === "keep";
  }));
});

Deno.test("R1 planDeployment() leaves fields of others alone", () => {
  const found = stored(WEB, ({ metadata, spec }) => {
    metadata.annotations = { by: "hand" };
    metadata.labels = { ...metadata.labels, more: "theirs" };
    metadata.finalizers = ["example.com/theirs"];
    metadata.ownerReferences?.push({ apiVersion: "v1", kind: "Node", name: "n", uid: "other" });
    spec?.template.spec?.containers.unshift({ name: "sidecar", image: "sidecar:1" });
    if (spec !== undefined) spec.paused = true;
  });
  deepStrictEqual(planFor(WEB, found), { type: "keep" });
});

Deno.test("planDeployment() corrects exactly the field that differs, with preconditions", () => {
  const preconditions = { uid: "deployment-uid", resourceVersion: "9" };
  const cases: [string, (deployment: Deployment) => void, unknown][] = [
    ["replicas", ({ spec }) => Object.assign(spec ?? {}, { replicas: 5 }), {
      metadata: preconditions,
      spec: { replicas: 2 },
    }],
    ["our label", ({ metadata }) => void (metadata.labels = {}), {
      metadata: { labels: { "app.kubernetes.io/managed-by": "foo-operator" }, ...preconditions },
    }],
    ["the image", ({ spec }) => {
      Object.assign(spec?.template.spec?.containers[0] ?? {}, { image: "busybox" });
    }, {
      metadata: preconditions,
      spec: { template: { spec: { containers: [{ name: "nginx", image: "nginx:latest" }] } } },
    }],
    ["the owner reference", ({ metadata }) => {
      Object.assign(metadata.ownerReferences?.[0] ?? {}, { blockOwnerDeletion: false });
    }, {
      metadata: {
        ownerReferences: draftDeployment(WEB, WEB.spec).metadata.ownerReferences,
        ...preconditions,
      },
    }],
  ];
  for (const [what, edit, patch] of cases) {
    deepStrictEqual(planFor(WEB, stored(WEB, edit)), { type: "correct", patch }, what);
  }
});

Deno.test("R4 planDeployment() says nothing of replicas in any correction while the Foo does not", () => {
  const owner = foo({ deploymentName: "web" });
  const found = stored(owner, ({ metadata, spec }) => {
    metadata.labels = {};
    Object.assign(spec ?? {}, { replicas: 9 });
  });
  const plan = planFor(owner, found);
  ok(plan.type === "correct" && plan.patch.spec === undefined);
});

Deno.test("planDeployment() asks for no Pod label that an immutable selector contradicts", () => {
  const found = stored(WEB, ({ spec }) => {
    if (spec === undefined) return;
    spec.selector = { matchLabels: { app: "other", controller: "a" } };
    spec.template.metadata = { labels: { app: "other", controller: "x" } };
  });
  deepStrictEqual(planFor(WEB, found), {
    type: "correct",
    patch: {
      metadata: { uid: "deployment-uid", resourceVersion: "9" },
      spec: { template: { metadata: { labels: { controller: "a" } } } },
    },
  });
});

Deno.test("R6 planDeployment() takes for foreign what this very Foo does not control, by uid", () => {
  strictEqual(planFor(WEB, stored(foo(WEB.spec, { uid: "earlier" }))).type, "foreign");
  const unowned = stored(WEB, ({ metadata }) => void (metadata.ownerReferences = []));
  strictEqual(planFor(WEB, unowned).type, "foreign");
  const notController = stored(WEB, ({ metadata }) => {
    Object.assign(metadata.ownerReferences?.[0] ?? {}, { controller: false });
  });
  strictEqual(planFor(WEB, notController).type, "foreign");
});

Deno.test("planDeployment() waits for the end of a Deployment of ours that is being deleted", () => {
  const found = stored(WEB, ({ metadata }) => {
    metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    metadata.labels = {};
  });
  strictEqual(planFor(WEB, found).type, "wait");
});

Deno.test("superseded() names the Deployments of older names, but none that goes already", () => {
  const current = stored(WEB);
  const old = stored(foo({ deploymentName: "old" }));
  const going = stored(foo({ deploymentName: "going" }), ({ metadata }) => {
    metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  });
  const owned = [old, current, going];
  deepStrictEqual(superseded({ owned, current }).map(({ metadata }) => metadata.name), ["old"]);
});

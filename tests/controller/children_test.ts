/** What is told of a child whose wanted values the server stores in other words. */
import { deepStrictEqual } from "node:assert/strict";
import { type Deployment, DEPLOYMENTS } from "../../lib/client/kinds.ts";
import { ensureChild } from "../../lib/controller/children.ts";
import { controllerReferenceTo, type Draft } from "../../lib/core/objects.ts";

Deno.test("R1 ensureChild() tells no change where the server made no new version", async () => {
  const identity = { namespace: "default", resourceVersion: "7", creationTimestamp: "" };
  const owner = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { ...identity, name: "owner", uid: "u1" },
  };
  const container = (cpu: string) => ({ name: "main", resources: { limits: { cpu } } });
  const spec = (cpu: string) => ({
    selector: {},
    template: { metadata: {}, spec: { containers: [container(cpu)] } },
  });
  const found: Deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      ...identity,
      name: "child",
      uid: "u2",
      ownerReferences: [controllerReferenceTo(owner, DEPLOYMENTS.gvk)],
    },
    spec: spec("1"),
  };
  const told: string[] = [];
  for (const version of ["7", "8"]) {
    const answer = { ...found, metadata: { ...found.metadata, resourceVersion: version } };
    const wanted: Draft<Deployment> & { metadata: { name: string } } = {
      metadata: { name: "child", namespace: "default" },
      spec: spec("1000m"),
    };
    const { type } = await ensureChild<Deployment>({
      client: {
        create: () => Promise.reject(new Error("it is there")),
        get: () => Promise.resolve(found),
        patch: () => Promise.resolve(answer),
        delete: () => Promise.reject(new Error("it is wanted")),
      },
      owner,
      ownerKind: DEPLOYMENTS,
      wanted,
      found,
      signal: new AbortController().signal,
    });
    told.push(type);
  }
  deepStrictEqual(told, ["unchanged", "changed"]);
});

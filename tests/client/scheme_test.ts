import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  BUILT_IN_KINDS,
  defineKind,
  HORIZONTAL_POD_AUTOSCALERS,
  HORIZONTAL_POD_AUTOSCALERS_V1,
  PODS,
} from "../../lib/client/kinds.ts";
import { builtInScheme, Scheme } from "../../lib/client/scheme.ts";
import { AssertionError } from "../../lib/core/errors.ts";
import type { KubeObject } from "../../lib/core/objects.ts";

const cron = (version: string, plural = "crons") =>
  defineKind<KubeObject>({ group: "example.com", version, kind: "Cron", plural, scope: "Cluster" });

Deno.test("Scheme finds kinds by either name, by object and by path", () => {
  const scheme = builtInScheme();
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } };
  strictEqual(scheme.find(pod), PODS);
  strictEqual(scheme.find(PODS.gvk), PODS);
  strictEqual(scheme.find({ apiVersion: "v2", kind: "Pod" }), undefined);
  strictEqual(scheme.findResource({ group: "", resource: "pods" }), PODS);
  strictEqual(
    scheme.findResource({
      group: "autoscaling",
      version: "v1",
      resource: "horizontalpodautoscalers",
    }),
    HORIZONTAL_POD_AUTOSCALERS_V1,
  );
  strictEqual(scheme.findResource({ group: "x", resource: "pods" }), undefined);
  strictEqual(scheme.all().length, BUILT_IN_KINDS.length);
});

Deno.test("Scheme holds several versions of a kind, the first one preferred", () => {
  const name = { group: "example.com", kind: "Cron" };
  const [v1, v2] = [cron("v1"), cron("v2")];
  const scheme = builtInScheme().add(v2, v1);
  deepStrictEqual(scheme.versions(name), [v2, v1]);
  strictEqual(scheme.preferred(name), v2);
  strictEqual(scheme.findResource({ group: "example.com", resource: "crons" }), v2);
  const autoscaler = { group: "autoscaling", kind: "HorizontalPodAutoscaler" };
  strictEqual(scheme.preferred(autoscaler), HORIZONTAL_POD_AUTOSCALERS);
  deepStrictEqual(scheme.versions({ group: "x", kind: "Y" }), []);
  strictEqual(new Scheme().preferred(name), undefined);
});

Deno.test("Scheme takes a definition again, but no other one of the same kind", () => {
  const v1 = cron("v1");
  const scheme = new Scheme().add(v1, v1).add(v1);
  strictEqual(scheme.all().length, 1);
  throws(() => scheme.add(cron("v1", "cronjobs")), AssertionError);
});

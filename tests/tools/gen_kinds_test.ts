import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  constantOf,
  kindsOf,
  kindsText,
  named,
  type ServedKind,
  tableText,
  typesText,
} from "../../tools/gen_kinds.ts";

const resource = (kind: string, resource: string, ...subresources: string[]) => ({
  resource,
  responseKind: { kind },
  scope: "Namespaced",
  subresources: subresources.map((subresource) => ({ subresource })),
});

const DISCOVERY = {
  items: [
    {
      metadata: { name: "" },
      versions: [{
        version: "v1",
        resources: [resource("Binding", "bindings"), resource("Event", "events")],
      }],
    },
    {
      metadata: { name: "autoscaling" },
      versions: ["v2", "v1"].map((version) => ({
        version,
        resources: [resource("HorizontalPodAutoscaler", "horizontalpodautoscalers", "status")],
      })),
    },
  ],
};

const CLASSES = new Set([
  "CoreV1Event",
  "V1HorizontalPodAutoscaler",
  "V2HorizontalPodAutoscaler",
]);

Deno.test("kindsOf() reads each version's kinds, and leaves out what is never stored", () => {
  deepStrictEqual(
    kindsOf(DISCOVERY).map(({ group, version, plural, subresources }) => [
      group,
      version,
      plural,
      subresources,
    ]),
    [
      ["", "v1", "events", []],
      ["autoscaling", "v2", "horizontalpodautoscalers", ["status"]],
      ["autoscaling", "v1", "horizontalpodautoscalers", ["status"]],
    ],
  );
});

Deno.test("named() tells versions and the two Events apart, and finds each class", () => {
  deepStrictEqual(
    named(kindsOf(DISCOVERY), CLASSES).map(({ type, constant, source }) => [
      type,
      constant,
      source,
    ]),
    [
      ["CoreEvent", "CORE_EVENTS", "CoreV1Event"],
      ["HorizontalPodAutoscaler", "HORIZONTAL_POD_AUTOSCALERS", "V2HorizontalPodAutoscaler"],
      ["HorizontalPodAutoscalerV1", "HORIZONTAL_POD_AUTOSCALERS_V1", "V1HorizontalPodAutoscaler"],
    ],
  );
  throws(() => named(kindsOf(DISCOVERY), new Set()), /Cannot find V1Event or CoreV1Event/);
});

Deno.test("constantOf() separates the words of a kind, not the ending of its plural", () => {
  const names: [kind: string, plural: string, constant: string][] = [
    ["NetworkPolicy", "networkpolicies", "NETWORK_POLICIES"],
    ["Endpoints", "endpoints", "ENDPOINTS"],
    ["Ingress", "ingresses", "INGRESSES"],
    ["CSIStorageCapacity", "csistoragecapacities", "CSI_STORAGE_CAPACITIES"],
    ["ServiceCIDR", "servicecidrs", "SERVICE_CIDRS"],
  ];
  for (const [kind, plural, constant] of names) strictEqual(constantOf(kind, plural), constant);
});

Deno.test("the generated texts name every kind once", () => {
  const kinds = named(kindsOf(DISCOVERY) satisfies ServedKind[], CLASSES);
  const table = tableText(kinds, "v1.36.0");
  strictEqual(table.match(/^ {2}\[/gm)?.length, 3);
  strictEqual(typesText(kinds, "v1.36.0").match(/^export type/gm)?.length, 3);
  const definitions = kindsText(kinds, "v1.36.0");
  strictEqual(definitions.includes("HORIZONTAL_POD_AUTOSCALERS_V1: "), true);
  strictEqual(definitions.includes('define("autoscaling/v1", "HorizontalPodAutoscaler")'), true);
});

/**
 * Answers of a real kube-apiserver 1.36, recorded in `tests/simulator/recorded/`, in a form in which
 * two answers can be compared: what the server gives in no fixed order, or from its clock, is put
 * in order or left out. Unit tests hold the simulator's parts to them; the contract suite holds the
 * recordings, and the whole simulator, to the real server.
 *
 * A recording holds requests and answers. When a newer server answers otherwise, the contract suite
 * on the real server says which step differs, and the answer is corrected by hand after thought: the
 * simulator follows the server, never the other way round.
 *
 * @module
 */

import type { Json } from "./kube.ts";

/**
 * Causes as sorted lines. The server tells the errors of one object's members in no fixed order, and
 * what its CEL compiler says of a wrong expression is its own wording.
 */
export function comparableCauses(causes: Json): string[] {
  return (causes ?? []).map(({ reason, field, message }: Json) =>
    `${reason} ${field} ${message.replace(/compilation failed: [^]*$/, "compilation failed")}`
  ).sort();
}

/** Owners of fields as sorted lines, without times and without the control plane's own. */
export function comparableOwners(managedFields: Json): string[] {
  return (managedFields ?? [])
    .filter(({ manager }: Json) => manager !== "kube-controller-manager")
    .map(({ manager, operation, subresource = "", fieldsV1 }: Json) =>
      `${manager} ${operation} ${subresource} ${JSON.stringify(fieldsV1)}`
    ).sort();
}

/** What is compared of the answer to one step of a recorded sequence. */
export function comparableStep(answer: Json): Json {
  return {
    code: answer.code,
    spec: answer.spec ?? null,
    labels: answer.labels ?? {},
    finalizers: answer.finalizers ?? [],
    message: (answer.message ?? "").split("\n").sort(),
    causes: comparableCauses(answer.causes),
    owners: comparableOwners(answer.managedFields),
  };
}

/** `recorded` as if it had been recorded in the API group `group`. */
export function inGroup(recorded: Json, group: string): Json {
  return JSON.parse(
    JSON.stringify(recorded)
      .replaceAll("test.io/v1", `${group}/v1`)
      .replaceAll("Widget.test.io", `Widget.${group}`),
  );
}

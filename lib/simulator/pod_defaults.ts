/**
 * What the API server fills into Pod specs, and so into the templates of workloads. An operator that
 * compares whole specs meets these fields in each object it reads back.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { objectOf, stringAt } from "./api_object.ts";

/** `object` with `defaults` for members that are absent. */
export function withDefaults(object: JsonObject, defaults: JsonObject): JsonObject {
  return { ...defaults, ...object };
}

/** `items` with each object replaced by `change` of it. */
function each(items: Json | undefined, change: (item: JsonObject) => JsonObject): Json[] {
  return Array.isArray(items) ? items.map((item) => isJsonObject(item) ? change(item) : item) : [];
}

/** `object` with the list at `member`, where there is one, changed item by item. */
function changed(
  object: JsonObject,
  member: string,
  change: (item: JsonObject) => JsonObject,
): JsonObject {
  return Array.isArray(object[member])
    ? { ...object, [member]: each(object[member], change) }
    : object;
}

/** A Pod spec with the server's defaults. */
export function defaultedPodSpec(spec: JsonObject): JsonObject {
  let result = withDefaults(spec, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
  });
  // The older name of the field is kept in step.
  const account = stringAt(spec, "serviceAccountName") || stringAt(spec, "serviceAccount");
  if (account !== "") result = { ...result, serviceAccountName: account, serviceAccount: account };
  result = changed(result, "containers", defaultedContainer);
  result = changed(result, "initContainers", defaultedContainer);
  return changed(result, "volumes", defaultedVolume);
}

/** A container with pull policy, termination log, ports and probes filled in. */
function defaultedContainer(container: JsonObject): JsonObject {
  let result = withDefaults(container, {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicyOf(stringAt(container, "image")),
  });
  result = changed(result, "ports", (port) => withDefaults(port, { protocol: "TCP" }));
  result = changed(result, "env", defaultedVariable);
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    if (isJsonObject(result[probe])) {
      result = { ...result, [probe]: defaultedProbe(objectOf(result[probe])) };
    }
  }
  return result;
}

/** Images without a tag, or with `latest`, are pulled always. */
function pullPolicyOf(image: string): string {
  const [, tag = ""] = /:([^:/@]+)(?:@.*)?$/.exec(image) ?? [];
  if (image.includes("@")) return "IfNotPresent";
  return tag === "" || tag === "latest" ? "Always" : "IfNotPresent";
}

/** A variable that reads a field says of which version. */
function defaultedVariable(variable: JsonObject): JsonObject {
  const source = objectOf(variable.valueFrom);
  if (!isJsonObject(source.fieldRef)) return variable;
  const fieldRef = withDefaults(source.fieldRef, { apiVersion: "v1" });
  return { ...variable, valueFrom: { ...source, fieldRef } };
}

/** A probe with its periods and thresholds. */
function defaultedProbe(probe: JsonObject): JsonObject {
  let result = withDefaults(probe, {
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
  if (isJsonObject(probe.httpGet)) {
    result = { ...result, httpGet: withDefaults(probe.httpGet, { path: "/", scheme: "HTTP" }) };
  }
  if (isJsonObject(probe.grpc)) {
    result = { ...result, grpc: withDefaults(probe.grpc, { service: "" }) };
  }
  return result;
}

/** A volume with the mode of its files (420 is 0644). */
function defaultedVolume(volume: JsonObject): JsonObject {
  const result = { ...volume };
  for (const source of ["secret", "configMap", "downwardAPI", "projected"]) {
    if (isJsonObject(result[source])) {
      result[source] = withDefaults(result[source], { defaultMode: 420 });
    }
  }
  return result;
}

/**
 * Defaults and validation of built-in kinds, as far as operators meet them. What is not checked here
 * is taken as it comes.
 *
 * @module
 */

import { isJsonObject, jsonEqual, type JsonObject, withoutMember } from "../core/json.ts";
import { matchesLabels, requirementsOf } from "../core/selectors.ts";
import {
  numberAt,
  objectAt,
  objectOf,
  objectsAt,
  stringAt,
  stringMapAt,
  stringsAt,
  valueAt,
} from "./api_object.ts";
import { type FieldError, invalidField, requiredField } from "./field_errors.ts";
import { defaultedPodSpec, withDefaults } from "./pod_defaults.ts";

/** `object` with its spec changed. */
function withSpec(object: JsonObject, change: (spec: JsonObject) => JsonObject): JsonObject {
  return { ...object, spec: change(objectOf(object.spec)) };
}

/** The Pod template of a workload, defaulted like a Pod. */
function withTemplate(spec: JsonObject): JsonObject {
  const template = objectOf(spec.template);
  const metadata = objectOf(template.metadata);
  return {
    ...spec,
    template: { ...template, metadata, spec: defaultedPodSpec(objectOf(template.spec)) },
  };
}

/** A Deployment with the server's defaults. */
export function defaultedDeployment(object: JsonObject): JsonObject {
  return withSpec(object, (sent) => {
    const spec = withDefaults(sent, {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    });
    const strategy = withDefaults(objectOf(spec.strategy), { type: "RollingUpdate" });
    if (strategy.type === "RollingUpdate") {
      strategy.rollingUpdate = withDefaults(objectOf(strategy.rollingUpdate), {
        maxUnavailable: "25%",
        maxSurge: "25%",
      });
    }
    return withTemplate({ ...spec, strategy });
  });
}

/** A ReplicaSet with the server's defaults. */
export function defaultedReplicaSet(object: JsonObject): JsonObject {
  return withSpec(object, (spec) => withTemplate(withDefaults(spec, { replicas: 1 })));
}

/** A Pod with the server's defaults, and what admission adds. */
export function defaultedPod(object: JsonObject): JsonObject {
  return withSpec(object, (sent) => {
    const spec = defaultedPodSpec(sent);
    const account = stringAt(spec, "serviceAccountName") || "default";
    return withDefaults(spec, {
      enableServiceLinks: true,
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      serviceAccountName: account,
      serviceAccount: account,
      tolerations: ["not-ready", "unreachable"].map((taint) => ({
        key: `node.kubernetes.io/${taint}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      })),
    });
  });
}

/** What is wrong with the spec of a Deployment or ReplicaSet. */
export function workloadErrors(
  object: JsonObject,
  previous: JsonObject | undefined,
): FieldError[] {
  const spec = objectAt(object, "spec");
  const errors: FieldError[] = [];
  const replicas = valueAt(spec, "replicas");
  if (typeof replicas === "number" && replicas < 0) {
    errors.push(
      invalidField("spec.replicas", replicas, "must be greater than or equal to 0"),
    );
  }
  const hasSelector = isJsonObject(spec.selector) && Object.keys(spec.selector).length > 0;
  if (!hasSelector) errors.push(requiredField("spec.selector"));
  const labels = stringMapAt(spec, "template", "metadata", "labels");
  if (!hasSelector || !selects(objectOf(spec.selector), labels)) {
    errors.push(invalidField(
      "spec.template.metadata.labels",
      Object.keys(labels).length === 0 ? null : labels,
      "`selector` does not match template `labels`",
    ));
  }
  errors.push(...podSpecErrors(objectAt(spec, "template", "spec"), "spec.template.spec"));
  if (previous !== undefined && !jsonEqual(spec.selector, objectAt(previous, "spec").selector)) {
    errors.push(invalidField("spec.selector", spec.selector, "field is immutable"));
  }
  return errors;
}

/** True if the selector says something and the labels fit it. */
function selects(selector: JsonObject, labels: Record<string, string>): boolean {
  const requirements = requirementsOf({
    matchLabels: stringMapAt(selector, "matchLabels"),
    matchExpressions: objectsAt(selector, "matchExpressions").map((expression) => ({
      key: stringAt(expression, "key"),
      operator: stringAt(expression, "operator"),
      values: stringsAt(expression, "values"),
    })),
  });
  return requirements !== undefined && requirements.length > 0 &&
    matchesLabels(requirements, labels);
}

/** What is wrong with a Pod spec: containers, their names and images. */
export function podSpecErrors(spec: JsonObject, at: string): FieldError[] {
  const containers = objectsAt(spec, "containers");
  if (containers.length === 0) return [requiredField(`${at}.containers`)];
  const names = new Set<string>();
  return containers.flatMap((container, index) => {
    const errors: FieldError[] = [];
    const place = `${at}.containers[${index}]`;
    const name = stringAt(container, "name");
    if (name === "") errors.push(requiredField(`${place}.name`));
    else if (names.has(name)) {
      errors.push({
        reason: "FieldValueDuplicate",
        field: `${place}.name`,
        message: `Duplicate value: ${JSON.stringify(name)}`,
      });
    }
    names.add(name);
    if (stringAt(container, "image") === "") errors.push(requiredField(`${place}.image`));
    return errors;
  });
}

/** What is wrong with a Pod: its spec, and changes of what is immutable. */
export function podErrors(object: JsonObject): FieldError[] {
  return podSpecErrors(objectAt(object, "spec"), "spec");
}

/** A Service with the server's defaults; the cluster IP is given apart. */
export function defaultedService(object: JsonObject): JsonObject {
  return withSpec(object, (sent) => {
    const ports = objectsAt(sent, "ports").map((port) => {
      const result = withDefaults(port, { protocol: "TCP" });
      return result.targetPort === undefined && result.port !== undefined
        ? { ...result, targetPort: result.port }
        : result;
    });
    const spec = withDefaults(sent, {
      type: "ClusterIP",
      sessionAffinity: "None",
    });
    if (ports.length > 0) spec.ports = ports;
    if (spec.type === "ExternalName") return spec;
    return withDefaults(spec, {
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    });
  });
}

/** A Secret with its type, and stringData moved into data. */
export function defaultedSecret(object: JsonObject): JsonObject {
  const plain = objectOf(object.stringData);
  const encoder = new TextEncoder();
  const data = { ...objectOf(object.data) };
  for (const [key, value] of Object.entries(plain)) {
    if (typeof value === "string") data[key] = base64(encoder.encode(value));
  }
  const result = withDefaults(withoutMember(object, "stringData"), { type: "Opaque" });
  return Object.keys(data).length === 0 ? result : { ...result, data };
}

/** Standard base64 with padding, as Secrets hold it. */
function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** A Namespace with its finalizer, its label and its phase. */
export function defaultedNamespace(object: JsonObject): JsonObject {
  const metadata = objectOf(object.metadata);
  const name = stringAt(metadata, "name");
  const labels = { ...objectOf(metadata.labels), "kubernetes.io/metadata.name": name };
  const isNew = object.status === undefined;
  return {
    ...object,
    metadata: { ...metadata, labels },
    spec: isNew ? { finalizers: ["kubernetes"] } : objectOf(object.spec),
    status: isNew ? { phase: "Active" } : objectOf(object.status),
  };
}

/** A binding whose subjects and role name their API group. */
export function defaultedBinding(object: JsonObject): JsonObject {
  const apiGroup = "rbac.authorization.k8s.io";
  const subjects = objectsAt(object, "subjects").map((subject) =>
    stringAt(subject, "kind") === "ServiceAccount" ? subject : withDefaults(subject, { apiGroup })
  );
  const result = { ...object, roleRef: withDefaults(objectOf(object.roleRef), { apiGroup }) };
  return subjects.length === 0 ? result : { ...result, subjects };
}

/** Webhook configurations with the server's defaults. */
export function defaultedWebhooks(isMutating: boolean): (object: JsonObject) => JsonObject {
  return (object) => ({
    ...object,
    webhooks: objectsAt(object, "webhooks").map((webhook) => {
      const result = withDefaults(webhook, {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...(isMutating ? { reinvocationPolicy: "Never" } : {}),
      });
      if (Array.isArray(result.rules)) {
        result.rules = objectsAt(result, "rules").map((rule) => withDefaults(rule, { scope: "*" }));
      }
      const client = objectOf(result.clientConfig);
      if (isJsonObject(client.service)) {
        result.clientConfig = { ...client, service: withDefaults(client.service, { port: 443 }) };
      }
      return result;
    }),
  });
}

/** What is wrong with a Lease. */
export function leaseErrors(object: JsonObject): FieldError[] {
  return ["leaseDurationSeconds", "leaseTransitions"].flatMap((field) => {
    const value = numberAt(object, "spec", field);
    if (value === undefined) return [];
    if (field === "leaseDurationSeconds" && value <= 0) {
      return [invalidField(`spec.${field}`, value, "must be greater than 0")];
    }
    return value < 0
      ? [invalidField(`spec.${field}`, value, "must be greater than or equal to 0")]
      : [];
  });
}

/**
 * What is served, as clients ask for it: group, version and resource lists, in the legacy and the
 * aggregated form.
 *
 * @module
 */

import { acceptEntries } from "./representation.ts";
import { unknownResource } from "./api_status.ts";
import type { JsonObject } from "../core/json.ts";
import { apiVersionOf } from "../core/objects.ts";
import { type DocumentedVersion, openApiDocument, openApiIndex, openApiKey } from "./openapi.ts";
import type { GroupVersions, Registry } from "./registry.ts";
import { jsonReply, type Reply } from "./request.ts";
import { ALL_VERBS, type Resource } from "./resource_type.ts";

/** Answers `/api`, `/api/v1`, `/apis`, `/apis/g` and `/apis/g/v`; `undefined` for other paths. */
export function discover(
  registry: Registry,
  parts: readonly string[],
  headers: Headers,
): Reply | undefined {
  const [root, first, second] = parts;
  if (root === "api" && parts.length === 1) {
    return aggregatedReply(headers, [["", ["v1"]]], registry) ?? jsonReply(200, API_VERSIONS);
  }
  if (root === "api" && parts.length === 2) return resourceList(registry, "", first ?? "");
  if (root !== "apis") return undefined;
  if (parts.length === 1) return groupList(registry, headers);
  const group = registry.groups().find((each) => each.group === first);
  if (parts.length === 2) {
    return group === undefined ? undefined : jsonReply(
      200,
      JSON.stringify({
        kind: "APIGroup",
        apiVersion: "v1",
        ...groupJson(group),
      }),
    );
  }
  return parts.length === 3 && group !== undefined
    ? resourceList(registry, first ?? "", second ?? "")
    : undefined;
}

const API_VERSIONS = JSON.stringify({
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1" }],
});

/** `/apis`. The aggregated form saves clients a request per group version. */
function groupList(registry: Registry, headers: Headers): Reply {
  const groups = registry.groups();
  const aggregated = aggregatedReply(
    headers,
    groups.map(({ group, versions }) => [group, versions]),
    registry,
  );
  return aggregated ?? jsonReply(
    200,
    JSON.stringify({
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: groups.map(groupJson),
    }),
  );
}

/** A group with its versions, the preferred one first. */
function groupJson({ group, versions }: GroupVersions): JsonObject {
  const list = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: list, preferredVersion: list[0] ?? null };
}

/**
 * The list of one group version.
 *
 * @throws {StatusError} 404 if it is not served.
 */
function resourceList(registry: Registry, group: string, version: string): Reply {
  const resources = registry.ofGroupVersion(group, version);
  if (resources.length === 0) throw unknownResource();
  return jsonReply(
    200,
    JSON.stringify({
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: apiVersionOf({ group, version }),
      resources: resources.flatMap((resource) => [
        resourceJson(resource),
        ...subresourcesOf(resource).map((subresource) => ({
          name: `${resource.type.plural}/${subresource.name}`,
          singularName: "",
          namespaced: resource.type.isNamespaced,
          ...subresource.gvk,
          verbs: subresource.verbs,
        })),
      ]),
    }),
  );
}

/** One kind in the legacy form. */
function resourceJson({ type }: Resource): JsonObject {
  return {
    name: type.plural,
    singularName: type.singular,
    namespaced: type.isNamespaced,
    kind: type.kind,
    verbs: [...(type.rules.verbs ?? ALL_VERBS)],
    ...(type.shortNames.length === 0 ? {} : { shortNames: [...type.shortNames] }),
    ...(type.categories.length === 0 ? {} : { categories: [...type.categories] }),
  };
}

interface Subresource {
  readonly name: string;
  /** Group and version only where they differ from the kind's own. */
  readonly gvk: { kind: string; group?: string; version?: string };
  readonly verbs: string[];
}

const SUBRESOURCE_VERBS = ["get", "patch", "update"];

/** Subresources of a kind; scale answers with a kind of another group, which it says. */
function subresourcesOf({ type, version }: Resource): Subresource[] {
  const found: Subresource[] = [];
  if (type.kind === "Namespace" && !type.isCustom) {
    found.push({ name: "finalize", gvk: { kind: "Namespace" }, verbs: ["update"] });
  }
  if (version.scale !== undefined) {
    found.push({
      name: "scale",
      gvk: { group: "autoscaling", version: "v1", kind: "Scale" },
      verbs: SUBRESOURCE_VERBS,
    });
  }
  if (version.hasStatus) {
    found.push({ name: "status", gvk: { kind: type.kind }, verbs: SUBRESOURCE_VERBS });
  }
  return found;
}

/** The aggregated form, if the request prefers it. */
function aggregatedReply(
  headers: Headers,
  groups: readonly (readonly [string, readonly string[]])[],
  registry: Registry,
): Reply | undefined {
  const [first] = acceptEntries(headers.get("accept"));
  const version = first?.parameters.get("v") ?? "";
  if (first?.parameters.get("g") !== "apidiscovery.k8s.io") return undefined;
  if (first.parameters.get("as") !== "APIGroupDiscoveryList") return undefined;
  const text = JSON.stringify({
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(([group, versions]) => ({
      metadata: group === ""
        ? { creationTimestamp: null }
        : { name: group, creationTimestamp: null },
      versions: versions.map((name) => ({
        version: name,
        resources: registry.ofGroupVersion(group, name).map(discoveredResource),
        freshness: "Current",
      })),
    })),
  });
  return {
    status: 200,
    body: text,
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
  };
}

/** One kind in the aggregated form, which holds its subresources. */
function discoveredResource(resource: Resource): JsonObject {
  const { type, version } = resource;
  const own = { group: type.group, version: version.name };
  const subresources = subresourcesOf(resource).map(({ name, gvk, verbs }) => ({
    subresource: name,
    responseKind: { ...own, ...gvk },
    verbs,
  }));
  return {
    resource: type.plural,
    responseKind: { ...own, kind: type.kind },
    scope: type.isNamespaced ? "Namespaced" : "Cluster",
    singularResource: type.singular,
    verbs: [...(type.rules.verbs ?? ALL_VERBS)],
    ...(type.shortNames.length === 0 ? {} : { shortNames: [...type.shortNames] }),
    ...(type.categories.length === 0 ? {} : { categories: [...type.categories] }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Answers `/openapi/v3` and the documents below it; `undefined` for other paths. */
export function openApiReply(registry: Registry, parts: readonly string[]): Reply | undefined {
  const [, form, ...rest] = parts;
  if (form !== "v3") return undefined;
  const versions = documentedVersions(registry);
  if (rest.length === 0) return jsonReply(200, JSON.stringify(openApiIndex(versions)));
  const found = versions.find((version) => openApiKey(version) === rest.join("/"));
  return found === undefined ? undefined : jsonReply(200, JSON.stringify(openApiDocument(found)));
}

/** All served group versions, the core one first, as the documents need them. */
function documentedVersions(registry: Registry): DocumentedVersion[] {
  const served = [{ group: "", versions: ["v1"] }, ...registry.groups()];
  return served.flatMap(({ group, versions }) =>
    versions.map((version) => ({
      group,
      version,
      kinds: registry.ofGroupVersion(group, version).map((resource) => ({
        kind: resource.type.kind,
        plural: resource.type.plural,
        isNamespaced: resource.type.isNamespaced,
        subresources: subresourcesOf(resource).map(({ name }) => name),
        schema: resource.version.openApiSchema,
      })),
    }))
  );
}

/**
 * What an API server serves, as read from its discovery documents, and ways to look it up.
 *
 * Pure: `discovery.ts` fetches the documents. Entries whose names could not stand in a path are left
 * out, since they may come from any API server behind the aggregation layer.
 *
 * @module
 */

import { isJsonObject } from "../core/json.ts";
import type { AnyObject } from "../core/watch_event.ts";
import type { GroupVersionKind } from "../core/objects.ts";
import { isBuiltInKind, type KindDefinition, type Scope } from "./kinds.ts";

/** A subresource. */
export interface ApiSubresource {
  /** As in the path: `scale`. */
  readonly name: string;
  /** Kind of what is sent and answered; absent if the server does not say. */
  readonly gvk?: GroupVersionKind;
  /** What can be done with it: `get`, `update`, … */
  readonly verbs: readonly string[];
}

/** A kind that is served in one version, with its names and what can be done with it. */
export interface ApiResource {
  /** Group, version and kind of its objects. */
  readonly gvk: GroupVersionKind;
  /** As in the path: `deployments`. */
  readonly plural: string;
  /** `deployment`; `""` if the server does not say. */
  readonly singular: string;
  /** Whether its objects have a namespace. */
  readonly scope: Scope;
  /** What can be done with it: `get`, `list`, `watch`, … */
  readonly verbs: readonly string[];
  /** What people call it: `deploy`. */
  readonly shortNames: readonly string[];
  /** Groups of kinds, as `all`. */
  readonly categories: readonly string[];
  /** What is below its objects: `status`, `scale`. */
  readonly subresources: readonly ApiSubresource[];
}

/** One version of a group. */
export interface ApiVersion {
  /** As in the path: `v1beta1`. */
  readonly version: string;
  /** True if the server could not ask the one that serves it: `resources` may be old or missing. */
  readonly isStale: boolean;
  /** The kinds that are served in it. */
  readonly resources: readonly ApiResource[];
}

/** One group. The core group's name is `""`. */
export interface ApiGroup {
  /** As in the path: `apps`. */
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly ApiVersion[];
}

/** All that is served. */
export interface ApiCatalog {
  /** In the server's order of priority, the core group first. */
  readonly groups: readonly ApiGroup[];
}

type Fields = Readonly<Record<string, unknown>>;

/** The groups of an `APIGroupDiscoveryList`; `undefined` if `value` is none. */
export function parseAggregated(value: unknown): ApiGroup[] | undefined {
  if (!isJsonObject(value) || value["kind"] !== "APIGroupDiscoveryList") return undefined;
  return objectsOf(value["items"]).map(({ metadata, versions }) => {
    const name = isJsonObject(metadata) ? textOf(metadata["name"]) : "";
    return {
      name,
      versions: objectsOf(versions).map(({ version, freshness, resources }) => ({
        version: textOf(version),
        isStale: freshness === "Stale",
        resources: objectsOf(resources).flatMap((resource) =>
          aggregatedResource(resource, { group: name, version: textOf(version) })
        ),
      })),
    };
  });
}

/** Group and version that serve something. */
export type GroupVersion = Omit<GroupVersionKind, "kind">;

function aggregatedResource(fields: Fields, served: GroupVersion): ApiResource[] {
  const subresources = objectsOf(fields["subresources"]).map((each) => ({
    name: textOf(each["subresource"]),
    ...gvkFields(each["responseKind"], served),
    verbs: textsOf(each["verbs"]),
  }));
  const { gvk } = gvkFields(fields["responseKind"], served);
  if (gvk === undefined) return [];
  return checked({
    gvk,
    plural: textOf(fields["resource"]),
    singular: textOf(fields["singularResource"]),
    scope: fields["scope"] === "Namespaced" ? "Namespaced" : "Cluster",
    ...namesOf(fields),
    subresources,
  });
}

/** The names and versions of an `APIGroupList`, the preferred version first. */
export function parseGroupList(value: unknown): { name: string; versions: string[] }[] {
  return objectsOf(isJsonObject(value) ? value["groups"] : undefined).map((group) => {
    const versions = objectsOf(group["versions"]).map(({ version }) => textOf(version));
    const { preferredVersion } = group;
    const first = isJsonObject(preferredVersion) ? textOf(preferredVersion["version"]) : "";
    return {
      name: textOf(group["name"]),
      versions: [
        ...versions.filter((each) => each === first),
        ...versions.filter((v) => v !== first),
      ],
    };
  });
}

/** The resources of an `APIResourceList`, in which subresources stand beside their resources. */
export function parseResourceList(value: unknown, served: GroupVersion): ApiResource[] {
  const entries = objectsOf(isJsonObject(value) ? value["resources"] : undefined);
  return entries.filter(({ name }) => !textOf(name).includes("/")).flatMap((entry) => {
    const plural = textOf(entry["name"]);
    const subresources = entries.filter(({ name }) => textOf(name).startsWith(`${plural}/`))
      .map((each) => ({
        name: textOf(each["name"]).slice(plural.length + 1),
        ...gvkFields(each, served),
        verbs: textsOf(each["verbs"]),
      }));
    const { gvk } = gvkFields(entry, served);
    if (gvk === undefined) return [];
    return checked({
      gvk,
      plural,
      singular: textOf(entry["singularName"]),
      scope: entry["namespaced"] === true ? "Namespaced" : "Cluster",
      ...namesOf(entry),
      subresources,
    });
  });
}

function namesOf(fields: Fields): Pick<ApiResource, "verbs" | "shortNames" | "categories"> {
  return {
    verbs: textsOf(fields["verbs"]),
    shortNames: textsOf(fields["shortNames"]),
    categories: textsOf(fields["categories"]),
  };
}

/** A kind named by its fields. Without a version it is of the group version that serves it. */
function gvkFields(value: unknown, served: GroupVersion): { gvk?: GroupVersionKind } {
  if (!isJsonObject(value) || textOf(value["kind"]) === "") return {};
  const kind = textOf(value["kind"]);
  const version = textOf(value["version"]);
  const group = textOf(value["group"]);
  return { gvk: version === "" ? { ...served, kind } : { group, version, kind } };
}

const PATH_PART = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;

function checked(resource: ApiResource): ApiResource[] {
  const { gvk: { group, version }, plural } = resource;
  const parts = group === "" ? [version, plural] : [group, version, plural];
  if (!parts.every((part) => PATH_PART.test(part))) return [];
  const subresources = resource.subresources.filter(({ name }) => PATH_PART.test(name));
  return [{ ...resource, subresources }];
}

function objectsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** The definition by which a client can use `resource`. */
export function kindOfResource(resource: ApiResource): KindDefinition<AnyObject> {
  const { gvk, plural, scope, subresources } = resource;
  return {
    gvk,
    plural,
    scope,
    subresources: subresources.map(({ name }) => name),
    isBuiltIn: isBuiltInKind(gvk),
  };
}

/** The resource of a kind; of its preferred version, unless one is given. */
export function findKind(
  catalog: ApiCatalog,
  { group, version, kind }: { group: string; version?: string; kind: string },
): ApiResource | undefined {
  return resourcesOf(catalog, { group, ...(version !== undefined && { version }) })
    .find(({ gvk }) => gvk.kind === kind);
}

/**
 * The resource that a person means by `name`, as kubectl takes it: plural, singular, kind or short
 * name, in any case, perhaps followed by the group, or by version and group: `deploy`,
 * `deployments.apps`, `Deployment.v1.apps`. Earlier groups win, and exact names over short ones.
 */
export function findByName(catalog: ApiCatalog, name: string): ApiResource | undefined {
  const [first = "", ...rest] = name.toLowerCase().split(".");
  const ways: ((resource: ApiResource) => boolean)[] = [
    ({ plural }) => plural === first,
    ({ singular }) => singular === first,
    ({ gvk }) => gvk.kind.toLowerCase() === first,
    ({ shortNames }) => shortNames.includes(first),
  ];
  for (const place of placesOf(rest)) {
    const resources = resourcesOf(catalog, place);
    for (const matches of ways) {
      const found = resources.find(matches);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** What may be meant after the first dot: a group, or a version and a group. */
function placesOf(rest: readonly string[]): { group?: string; version?: string }[] {
  if (rest.length === 0) return [{}];
  const [version = "", ...group] = rest;
  const asGroup = { group: rest.join(".") };
  // In kubectl's words the core group is the empty one: `pods.v1.`.
  return group.length === 0 ? [asGroup] : [asGroup, { version, group: group.join(".") }];
}

/** All resources of the groups and versions that match, preferred ones first within their group. */
function resourcesOf(
  { groups }: ApiCatalog,
  { group, version }: { group?: string; version?: string },
): ApiResource[] {
  return groups.filter(({ name }) => group === undefined || name === group)
    .flatMap(({ versions }) => versions)
    .filter((each) => version === undefined || each.version === version)
    .flatMap(({ resources }) => resources);
}

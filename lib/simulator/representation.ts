/**
 * In which form an answer is written: the object itself, only its metadata, or a table for people,
 * as the `Accept` header asks.
 *
 * @module
 */

import { apiVersionOf } from "../core/objects.ts";
import { type ApiObject, textOf } from "./api_object.ts";
import { notAcceptable } from "./api_status.ts";
import type { Page } from "./list.ts";
import { bare } from "./present.ts";
import type { Resource } from "./resource_type.ts";
import { tableText } from "./tables.ts";

/** How objects are written. */
export type Representation =
  | { readonly type: "json" }
  | { readonly type: "metadata"; readonly version: string }
  | { readonly type: "table"; readonly version: string; readonly includeObject: string };

const OFFERED = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch",
];

/** One entry of an `Accept` header. */
export interface AcceptEntry {
  readonly mediaType: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The entries of an `Accept` header in order; quality values are not weighed. */
export function acceptEntries(header: string | null): AcceptEntry[] {
  return (header ?? "").split(",").map((entry) => {
    const [mediaType = "", ...parameters] = entry.split(";").map((part) => part.trim());
    return {
      mediaType: mediaType.toLowerCase(),
      parameters: new Map(parameters.map((parameter) => {
        const [name = "", value = ""] = parameter.split("=");
        return [name.trim(), value.trim()];
      })),
    };
  }).filter(({ mediaType }) => mediaType !== "");
}

/**
 * The first form of the header that the server can write; JSON if it asks for nothing.
 *
 * @throws {StatusError} 406 if there is none.
 */
export function negotiate(header: string | null, query: URLSearchParams): Representation {
  const entries = acceptEntries(header);
  if (entries.length === 0) return { type: "json" };
  for (const { mediaType, parameters } of entries) {
    if (mediaType === "*/*" || mediaType === "application/*") return { type: "json" };
    if (mediaType !== "application/json") continue;
    const as = parameters.get("as");
    const version = parameters.get("v") ?? "v1";
    if (as === undefined) return { type: "json" };
    if (parameters.get("g") !== "meta.k8s.io") continue;
    if (as === "Table") {
      return { type: "table", version, includeObject: query.get("includeObject") ?? "Metadata" };
    }
    if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList") {
      return { type: "metadata", version };
    }
  }
  throw notAcceptable(OFFERED);
}

/** Where a text is written and what for. */
export interface WritingPlace {
  readonly resource: Resource;
  readonly nowMs: number;
  /** False for later rows of a watched table, which carry no column definitions. */
  readonly isFirst?: boolean;
}

/** One object as text. */
export function objectText(
  object: ApiObject,
  representation: Representation,
  place: WritingPlace,
): string {
  switch (representation.type) {
    case "json":
      return textOf(object);
    case "metadata":
      return partialText(object, representation.version);
    case "table":
      return tableText([object], { resourceVersion: object.metadata.resourceVersion }, {
        ...place,
        ...representation,
      });
    default:
      return representation satisfies never;
  }
}

/** A list as text. */
export function pageText(page: Page, representation: Representation, place: WritingPlace): string {
  const metadata = {
    resourceVersion: page.revision,
    ...(page.continue === undefined ? {} : { continue: page.continue }),
    ...(page.remainingItemCount === undefined
      ? {}
      : { remainingItemCount: page.remainingItemCount }),
  };
  if (representation.type === "table") {
    return tableText(page.items, metadata, { ...place, ...representation });
  }
  const { type, version } = place.resource;
  const isMetadata = representation.type === "metadata";
  const items = page.items.map((item) =>
    isMetadata
      ? partialText(item, representation.version)
      : textOf(type.isCustom ? item : bare(item))
  );
  const apiVersion = isMetadata
    ? `meta.k8s.io/${representation.version}`
    : apiVersionOf({ group: type.group, version: version.name });
  const kind = isMetadata ? "PartialObjectMetadataList" : type.listKind;
  // Put together by hand, so that each item's text is made once for all lists and watches.
  return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},` +
    `"metadata":${JSON.stringify(metadata)},"items":[${items.join(",")}]}`;
}

function partialText(object: ApiObject, version: string): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}",` +
    `"metadata":${textOf(object.metadata)}}`;
}

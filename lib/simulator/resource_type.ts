/**
 * What the server must know of a kind: its names, versions and the rules in which it differs from
 * others. Built-in kinds come from a table, custom ones from their definitions; from here on the
 * server treats them alike.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { ApiObject } from "./api_object.ts";
import type { FieldError } from "./field_errors.ts";
import type { Storage } from "./storage.ts";
import type { StructuralSchema } from "./structural_schema.ts";

/** One column and how its cells are made. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** 0: always shown; greater: only with `-o wide`. */
  readonly priority?: number;
  readonly cell: (object: ApiObject, nowMs: number) => Json;
}

/** How object names of a kind are checked. */
export type NameRule = "subdomain" | "label" | "label1035" | "path";

/** One version of a kind that is served. */
export interface ServedVersion {
  readonly name: string;
  /** For pruning, defaults, validation and field ownership; absent: anything goes. */
  readonly schema?: StructuralSchema | undefined;
  /** The `openAPIV3Schema` of a custom kind, for documents. */
  readonly openApiSchema?: JsonObject;
  readonly hasStatus: boolean;
  /** Where the scale subresource finds its numbers; absent: no such subresource. */
  readonly scale?: ScalePaths;
  /** Columns of server-side tables; absent: Name and Created At. */
  readonly columns?: readonly ColumnDefinition[];
  /** Fields beyond name and namespace that a field selector may name. */
  readonly selectableFields?: readonly string[];
  readonly isDeprecated?: boolean;
  readonly deprecationWarning?: string;
}

/** Member paths of the scale subresource. */
export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** Path of the selector; of a workload an object, of a custom resource a string. */
  readonly selector?: readonly string[];
}

/** Where what the server gives out comes from. */
export interface AllocationSource {
  /** What is taken already. */
  readonly storage: Storage;
  readonly random: Random;
}

/** Where kinds differ. Each member has a default that fits most kinds. */
export interface ResourceRules {
  /** Verbs served; by default all eight. */
  readonly verbs?: readonly string[];
  readonly nameRule?: NameRule;
  /**
   * When `metadata.generation` moves: never (the kind has none), on any change outside metadata
   * and status, or on changes of the spec or annotations.
   */
  readonly generation?: "none" | "content" | "spec" | "spec-and-annotations";
  /** A PUT to a name that does not exist creates it. */
  readonly updateCreates?: boolean;
  /** A PUT without resourceVersion is taken. */
  readonly unconditionalUpdate?: boolean;
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeleted?: boolean;
  /** The status that an object is created with; absent: no `status` member at all. */
  readonly initialStatus?: JsonObject;
  /** A status update may change metadata other than labels, as that of most built-in kinds. */
  readonly statusTakesMetadata?: boolean;
  /** Adds what the server adds to a valid object. Runs on create and update. */
  readonly defaults?: (object: JsonObject) => JsonObject;
  /** Adds to a new object what the server gives out: addresses. */
  readonly complete?: (object: JsonObject, from: AllocationSource) => JsonObject;
  /** Brings a new object into shape before validation: drops what a client may not set. */
  readonly prepareUpdate?: (object: JsonObject, previous: JsonObject) => JsonObject;
  readonly validate?: (object: JsonObject, previous: JsonObject | undefined) => FieldError[];
  /** Values for field selectors; `undefined` for a field that none may name. */
  readonly fieldOf?: (object: ApiObject, field: string) => string | undefined;
  /** From the form of this kind to the stored one and back; absent: the same form. */
  readonly toStorage?: (object: JsonObject) => JsonObject;
  readonly fromStorage?: (object: JsonObject) => JsonObject;
}

/** A served kind. */
export interface ResourceType {
  readonly group: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  /** In the order in which discovery prefers them. */
  readonly versions: readonly ServedVersion[];
  readonly storageVersion: string;
  /** Name of the storage's table. Two kinds with one table are two views of the same objects. */
  readonly table: string;
  /** Defined by a CustomResourceDefinition. */
  readonly isCustom: boolean;
  /** True while its definition is being deleted: nothing may be created. */
  readonly isTerminating?: boolean;
  readonly rules: ResourceRules;
}

/** All verbs, in discovery's order for built-in kinds. */
export const ALL_VERBS: readonly string[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** A kind and the version in which a request speaks of it. */
export interface Resource {
  readonly type: ResourceType;
  readonly version: ServedVersion;
}

/** Group and plural name, as messages need them. */
export function groupResourceOf(type: ResourceType): { group: string; resource: string } {
  return { group: type.group, resource: type.plural };
}

/** Review kinds are those that can only be created. */
export function isReview({ type }: Resource): boolean {
  return !type.isCustom && type.rules.verbs?.length === 1;
}

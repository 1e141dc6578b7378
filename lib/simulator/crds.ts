/**
 * What makes a stored CustomResourceDefinition a served kind: names are accepted, the kind is
 * established and registered; a deleted definition takes its objects with it.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { keyOf } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import {
  type ApiObject,
  jsonOfObject,
  objectAt,
  objectOf,
  objectsAt,
  stringAt,
  stringsAt,
} from "./api_object.ts";
import type { ServerContext } from "./context.ts";
import { editStored, type ServerController } from "./controllers.ts";
import { deleteObject } from "./delete.ts";
import { compareVersionNames } from "./registry.ts";
import type { ResourceType, ScalePaths, ServedVersion } from "./resource_type.ts";
import type { StoredChange } from "./storage.ts";
import { StructuralSchema } from "./structural_schema.ts";
import { customColumns } from "./tables.ts";

/** Table of the definitions. */
export const CRD_TABLE = "apiextensions.k8s.io/customresourcedefinitions";
/** Finalizer by which a definition waits until its objects are gone. */
export const CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

/** A kind as its definition describes it; see {@linkcode ResourceType}. */
export function customType(definition: ApiObject): ResourceType {
  const spec = objectAt(definition, "spec");
  const names = objectAt(spec, "names");
  const group = stringAt(spec, "group");
  const plural = stringAt(names, "plural");
  const versions = objectsAt(spec, "versions");
  const served = versions.filter((version) => version.served === true).map(servedVersion)
    .sort((a, b) => compareVersionNames(a.name, b.name));
  const storage = versions.find((version) => version.storage === true);
  return {
    group,
    plural,
    singular: stringAt(names, "singular"),
    kind: stringAt(names, "kind"),
    listKind: stringAt(names, "listKind"),
    shortNames: stringsAt(names, "shortNames"),
    categories: stringsAt(names, "categories"),
    isNamespaced: stringAt(spec, "scope") === "Namespaced",
    versions: served,
    storageVersion: stringAt(storage, "name"),
    table: `${group}/${plural}`,
    isCustom: true,
    isTerminating: definition.metadata.deletionTimestamp !== undefined,
    rules: {
      verbs: CUSTOM_VERBS,
      generation: "content",
      statusTakesMetadata: false,
    },
  };
}

/** Verbs of custom kinds, in discovery's order for them. */
const CUSTOM_VERBS = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];

/** What one version of a definition says. Its schema was compiled before, at validation. */
function servedVersion(version: JsonObject): ServedVersion {
  const schema = objectAt(version, "schema").openAPIV3Schema;
  const subresources = objectAt(version, "subresources");
  const scale = scaleOf(subresources);
  const selectable = objectsAt(version, "selectableFields").map((field) =>
    stringAt(field, "jsonPath").replace(/^\./, "")
  );
  const warning = stringAt(version, "deprecationWarning");
  return {
    name: stringAt(version, "name"),
    ...(isJsonObject(schema)
      ? { schema: StructuralSchema.compile(schema), openApiSchema: schema }
      : {}),
    hasStatus: isJsonObject(subresources.status),
    ...(scale === undefined ? {} : { scale }),
    columns: customColumns(objectsAt(version, "additionalPrinterColumns")),
    ...(selectable.length === 0 ? {} : { selectableFields: selectable }),
    isDeprecated: version.deprecated === true,
    ...(warning === "" ? {} : { deprecationWarning: warning }),
  };
}

/** Paths such as `.spec.replicas` as member names. */
function scaleOf(subresources: JsonObject): ScalePaths | undefined {
  if (!isJsonObject(subresources.scale)) return undefined;
  const path = (member: string) =>
    stringAt(subresources, "scale", member).split(".").filter((part) => part !== "");
  const selector = path("labelSelectorPath");
  return {
    replicas: path("specReplicasPath"),
    statusReplicas: path("statusReplicasPath"),
    ...(selector.length === 0 ? {} : { selector }),
  };
}

/** A definition as its deletion starts: with the finalizer that protects its objects. */
export function deletedDefinition(definition: ApiObject, nowMs: number): JsonObject {
  const object = jsonOfObject(definition);
  const metadata = objectOf(object.metadata);
  const finalizers = new Set([...stringsAt(metadata, "finalizers"), CRD_FINALIZER]);
  const marked = { ...metadata, finalizers: [...finalizers] };
  return withCondition({ ...object, metadata: marked }, {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message:
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    nowMs,
  });
}

/** Serves the kinds of the stored definitions; see the module. */
export class DefinitionController implements ServerController {
  readonly #context: ServerContext;
  readonly #cutWatches: (table: string) => void;
  readonly #delayMs: number;

  /**
   * @param options.cutWatches Ends the watches of a kind whose definition changed.
   * @param options.delayMs How long a new kind takes to be established.
   */
  constructor(
    context: ServerContext,
    { cutWatches, delayMs }: { cutWatches: (table: string) => void; delayMs: number },
  ) {
    this.#context = context;
    this.#cutWatches = cutWatches;
    this.#delayMs = delayMs;
  }

  onChange(change: StoredChange): void {
    const { background, registry } = this.#context;
    if (change.table !== CRD_TABLE) {
      this.#objectGone(change);
      return;
    }
    const { object, previous } = change;
    if (change.type === "DELETED") {
      const type = customType(object);
      registry.remove(type.group, type.plural);
      background.after(0, () => this.#cutWatches(type.table));
      return;
    }
    if (isEstablished(object) && isNews(object, previous)) {
      registry.set(customType(object));
      const isChanged = previous !== undefined && isEstablished(previous) &&
        object.metadata.generation !== previous.metadata.generation;
      if (isChanged) {
        const { table } = customType(object);
        background.after(0, () => this.#cutWatches(table));
      }
    }
    background.after(this.#delayMs, () => this.#sync(keyOf(object.metadata)));
  }

  /** The last object of a kind that is being deleted lets its definition go. */
  #objectGone(change: StoredChange): void {
    if (change.type !== "DELETED") return;
    const { storage, background } = this.#context;
    if (!change.table.includes(".") || storage.size(change.table) > 0) return;
    const [group = "", plural = ""] = change.table.split("/");
    const name = `${plural}.${group}`;
    const definition = storage.find(CRD_TABLE, name);
    if (definition?.metadata.deletionTimestamp === undefined) return;
    background.after(0, () => this.#sync(name));
  }

  /** Brings a definition one step further, whatever it was that changed. */
  #sync(name: string): void {
    const definition = this.#context.storage.find(CRD_TABLE, name);
    if (definition === undefined) return;
    if (definition.metadata.deletionTimestamp === undefined) this.#establish(definition);
    else this.#empty(definition);
  }

  /**
   * Accepts or refuses the names. Once established a kind stays so, even if its names clash
   * later.
   */
  #establish(definition: ApiObject): void {
    const nowMs = this.#context.clock.wallMs();
    const clash = this.#clashOf(definition);
    editStored(this.#context, CRD_TABLE, keyOf(definition.metadata), (object) => {
      if (clash !== undefined) {
        const refused = withCondition(object, {
          type: "NamesAccepted",
          status: "False",
          reason: clash.reason,
          message: clash.message,
          nowMs,
        });
        return isEstablished(definition) ? refused : withCondition(refused, {
          type: "Established",
          status: "False",
          reason: "NotAccepted",
          message: "not all names are accepted",
          nowMs,
        });
      }
      const names = objectAt(object, "spec", "names");
      const accepted = withCondition(
        { ...object, status: { ...objectOf(object.status), acceptedNames: names } },
        {
          type: "NamesAccepted",
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
          nowMs,
        },
      );
      return withCondition(accepted, {
        type: "Established",
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted",
        nowMs,
      });
    });
  }

  /** A name of the definition that another kind of its group has, if any. */
  #clashOf(definition: ApiObject): { reason: string; message: string } | undefined {
    const spec = objectAt(definition, "spec");
    const names = objectAt(spec, "names");
    const plural = stringAt(names, "plural");
    const others = this.#context.registry.all().filter((type) =>
      type.group === stringAt(spec, "group") && type.plural !== plural
    );
    const kind = stringAt(names, "kind");
    if (others.some((type) => type.kind === kind)) {
      return { reason: "KindConflict", message: `"${kind}" is already in use` };
    }
    const taken = new Set(
      others.flatMap((type) => [type.plural, type.singular, ...type.shortNames]),
    );
    const short = stringsAt(names, "shortNames").find((each) => taken.has(each));
    return short === undefined
      ? undefined
      : { reason: "ShortNamesConflict", message: `"${short}" is already in use` };
  }

  /**
   * Deletes the objects; those with finalizers keep the definition, which says so in its status.
   */
  #empty(definition: ApiObject): void {
    const { storage, clock } = this.#context;
    const type = customType(definition);
    const [version] = type.versions;
    for (const object of storage.all(type.table)) {
      if (version === undefined) storage.remove(type.table, keyOf(object.metadata));
      else if (object.metadata.deletionTimestamp === undefined) {
        deleteObject(this.#context, object, { type, version }, { isDryRun: false });
      }
    }
    const isEmpty = storage.size(type.table) === 0;
    editStored(this.#context, CRD_TABLE, keyOf(definition.metadata), (object) => {
      const done = withCondition(object, {
        type: "Terminating",
        status: isEmpty ? "False" : "True",
        reason: isEmpty ? "InstanceDeletionCompleted" : "InstanceDeletionInProgress",
        message: isEmpty ? "removed all instances" : "CustomResource deletion is in progress",
        nowMs: clock.wallMs(),
      });
      if (!isEmpty) return done;
      const metadata = { ...objectOf(done.metadata) };
      const rest = stringsAt(metadata, "finalizers").filter((each) => each !== CRD_FINALIZER);
      delete metadata.finalizers;
      if (rest.length > 0) metadata.finalizers = rest;
      return { ...done, metadata };
    });
  }
}

/** True if the kind of `definition` is served. */
export function isEstablished(definition: ApiObject): boolean {
  return objectsAt(definition, "status", "conditions").some((condition) =>
    condition.type === "Established" && condition.status === "True"
  );
}

/** True if what is served must change. Status writes of our own are no news. */
function isNews(definition: ApiObject, previous: ApiObject | undefined): boolean {
  return previous === undefined || !isEstablished(previous) ||
    definition.metadata.generation !== previous.metadata.generation ||
    definition.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp;
}

/** `object` with a condition set; its transition time moves only with its status. */
export function withCondition(
  object: JsonObject,
  { type, status, reason, message, nowMs }: {
    type: string;
    status: "True" | "False";
    reason: string;
    message: string;
    nowMs: number;
  },
): JsonObject {
  const conditions = objectsAt(object, "status", "conditions");
  const old = conditions.find((condition) => condition.type === type);
  const lastTransitionTime = old?.status === status
    ? old.lastTransitionTime ?? null
    : timeOf(nowMs);
  const condition: JsonObject = { type, status, lastTransitionTime, reason, message };
  const kept: Json[] = old === undefined
    ? [...conditions, condition]
    : conditions.map((each) => each.type === type ? condition : each);
  return { ...object, status: { ...objectOf(object.status), conditions: kept } };
}

/**
 * OpenAPI v3 documents of what a server serves, as far as kubectl reads them: `explain` wants paths
 * by resource and schemas with descriptions, `apply` wants merge keys and the `fieldValidation`
 * parameter of PATCH. Built-in kinds come from the generated data, custom ones from their schema.
 *
 * @module
 */

import { isJsonObject, type Json, type JsonObject, memberOf } from "../core/json.ts";
import { apiVersionOf } from "../core/objects.ts";
import { builtinDescribed } from "./builtin_data.ts";
import { builtinSchemaName, REF_PREFIX } from "./builtin_schemas.ts";

/** A kind to be documented. */
export interface DocumentedKind {
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  /** Such as `status` and `scale`. */
  readonly subresources: readonly string[];
  /** The `openAPIV3Schema` of a custom kind; absent for built-in ones. */
  readonly schema?: JsonObject | undefined;
}

/** One group version and the kinds that are served in it. */
export interface DocumentedVersion {
  readonly group: string;
  readonly version: string;
  readonly kinds: readonly DocumentedKind[];
}

/** Before the names of the schemas that all kinds share. */
const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** What the server says of `apiVersion` in each kind. */
const API_VERSION_TEXT = "APIVersion defines the versioned schema of this representation of an " +
  "object. Servers should convert recognized schemas to the latest internal value, and may reject " +
  "unrecognized values. More info: https://git.k8s.io/community/contributors/devel/" +
  "sig-architecture/api-conventions.md#resources";

/** What the server says of `kind` in each kind. */
const KIND_TEXT = "Kind is a string value representing the REST resource this object represents. " +
  "Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In " +
  "CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/" +
  "api-conventions.md#types-kinds";

/** What the server says of `metadata` in each kind. */
const METADATA_TEXT = "Standard object's metadata. More info: https://git.k8s.io/community/" +
  "contributors/devel/sig-architecture/api-conventions.md#metadata";

/**
 * `api/v1` or `apis/<group>/<version>`: the key of a document, and its path below `/openapi/v3/`.
 */
export function openApiKey({ group, version }: { group: string; version: string }): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/**
 * The answer to `GET /openapi/v3`: where each document is. The hash in an address changes with the
 * document's content, so that clients may cache it for good.
 */
export function openApiIndex(versions: readonly DocumentedVersion[]): JsonObject {
  const paths: JsonObject = {};
  for (const version of versions) {
    const key = openApiKey(version);
    paths[key] = { serverRelativeURL: `/openapi/v3/${key}?hash=${contentHash(version)}` };
  }
  return { paths };
}

/** The answer to `GET /openapi/v3/<key>`. */
export function openApiDocument(version: DocumentedVersion): JsonObject {
  const schemas: JsonObject = {};
  const paths: JsonObject = {};
  for (const kind of version.kinds) {
    const name = addKind(schemas, version, kind);
    if (name !== undefined) Object.assign(paths, pathsOf(version, kind, name));
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths,
    components: { schemas },
  };
}

/** Adds the schemas of a kind and of all that it refers to; returns the name of its own. */
function addKind(
  schemas: JsonObject,
  { group, version }: DocumentedVersion,
  { kind, plural, schema }: DocumentedKind,
): string | undefined {
  if (schema === undefined) {
    const name = builtinSchemaName({ group, version, kind });
    const listName = builtinSchemaName({ group, version, kind: `${kind}List` });
    for (const each of [name, listName]) if (each !== undefined) addBuiltin(schemas, each);
    return name;
  }
  const name = [...group.split(".").reverse(), version, kind].join(".");
  const gvk = (suffix: string) => [{ group, version, kind: `${kind}${suffix}` }];
  schemas[name] = {
    ...schema,
    properties: {
      apiVersion: { description: API_VERSION_TEXT, type: "string" },
      kind: { description: KIND_TEXT, type: "string" },
      ...(isJsonObject(schema["properties"]) ? schema["properties"] : {}),
      metadata: {
        description: METADATA_TEXT,
        allOf: [{ $ref: `${REF_PREFIX}${META}.ObjectMeta` }],
      },
    },
    "x-kubernetes-group-version-kind": gvk(""),
  };
  schemas[`${name}List`] = {
    description: `${kind}List is a list of ${kind}`,
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { description: API_VERSION_TEXT, type: "string" },
      items: {
        description: `List of ${plural}.`,
        type: "array",
        items: { $ref: `${REF_PREFIX}${name}` },
      },
      kind: { description: KIND_TEXT, type: "string" },
      metadata: { description: METADATA_TEXT, allOf: [{ $ref: `${REF_PREFIX}${META}.ListMeta` }] },
    },
    "x-kubernetes-group-version-kind": gvk("List"),
  };
  addBuiltin(schemas, `${META}.ObjectMeta`);
  addBuiltin(schemas, `${META}.ListMeta`);
  return name;
}

/** Adds the built-in schema `name` and all that it refers to. */
function addBuiltin(schemas: JsonObject, name: string): void {
  if (Object.hasOwn(schemas, name)) return;
  const schema = memberOf(builtinDescribed(), name);
  if (schema === undefined) return;
  schemas[name] = schema;
  for (const ref of refsIn(schema)) addBuiltin(schemas, ref);
}

/** Names of the schemas that `value` refers to. */
function refsIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(refsIn);
  if (!isJsonObject(value)) return [];
  const ref = value["$ref"];
  return typeof ref === "string"
    ? [ref.slice(REF_PREFIX.length)]
    : Object.values(value).flatMap(refsIn);
}

/** The paths of a kind. Clients find a kind's schema by them, and its subresources. */
function pathsOf(
  version: DocumentedVersion,
  kind: DocumentedKind,
  schemaName: string,
): JsonObject {
  const root = `/${openApiKey(version)}`;
  const collection = kind.isNamespaced
    ? `${root}/namespaces/{namespace}/${kind.plural}`
    : `${root}/${kind.plural}`;
  const named = `${collection}/{name}`;
  const operation = operationsOf(version, kind, schemaName);
  const paths: JsonObject = {
    [collection]: {
      get: operation("list"),
      post: operation("post"),
      delete: operation("deletecollection"),
    },
    [named]: {
      get: operation("get"),
      put: operation("put"),
      patch: operation("patch"),
      delete: operation("delete"),
    },
  };
  for (const subresource of kind.subresources) {
    paths[`${named}/${subresource}`] = {
      get: operation("get", subresource),
      put: operation("put", subresource),
      patch: operation("patch", subresource),
    };
  }
  if (kind.isNamespaced) paths[`${root}/${kind.plural}`] = { get: operation("list") };
  return paths;
}

/**
 * Makes the operations of a kind: what each is, of which kind, and the parameters that kubectl
 * looks for before it uses them.
 */
function operationsOf(
  { group, version }: DocumentedVersion,
  { kind }: DocumentedKind,
  schemaName: string,
): (action: string, subresource?: string) => JsonObject {
  return (action, subresource = "") => {
    const isWrite = action === "post" || action === "put" || action === "patch";
    const names = isWrite ? ["dryRun", "fieldManager", "fieldValidation"] : [];
    if (action === "patch") names.push("force");
    return {
      description: `${action} ${subresource === "" ? "" : `${subresource} of `}${kind}`,
      operationId: `${action}${apiVersionOf({ group, version })}${kind}${subresource}`
        .replaceAll(/[^A-Za-z0-9]/g, ""),
      parameters: names.map((name) => ({
        name,
        in: "query",
        schema: { type: name === "force" ? "boolean" : "string", uniqueItems: true },
      })),
      responses: {
        "200": {
          description: "OK",
          content: { "application/json": { schema: { $ref: `${REF_PREFIX}${schemaName}` } } },
        },
      },
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": { group, version, kind },
    };
  };
}

/**
 * FNV-1a over what a document is made of. It need not resist anyone: it only has to change when the
 * document does, within one run of a server.
 */
function contentHash(version: DocumentedVersion): string {
  let hash = 0x811c9dc5;
  for (const character of JSON.stringify(version)) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash >>> 0).toString(16).toUpperCase().padStart(8, "0");
}

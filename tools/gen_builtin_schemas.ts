/**
 * Generates lib/simulator/builtin_schemas.json and builtin_descriptions.json from the OpenAPI of a
 * real API server:
 *
 *     deno run --allow-run=kubectl --allow-write=lib/simulator tools/gen_builtin_schemas.ts
 *
 * It asks the server of the current kubeconfig context, through kubectl. The output depends on the
 * server's version only, so that a second run against the same version changes nothing.
 *
 * @module
 */

import { gzipSync } from "node:zlib";
import { isJsonObject, type Json, type JsonObject } from "../lib/core/json.ts";
import { withoutDescriptions } from "../lib/simulator/builtin_data.ts";

/** Group versions whose kinds operators work with. */
const GROUP_VERSIONS = [
  "api/v1",
  "apis/admissionregistration.k8s.io/v1",
  "apis/apiextensions.k8s.io/v1",
  "apis/apps/v1",
  "apis/authentication.k8s.io/v1",
  "apis/authorization.k8s.io/v1",
  "apis/autoscaling/v1",
  "apis/autoscaling/v2",
  "apis/batch/v1",
  "apis/coordination.k8s.io/v1",
  "apis/discovery.k8s.io/v1",
  "apis/events.k8s.io/v1",
  "apis/networking.k8s.io/v1",
  "apis/policy/v1",
  "apis/rbac.authorization.k8s.io/v1",
  "apis/scheduling.k8s.io/v1",
  "apis/storage.k8s.io/v1",
];

/** Folder of the generated files. */
const OUT = "lib/simulator";

/** The JSON that the server gives at `path`. */
async function read(path: string): Promise<JsonObject> {
  const command = new Deno.Command("kubectl", { args: ["get", "--raw", path], stderr: "inherit" });
  const { success, stdout } = await command.output();
  if (!success) throw new Error(`Cannot read ${path} through kubectl`);
  const value: unknown = JSON.parse(new TextDecoder().decode(stdout));
  if (!isJsonObject(value)) throw new Error(`Cannot use ${path}: it is no JSON object`);
  return value;
}

function objectAt(value: Json | undefined, ...path: string[]): JsonObject {
  const found = path.reduce<Json | undefined>(
    (at, key) => isJsonObject(at) ? at[key] : undefined,
    value,
  );
  return isJsonObject(found) ? found : {};
}

/** All schemas by name. The few that differ between group versions do so in their list of kinds. */
async function schemasOf(groupVersions: readonly string[]): Promise<Map<string, JsonObject>> {
  const schemas = new Map<string, JsonObject>();
  for (const groupVersion of groupVersions) {
    const document = await read(`/openapi/v3/${groupVersion}`);
    for (const [name, schema] of Object.entries(objectAt(document, "components", "schemas"))) {
      if (isJsonObject(schema) && !schemas.has(name)) schemas.set(name, schema);
    }
  }
  return schemas;
}

function packed(value: Json): string {
  return gzipSync(JSON.stringify(value), { level: 9 }).toBase64();
}

async function main(): Promise<void> {
  const version = await read("/version");
  const serverVersion = String(version["gitVersion"]);
  const texts: Json[] = [];
  const structure: JsonObject = {};
  const schemas = await schemasOf(GROUP_VERSIONS);
  for (const name of [...schemas.keys()].sort()) {
    structure[name] = withoutDescriptions(schemas.get(name) ?? {}, texts);
  }
  const write = (file: string, content: JsonObject) =>
    Deno.writeTextFile(`${OUT}/${file}`, `${JSON.stringify(content, null, 2)}\n`);
  await write("builtin_schemas.json", { serverVersion, gzipBase64: packed(structure) });
  await write("builtin_descriptions.json", { serverVersion, gzipBase64: packed(texts) });
}

if (import.meta.main) await main();

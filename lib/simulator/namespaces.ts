/**
 * The namespace controller: a new namespace gets its `default` service account, a deleted one loses
 * its content and then goes.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { keyOf } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import { objectOf, objectOfJson } from "./api_object.ts";
import { forbidden, type GroupResource } from "./api_status.ts";
import type { ServerContext } from "./context.ts";
import { editStored, type ServerController } from "./controllers.ts";
import { deleteObject } from "./delete.ts";
import type { StoredChange } from "./storage.ts";

/** Namespaces that exist from the start and can't be deleted (but for kube-node-lease). */
export const SYSTEM_NAMESPACES: readonly string[] = [
  "default",
  "kube-system",
  "kube-public",
  "kube-node-lease",
];

const NAMESPACES: GroupResource = { group: "", resource: "namespaces" };

/** Refuses to delete the namespaces that a cluster can't do without. */
export function checkNamespaceDeletable(name: string): void {
  if (name === "kube-node-lease" || !SYSTEM_NAMESPACES.includes(name)) return;
  throw forbidden(NAMESPACES, name, "this namespace may not be deleted");
}

/** A new namespace as it is stored. */
export function namespaceObject(context: ServerContext, name: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name,
      uid: context.uuid(),
      creationTimestamp: timeOf(context.clock.wallMs()),
      labels: { "kubernetes.io/metadata.name": name },
    },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  };
}

/** Adds service accounts and empties namespaces; see the module. */
export class NamespaceController implements ServerController {
  readonly #context: ServerContext;
  readonly #delayMs: number;

  /** `delayMs` is how long a namespace stays Terminating before its content goes. */
  constructor(context: ServerContext, { delayMs }: { delayMs: number }) {
    this.#context = context;
    this.#delayMs = delayMs;
  }

  onChange(change: StoredChange): void {
    const { background } = this.#context;
    if (change.table === "namespaces") {
      const { name, deletionTimestamp } = change.object.metadata;
      if (change.type === "ADDED") background.after(0, () => this.#addServiceAccount(name));
      else if (change.type === "MODIFIED" && deletionTimestamp !== undefined) {
        background.after(this.#delayMs, () => this.#empty(name));
      }
      return;
    }
    // The last object with a finalizer may be what a terminating namespace waits for.
    const { namespace } = change.object.metadata;
    if (change.type !== "DELETED" || namespace === undefined) return;
    const owner = this.#context.storage.find("namespaces", namespace);
    if (owner?.metadata.deletionTimestamp === undefined) return;
    background.after(0, () => this.#finish(namespace));
  }

  /** What the service-account controller does; Pods need the account to be admitted. */
  #addServiceAccount(namespace: string): void {
    const { storage, uuid, clock } = this.#context;
    const found = storage.find("namespaces", namespace);
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return;
    if (storage.find("serviceaccounts", `${namespace}/default`) !== undefined) return;
    storage.add(
      "serviceaccounts",
      objectOfJson({
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: {
          name: "default",
          namespace,
          uid: uuid(),
          creationTimestamp: timeOf(clock.wallMs()),
        },
      }),
    );
  }

  /** Deletes all that is in the namespace; what has finalizers stays until they go. */
  #empty(namespace: string): void {
    const { storage, registry } = this.#context;
    if (storage.find("namespaces", namespace) === undefined) return;
    for (const table of storage.tables()) {
      const type = registry.ofTable(table);
      const [version] = type?.versions ?? [];
      if (type === undefined || version === undefined || !type.isNamespaced) continue;
      for (const object of storage.all(table)) {
        if (object.metadata.namespace !== namespace) continue;
        deleteObject(this.#context, object, { type, version }, {
          propagationPolicy: "Background",
          isDryRun: false,
        });
      }
    }
    this.#finish(namespace);
  }

  /** Takes the namespace's own finalizer away once nothing is left in it. */
  #finish(namespace: string): void {
    const { storage } = this.#context;
    const hasContent = storage.tables().some((table) =>
      storage.all(table).some((object) => object.metadata.namespace === namespace)
    );
    const found = storage.find("namespaces", namespace);
    if (hasContent || found?.metadata.deletionTimestamp === undefined) return;
    editStored(this.#context, "namespaces", keyOf(found.metadata), (object) => ({
      ...object,
      spec: { ...objectOf(object.spec), finalizers: [] },
    }));
  }
}

/**
 * The garbage collector: what has lost all its owners goes, foreground and orphan deletions wait for
 * their dependents.
 *
 * It keeps an index of dependents by owner's uid, fed by each write, so that a deletion costs what
 * it deletes and not a scan of everything.
 *
 * @module
 */

import { type Json, type JsonObject, withoutMember } from "../core/json.ts";
import { type ObjectKey, type OwnerReference, parseApiVersion } from "../core/objects.ts";
import { type ApiObject, objectOf, objectsAt, stringAt, stringsAt } from "./api_object.ts";
import type { ServerContext } from "./context.ts";
import { editStored, type ServerController } from "./controllers.ts";
import {
  deleteObject,
  FOREGROUND_FINALIZER,
  ORPHAN_FINALIZER,
  type PropagationPolicy,
} from "./delete.ts";
import type { StoredChange } from "./storage.ts";

/** Where an object is. */
interface Place {
  readonly table: string;
  readonly key: ObjectKey;
}

/** Where definitions of kinds are kept. */
const DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions";

/** What is known of an owner that a reference names. */
type OwnerState = "present" | "deleting-dependents" | "absent" | "unknown";

/** Deletes dependents; see the module. */
export class GarbageCollector implements ServerController {
  readonly #context: ServerContext;
  readonly #delayMs: number;
  /** By owner's uid, then by place as text. */
  readonly #dependents = new Map<string, Map<string, Place>>();
  /**
   * Owners that were seen going while something named them: absent for sure, also where their kind is
   * not served any more. Kept as long as they are named.
   */
  readonly #lostUids = new Set<string>();

  /** `delayMs` is how long after a deletion its dependents are looked at. */
  constructor(context: ServerContext, { delayMs }: { delayMs: number }) {
    this.#context = context;
    this.#delayMs = delayMs;
  }

  onChange(change: StoredChange): void {
    const place = { table: change.table, key: change.key };
    const before = ownersOf(change.previous);
    const after = change.type === "DELETED" ? [] : ownersOf(change.object);
    for (const { uid } of before) this.#unlink(uid, place);
    for (const { uid } of after) this.#link(uid, place);
    const { background } = this.#context;
    const { namespace } = change.object.metadata;
    if (change.table === DEFINITIONS && change.type !== "DELETED") {
      // Owners of this kind may have been unknown so far: now they are there, or absent.
      background.after(this.#delayMs, () => this.#checkAll());
    }
    if (change.type === "DELETED") {
      const { uid } = change.object.metadata;
      if (this.#dependents.has(uid)) {
        this.#lostUids.add(uid);
        background.after(this.#delayMs, () => this.#lost(uid));
      }
      // Each owner may have waited for this one to go.
      for (const owner of before) {
        background.after(this.#delayMs, () => this.#recheck(owner, namespace));
      }
      return;
    }
    // An object may come with, or get, an owner that is gone already.
    const isNew = after.some(({ uid }) => !before.some((old) => old.uid === uid));
    if (isNew) background.after(this.#delayMs, () => this.#check(place));
    // A dependent that no longer blocks, or is let go, may free its owner.
    for (const owner of before) {
      if (!after.some(({ uid }) => uid === owner.uid)) {
        background.after(this.#delayMs, () => this.#recheck(owner, namespace));
      }
    }
    if (isWaiting(change.object)) background.after(this.#delayMs, () => this.#progress(place));
  }

  /** Notes that the object at `place` names an owner of this uid. */
  #link(uid: string, place: Place): void {
    let places = this.#dependents.get(uid);
    if (places === undefined) {
      places = new Map();
      this.#dependents.set(uid, places);
    }
    places.set(`${place.table} ${place.key}`, place);
  }

  /** Forgets it; the last one takes the entry along, so the index does not grow with dead uids. */
  #unlink(uid: string, place: Place): void {
    const places = this.#dependents.get(uid);
    places?.delete(`${place.table} ${place.key}`);
    if (places?.size !== 0) return;
    this.#dependents.delete(uid);
    this.#lostUids.delete(uid);
  }

  /** A copy, since what is done about them changes the index. */
  #dependentsOf(uid: string): Place[] {
    return [...this.#dependents.get(uid)?.values() ?? []];
  }

  /** Looks at all that name an owner. */
  #checkAll(): void {
    for (const uid of [...this.#dependents.keys()]) this.#lost(uid);
  }

  /** An owner is gone: looks at all that named it. */
  #lost(uid: string): void {
    for (const place of this.#dependentsOf(uid)) this.#check(place);
  }

  /** Deletes the object at `place` if none of its owners is left, else drops the lost ones. */
  #check(place: Place): void {
    const object = this.#context.storage.find(place.table, place.key);
    const owners = ownersOf(object);
    if (object === undefined || owners.length === 0) return;
    const states = owners.map((owner) => this.#stateOf(owner, object));
    const absent = owners.filter((_, index) => states[index] === "absent");
    const going = owners.filter((_, index) => states[index] === "deleting-dependents");
    // An owner whose kind is not served may be there: nothing is deleted on a guess.
    const kept = states.filter((state) => state === "present" || state === "unknown").length;
    if (kept > 0) {
      if (absent.length + going.length > 0) this.#dropOwners(place, [...absent, ...going]);
      return;
    }
    const isBlocking = going.length > 0 && this.#dependentsOf(object.metadata.uid).length > 0;
    this.#delete(place, object, isBlocking ? "Foreground" : undefined);
  }

  /** Whether an owner is there: by kind, name and uid, in the namespace of its dependent. */
  #stateOf(owner: OwnerReference, dependent: ApiObject): OwnerState {
    if (this.#lostUids.has(owner.uid)) return "absent";
    const { storage, registry } = this.#context;
    const { group, version } = parseApiVersion(owner.apiVersion);
    const type = registry.findKind(group, version, owner.kind);
    if (type === undefined) return "unknown";
    const namespace = dependent.metadata.namespace;
    // A cluster-scoped object can't be owned by a namespaced one.
    if (type.isNamespaced && namespace === undefined) return "unknown";
    const key = type.isNamespaced ? `${namespace}/${owner.name}` : owner.name;
    const found = storage.find(type.table, key);
    if (found === undefined || found.metadata.uid !== owner.uid) return "absent";
    const isGoing = found.metadata.deletionTimestamp !== undefined &&
      found.metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true;
    return isGoing ? "deleting-dependents" : "present";
  }

  /** Deletes a dependent, if it is still the object that was looked at. */
  #delete(place: Place, object: ApiObject, policy: PropagationPolicy | undefined): void {
    const type = this.#context.registry.ofTable(place.table);
    const [version] = type?.versions ?? [];
    if (type === undefined || version === undefined) return;
    if (object.metadata.deletionTimestamp !== undefined && policy === undefined) return;
    const chosen = policy ?? policyOf(object);
    deleteObject(this.#context, object, { type, version }, {
      propagationPolicy: chosen,
      uid: object.metadata.uid,
      isDryRun: false,
    });
  }

  /** Takes references to lost owners away from an object that keeps others. */
  #dropOwners(place: Place, dropped: readonly OwnerReference[]): void {
    const uids = new Set(dropped.map(({ uid }) => uid));
    editStored(this.#context, place.table, place.key, (object) =>
      withOwners(object, (owner) => {
        return !uids.has(stringAt(owner, "uid"));
      }));
  }

  /**
   * Looks again at an owner, in the dependent's namespace, that may have waited for it. The others
   * are not looked at: each of many dependents that go comes here.
   */
  #recheck(owner: OwnerReference, namespace: string | undefined): void {
    const { storage, registry } = this.#context;
    const { group, version } = parseApiVersion(owner.apiVersion);
    const type = registry.findKind(group, version, owner.kind);
    if (type === undefined) return;
    const key = type.isNamespaced ? `${namespace}/${owner.name}` : owner.name;
    const found = storage.find(type.table, key);
    if (found === undefined || found.metadata.uid !== owner.uid) return;
    const { deletionTimestamp, finalizers = [] } = found.metadata;
    if (deletionTimestamp === undefined || !finalizers.includes(FOREGROUND_FINALIZER)) return;
    if (!this.#isBlocked(owner.uid)) {
      this.#removeFinalizer({ table: type.table, key }, FOREGROUND_FINALIZER);
    }
  }

  /** Takes a waiting deletion one step further. */
  #progress(place: Place): void {
    const object = this.#context.storage.find(place.table, place.key);
    if (object === undefined || !isWaiting(object)) return;
    const { uid, finalizers = [] } = object.metadata;
    if (finalizers.includes(ORPHAN_FINALIZER)) {
      for (const dependent of this.#dependentsOf(uid)) this.#release(dependent, uid);
      this.#removeFinalizer(place, ORPHAN_FINALIZER);
      return;
    }
    for (const dependent of this.#dependentsOf(uid)) this.#check(dependent);
    if (!this.#isBlocked(uid)) this.#removeFinalizer(place, FOREGROUND_FINALIZER);
  }

  /** True if a dependent is left before which this owner may not go. */
  #isBlocked(uid: string): boolean {
    for (const dependent of this.#dependents.get(uid)?.values() ?? []) {
      if (this.#blocks(dependent, uid)) return true;
    }
    return false;
  }

  /** True if the owner may not go before the object at `place`. */
  #blocks(place: Place, ownerUid: string): boolean {
    const object = this.#context.storage.find(place.table, place.key);
    return ownersOf(object).some(({ uid, blockOwnerDeletion }) =>
      uid === ownerUid && blockOwnerDeletion === true
    );
  }

  /** Takes the reference to `ownerUid` away. */
  #release(place: Place, ownerUid: string): void {
    editStored(
      this.#context,
      place.table,
      place.key,
      (object) => withOwners(object, (owner) => stringAt(owner, "uid") !== ownerUid),
    );
  }

  /** Lets a waiting object go on; if it was the last finalizer, that removes it. */
  #removeFinalizer(place: Place, finalizer: string): void {
    editStored(this.#context, place.table, place.key, (object) => {
      const metadata = objectOf(object.metadata);
      const rest = stringsAt(metadata, "finalizers").filter((each) => each !== finalizer);
      const without = withoutMember(metadata, "finalizers");
      return {
        ...object,
        metadata: rest.length === 0 ? without : { ...without, finalizers: rest },
      };
    });
  }
}

function ownersOf(object: ApiObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? [];
}

/** True if the deletion of `object` waits for the garbage collector. */
function isWaiting({ metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).some((each) =>
      each === FOREGROUND_FINALIZER || each === ORPHAN_FINALIZER
    );
}

/** How a collected object treats its own dependents: as its finalizers ask. */
function policyOf({ metadata }: ApiObject): PropagationPolicy {
  if (metadata.finalizers?.includes(ORPHAN_FINALIZER) === true) return "Orphan";
  return metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true ? "Foreground" : "Background";
}

/** `object` with the owner references that `keep` keeps; without the member if none is left. */
function withOwners(object: JsonObject, keep: (owner: JsonObject) => boolean): JsonObject {
  const metadata = objectOf(object.metadata);
  const owners: Json[] = objectsAt(metadata, "ownerReferences").filter(keep);
  const without = withoutMember(metadata, "ownerReferences");
  return {
    ...object,
    metadata: owners.length === 0 ? without : { ...without, ownerReferences: owners },
  };
}

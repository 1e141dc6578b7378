/**
 * Stand-ins for the Deployment and ReplicaSet controllers, and for a kubelet, so that a demo looks
 * like a cluster: Deployments get ReplicaSets, those get Pods, and with a kubelet the Pods run after
 * a delay.
 *
 * Simpler than the real ones: a new template's ReplicaSet gets all replicas at once, and old ones go
 * when it is available. Nothing is scheduled by resources, and no container ever fails.
 *
 * Any number of replicas may be asked for. Pods are made and removed in slices, and a ReplicaSet of
 * more than a slice is looked at once a pause and not at each change of a Pod: so requests get their
 * turns, and the work grows as the Pods do. How many Pods there may be is the caller's to bound.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { controllerRefOf, keyOf, type ObjectKey } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import {
  type ApiObject,
  numberAt,
  objectAt,
  objectOf,
  objectOfJson,
  stringMapAt,
} from "./api_object.ts";
import { defaultedPod } from "./builtin_rules.ts";
import type { ServerContext } from "./context.ts";
import { editStored, type ServerController } from "./controllers.ts";
import { deleteObject } from "./delete.ts";
import type { StoredChange } from "./storage.ts";
import {
  deploymentStatus,
  hasReplicaFailure,
  ownerReference,
  replicaSetStatus,
  runningStatus,
  surplus,
  templateHash,
} from "./workload_status.ts";
import { nameSuffix } from "./write.ts";

const DEPLOYMENTS = "apps/deployments";
const REPLICA_SETS = "apps/replicasets";
const PODS = "pods";

const REVISION = "deployment.kubernetes.io/revision";
const HASH_LABEL = "pod-template-hash";

/** The kubelet stand-in's node. */
export const SIMULATED_NODE = "simulated-node";

/** Most Pods that one look at a ReplicaSet makes, or removes. */
const SLICE_PODS = 100;

/** Least time between two looks at a ReplicaSet of that many Pods, in milliseconds. */
const SLICE_PAUSE_MS = 5;

/** What the stand-ins do. */
export interface WorkloadOptions {
  /**
   * Milliseconds from a Pod's creation until its containers are ready.
   * @default no kubelet: Pods stay Pending
   */
  readonly readyAfterMs?: number;
  /**
   * Milliseconds from a change until the controllers act on it.
   * @default 0, at the end of the request
   */
  readonly delayMs?: number;
  /**
   * Most Pods that a ReplicaSet gets, a whole number. One that wants more shows the condition
   * `ReplicaFailure`, as under a quota.
   * @default no bound: each Pod costs some kilobytes of memory
   */
  readonly podsMax?: number;
  /** Told when a ReplicaSet begins to want more than `podsMax`. Must not throw. */
  readonly onPodsMax?: (event: PodsMaxEvent) => void;
}

/** A ReplicaSet wants more Pods than it gets. */
export interface PodsMaxEvent {
  /** Of the ReplicaSet. */
  readonly namespace: string;
  /** Its name. */
  readonly replicaSet: string;
  /** What it wants. */
  readonly replicas: number;
  /** What it gets. */
  readonly podsMax: number;
}

/** The stand-ins; a server's option `workloads` switches them on. */
export class Workloads implements ServerController {
  readonly #context: ServerContext;
  readonly #readyAfterMs: number | undefined;
  readonly #delayMs: number;
  readonly #podsMax: number;
  readonly #onPodsMax: ((event: PodsMaxEvent) => void) | undefined;
  /** Syncs that are scheduled and have not run: one is enough for any number of changes. */
  readonly #scheduled = new Set<string>();
  /** Keys by table and controller's uid, so that a sync does not look at all Pods there are. */
  readonly #owned = new Map<string, Set<ObjectKey>>();

  /** Stores; the first change starts it. */
  constructor(context: ServerContext, options: WorkloadOptions = {}) {
    this.#context = context;
    this.#readyAfterMs = options.readyAfterMs;
    this.#delayMs = options.delayMs ?? 0;
    this.#podsMax = options.podsMax ?? Infinity;
    this.#onPodsMax = options.onPodsMax;
  }

  onChange(change: StoredChange): void {
    const { table, key, object, type } = change;
    if (table === REPLICA_SETS || table === PODS) this.#index(change);
    switch (table) {
      case DEPLOYMENTS:
        if (type !== "DELETED") this.#schedule(DEPLOYMENTS, key);
        return;
      case REPLICA_SETS:
        if (type !== "DELETED") this.#scheduleReplicaSet(key, object.metadata.uid);
        this.#scheduleDeploymentOf(object);
        return;
      case PODS:
        this.#scheduleReplicaSetOf(object);
        if (this.#readyAfterMs !== undefined) this.#runPod(change, this.#readyAfterMs);
        return;
    }
  }

  /** Plans a sync; one that is planned already covers this change, too. */
  #schedule(table: string, key: ObjectKey, delayMs = this.#delayMs): void {
    const id = `${table} ${key} ${delayMs}`;
    if (this.#scheduled.has(id)) return;
    this.#scheduled.add(id);
    this.#context.background.after(delayMs, () => {
      this.#scheduled.delete(id);
      const object = this.#context.storage.find(table, key);
      if (object === undefined) return;
      if (table === DEPLOYMENTS) this.#syncDeployment(object);
      else this.#syncReplicaSet(object);
    });
  }

  /** A change of an owned object is news for its owner. */
  #scheduleDeploymentOf(set: ApiObject): void {
    const owner = controllerRefOf(set);
    if (owner?.kind === "Deployment") {
      this.#schedule(DEPLOYMENTS, `${set.metadata.namespace}/${owner.name}`);
    }
  }

  #scheduleReplicaSetOf(pod: ApiObject): void {
    const owner = controllerRefOf(pod);
    if (owner?.kind === "ReplicaSet") {
      this.#scheduleReplicaSet(`${pod.metadata.namespace}/${owner.name}`, owner.uid);
    }
  }

  /** A sync looks at each Pod: with many, there is none for each of their changes. */
  #scheduleReplicaSet(key: ObjectKey, uid: string): void {
    const count = this.#owned.get(`${PODS} ${uid}`)?.size ?? 0;
    const pauseMs = count < SLICE_PODS ? 0 : SLICE_PAUSE_MS;
    this.#schedule(REPLICA_SETS, key, Math.max(this.#delayMs, pauseMs));
  }

  /** Keeps the index of owned objects in step with one change. */
  #index({ type, table, key, object, previous }: StoredChange): void {
    const before = controllerRefOf(previous ?? NO_OWNER)?.uid;
    const after = type === "DELETED" ? undefined : controllerRefOf(object)?.uid;
    if (before === after) return;
    if (before !== undefined) {
      const keys = this.#owned.get(`${table} ${before}`);
      keys?.delete(key);
      if (keys?.size === 0) this.#owned.delete(`${table} ${before}`);
    }
    if (after !== undefined) {
      const id = `${table} ${after}`;
      const keys = this.#owned.get(id);
      if (keys === undefined) this.#owned.set(id, new Set([key]));
      else keys.add(key);
    }
  }

  /** Objects of `table` that `owner` controls, the oldest first. */
  #ownedBy(owner: ApiObject, table: string): ApiObject[] {
    const keys = this.#owned.get(`${table} ${owner.metadata.uid}`) ?? [];
    return [...keys].map((key) => this.#context.storage.find(table, key)).filter((each) =>
      each !== undefined
    );
  }

  /** Makes the ReplicaSet of the current template, scales, and reports. Level-triggered. */
  #syncDeployment(deployment: ApiObject): void {
    if (deployment.metadata.deletionTimestamp !== undefined) return;
    const hash = templateHash(objectAt(deployment, "spec", "template"));
    const sets = this.#ownedBy(deployment, REPLICA_SETS);
    const current = sets.find((set) => set.metadata.labels?.[HASH_LABEL] === hash);
    const isPaused = objectAt(deployment, "spec").paused === true;
    if (current === undefined && !isPaused) {
      this.#addReplicaSet(deployment, hash, sets.length);
      return; // its own change brings us back
    }
    const wanted = numberAt(deployment, "spec", "replicas") ?? 1;
    if (current !== undefined) {
      this.#scale(current, wanted);
      const available = numberAt(current, "status", "availableReplicas") ?? 0;
      // Old Pods serve until the new ones do.
      for (const old of sets) if (old !== current && available >= wanted) this.#scale(old, 0);
    }
    this.#reportDeployment(deployment, current, sets);
  }

  /** Writes status and revision annotation; an unchanged report is no write. */
  #reportDeployment(
    deployment: ApiObject,
    current: ApiObject | undefined,
    sets: readonly ApiObject[],
  ): void {
    const nowMs = this.#context.clock.wallMs();
    const revision = current?.metadata.annotations?.[REVISION];
    editStored(this.#context, DEPLOYMENTS, keyOf(deployment.metadata), (object) => {
      const status = deploymentStatus(object, { current, sets, nowMs });
      const metadata = objectOf(object.metadata);
      const annotations = revision === undefined
        ? objectOf(metadata.annotations)
        : { ...objectOf(metadata.annotations), [REVISION]: revision };
      return {
        ...object,
        metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
        status,
      };
    });
  }

  /** A ReplicaSet for the current template, told apart from others by the hash label. */
  #addReplicaSet(deployment: ApiObject, hash: string, count: number): void {
    const { name, namespace, annotations = {} } = deployment.metadata;
    const spec = objectAt(deployment, "spec");
    const template = objectOf(spec.template);
    const labels = { ...stringMapAt(template, "metadata", "labels"), [HASH_LABEL]: hash };
    const selector = objectOf(spec.selector);
    const matchLabels = { ...objectOf(selector.matchLabels), [HASH_LABEL]: hash };
    const setName = `${name}-${hash}`;
    if (this.#context.storage.find(REPLICA_SETS, `${namespace}/${setName}`) !== undefined) return;
    this.#add(REPLICA_SETS, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        ...this.#newMetadata(setName, namespace),
        generation: 1,
        labels,
        annotations: { ...annotations, [REVISION]: String(count + 1) },
        ownerReferences: [ownerReference(deployment)],
      },
      spec: {
        replicas: spec.replicas ?? 1,
        selector: { ...selector, matchLabels },
        template: { ...template, metadata: { ...objectOf(template.metadata), labels } },
      },
      status: { replicas: 0 },
    });
  }

  /** Sets the replicas of a ReplicaSet, as its Deployment wants them. */
  #scale(set: ApiObject, replicas: number): void {
    editStored(this.#context, REPLICA_SETS, keyOf(set.metadata), (object) => {
      const spec = objectOf(object.spec);
      if (spec.replicas === replicas) return object;
      const generation = (numberAt(object, "metadata", "generation") ?? 0) + 1;
      return {
        ...object,
        metadata: { ...objectOf(object.metadata), generation },
        spec: { ...spec, replicas },
      };
    });
  }

  /** Adds or removes Pods until their number is right, slice by slice, then reports them. */
  #syncReplicaSet(set: ApiObject): void {
    const nowMs = this.#context.clock.wallMs();
    const pods = this.#ownedBy(set, PODS).filter(({ metadata }) =>
      metadata.deletionTimestamp === undefined
    );
    const wanted = numberAt(set, "spec", "replicas") ?? 1;
    const allowed = Math.min(wanted, this.#podsMax);
    if (set.metadata.deletionTimestamp === undefined) {
      const missing = Math.min(allowed - pods.length, SLICE_PODS);
      for (let count = 0; count < missing; count++) this.#addPod(set);
      for (const pod of surplus(pods, allowed).slice(0, SLICE_PODS)) this.#deletePod(pod);
      if (pods.length !== allowed) return; // the Pods' own changes bring us back
    }
    const minReadyMs = (numberAt(set, "spec", "minReadySeconds") ?? 0) * 1000;
    const status = replicaSetStatus(set, pods, { minReadyMs, podsMax: this.#podsMax, nowMs });
    editStored(this.#context, REPLICA_SETS, keyOf(set.metadata), (object) => ({
      ...object,
      status,
    }));
    if (hasReplicaFailure(status) && !hasReplicaFailure(objectAt(set, "status"))) {
      const { name, namespace = "" } = set.metadata;
      const podsMax = this.#podsMax;
      this.#onPodsMax?.({ namespace, replicaSet: name, replicas: wanted, podsMax });
    }
    // Pods that are ready become available without a change of theirs.
    if (
      minReadyMs > 0 && numberAt(status, "readyReplicas") !== numberAt(status, "availableReplicas")
    ) {
      this.#schedule(REPLICA_SETS, keyOf(set.metadata), minReadyMs);
    }
  }

  /** A Pod of the template, with the defaults that admission gives it. */
  #addPod(set: ApiObject): void {
    const { name, namespace } = set.metadata;
    const template = objectAt(set, "spec", "template");
    const prefix = `${name}-`;
    const metadata = objectOf(template.metadata);
    const pod = defaultedPod({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...metadata,
        ...this.#newMetadata(prefix + nameSuffix(this.#context.random), namespace),
        generateName: prefix,
        generation: 1,
        ownerReferences: [ownerReference(set)],
      },
      spec: objectOf(template.spec),
      status: { phase: "Pending", qosClass: "BestEffort" },
    });
    this.#add(PODS, pod);
  }

  /** Identity of a new object. */
  #newMetadata(name: string, namespace: string | undefined): JsonObject {
    return {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: this.#context.uuid(),
      creationTimestamp: timeOf(this.#context.clock.wallMs()),
    };
  }

  /** Adds an object unless its namespace is going or its (random) name is taken. */
  #add(table: string, json: JsonObject): void {
    const object = objectOfJson(json);
    const { storage } = this.#context;
    const namespace = storage.find("namespaces", object.metadata.namespace ?? "");
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
    if (storage.find(table, keyOf(object.metadata)) === undefined) storage.add(table, object);
  }

  /** Deletes as a client would: a Pod on a node gets its grace. */
  #deletePod(pod: ApiObject): void {
    const type = this.#context.registry.findType("", PODS);
    const [version] = type?.versions ?? [];
    if (type === undefined || version === undefined) return;
    deleteObject(this.#context, pod, { type, version }, { isDryRun: false });
  }

  /** The kubelet: binds and runs new Pods, ends deleted ones. */
  #runPod({ type, key, object }: StoredChange, readyAfterMs: number): void {
    const { background, storage, clock } = this.#context;
    const { uid, deletionTimestamp } = object.metadata;
    if (type === "DELETED") return;
    if (deletionTimestamp !== undefined) {
      background.after(readyAfterMs, () => {
        const found = storage.find(PODS, key);
        if (found === undefined || found.metadata.uid !== uid) return;
        editStored(this.#context, PODS, key, (pod) => ({
          ...pod,
          metadata: { ...objectOf(pod.metadata), deletionGracePeriodSeconds: 0 },
        }));
      });
      return;
    }
    if (type !== "ADDED") return;
    background.after(readyAfterMs, () => {
      if (storage.find(PODS, key)?.metadata.uid !== uid) return;
      const nowMs = clock.wallMs();
      editStored(this.#context, PODS, key, (pod) => ({
        ...pod,
        spec: { ...objectOf(pod.spec), nodeName: SIMULATED_NODE },
        status: runningStatus(pod, nowMs),
      }));
    });
  }
}

/** Stands for the state before a creation. */
const NO_OWNER = { metadata: {} };

/**
 * Brings one Foo's Deployment and status to where the Foo wants them.
 *
 * Reads the caches, decides (`plan.ts`, `status.ts`), writes. Running it again without a change in
 * between writes nothing. A new Foo costs one create, one status write and one event: the status is
 * made from the create's answer, without waiting for it to come back on the watch.
 *
 * What it never does: touch a Deployment whose controller is not this very Foo, by uid; send a field
 * that is not ours; write without the preconditions of what it decided on.
 *
 * @module
 */

import type { Deployment } from "../client/kinds.ts";
import type { StrategicPartial } from "../client/patch.ts";
import {
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  requeueAfter,
  SETTLED,
} from "../controller/reconciler.ts";
import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isObjectNotFound,
} from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import { type Draft, keyOf, type ObjectKey } from "../core/objects.ts";
import { timeOf } from "../core/timestamps.ts";
import { absentIfNotFound, isRefusal } from "./answers.ts";
import { FooNews } from "./news.ts";
import { Obstacles } from "./obstacles.ts";
import { OwnWrites, type WrittenKind } from "./own_writes.ts";
import { type DeploymentPlan, draftDeployment, planDeployment, superseded } from "./plan.ts";
import { BY_OWNER, type FooListers, type FooReconcilerOptions } from "./reconciler_options.ts";
import { checkFooSpec, type Foo, type FooSpec } from "./schema.ts";
import {
  type FooOutcome,
  readyConditionOf,
  statusOf,
  type StatusPatch,
  statusPatch,
} from "./status.ts";
import { controllerNameOf, correctedFields, nameTaken } from "./wording.ts";

/**
 * How soon a key is looked at again whose caches lag behind our own write, in milliseconds. The wait
 * costs no request; most caches catch up within one.
 */
const LAG_POLL_MS = 250;

/**
 * How soon a key is looked at again after the server knew a newer state than our cache, in
 * milliseconds. The change that brings the cache up to it comes sooner and makes its own way.
 */
const CONFLICT_RETRY_MS = 1000;

/** Longest text of a server's refusal that goes into a condition. */
const REFUSAL_MAX_CHARS = 1000;

/** Why a Foo has no Deployment whose name is someone else's, in sample-controller's words. */
const NAME_TAKEN = "ErrResourceExists";

/** What one reconcile works on. */
interface Work {
  readonly key: ObjectKey;
  readonly foo: Foo;
  readonly namespace: string;
  readonly listers: FooListers;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * The reconciler of Foos. Holds what it wrote last of each Foo, for as long as the caches may not
 * have it, and what it has told, or has yet to tell, of each.
 */
export class FooReconciler {
  readonly #options: FooReconcilerOptions;
  readonly #news: FooNews;
  /** What the server refused, of Foos whose Deployment it refused: not asked for again. */
  readonly #refused = new Map<ObjectKey, { readonly what: string; readonly message: string }>();
  /** Deployments in the way of Foos that the cache can't show. */
  readonly #obstacles = new Obstacles();
  /** Foos whose Deployment was changed and whose `Synced` is still to be told. */
  readonly #changed = new Set<ObjectKey>();
  /** What was written, for those who put changes into the queue: an echo needs no look. */
  readonly ownWrites: OwnWrites = new OwnWrites();

  /** Only stores. */
  constructor(options: FooReconcilerOptions) {
    this.#options = options;
    this.#news = new FooNews(options.events);
  }

  /** See the module's text. Errors are for the controller: it tries again with backoff. */
  async reconcile(
    { namespace, name }: ReconcileRequest,
    { signal, log }: Pick<ReconcileContext, "signal" | "log">,
  ): Promise<ReconcileResult> {
    const key = keyOf({ namespace, name });
    const listers = this.#options.listersOf(namespace);
    const foo = listers.foos.find(key);
    if (foo === undefined) {
      this.#forget(key);
      return SETTLED;
    }
    // What belongs to it goes with it: that is the garbage collector's work.
    if (foo.metadata.deletionTimestamp !== undefined) return SETTLED;

    const reached = {
      foos: listers.foos.resourceVersion,
      deployments: listers.deployments.resourceVersion,
    };
    if (this.ownWrites.isLagging(key, { reached, nowMs: this.#nowMs() })) {
      return requeueAfter(LAG_POLL_MS);
    }

    const work: Work = { key, foo, namespace, listers, signal, log };
    try {
      const outcome = await this.#bring(work);
      const lagMs = outcome === undefined ? undefined : await this.#report(work, outcome);
      return requeueAtFirst(
        this.#obstacles.waitMs(key, this.#nowMs()),
        lagMs,
        this.#options.served.recheckMs,
      );
    } catch (error) {
      if (isConflict(error)) {
        log.debug("Waiting for a newer state", { error });
        return requeueAfter(CONFLICT_RETRY_MS);
      }
      // Nothing can be made in there any more, and the Foo goes with it.
      if (isNamespaceTerminating(error)) return SETTLED;
      throw error;
    }
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  #forget(key: ObjectKey): void {
    this.ownWrites.forget(key);
    this.#obstacles.cleared(key);
    this.#news.cleared(key);
    this.#refused.delete(key);
    this.#changed.delete(key);
  }

  /** Brings the Deployment about. `undefined`: what is going on will end in a change of its own. */
  async #bring(work: Work): Promise<FooOutcome | undefined> {
    const check = checkFooSpec(work.foo);
    if (check.type === "invalid") {
      this.#obstacles.cleared(work.key);
      return this.#blocked(work, { reason: "InvalidSpec", message: check.problem });
    }
    const found = this.#find(work, check.spec.deploymentName);
    // The same spec and the same Deployment would be refused again.
    const { uid, generation } = work.foo.metadata;
    const what = JSON.stringify([uid, generation, found?.metadata.resourceVersion]);
    const refusal = this.#refused.get(work.key);
    if (refusal?.what === what) {
      return this.#blocked(work, { reason: "DeploymentRefused", message: refusal.message });
    }
    this.#refused.delete(work.key);
    try {
      return await this.#bringDeployment(work, { spec: check.spec, found });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const message = error.message.slice(0, REFUSAL_MAX_CHARS);
      this.#refused.set(work.key, { what, message });
      return this.#blocked(work, { reason: "DeploymentRefused", message });
    }
  }

  /** The Deployment of this name that the cache knows, unless it is one that we had deleted. */
  #find({ key, namespace, listers }: Work, name: string): Deployment | undefined {
    const found = listers.deployments.find(keyOf({ namespace, name }));
    if (found === undefined || this.ownWrites.isDeleted(key, found.metadata.uid)) return undefined;
    return found;
  }

  async #bringDeployment(
    work: Work,
    { spec, found: cached }: { spec: FooSpec; found: Deployment | undefined },
  ): Promise<FooOutcome | undefined> {
    const { key, foo, namespace, signal } = work;
    const name = spec.deploymentName;
    const known = cached === undefined ? this.#obstacles.find(key, name) : undefined;
    if (known !== undefined && this.#obstacles.waitMs(key, this.#nowMs()) !== 0) {
      return known.what === "foreign" ? this.#foreign(work, known) : undefined;
    }
    // Where the name was taken, one read tells more than a create that fails.
    const mayBeTaken = cached === undefined && (known !== undefined || wasTaken(foo));
    const place = { name, namespace, signal };
    let found = mayBeTaken ? await absentIfNotFound(this.#options.deployments.get(place)) : cached;
    this.#obstacles.cleared(key);
    if (found === undefined) {
      if (await this.#isGone(work, name)) return undefined;
      const made = await this.#create(work, draftDeployment(foo, spec));
      if (made !== undefined) return await this.#synced(work, { spec, deployment: made });
      // The name is taken by one that the cache does not have. Whose it is, the server knows.
      found = await this.#options.deployments.get(place);
    }
    const plan = planDeployment({ foo, spec, found });
    if (found !== cached) this.#remember(work, found, plan);
    switch (plan.type) {
      case "keep":
        return await this.#synced(work, { spec, deployment: found });
      case "correct":
        return await this.#synced(work, {
          spec,
          deployment: await this.#correct(work, { found, patch: plan.patch }),
        });
      case "foreign":
        return this.#foreign(work, { name, owner: controllerNameOf(found) });
      case "wait":
        return undefined;
      default:
        return plan satisfies never;
    }
  }

  /** Of what the cache does not show nobody tells the end: then the server has to be asked again. */
  #remember({ key }: Work, found: Deployment, { type }: DeploymentPlan): void {
    if (type !== "foreign" && type !== "wait") return;
    const what = type === "foreign" ? "foreign" : "ending";
    const { metadata: { name } } = found;
    const owner = controllerNameOf(found);
    this.#obstacles.met(key, { name, owner, what, seenAtMs: this.#nowMs() });
  }

  #foreign(work: Work, taken: { name: string; owner?: string | undefined }): FooOutcome {
    const { name, owner } = taken;
    return this.#blocked(work, { reason: NAME_TAKEN, ...nameTaken({ name, owner }) });
  }

  /**
   * True if the Foo is gone already, though the cache still has it. Asked only of one whose Deployment
   * was made before: else each Deployment that the garbage collector takes would be made anew, and
   * taken again, for as long as the cache lags.
   */
  async #isGone({ key, foo, namespace, signal }: Work, deploymentName: string): Promise<boolean> {
    const { uid, name } = foo.metadata;
    const isNew = foo.status?.observedGeneration === undefined &&
      !this.ownWrites.hasWritten(key, "deployments");
    if (isNew) return false;
    const live = await absentIfNotFound(this.#options.foos.get({ name, namespace, signal }));
    if (live?.metadata.uid === uid && live.metadata.deletionTimestamp === undefined) return false;
    this.#obstacles.met(key, { name: deploymentName, what: "gone", seenAtMs: this.#nowMs() });
    return true;
  }

  /** Creates it; `undefined` if there is one of that name. */
  async #create(work: Work, draft: Draft<Deployment>): Promise<Deployment | undefined> {
    try {
      const deployment = await this.#options.deployments.create(draft, { signal: work.signal });
      this.#wroteDeployment(work, deployment);
      work.log.info("Created Deployment", { deployment: deployment.metadata.name });
      return deployment;
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  async #correct(
    work: Work,
    { found, patch }: { found: Deployment; patch: StrategicPartial<Deployment> },
  ): Promise<Deployment> {
    const { namespace, signal, log } = work;
    const { name } = found.metadata;
    const corrected = await this.#options.deployments.patch({
      name,
      namespace,
      patch: { type: "strategic", body: patch },
      signal,
    });
    this.#wroteDeployment(work, corrected);
    const fields = correctedFields({ found, patch });
    log.info("Corrected Deployment", { deployment: name, fields });
    return corrected;
  }

  /** The Deployment is as the Foo wants it: now, and not before, those of older names may go. */
  async #synced(
    work: Work,
    { spec, deployment }: { spec: FooSpec; deployment: Deployment },
  ): Promise<FooOutcome> {
    const { key, namespace, signal, log } = work;
    for (const { metadata } of superseded({ owned: this.#owned(work), current: deployment })) {
      const { name, uid, resourceVersion } = metadata;
      try {
        await this.#options.deployments.delete({
          name,
          namespace,
          preconditions: { uid, resourceVersion },
          propagationPolicy: "Background",
          signal,
        });
        log.info("Deleted Deployment of the old name", { deployment: name });
      } catch (error) {
        if (!isObjectNotFound(error)) throw error; // gone is what we wanted
      }
      this.ownWrites.deleted(key, uid);
    }
    return { type: "synced", spec, deployment };
  }

  #blocked(
    work: Work,
    why: Pick<FooOutcome & { type: "blocked" }, "reason" | "message" | "note">,
  ): FooOutcome {
    return { type: "blocked", ...why, deployment: this.#owned(work)[0] };
  }

  /** Deployments of the Foo that the cache knows, without those that we had deleted. */
  #owned({ key, foo, listers }: Work): readonly Deployment[] {
    const owned = listers.deployments.byIndex(BY_OWNER, foo.metadata.uid);
    this.ownWrites.keepDeleted(key, owned.map(({ metadata }) => metadata.uid));
    return owned.filter(({ metadata }) => !this.ownWrites.isDeleted(key, metadata.uid));
  }

  /**
   * Writes the status if it differs, then tells what happened. Returns after how many milliseconds
   * the server may keep what it did not keep now, if that is so.
   */
  async #report(work: Work, outcome: FooOutcome): Promise<number | undefined> {
    const { key, foo } = work;
    const served = this.#options.served.current;
    const now = timeOf(this.#options.clock.wallMs());
    const wanted = statusOf({ foo, outcome, now });
    const patch = statusPatch({ foo, wanted, served });
    const lagMs = patch === undefined ? undefined : await this.#writeStatus(work, patch);

    if (outcome.type === "blocked") {
      this.#news.blocked(foo, { outcome, log: work.log });
      return lagMs;
    }
    this.#news.cleared(key);
    const isObserved = patch?.status.observedGeneration !== undefined;
    // Told once: of a write that is to be repeated, then.
    if (lagMs !== undefined) return lagMs;
    if (this.#changed.delete(key) || isObserved) this.#news.synced(foo);
    return undefined;
  }

  async #writeStatus(
    work: Work,
    { status: sent, metadata }: StatusPatch,
  ): Promise<number | undefined> {
    const { key, foo, namespace, signal, log } = work;
    const { name } = foo.metadata;
    try {
      const written = await this.#options.foos.patch({
        name,
        namespace,
        patch: { type: "merge", body: { metadata, status: sent } },
        subresource: "status",
        signal,
      });
      this.#wrote(key, { kind: "foos", version: written.metadata.resourceVersion });
      return this.#options.served.answered({ sent, stored: written.status });
    } catch (error) {
      if (!isObjectNotFound(error)) throw error;
      // Either the Foo is gone, and its deletion will be told, or there is no `foos/status` (R9).
      const live = await absentIfNotFound(this.#options.foos.get({ name, namespace, signal }));
      if (live?.metadata.uid === foo.metadata.uid && !this.#options.served.lacksSubresource()) {
        throw error;
      }
      log.debug("Status has no place any more", { error });
      return undefined;
    }
  }

  #wroteDeployment({ key }: Work, { metadata }: Deployment): void {
    this.#changed.add(key);
    this.#wrote(key, { kind: "deployments", version: metadata.resourceVersion });
  }

  #wrote(key: ObjectKey, { kind, version }: { kind: WrittenKind; version: string }): void {
    this.ownWrites.wrote(key, { kind, version, nowMs: this.#options.clock.monotonicMs() });
  }
}

/** Another look after the shortest of these waits, in milliseconds; without any, none. */
function requeueAtFirst(...waitsMs: readonly (number | undefined)[]): ReconcileResult {
  const waitMs = Math.min(...waitsMs.map((each) => each ?? Infinity));
  return waitMs === Infinity ? SETTLED : requeueAfter(waitMs);
}

/** By the Foo's status, which outlives this process. */
function wasTaken(foo: Foo): boolean {
  const { reason, observedGeneration } = readyConditionOf(foo) ?? {};
  return reason === NAME_TAKEN && observedGeneration === foo.metadata.generation;
}

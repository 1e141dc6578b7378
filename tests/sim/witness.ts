/**
 * A second pair of eyes: informers of their own beside the operator's, in the same weather, whose
 * handlers check everything that an informer promises.
 *
 * @module
 */

import { SharedInformer } from "../../lib/cache/shared_informer.ts";
import type { StoreChange } from "../../lib/cache/store.ts";
import { Client } from "../../lib/client/client.ts";
import { DEPLOYMENTS, type KindDefinition } from "../../lib/client/kinds.ts";
import { RestClient } from "../../lib/client/rest.ts";
import { controllerRefOf, keyOf, type KubeObject } from "../../lib/core/objects.ts";
import { runTogether } from "../../lib/core/tasks.ts";
import { FOOS } from "../../lib/foo/schema.ts";
import type { ProgramParts, World } from "../../lib/simulator/mod.ts";
import { DEPLOYMENTS_TABLE, FOOS_TABLE } from "./tables.ts";

/** What was told last of one object. */
interface Told<T> {
  readonly object: T;
  readonly version: number;
}

/** Follows one kind and judges what it is told. */
class WitnessOf<T extends KubeObject> {
  readonly informer: SharedInformer<T>;
  readonly #table: string;
  readonly #fail: (problem: string) => void;
  readonly #told = new Map<string, Told<T>>();
  /** Newest version that was told of each uid: time never goes back for it. */
  readonly #newest = new Map<string, number>();

  constructor(
    kind: KindDefinition<T>,
    { table, parts, fail }: { table: string; parts: ProgramParts; fail: (problem: string) => void },
  ) {
    const { transport, clock, random, log } = parts;
    this.#table = table;
    this.#fail = (problem) => fail(`informer of ${table}: ${problem}`);
    const connection = { server: "https://sim:6443", userAgent: "witness" };
    const client = new Client(new RestClient({ transport, connection, clock }));
    this.informer = new SharedInformer<T>({
      name: `witness of ${table}`,
      source: client.resource(kind).listWatch(),
      indexers: { owner: ownerOf },
      clock,
      random,
      log,
    });
    this.informer.addHandler({ onChange: (change) => this.#take(change) }, { name: "witness" });
  }

  /** How what it knows differs from what the server has. */
  missing({ server }: World): string[] {
    const { lister } = this.informer;
    const stored = server.storage.all(this.#table);
    const problems = stored.flatMap(({ metadata }) => {
      const known = lister.find(keyOf(metadata))?.metadata.resourceVersion;
      const key = keyOf(metadata);
      return known === metadata.resourceVersion ? [] : [`${key} is known as of ${known}`];
    });
    if (lister.size !== stored.length || this.#told.size !== stored.length) {
      problems.push(`it knows ${lister.size}, told ${this.#told.size} of ${stored.length} objects`);
    }
    for (const owner of new Set(stored.map(ownerOf).flat())) {
      const indexed = lister.byIndex("owner", owner).map(({ metadata }) => metadata.uid).sort();
      const owned = stored.filter((each) => ownerOf(each).includes(owner));
      const uids = owned.map(({ metadata }) => metadata.uid).sort();
      if (indexed.join() !== uids.join()) problems.push(`the index of ${owner} is wrong`);
    }
    const values = lister.indexValues("owner");
    const left = values.filter((value) =>
      !lister.all().some((each) => ownerOf(each).includes(value))
    );
    if (left.length > 0) problems.push(`the index has ${left}, which nothing has`);
    return problems.map((problem) => `informer of ${this.#table}: ${problem}`);
  }

  #take(change: StoreChange<T>): void {
    const object = change.type === "deleted" ? change.last : change.object;
    const key = keyOf(object.metadata);
    const told = this.#told.get(key);
    if (!Object.isFrozen(object) || !Object.isFrozen(object.metadata)) {
      this.#fail(`${key} is not frozen`);
    }
    if (change.type === "deleted") {
      if (told === undefined) this.#fail(`${key} is deleted, but was never there`);
      if (told?.object.metadata.uid !== object.metadata.uid) {
        this.#fail(`another ${key} is deleted`);
      }
      this.#told.delete(key);
      return;
    }
    if (change.type === "added" && told !== undefined) this.#fail(`${key} is added twice`);
    if (change.type === "updated" && told?.object !== change.previous) {
      this.#fail(`${key} is updated from a state that was not told`);
    }
    const { uid, resourceVersion } = object.metadata;
    const version = Number(resourceVersion);
    const newest = this.#newest.get(uid) ?? 0;
    if (version < newest || (version === newest && change.type !== "updated")) {
      this.#fail(`${key} goes back from ${newest} to ${version}`);
    }
    this.#newest.set(uid, version);
    this.#told.set(key, { object, version });
    // All changes of a list are in before the first is told: it may be gone again, but not older.
    const known = this.informer.lister.find(key);
    if (known !== undefined && Number(known.metadata.resourceVersion) < version) {
      this.#fail(`${key} is told before it is in`);
    }
  }
}

function ownerOf(object: Pick<KubeObject, "metadata">): string[] {
  const owner = controllerRefOf(object);
  return owner === undefined ? [] : [owner.uid];
}

/** The witnesses of one life of the operator. */
export class Witness {
  readonly #foos: WitnessOf<KubeObject>;
  readonly #deployments: WitnessOf<KubeObject>;

  constructor(parts: ProgramParts, fail: (problem: string) => void) {
    const foos: KindDefinition<KubeObject> = FOOS;
    const deployments: KindDefinition<KubeObject> = DEPLOYMENTS;
    this.#foos = new WitnessOf(foos, { table: FOOS_TABLE, parts, fail });
    this.#deployments = new WitnessOf(deployments, { table: DEPLOYMENTS_TABLE, parts, fail });
  }

  /** Follows until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await runTogether({
      foos: (signal) => this.#foos.informer.run({ signal }),
      deployments: (signal) => this.#deployments.informer.run({ signal }),
    }, { signal });
  }

  /** What it does not know, though it should by now. */
  missing(world: World): string[] {
    return [...this.#foos.missing(world), ...this.#deployments.missing(world)];
  }
}

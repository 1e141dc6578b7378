/** Finalizers, children and status against servers: what they do about other writers. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import {
  CONFIG_MAPS,
  type ConfigMap,
  type Deployment,
  DEPLOYMENTS,
} from "../../lib/client/kinds.ts";
import { ensureChild, pruneChildren } from "../../lib/controller/children.ts";
import {
  ensureFinalizer,
  removeFinalizer,
  withFinalizer,
} from "../../lib/controller/finalizers.ts";
import { requeueAfter, SETTLED } from "../../lib/controller/reconciler.ts";
import { patchStatus } from "../../lib/controller/status.ts";
import { isConflict, isNotFound } from "../../lib/core/errors.ts";
import { controllerRefOf, type Draft } from "../../lib/core/objects.ts";
import { AlreadyOwnedError, CrossNamespaceError } from "../../lib/core/owner_references.ts";
import { type Cluster, onBothClusters } from "../support/cluster.ts";
import { realSuite } from "../support/real_suite.ts";

const suite = realSuite();
const NAME = "example.com/backup";
const OTHER = "example.com/other";

/** One test's config maps. */
function configMaps({ client, namespace, signal, wait }: Cluster) {
  const resource = client.resource(CONFIG_MAPS);
  const place = (name: string) => ({ name, namespace, signal });
  return {
    resource,
    create: (name: string, finalizers: string[] = []) =>
      wait(resource.create({ metadata: { name, namespace, finalizers } }, { signal })),
    get: (name: string) => wait(resource.get(place(name))),
    delete: (name: string) => wait(resource.delete(place(name))),
    setFinalizers: (name: string, finalizers: string[]) =>
      wait(
        resource.patch({
          ...place(name),
          patch: { type: "merge", body: { metadata: { finalizers } } },
        }),
      ),
    exists: async (name: string) => {
      try {
        await wait(resource.get(place(name)));
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
  };
}

onBothClusters(
  suite,
  "finalizers: added once, never while deleting, removed when cleaned up",
  async (cluster) => {
    const { signal, wait } = cluster;
    const maps = configMaps(cluster);
    const options = { client: maps.resource, finalizer: NAME, signal };
    const object = await wait(ensureFinalizer(await maps.create("a", [OTHER]), options));
    deepStrictEqual(object.metadata.finalizers, [OTHER, NAME]);
    strictEqual(await wait(ensureFinalizer(object, options)), object); // no write

    await maps.delete("a");
    const deleting = await maps.get("a");
    ok(deleting.metadata.deletionTimestamp);
    const writes = cluster.writes.length;
    const late = { ...options, finalizer: "example.com/late" };
    strictEqual(await wait(ensureFinalizer(deleting, late)), deleting);
    strictEqual(cluster.writes.length, writes);

    await wait(removeFinalizer(deleting, options));
    deepStrictEqual((await maps.get("a")).metadata.finalizers, [OTHER]);
    await wait(removeFinalizer(deleting, options)); // is not there any more: fine
    await maps.setFinalizers("a", []);
    strictEqual(await maps.exists("a"), false);
    await wait(removeFinalizer(deleting, options)); // 404: fine
  },
);

onBothClusters(
  suite,
  "finalizers: another's is never lost, however old the cache is",
  async (cluster) => {
    const { signal, wait } = cluster;
    const maps = configMaps(cluster);
    const options = { client: maps.resource, finalizer: NAME, signal };
    const stale = await maps.create("a");
    await maps.setFinalizers("a", [OTHER]);
    await rejects(wait(ensureFinalizer(stale, options)), isConflict);
    deepStrictEqual((await maps.get("a")).metadata.finalizers, [OTHER]);

    const both = await maps.setFinalizers("a", [OTHER, "example.com/third", NAME]);
    await maps.setFinalizers("a", ["example.com/third", NAME]); // ours moved to another's index
    await wait(removeFinalizer(both, options));
    deepStrictEqual((await maps.get("a")).metadata.finalizers, ["example.com/third"]);
    await maps.setFinalizers("a", []);
  },
);

onBothClusters(suite, "finalizers: one of an object made anew is left alone", async (cluster) => {
  const { signal, wait } = cluster;
  const maps = configMaps(cluster);
  const options = { client: maps.resource, finalizer: NAME, signal };
  const old = await maps.create("a", [NAME]);
  await maps.delete("a");
  await wait(removeFinalizer(old, options));
  await maps.create("a", [NAME]);
  await wait(removeFinalizer(old, options));
  deepStrictEqual((await maps.get("a")).metadata.finalizers, [NAME]);
  await maps.setFinalizers("a", []);
});

onBothClusters(
  suite,
  "withFinalizer(): cleaning up that wants time or fails keeps the object",
  async (cluster) => {
    const { signal, wait } = cluster;
    const maps = configMaps(cluster);
    const steps: string[] = [];
    let answer = () => Promise.resolve(requeueAfter(1000));
    const reconcile = async () =>
      await wait(withFinalizer(await maps.get("a"), {
        client: maps.resource,
        finalizer: NAME,
        signal,
        apply({ metadata }) {
          steps.push(`apply ${metadata.finalizers}`);
          return Promise.resolve(SETTLED);
        },
        cleanUp() {
          steps.push("clean up");
          return answer();
        },
      }));
    await maps.create("a");
    deepStrictEqual(await reconcile(), SETTLED);
    await maps.delete("a");
    deepStrictEqual(await reconcile(), requeueAfter(1000));
    strictEqual(await maps.exists("a"), true);
    answer = () => Promise.reject(new Error("storage is away"));
    await rejects(reconcile(), { message: "storage is away" });
    strictEqual(await maps.exists("a"), true);
    answer = () => Promise.resolve(SETTLED);
    deepStrictEqual(await reconcile(), SETTLED);
    strictEqual(await maps.exists("a"), false);
    deepStrictEqual(steps, [`apply ${NAME}`, "clean up", "clean up", "clean up"]);
  },
);

/** What the tests want of a Deployment: no more than a server must be told. */
function wanted(namespace: string, name = "web", image = "nginx:1"): Draft<Deployment> & {
  metadata: { name: string };
} {
  const labels = { app: "web" };
  return {
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } },
    },
  };
}

/** Children of a config map, which stands for any owner. */
async function family(cluster: Cluster) {
  const { client, namespace, signal, wait } = cluster;
  const maps = configMaps(cluster);
  const owner = await maps.create("owner");
  const children = client.resource(DEPLOYMENTS);
  const options = { client: children, owner, ownerKind: CONFIG_MAPS, signal };
  return {
    owner,
    maps,
    children,
    options,
    place: (name: string) => ({ name, namespace, signal }),
    ensure: (draft?: ReturnType<typeof wanted>, found?: Deployment, by: ConfigMap = owner) =>
      wait(ensureChild({ ...options, owner: by, wanted: draft ?? wanted(namespace), found })),
  };
}

onBothClusters(
  suite,
  "R1 ensureChild(): what the server and others add is no reason to write",
  async (cluster) => {
    const { namespace, wait } = cluster;
    const { ensure, children, place, owner } = await family(cluster);
    const made = await ensure();
    strictEqual(made.type, "created");
    strictEqual(controllerRefOf(made.child)?.uid, owner.metadata.uid);
    const touched = await wait(children.patch({
      ...place("web"),
      patch: { type: "merge", body: { metadata: { annotations: { by: "someone" } } } },
    }));
    const writes = cluster.writes.length;
    strictEqual((await ensure(undefined, touched)).type, "unchanged");
    strictEqual(cluster.writes.length, writes);
    const changed = await ensure(wanted(namespace, "web", "nginx:2"), touched);
    strictEqual(changed.type, "changed");
    strictEqual(
      (await ensure(wanted(namespace, "web", "nginx:2"), changed.child)).type,
      "unchanged",
    );
    strictEqual(changed.child.metadata.annotations?.by, "someone");
    // A cache that lags costs a conflict, not a wrong write.
    await rejects(ensure(wanted(namespace, "web", "nginx:3"), touched), isConflict);
  },
);

onBothClusters(
  suite,
  "S6 ensureChild(): a child that the cache does not know yet is made once",
  async (cluster) => {
    const { ensure } = await family(cluster);
    const first = await ensure();
    const again = await ensure();
    deepStrictEqual([again.type, again.child.metadata.uid], [
      "unchanged",
      first.child.metadata.uid,
    ]);
    const posts = cluster.writes.filter((write) => write.includes("deployments"));
    deepStrictEqual(posts.map((write) => write.split(" ").at(-1)), ["201", "409"]);
  },
);

onBothClusters(
  suite,
  "R6 ensureChild(): what is not ours is never written, also one of our exact shape",
  async (cluster) => {
    const { namespace, wait, signal } = cluster;
    const { ensure, children, options, maps, owner, place } = await family(cluster);
    const foreign = await wait(children.create(wanted(namespace), { signal }));
    await rejects(ensure(), AlreadyOwnedError);
    await rejects(ensure(wanted(namespace, "web", "nginx:2"), foreign), AlreadyOwnedError);
    deepStrictEqual(
      await wait(pruneChildren({ ...options, found: [foreign], wanted: new Set() })),
      [],
    );
    const { type, child } = await wait(ensureChild({
      ...options,
      wanted: wanted(namespace),
      found: foreign,
      adopt: { recheck: () => maps.resource.get(place("owner")) },
    }));
    deepStrictEqual([type, controllerRefOf(child)?.uid], ["adopted", owner.metadata.uid]);
    // An owner of the same name with another uid is another owner.
    const anew = { ...owner, metadata: { ...owner.metadata, uid: "anew" } };
    await rejects(ensure(undefined, child, anew), AlreadyOwnedError);
  },
);

onBothClusters(
  suite,
  "R7 ensureChild(): a child in another namespace is refused before any request",
  async (cluster) => {
    const { ensure } = await family(cluster);
    const writes = cluster.writes.length;
    await rejects(ensure(wanted("default")), CrossNamespaceError);
    strictEqual(cluster.writes.length, writes);
  },
);

onBothClusters(
  suite,
  "ensureChild() does not adopt for an owner that has gone, whatever the cache says",
  async (cluster) => {
    const { namespace, wait, signal } = cluster;
    const { children, options, maps, place } = await family(cluster);
    const orphan = await wait(children.create(wanted(namespace), { signal }));
    await maps.delete("owner");
    await maps.create("owner");
    const { type } = await wait(ensureChild({
      ...options,
      wanted: wanted(namespace),
      found: orphan,
      adopt: { recheck: () => maps.resource.get(place("owner")) },
    }));
    strictEqual(type, "waits");
  },
);

onBothClusters(
  suite,
  "pruneChildren() deletes what is ours and not wanted, and takes 404 and 409 as done",
  async (cluster) => {
    const { namespace, wait } = cluster;
    const { ensure, children, options, place } = await family(cluster);
    const made: Deployment[] = [];
    for (const name of ["keep", "drop", "gone", "moved"]) {
      made.push((await ensure(wanted(namespace, name))).child);
    }
    await wait(children.delete(place("gone")));
    await wait(children.patch({
      ...place("moved"),
      patch: { type: "merge", body: { metadata: { ownerReferences: [] } } },
    }));
    const pruned = await wait(
      pruneChildren({ ...options, found: made, wanted: new Set(["keep"]) }),
    );
    deepStrictEqual(pruned, ["drop"]);
    const { items } = await wait(children.list({ namespace, signal: cluster.signal }));
    deepStrictEqual(
      items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name).sort(),
      ["keep", "moved"],
    );
  },
);

onBothClusters(
  suite,
  "R2 patchStatus(): writes what differs, once, and only on the state that it saw",
  async (cluster) => {
    const { signal, wait } = cluster;
    const { ensure, children } = await family(cluster);
    const { child } = await ensure();
    const status = (replicas: number) => ({ replicas, readyReplicas: replicas });
    const options = { client: children, signal };
    const after = await wait(patchStatus(child, status(2), options));
    deepStrictEqual([after.status?.replicas, after.metadata.generation], [2, 1]);
    const writes = cluster.writes.length;
    strictEqual(await wait(patchStatus(after, status(2), options)), after);
    strictEqual(cluster.writes.length, writes);
    await rejects(wait(patchStatus(child, status(3), options)), isConflict);
  },
);

/**
 * Contract cases: watches.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { Api, ContractCase } from "./backend.ts";

/** Secrets: a real control plane makes none by itself in a new namespace. */
async function secret(api: Api, name: string, labels: object = {}): Promise<Json> {
  return await api.create(api.path("secrets"), { metadata: { name, labels } });
}

function watchOf(api: Api, query: string): string {
  return `${api.path("secrets")}?watch=1&timeoutSeconds=60&${query}`;
}

export const WATCH_CASES: readonly ContractCase[] = [
  {
    name: "watch: from a version tells of each later change in order",
    async run(api) {
      const { metadata } = await secret(api, "a");
      const watch = await api.watch(watchOf(api, `resourceVersion=${metadata.resourceVersion}`));
      await secret(api, "b");
      await api.merge(api.path("secrets/a"), { metadata: { labels: { x: "y" } } });
      await api.done("DELETE", api.path("secrets/b"));
      deepStrictEqual(await watch.names(3), ["ADDED b", "MODIFIED a", "DELETED b"]);
    },
  },
  {
    name: "watch: a deletion carries the last state under the deletion's version",
    async run(api) {
      const created = await secret(api, "a", { x: "y" });
      const watch = await api.watch(
        watchOf(api, `resourceVersion=${created.metadata.resourceVersion}`),
      );
      await api.done("DELETE", api.path("secrets/a"));
      const { type, object } = await watch.next();
      strictEqual(type, "DELETED");
      strictEqual(object.metadata.uid, created.metadata.uid);
      deepStrictEqual(object.metadata.labels, { x: "y" });
      ok(BigInt(object.metadata.resourceVersion) > BigInt(created.metadata.resourceVersion));
    },
  },
  {
    name: "watch: the last finalizer's removal is told as a deletion only",
    async run(api) {
      await api.create(api.path("secrets"), {
        metadata: { name: "a", finalizers: ["x.io/f"] },
      });
      const { metadata } = await api.get(api.path("secrets"));
      const watch = await api.watch(watchOf(api, `resourceVersion=${metadata.resourceVersion}`));
      await api.done("DELETE", api.path("secrets/a"));
      await api.merge(api.path("secrets/a"), { metadata: { finalizers: null } });
      await secret(api, "end");
      deepStrictEqual(await watch.names(3), ["MODIFIED a", "DELETED a", "ADDED end"]);
    },
  },
  {
    name: "watch: without a version, and from 0, begins with what there is",
    async run(api) {
      await secret(api, "a");
      for (const query of ["", "resourceVersion=0"]) {
        const watch = await api.watch(watchOf(api, query));
        deepStrictEqual(await watch.names(1), ["ADDED a"], query);
      }
    },
  },
  {
    name: "watch: sendInitialEvents ends the initial state with a marked bookmark",
    async run(api) {
      await secret(api, "a");
      await secret(api, "b");
      const watch = await api.watch(watchOf(
        api,
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
      ));
      deepStrictEqual(await watch.names(2), ["ADDED a", "ADDED b"]);
      const { type, object } = await watch.next();
      strictEqual(type, "BOOKMARK");
      strictEqual(object.kind, "Secret");
      deepStrictEqual(object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
      ok(/^[1-9]\d*$/.test(object.metadata.resourceVersion));
      await secret(api, "c");
      deepStrictEqual(await watch.names(1), ["ADDED c"]);
    },
  },
  {
    name: "watch: from now with bookmarks marks the end of the initial state, too",
    async run(api) {
      await secret(api, "a");
      for (const query of ["", "&resourceVersion=0"]) {
        const watch = await api.watch(watchOf(api, `allowWatchBookmarks=true${query}`));
        deepStrictEqual(await watch.names(1), ["ADDED a"]);
        const { type, object } = await watch.next();
        strictEqual(type, "BOOKMARK");
        deepStrictEqual(object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
      }
    },
  },
  {
    name: "watch: sendInitialEvents=false begins with what comes",
    async run(api) {
      await secret(api, "a");
      const watch = await api.watch(watchOf(
        api,
        "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
      ));
      await secret(api, "b");
      deepStrictEqual(await watch.names(1), ["ADDED b"]);
    },
  },
  {
    name: "watch: options that mean nothing are refused",
    async run(api) {
      const refuse = (query: string, message: string) =>
        api.refused(api.send("GET", watchOf(api, query)), {
          code: 422,
          reason: "Invalid",
          message:
            `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${message}`,
        });
      await refuse(
        "sendInitialEvents=true",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
      );
      await refuse(
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      );
      await api.refused(api.send("GET", watchOf(api, "resourceVersion=abc")), {
        code: 500,
        reason: undefined,
      });
    },
  },
  {
    name: "watch: ends cleanly after timeoutSeconds",
    async run(api) {
      await secret(api, "a");
      const watch = await api.watch(`${api.path("secrets")}?watch=1&timeoutSeconds=1`);
      const events = await watch.rest(10_000);
      deepStrictEqual(events.map((event) => event.type), ["ADDED"]);
    },
  },
  {
    name: "watch: a bookmark before the end tells of versions that the watch did not show",
    async run(api) {
      const { metadata } = await secret(api, "a");
      const watch = await api.watch(
        `${api.path("secrets")}?watch=1&timeoutSeconds=4&allowWatchBookmarks=true&` +
          `resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dnone`,
      );
      const other = await secret(api, "b");
      const events = await watch.rest(20_000);
      // A real server may send more than one.
      deepStrictEqual([...new Set(events.map((event) => event.type))], ["BOOKMARK"]);
      const { resourceVersion, annotations } = events.at(-1).object.metadata;
      ok(BigInt(resourceVersion) >= BigInt(other.metadata.resourceVersion));
      strictEqual(annotations, undefined);
    },
  },
  {
    name: "watch: a selector turns changes of labels into ADDED and DELETED",
    async run(api) {
      const { metadata } = await secret(api, "a", { on: "no" });
      const watch = await api.watch(
        watchOf(api, `resourceVersion=${metadata.resourceVersion}&labelSelector=on%3Dyes`),
      );
      const label = (on: string) =>
        api.merge(api.path("secrets/a"), { metadata: { labels: { on } } });
      await label("yes");
      await api.merge(api.path("secrets/a"), { metadata: { annotations: { x: "y" } } });
      const off = await label("no");
      deepStrictEqual(await watch.names(2), ["ADDED a", "MODIFIED a"]);
      const { type, object } = await watch.next();
      strictEqual(type, "DELETED");
      deepStrictEqual(object.metadata.labels, { on: "yes" });
      strictEqual(object.metadata.resourceVersion, off.metadata.resourceVersion);
    },
  },
  {
    name: "watch: of one name by field selector",
    async run(api) {
      const { metadata } = await secret(api, "a");
      const watch = await api.watch(
        watchOf(
          api,
          `resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dc`,
        ),
      );
      await secret(api, "b");
      await secret(api, "c");
      deepStrictEqual(await watch.names(1), ["ADDED c"]);
    },
  },
  {
    name: "watch: from a version to come tells of nothing until then",
    async run(api) {
      const watch = await api.watch(
        `${api.path("secrets")}?watch=1&timeoutSeconds=1&resourceVersion=99999999`,
      );
      deepStrictEqual(await watch.rest(10_000), []);
    },
  },
  {
    name: "watch: of an object of another namespace tells nothing",
    async run(api) {
      const { metadata } = await secret(api, "a");
      const watch = await api.watch(watchOf(api, `resourceVersion=${metadata.resourceVersion}`));
      await api.done("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/elsewhere", {
        body: { metadata: { name: "elsewhere" } },
      });
      await secret(api, "b");
      deepStrictEqual(await watch.names(1), ["ADDED b"]);
      await api.done("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/elsewhere");
    },
  },
  {
    name: "watch: of a custom kind ends when its definition goes",
    async run(api) {
      await api.define();
      const created = await api.create(api.widgets(), api.widget("w"));
      const watch = await api.watch(
        `${api.widgets()}?watch=1&timeoutSeconds=60&resourceVersion=` +
          created.metadata.resourceVersion,
      );
      await api.done(
        "DELETE",
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${api.group}`,
      );
      const events = await watch.rest();
      deepStrictEqual(events.map((event) => `${event.type} ${event.object.metadata.name}`), [
        "DELETED w",
      ]);
    },
  },
];

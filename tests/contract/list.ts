/**
 * Contract cases: lists, pages, versions and selectors.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";
import type { Api, ContractCase } from "./backend.ts";

const nameOf = (item: Json): string => item.metadata.name;

/** Secrets are used, since a real control plane puts none into a new namespace. */
async function secrets(api: Api, ...names: string[]): Promise<void> {
  for (const name of names) {
    await api.create(api.path("secrets"), {
      metadata: { name, labels: { name, tier: name < "c" ? "low" : "high" } },
    });
  }
}

async function listed(api: Api, query: string): Promise<string[]> {
  const list = await api.get(`${api.path("secrets")}?${query}`);
  return list.items.map(nameOf);
}

export const LIST_CASES: readonly ContractCase[] = [
  {
    name: "list: items in order of names, without kind, with the list's version",
    async run(api) {
      await secrets(api, "b", "a");
      const list = await api.get(api.path("secrets"));
      strictEqual(list.kind, "SecretList");
      strictEqual(list.apiVersion, "v1");
      match(list.metadata.resourceVersion, /^[1-9]\d*$/);
      deepStrictEqual(list.items.map(nameOf), ["a", "b"]);
      strictEqual(list.items[0].kind, undefined);
    },
  },
  {
    name: "list: of a custom kind has kind and apiVersion in each item",
    async run(api) {
      await api.define();
      await api.create(api.widgets(), api.widget("w"));
      const list = await api.get(api.widgets());
      strictEqual(list.kind, "WidgetList");
      strictEqual(list.items[0].kind, "Widget");
      strictEqual(list.items[0].apiVersion, `${api.group}/v1`);
    },
  },
  {
    name: "list: of a namespace that does not exist is empty",
    async run(api) {
      const list = await api.get("/api/v1/namespaces/does-not-exist/secrets");
      deepStrictEqual(list.items, []);
    },
  },
  {
    name: "list: over all namespaces",
    async run(api) {
      await secrets(api, "a");
      const list = await api.get("/api/v1/secrets");
      ok(list.items.some((item: Json) => item.metadata.namespace === api.namespace));
    },
  },
  {
    name: "list: pages are of one version and say how many remain",
    async run(api) {
      await secrets(api, "a", "b", "c", "d", "e");
      const path = api.path("secrets");
      const first = await api.get(`${path}?limit=2`);
      deepStrictEqual(first.items.map(nameOf), ["a", "b"]);
      strictEqual(first.metadata.remainingItemCount, 3);
      await api.done("DELETE", `${path}/c`);
      const token = encodeURIComponent(first.metadata.continue);
      const second = await api.get(`${path}?limit=2&continue=${token}`);
      deepStrictEqual(second.items.map(nameOf), ["c", "d"]);
      strictEqual(second.metadata.resourceVersion, first.metadata.resourceVersion);
      const rest = encodeURIComponent(second.metadata.continue);
      const third = await api.get(`${path}?limit=2&continue=${rest}`);
      deepStrictEqual(third.items.map(nameOf), ["e"]);
      strictEqual(third.metadata.continue, undefined);
      strictEqual(third.metadata.remainingItemCount, undefined);
    },
  },
  {
    name: "list: a page of a selection does not say how many remain",
    async run(api) {
      await secrets(api, "a", "b");
      const page = await api.get(`${api.path("secrets")}?limit=1&labelSelector=tier=low`);
      deepStrictEqual(page.items.map(nameOf), ["a"]);
      ok(page.metadata.continue);
      strictEqual(page.metadata.remainingItemCount, undefined);
    },
  },
  {
    name: "list: a malformed continue token gets 400",
    async run(api) {
      await api.refused(api.send("GET", `${api.path("secrets")}?limit=1&continue=abc`), {
        code: 400,
        reason: "BadRequest",
        message: /^invalid continue token: continue key is not valid: /,
      });
    },
  },
  {
    name: "list: Exact reads an old version, NotOlderThan may read the newest",
    async run(api) {
      await secrets(api, "a");
      const path = api.path("secrets");
      const { metadata } = await api.get(path);
      await secrets(api, "b");
      const exact = await api.get(
        `${path}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`,
      );
      deepStrictEqual(exact.items.map(nameOf), ["a"]);
      strictEqual(exact.metadata.resourceVersion, metadata.resourceVersion);
      const newer = await listed(
        api,
        `resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`,
      );
      ok(newer.includes("a"));
      ok((await listed(api, "resourceVersion=0")).length > 0);
    },
  },
  {
    name: "list: a limit with a version reads exactly that version",
    async run(api) {
      await secrets(api, "a", "c");
      const path = api.path("secrets");
      const { metadata } = await api.get(path);
      await secrets(api, "b");
      const page = await api.get(`${path}?limit=5&resourceVersion=${metadata.resourceVersion}`);
      deepStrictEqual(page.items.map(nameOf), ["a", "c"]);
    },
  },
  {
    name: "list: a version that has not come gets 504 after a wait",
    async run(api) {
      for (const match of ["NotOlderThan", "Exact"]) {
        const status = await api.refused(
          api.send(
            "GET",
            `${api.path("secrets")}?resourceVersion=99999999&resourceVersionMatch=${match}`,
          ),
          {
            code: 504,
            reason: "Timeout",
            message: /^Timeout: Too large resource version: 99999999, current: \d+$/,
          },
        );
        strictEqual(status.details.retryAfterSeconds, 1);
        strictEqual(status.details.causes[0].reason, "ResourceVersionTooLarge");
      }
    },
  },
  {
    name: "get: a version that has not come gets 504 after a wait",
    async run(api) {
      await secrets(api, "a");
      await api.refused(api.send("GET", `${api.path("secrets/a")}?resourceVersion=99999999`), {
        code: 504,
        reason: "Timeout",
      });
    },
  },
  {
    name: "list: malformed options get 400",
    async run(api) {
      const path = api.path("secrets");
      await api.refused(api.send("GET", `${path}?resourceVersion=abc`), {
        code: 400,
        reason: "BadRequest",
        message: 'invalid resource version: resourceVersion: Invalid value: "abc": ' +
          'strconv.ParseUint: parsing "abc": invalid syntax',
      });
      await api.refused(api.send("GET", `${path}?limit=x`), {
        code: 400,
        reason: "BadRequest",
        message: 'strconv.ParseInt: parsing "x": invalid syntax',
      });
      await api.refused(api.send("GET", `${path}?labelSelector=a,,b`), {
        code: 400,
        reason: "BadRequest",
        message: "found ',', expected: identifier after ','",
      });
    },
  },
  {
    name: "list: resourceVersionMatch is refused where it means nothing",
    async run(api) {
      const cases: [string, string, string][] = [
        ["resourceVersionMatch=Exact", "Forbidden", "FieldValueForbidden"],
        ["resourceVersion=0&resourceVersionMatch=Exact", "Forbidden", "FieldValueForbidden"],
        [
          "resourceVersion=1&resourceVersionMatch=Bogus",
          "Unsupported value",
          "FieldValueNotSupported",
        ],
      ];
      for (const [query, words, reason] of cases) {
        await api.refused(api.send("GET", `${api.path("secrets")}?${query}`), {
          code: 422,
          reason: "Invalid",
          message: new RegExp(
            `^ListOptions\\.meta\\.k8s\\.io "" is invalid: resourceVersionMatch: ${words}`,
          ),
          causes: [[reason, "resourceVersionMatch"]],
        });
      }
    },
  },
  {
    name: "list: label selectors of every form",
    async run(api) {
      await secrets(api, "a", "b", "c", "d");
      const select = (selector: string) =>
        listed(api, `labelSelector=${encodeURIComponent(selector)}`);
      deepStrictEqual(await select("tier=low"), ["a", "b"]);
      deepStrictEqual(await select("tier==low,name!=a"), ["b"]);
      deepStrictEqual(await select("name in (a, d)"), ["a", "d"]);
      deepStrictEqual(await select("name notin (a,b,c)"), ["d"]);
      deepStrictEqual(await select("name"), ["a", "b", "c", "d"]);
      deepStrictEqual(await select("!name"), []);
      deepStrictEqual(await select("absent!=x"), ["a", "b", "c", "d"]);
    },
  },
  {
    name: "list: field selectors of name, and of what the kind offers",
    async run(api) {
      await secrets(api, "a", "b");
      deepStrictEqual(await listed(api, "fieldSelector=metadata.name%3Da"), ["a"]);
      deepStrictEqual(await listed(api, "fieldSelector=metadata.name!%3Da"), ["b"]);
      deepStrictEqual(await listed(api, "fieldSelector=type%3DOpaque"), ["a", "b"]);
      await api.refused(
        api.send("GET", `${api.path("configmaps")}?fieldSelector=data.x%3Db`),
        {
          code: 400,
          reason: "BadRequest",
          message:
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        },
      );
      await api.define();
      await api.refused(api.send("GET", `${api.widgets()}?fieldSelector=spec.mode%3Dx`), {
        code: 400,
        reason: "BadRequest",
        message: "field label not supported: spec.mode",
      });
    },
  },
  {
    name: "list: only metadata, as PartialObjectMetadataList",
    async run(api) {
      await secrets(api, "a");
      const { body } = await api.send("GET", api.path("secrets"), {
        accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      });
      strictEqual(body.kind, "PartialObjectMetadataList");
      strictEqual(body.apiVersion, "meta.k8s.io/v1");
      strictEqual(body.items[0].metadata.name, "a");
      strictEqual(body.items[0].type, undefined);
    },
  },
];

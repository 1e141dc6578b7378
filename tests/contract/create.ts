/**
 * Contract cases: creating objects, and what is refused.
 *
 * @module
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { ContractCase } from "./backend.ts";

export const CREATE_CASES: readonly ContractCase[] = [
  {
    name: "create: sets uid, creationTimestamp, resourceVersion and managedFields",
    async run(api) {
      const { metadata, data } = await api.configMap("a", { data: { k: "v" } });
      match(metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      match(metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      match(metadata.resourceVersion, /^[1-9]\d*$/);
      strictEqual(metadata.generation, undefined);
      strictEqual(metadata.namespace, api.namespace);
      deepStrictEqual(data, { k: "v" });
      const [entry, ...others] = metadata.managedFields;
      strictEqual(others.length, 0);
      strictEqual(entry.manager, "contract");
      strictEqual(entry.operation, "Update");
      deepStrictEqual(entry.fieldsV1, { "f:data": { ".": {}, "f:k": {} } });
    },
  },
  {
    name: "create: answers 201 with kind and apiVersion, also when the body has none",
    async run(api) {
      const { status, body } = await api.send("POST", api.path("configmaps"), {
        body: { metadata: { name: "a" } },
      });
      strictEqual(status, 201);
      strictEqual(body.kind, "ConfigMap");
      strictEqual(body.apiVersion, "v1");
    },
  },
  {
    name: "create: an existing name gets 409 AlreadyExists",
    async run(api) {
      await api.configMap("a");
      const status = await api.refused(
        api.send("POST", api.path("configmaps"), { body: { metadata: { name: "a" } } }),
        { code: 409, reason: "AlreadyExists", message: 'configmaps "a" already exists' },
      );
      deepStrictEqual(status.details, { name: "a", kind: "configmaps" });
    },
  },
  {
    name: "create: a missing namespace gets 404 that names the namespace",
    async run(api) {
      const status = await api.refused(
        api.send("POST", "/api/v1/namespaces/does-not-exist/configmaps", {
          body: { metadata: { name: "a" } },
        }),
        { code: 404, reason: "NotFound", message: 'namespaces "does-not-exist" not found' },
      );
      deepStrictEqual(status.details, { name: "does-not-exist", kind: "namespaces" });
    },
  },
  {
    name: "create: another namespace in the body gets 400",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), {
          body: { metadata: { name: "a", namespace: "other" } },
        }),
        {
          code: 400,
          reason: "BadRequest",
          message:
            "the namespace of the provided object does not match the namespace sent on the request",
        },
      );
    },
  },
  {
    name: "create: a resourceVersion in the body gets 500 without reason",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), {
          body: { metadata: { name: "a", resourceVersion: "5" } },
        }),
        {
          code: 500,
          reason: undefined,
          message: "resourceVersion should not be set on objects to be created",
        },
      );
    },
  },
  {
    name: "create: a malformed name gets 422 with the rule in the message",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), { body: { metadata: { name: "Bad_Name" } } }),
        {
          code: 422,
          reason: "Invalid",
          message:
            /^ConfigMap "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist/,
          causes: [["FieldValueInvalid", "metadata.name"]],
        },
      );
    },
  },
  {
    name: "create: no name and no generateName gets 422",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), { body: { metadata: {} } }),
        {
          code: 422,
          reason: "Invalid",
          message:
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
          causes: [["FieldValueRequired", "metadata.name"]],
        },
      );
    },
  },
  {
    name: "create: generateName gets five more characters",
    async run(api) {
      const { metadata } = await api.create(api.path("configmaps"), {
        metadata: { generateName: "made-" },
      });
      match(metadata.name, /^made-[a-z0-9]{5}$/);
      strictEqual(metadata.generateName, "made-");
    },
  },
  {
    name: "create: malformed bodies get 400",
    async run(api) {
      for (const body of ["", "{", "[]"]) {
        await api.refused(api.send("POST", api.path("configmaps"), { body }), {
          code: 400,
          reason: "BadRequest",
          message: /^the object provided is unrecognized \(must be of type ConfigMap\): /,
        });
      }
    },
  },
  {
    name: "create: an object of another kind gets 400",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), {
          body: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "x" } },
        }),
        {
          code: 400,
          reason: "BadRequest",
          message: /^Deployment in version "v1" cannot be handled as a ConfigMap: /,
        },
      );
    },
  },
  {
    name: "create: another media type gets 415",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), {
          body: { metadata: { name: "x" } },
          type: "text/plain",
        }),
        {
          code: 415,
          reason: "UnsupportedMediaType",
          message:
            "the body of the request was in an unknown format - accepted media types include: " +
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        },
      );
    },
  },
  {
    name: "create: a YAML body is taken",
    async run(api) {
      const { status, body } = await api.send("POST", api.path("configmaps"), {
        body: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  k: "1"\n',
        type: "application/yaml",
      });
      strictEqual(status, 201);
      deepStrictEqual(body.data, { k: "1" });
    },
  },
  {
    name: "create: POST to a name, and to all namespaces, gets 405",
    async run(api) {
      for (const path of [api.path("configmaps/a"), "/api/v1/configmaps"]) {
        const status = await api.refused(
          api.send("POST", path, { body: { metadata: { name: "a" } } }),
          {
            code: 405,
            reason: "MethodNotAllowed",
            message: "the server does not allow this method on the requested resource",
          },
        );
        deepStrictEqual(status.details, {});
      }
    },
  },
  {
    name: "create: a dry run answers as a create and stores nothing",
    async run(api) {
      const { status, body } = await api.send("POST", `${api.path("configmaps")}?dryRun=All`, {
        body: { metadata: { name: "dry" } },
      });
      strictEqual(status, 201);
      strictEqual(body.metadata.resourceVersion, undefined);
      ok(body.metadata.uid);
      strictEqual((await api.send("GET", api.path("configmaps/dry"))).status, 404);
    },
  },
  {
    name: "create: unknown values of dryRun and fieldValidation get 422",
    async run(api) {
      for (const query of ["dryRun=Some", "fieldValidation=Bogus"]) {
        await api.refused(
          api.send("POST", `${api.path("configmaps")}?${query}`, {
            body: { metadata: { name: "a" } },
          }),
          {
            code: 422,
            reason: "Invalid",
            message: /^CreateOptions\.meta\.k8s\.io "" is invalid: \w+: Unsupported value: /,
            causes: [["FieldValueNotSupported", query.split("=")[0] ?? ""]],
          },
        );
      }
    },
  },
  {
    name: "create: unknown fields are refused, warned of or dropped, as fieldValidation asks",
    async run(api) {
      const body = { metadata: { name: "v", extra: 1 }, dat: { a: "b" } };
      const send = (validation: string) =>
        api.send("POST", `${api.path("configmaps")}?dryRun=All&fieldValidation=${validation}`, {
          body,
        });
      await api.refused(send("Strict"), {
        code: 400,
        reason: "BadRequest",
        message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding ' +
          'error: unknown field "metadata.extra", unknown field "dat"',
      });
      const warned = await send("Warn");
      strictEqual(warned.status, 201);
      strictEqual(
        warned.headers.get("warning"),
        '299 - "unknown field \\"metadata.extra\\"", 299 - "unknown field \\"dat\\""',
      );
      const ignored = await send("Ignore");
      strictEqual(ignored.headers.get("warning"), null);
      strictEqual(ignored.body.dat, undefined);
      strictEqual(ignored.body.metadata.extra, undefined);
    },
  },
  {
    name: "create: labels, annotations, finalizers and owners are validated",
    async run(api) {
      const bad: [string, unknown, string][] = [
        ["labels", { k: "not ok" }, "metadata.labels"],
        ["finalizers", ["nodomain"], "metadata.finalizers[0]"],
        [
          "ownerReferences",
          [{ apiVersion: "v1", kind: "Pod", name: "p" }],
          "metadata.ownerReferences.uid",
        ],
      ];
      for (const [member, value, field] of bad) {
        const { status, body } = await api.send("POST", api.path("configmaps"), {
          body: { metadata: { name: "a", [member]: value } },
        });
        strictEqual(status, 422, member);
        strictEqual(body.details.causes[0].field, field);
      }
    },
  },
  {
    name: "create: a label that is no string gets 400",
    async run(api) {
      await api.refused(
        api.send("POST", api.path("configmaps"), {
          body: { metadata: { name: "a", labels: { n: 1 } } },
        }),
        { code: 400, reason: "BadRequest" },
      );
    },
  },
  {
    name: "get: a missing object gets 404 with its group in the message",
    async run(api) {
      await api.refused(api.send("GET", api.path("configmaps/none")), {
        code: 404,
        reason: "NotFound",
        message: 'configmaps "none" not found',
      });
      const status = await api.refused(api.send("GET", api.path("deployments/none", "apps/v1")), {
        code: 404,
        reason: "NotFound",
        message: 'deployments.apps "none" not found',
      });
      deepStrictEqual(status.details, { name: "none", group: "apps", kind: "deployments" });
    },
  },
  {
    name: "get: unknown resources and versions get 404 with a Status, unknown groups without",
    async run(api) {
      for (const path of [api.path("nothings"), "/apis/apps/v9/deployments"]) {
        const status = await api.refused(api.send("GET", path), {
          code: 404,
          reason: "NotFound",
          message: "the server could not find the requested resource",
        });
        deepStrictEqual(status.details, {});
      }
      for (const path of ["/apis/no.such.group/v1/things", "/nowhere"]) {
        const { status, text } = await api.send("GET", path);
        strictEqual(status, 404);
        strictEqual(text, "404 page not found\n");
      }
    },
  },
  {
    name: "get: an Accept that the server can't write gets 406",
    async run(api) {
      await api.refused(api.send("GET", api.path("configmaps"), { accept: "text/html" }), {
        code: 406,
        reason: "NotAcceptable",
      });
    },
  },
];

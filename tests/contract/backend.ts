/**
 * What a contract case talks to: an API server, real or simulated, reached in the same way.
 *
 * A case may rely only on what is said here, so that it can't tell which of the two answers.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Json } from "../support/kube.ts";

/** The server under test. */
export interface Backend {
  /** `simulator` or `real`: for messages only. */
  readonly name: string;
  /** One request; `path` starts with `/`. */
  fetch(path: string, init: RequestInit): Promise<Response>;
  /** Lets `ms` milliseconds pass: of the machine, or of the simulation. */
  pass(ms: number): Promise<void>;
  /** Waits for `promise` while time passes. Throws after `limitMs`. */
  waitFor<T>(promise: Promise<T>, limitMs: number): Promise<T>;
}

/** One behaviour that both backends must show. */
export interface ContractCase {
  readonly name: string;
  run(api: Api): Promise<void>;
}

/** An answer, parsed. */
export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly text: string;
  readonly headers: Headers;
}

/** Options of one request. */
export interface SendOptions {
  readonly body?: Json;
  readonly type?: string;
  readonly accept?: string;
  readonly agent?: string;
}

export const MERGE = "application/merge-patch+json";
export const JSON_PATCH = "application/json-patch+json";
export const STRATEGIC = "application/strategic-merge-patch+json";
export const APPLY = "application/apply-patch+yaml";

/** How long a case waits for what the server does by itself, in milliseconds. */
const EVENTUALLY_MS = 30_000;

/** One case's view of the server: a namespace and an API group of its own. */
export class Api {
  readonly backend: Backend;
  /** Exists, is empty but for what the server puts there, and belongs to this case. */
  readonly namespace: string;
  /** An API group that no other case uses. */
  readonly group: string;
  readonly #open: WatchReader[] = [];

  constructor(backend: Backend, id: string) {
    this.backend = backend;
    this.namespace = `case-${id}`;
    this.group = `case-${id}.example.com`;
  }

  /** Path below the case's namespace: of the core group, or of `group/version`. */
  path(resource: string, groupVersion = "v1"): string {
    return `${rootOf(groupVersion)}/namespaces/${this.namespace}/${resource}`;
  }

  async send(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const { body, type = "application/json", accept, agent = "contract" } = options;
    const response = await this.backend.waitFor(
      this.backend.fetch(path, {
        method,
        headers: {
          "content-type": type,
          "user-agent": `${agent}/1`,
          ...(accept === undefined ? {} : { accept }),
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
      EVENTUALLY_MS,
    );
    const text = await response.text();
    return { status: response.status, body: parsed(text), text, headers: response.headers };
  }

  /** Sends and requires 2xx; returns the body. */
  async done(method: string, path: string, options: SendOptions = {}): Promise<Json> {
    const answer = await this.send(method, path, options);
    ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  get(path: string): Promise<Json> {
    return this.done("GET", path);
  }

  create(path: string, body: Json): Promise<Json> {
    return this.done("POST", path, { body });
  }

  merge(path: string, body: Json): Promise<Json> {
    return this.done("PATCH", path, { body, type: MERGE });
  }

  /** Creates a ConfigMap called `name`. */
  configMap(name: string, rest: Json = {}): Promise<Json> {
    const { metadata = {}, ...others } = rest;
    return this.create(this.path("configmaps"), { metadata: { ...metadata, name }, ...others });
  }

  /** Requires a failure with this code, reason and message, and returns its Status. */
  async refused(
    answer: Promise<Answer>,
    { code, reason, message, causes }: {
      code: number;
      reason?: string | undefined;
      message?: string | RegExp;
      causes?: readonly (readonly [reason: string, field: string])[];
    },
  ): Promise<Json> {
    const { status, body, text } = await answer;
    strictEqual(status, code, text);
    strictEqual(body.kind, "Status");
    strictEqual(body.status, "Failure");
    strictEqual(body.code, code);
    strictEqual(body.reason, reason, text);
    if (typeof message === "string") strictEqual(body.message, message);
    else if (message !== undefined) ok(message.test(body.message), body.message);
    if (causes !== undefined) {
      // The real server names some failures twice.
      const found = new Set(body.details.causes.map((cause: Json) => pair(cause)));
      deepStrictEqual([...found].sort(), causes.map((cause) => cause.join(" ")).sort());
    }
    return body;
  }

  /** Repeats `probe` while time passes, until it gives something. */
  async eventually<T>(probe: () => Promise<T | undefined>, what: string): Promise<T> {
    for (let waitedMs = 0; waitedMs < EVENTUALLY_MS; waitedMs += 100) {
      const found = await probe();
      if (found !== undefined) return found;
      await this.backend.pass(100);
    }
    throw new Error(`${this.backend.name}: not so within ${EVENTUALLY_MS} ms: ${what}`);
  }

  /** Waits until `path` answers 404. */
  async gone(path: string): Promise<void> {
    await this.eventually(async () => {
      const { status } = await this.send("GET", path);
      return status === 404 ? true : undefined;
    }, `${path} is gone`);
  }

  /** Opens a watch; it is closed at the end of the case. `path` holds the whole query. */
  async watch(path: string, accept?: string): Promise<WatchReader> {
    const stop = new AbortController();
    const response = await this.backend.waitFor(
      this.backend.fetch(path, {
        method: "GET",
        headers: { "user-agent": "contract/1", ...(accept === undefined ? {} : { accept }) },
        signal: stop.signal,
      }),
      EVENTUALLY_MS,
    );
    strictEqual(response.status, 200, response.status === 200 ? "" : await response.text());
    const reader = new WatchReader(this.backend, response, stop);
    this.#open.push(reader);
    return reader;
  }

  /** A definition of kind Widget in the case's group, established and served. */
  async define(
    { versions, scope = "Namespaced", names = {} }: {
      versions?: Json;
      scope?: string;
      names?: Json;
    } = {},
  ): Promise<void> {
    await this.create(CRDS, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `widgets.${this.group}` },
      spec: {
        group: this.group,
        scope,
        names: { plural: "widgets", kind: "Widget", ...names },
        versions: versions ?? [WIDGET_VERSION],
      },
    });
    // A real server serves a new kind a little after it is established.
    const first = (versions ?? [WIDGET_VERSION])[0].name;
    const path = `/apis/${this.group}/${first}/${
      scope === "Namespaced" ? `namespaces/${this.namespace}/` : ""
    }widgets`;
    await this.eventually(async () => {
      const { status } = await this.send("GET", path);
      return status === 200 ? true : undefined;
    }, `${path} is served`);
  }

  /** Path of the case's widgets. */
  widgets(name = "", version = "v1"): string {
    return this.path(`widgets${name === "" ? "" : `/${name}`}`, `${this.group}/${version}`);
  }

  /** A Widget for {@linkcode Api.define}'s kind. */
  widget(name: string, spec: Json = {}, rest: Json = {}): Json {
    return {
      apiVersion: `${this.group}/v1`,
      kind: "Widget",
      metadata: { name },
      spec,
      ...rest,
    };
  }

  /** Makes the namespace, runs the case, and cleans up. */
  async run(each: ContractCase): Promise<void> {
    await this.create("/api/v1/namespaces", { metadata: { name: this.namespace } });
    try {
      await each.run(this);
    } finally {
      for (const reader of this.#open) await reader.close();
      await this.send("DELETE", `${CRDS}/widgets.${this.group}`);
      await this.send("DELETE", `/api/v1/namespaces/${this.namespace}`);
    }
  }
}

/** Collection of the definitions. */
export const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** The version that {@linkcode Api.define} makes by default. */
export const WIDGET_VERSION: Json = {
  name: "v1",
  served: true,
  storage: true,
  subresources: {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
  },
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            replicas: { type: "integer", minimum: 0 },
            mode: { type: "string", default: "plain" },
          },
        },
        status: { type: "object", properties: { replicas: { type: "integer" } } },
      },
    },
  },
};

/** Reads the lines of one watch. */
export class WatchReader {
  readonly #backend: Backend;
  readonly #stop: AbortController;
  readonly #lines: AsyncIterator<Json>;

  constructor(backend: Backend, response: Response, stop: AbortController) {
    this.#backend = backend;
    this.#stop = stop;
    this.#lines = linesOf(response)[Symbol.asyncIterator]();
  }

  /** The next event. */
  async next(limitMs = EVENTUALLY_MS): Promise<Json> {
    const { done, value } = await this.#backend.waitFor(this.#lines.next(), limitMs);
    ok(done !== true, "the watch goes on");
    return value;
  }

  /** The next `count` events as `TYPE name`. */
  async names(count: number): Promise<string[]> {
    const names: string[] = [];
    for (let at = 0; at < count; at++) {
      const event = await this.next();
      names.push(`${event.type} ${event.object.metadata.name ?? ""}`.trim());
    }
    return names;
  }

  /** Events until the watch ends by itself. */
  async rest(limitMs = EVENTUALLY_MS): Promise<Json[]> {
    const events: Json[] = [];
    for (;;) {
      const { done, value } = await this.#backend.waitFor(this.#lines.next(), limitMs);
      if (done === true) return events;
      events.push(value);
    }
  }

  /** Ends the watch from this side. */
  async close(): Promise<void> {
    this.#stop.abort("case over");
    try {
      while ((await this.#lines.next()).done !== true);
    } catch (error) {
      if (error !== "case over") throw error;
    }
  }
}

async function* linesOf(response: Response): AsyncGenerator<Json, void, void> {
  let rest = "";
  if (response.body === null) return;
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line);
  }
  strictEqual(rest, "", "a watch ends with a whole line");
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function pair({ reason, field }: Json): string {
  return `${reason} ${field}`;
}

function rootOf(groupVersion: string): string {
  return groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
}

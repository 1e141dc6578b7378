/**
 * A second, independent way to the API server for end-to-end tests: what the operator did is not
 * judged with the operator's own client.
 *
 * @module
 */

import { ok } from "node:assert/strict";

/** Loosely typed JSON of the wire; tests read deep into it. */
// deno-lint-ignore no-explicit-any
export type Json = any;

/** Where and as whom. */
export interface KubeOptions {
  readonly server: string;
  readonly caPem: string;
  readonly token: string;
}

/** An answer that was not 2xx. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly status: number;
  readonly body: Json;

  constructor(action: string, status: number, body: Json) {
    super(`${action}: ${status} ${body?.message ?? JSON.stringify(body)}`);
    this.status = status;
    this.body = body;
  }
}

/** How long {@linkcode Kube.until} waits before it says what it last saw, in milliseconds. */
const UNTIL_MAX_MS = 60_000;

/** Talks to one API server as one user. */
export class Kube implements Disposable {
  readonly #options: KubeOptions;
  readonly #http: Deno.HttpClient;

  constructor(options: KubeOptions) {
    this.#options = options;
    this.#http = Deno.createHttpClient({ caCerts: [options.caPem], http2: false });
  }

  [Symbol.dispose](): void {
    this.#http.close();
  }

  /** One request; the parsed answer. Throws {@linkcode KubeError} unless 2xx. */
  async send(method: string, path: string, body?: Json, type = "application/json"): Promise<Json> {
    const response = await this.#fetch(method, path, body, type);
    const answer = await response.json();
    if (!response.ok) throw new KubeError(`${method} ${path}`, response.status, answer);
    return answer;
  }

  get(path: string): Promise<Json> {
    return this.send("GET", path);
  }

  post(path: string, body: Json): Promise<Json> {
    return this.send("POST", path, body);
  }

  /** JSON merge patch. */
  merge(path: string, body: Json): Promise<Json> {
    return this.send("PATCH", path, body, "application/merge-patch+json");
  }

  delete(path: string, options: Json = {}): Promise<Json> {
    return this.send("DELETE", path, options);
  }

  /** The object at `path`, or `undefined` if there is none. */
  async find(path: string): Promise<Json | undefined> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }

  /**
   * Waits, by a watch, until the object `name` below `collection` satisfies `claim`; returns it.
   * An absent object is `undefined`, so `(object) => object === undefined` waits for its end.
   */
  async until(
    collection: string,
    name: string,
    claim: (object: Json | undefined) => boolean,
    what = claim.toString(),
    maxMs = UNTIL_MAX_MS,
  ): Promise<Json> {
    const selector = `fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
    const untilMs = performance.now() + maxMs;
    let object: Json | undefined;
    while (performance.now() < untilMs) {
      const list = await this.get(`${collection}?${selector}`);
      object = list.items[0];
      if (claim(object)) return object;
      const restSeconds = Math.max(1, Math.ceil((untilMs - performance.now()) / 1000));
      const query = `${selector}&watch=1&resourceVersion=${list.metadata.resourceVersion}`;
      for await (
        const event of this.watch(`${collection}?${query}&timeoutSeconds=${restSeconds}`)
      ) {
        if (event.type === "ERROR") break;
        object = event.type === "DELETED" ? undefined : event.object;
        if (claim(object)) return object;
      }
    }
    throw new Error(
      `${collection}/${name}: not so within ${maxMs} ms: ${what}; last seen: ${
        JSON.stringify(object, null, 1)
      }`,
    );
  }

  /** Creates a namespace with a unique name; returns the name. */
  async namespace(prefix = "e2e"): Promise<string> {
    const made = await this.post("/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { generateName: `${prefix}-` },
    });
    return made.metadata.name;
  }

  /** The events of a watch; `path` has its whole query. */
  async *watch(path: string): AsyncGenerator<Json, void, void> {
    const response = await this.#fetch("GET", path);
    ok(response.body !== null, "a watch has a body");
    let rest = "";
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line);
    }
  }

  #fetch(method: string, path: string, body?: Json, type = "application/json"): Promise<Response> {
    return fetch(this.#options.server + path, {
      method,
      client: this.#http,
      headers: {
        authorization: `Bearer ${this.#options.token}`,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": type }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

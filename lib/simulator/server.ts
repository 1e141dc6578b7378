/**
 * The simulated API server: a function from request to response that behaves as kube-apiserver 1.36
 * does, with no socket, no real time and no chance of its own.
 *
 * Given the same clock, random source and requests, it gives the same answers, byte for byte. Each
 * request that writes is one synchronous step; what the control plane does afterwards (garbage
 * collection, namespaces, definitions) runs at the end of it, or after the delays asked for.
 *
 * What it does not do: call admission webhooks (their configurations are stored only), conversion
 * webhooks (definitions that want one are refused), evaluate RBAC (see
 * {@linkcode ApiServerOptions.authorizer}), read protobuf, and check all that the real server checks
 * of built-in specs. Every behaviour that may be relied on has a case in the contract suite, which
 * also runs against a real server.
 *
 * @module
 */

import type { Clock, Random } from "../core/clock.ts";
import { deepFreeze } from "../core/objects.ts";
import { type ApiObject, objectOfJson } from "./api_object.ts";
import { StatusError, unauthorized } from "./api_status.ts";
import { allowAll, type Authorizer } from "./authorization.ts";
import { Background } from "./background.ts";
import { builtinResources } from "./builtin_resources.ts";
import type { ServerContext } from "./context.ts";
import type { ServerController } from "./controllers.ts";
import { DefinitionController } from "./crds.ts";
import { checkBodySize } from "./decode.ts";
import { discover, openApiReply } from "./discovery.ts";
import { GarbageCollector } from "./garbage_collector.ts";
import { NamespaceController, namespaceObject, SYSTEM_NAMESPACES } from "./namespaces.ts";
import { Registry } from "./registry.ts";
import {
  type ApiRequest,
  isTrue,
  jsonReply,
  type Reply,
  routeOf,
  type Target,
  textReply,
  type UserInfo,
} from "./request.ts";
import { handleResource } from "./resources.ts";
import { seededUuid } from "./sim_clock.ts";
import { RequestStatistics } from "./statistics.ts";
import { Storage } from "./storage.ts";
import { WatchSet } from "./watch.ts";
import { type WorkloadOptions, Workloads } from "./workloads.ts";

/** What a server is made of. */
export interface ApiServerOptions {
  /** Where its time comes from: a simulated clock in tests. */
  readonly clock: Clock;
  /** Where uids and generated names come from. */
  readonly random: Random;
  /**
   * Who may do what.
   * @default everyone may do everything
   */
  readonly authorizer?: Authorizer;
  /**
   * Users by bearer token. If given, a request without one of these tokens gets 401.
   * @default everyone is `admin` of group `system:masters`
   */
  readonly users?: ReadonlyMap<string, UserInfo>;
  /**
   * Milliseconds after a write until garbage collection and namespace deletion act on it.
   * @default 0, at the end of the request
   */
  readonly controllerDelayMs?: number;
  /**
   * Stand-ins for the Deployment and ReplicaSet controllers and, if told when Pods are ready, for a
   * kubelet.
   * @default none: nothing follows from a Deployment
   */
  readonly workloads?: WorkloadOptions;
  /**
   * Milliseconds until a new CustomResourceDefinition is established.
   * @default 0, at the end of the request
   */
  readonly establishDelayMs?: number;
  /**
   * How a watch from a compacted version is answered: by an ERROR event on a stream with status 200,
   * as kube-apiserver does, or by HTTP 410, as some servers behind an aggregation layer do. Clients
   * must understand both.
   * @default "event"
   */
  readonly expiredWatches?: "event" | "http";
  /** Changes kept for watches and old lists. @default {@linkcode HISTORY_LIMIT} */
  readonly historyLimit?: number;
}

/** The user of requests to a server without users. */
export const ADMIN: UserInfo = deepFreeze({
  username: "admin",
  groups: ["system:masters", "system:authenticated"],
});

/**
 * A simulated API server.
 *
 * @example Create an object and read it back
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { seededRandom, SimClock } from "./sim_clock.ts";
 *
 * await using server = new ApiServer({ clock: new SimClock(), random: seededRandom(1) });
 * const path = "http://cluster/api/v1/namespaces/default/configmaps";
 * const created = await server.fetch(path, {
 *   method: "POST",
 *   headers: { "content-type": "application/json" },
 *   body: JSON.stringify({ metadata: { name: "a" }, data: { key: "value" } }),
 * });
 * strictEqual(created.status, 201);
 * const read = await (await server.fetch(`${path}/a`)).json();
 * strictEqual(read.data.key, "value");
 * ```
 */
export class ApiServer implements AsyncDisposable {
  /** Objects, revision and history. For tests and weather; change it by requests. */
  readonly storage: Storage;
  /** What was asked of this server. */
  readonly statistics: RequestStatistics = new RequestStatistics();
  readonly #registry: Registry;
  readonly #context: ServerContext;
  readonly #watches = new WatchSet();
  readonly #background: Background;
  readonly #controllers: ServerController[];
  readonly #users: ReadonlyMap<string, UserInfo> | undefined;

  /** Makes the server with its system namespaces; starts nothing. */
  constructor(options: ApiServerOptions) {
    const { clock, random, authorizer = allowAll, controllerDelayMs: delayMs = 0 } = options;
    this.storage = new Storage(
      options.historyLimit === undefined ? {} : { historyLimit: options.historyLimit },
    );
    this.#registry = new Registry(builtinResources());
    this.#background = new Background(clock);
    this.#users = options.users;
    this.#context = {
      storage: this.storage,
      registry: this.#registry,
      background: this.#background,
      clock,
      random,
      uuid: seededUuid(random),
      authorizer,
      expiredWatches: options.expiredWatches ?? "event",
    };
    this.#controllers = [
      new GarbageCollector(this.#context, { delayMs }),
      new NamespaceController(this.#context, { delayMs }),
      new DefinitionController(this.#context, {
        delayMs: options.establishDelayMs ?? 0,
        cutWatches: (table) => void this.#watches.cut({ table }),
      }),
      ...(options.workloads === undefined ? [] : [new Workloads(this.#context, options.workloads)]),
    ];
    this.storage.listen((change) => {
      for (const controller of this.#controllers) controller.onChange(change);
    });
    this.#bootstrap();
  }

  /**
   * Answers one request. Fits the global `fetch`: `input` is a URL (its host does not matter) or a
   * Request. Resolves when the headers are in; a watch's body goes on until it ends, is cancelled or
   * the request's signal aborts.
   *
   * @throws The reason of the request's signal, if that aborts first.
   */
  async fetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const request = await this.#requestOf(input, init);
    request.signal?.throwIfAborted();
    const reply = await this.#answer(request);
    // Even when refused, a request may have been the first after delayed work became due.
    this.#background.drain();
    const headers = new Headers({ "content-type": reply.contentType });
    for (const warning of request.warnings) {
      headers.append("warning", `299 - ${JSON.stringify(warning)}`);
    }
    return new Response(reply.body, { status: reply.status, headers });
  }

  /** All objects of all kinds, table by table, as they are now. Frozen. */
  snapshot(): ReadonlyMap<string, readonly ApiObject[]> {
    return new Map(this.storage.tables().sort().map((table) => [table, this.storage.all(table)]));
  }

  /** Forgets the history up to `revision` (default: all): older watches and lists get 410. */
  compact(revision?: number): void {
    this.storage.compact(revision);
  }

  /** Number of open watches. */
  get openWatches(): number {
    return this.#watches.size;
  }

  /**
   * Ends all open watches, or those of one table (`apps/deployments`): cleanly, or with `error` as a
   * broken connection ends.
   *
   * @returns How many there were.
   */
  cutWatches(options: { table?: string; error?: unknown } = {}): number {
    return this.#watches.cut(options);
  }

  /** Ends all watches and drops work that waits; throws if a controller had failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watches.close();
    await this.#background.close();
  }

  /** System namespaces, before the history that anyone can watch from. */
  #bootstrap(): void {
    for (const name of SYSTEM_NAMESPACES) {
      this.storage.add("namespaces", objectOfJson(namespaceObject(this.#context, name)));
    }
    this.#background.drain();
    this.storage.compact();
  }

  async #requestOf(input: string | URL | Request, init: RequestInit): Promise<ApiRequest> {
    const isRequest = input instanceof Request;
    const url = new URL(isRequest ? input.url : input);
    const headers = new Headers(init.headers ?? (isRequest ? input.headers : undefined));
    return {
      method: init.method ?? (isRequest ? input.method : "GET"),
      path: url.pathname,
      query: url.searchParams,
      headers,
      body: await bodyText(init.body ?? (isRequest ? input.body : null)),
      signal: init.signal ?? (isRequest ? input.signal : undefined),
      user: ADMIN,
      warnings: [],
    };
  }

  async #answer(request: ApiRequest): Promise<Reply> {
    let target: Target | undefined;
    try {
      const route = routeOf(request.method, request.path, request.query);
      target = route.type === "resource" ? route.target : undefined;
      const user = this.#userOf(request.headers);
      checkBodySize(request.body);
      const authenticated = { ...request, user };
      const reply = target === undefined
        ? this.#other(authenticated, route.type === "other" ? route.parts : [])
        : await this.#resource(authenticated, target);
      this.statistics.record(agentOf(request.headers), target);
      return reply;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.statistics.record(agentOf(request.headers), target);
      return jsonReply(error.status.code, JSON.stringify(error.status));
    }
  }

  #resource(request: ApiRequest, target: Target): Promise<Reply> | Reply {
    const { group, version } = target;
    // A group that is not served is no path at all.
    const isKnown = group === ""
      ? version === "v1"
      : this.#registry.groups().some((each) => each.group === group);
    if (!isKnown) return textReply(404, "404 page not found\n");
    return handleResource(
      {
        context: this.#context,
        watches: this.#watches,
        userOfToken: (token) => this.#users?.get(token),
      },
      request,
      target,
    );
  }

  #other(request: ApiRequest, parts: readonly string[]): Reply {
    const [root = ""] = parts;
    if (PROBES.has(root)) return probeReply(root, request.query);
    if (root === "version") return jsonReply(200, VERSION);
    const documented = root === "openapi" ? openApiReply(this.#registry, parts) : undefined;
    if (documented !== undefined) return documented;
    return discover(this.#registry, parts, request.headers) ??
      textReply(404, "404 page not found\n");
  }

  /** Who sent the request; 401 if the server has users and this is none of them. */
  #userOf(headers: Headers): UserInfo {
    if (this.#users === undefined) return ADMIN;
    const [, token = ""] = /^Bearer (.+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    const user = this.#users.get(token);
    if (user === undefined) throw unauthorized();
    return user;
  }
}

/** The user agent before its first slash. */
function agentOf(headers: Headers): string {
  return (headers.get("user-agent") ?? "").split("/")[0] || "unknown";
}

const PROBES = new Set(["healthz", "livez", "readyz"]);

function probeReply(name: string, query: URLSearchParams): Reply {
  if (query.get("verbose") === null || !isTrue(query.get("verbose"))) return textReply(200, "ok");
  return textReply(200, `[+]ping ok\n[+]etcd ok\n${name} check passed\n`);
}

/** Answer of `/version`: the version whose behaviour is simulated. */
const VERSION = JSON.stringify({
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "linux/amd64",
});

async function bodyText(body: BodyInit | null | undefined): Promise<string> {
  if (body === null || body === undefined) return "";
  return typeof body === "string" ? body : await new Response(body).text();
}

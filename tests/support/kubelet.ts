/**
 * As much of a kubelet as a Deployment needs to become available: each Pod is reported as running
 * and ready. No container runs anywhere.
 *
 * It lists and watches Pods with plain `fetch`, rides out restarts of the API server, and leaves
 * Pods that are being deleted alone (the API server removes Pods without a node by itself).
 *
 * @module
 */

import { realClock } from "../../lib/core/clock.ts";

/** Where, as whom, and for which Pods. */
export interface KubeletOptions {
  readonly server: string;
  readonly caPem: string;
  /** Bearer token with the right to list and watch Pods and to patch their status. */
  readonly token: string;
  /** Namespaces whose Pods become ready. Default: all. */
  readonly namespaces?: readonly string[];
}

/** The fields of a Pod that matter here. */
interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly deletionTimestamp?: string;
    readonly resourceVersion: string;
  };
  readonly spec: { readonly containers: readonly { name: string; image: string }[] };
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
}

/** How long after a lost connection the next one is tried, in milliseconds. */
const RETRY_MS = 100;

/** A running fake kubelet. Leaving the scope stops it, and throws what it could not handle. */
export class Kubelet implements AsyncDisposable {
  readonly #options: KubeletOptions;
  readonly #http: Deno.HttpClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<PromiseSettledResult<void>[]>;

  private constructor(options: KubeletOptions) {
    this.#options = options;
    this.#http = Deno.createHttpClient({ caCerts: [options.caPem], http2: false });
    const paths = options.namespaces?.map((namespace) => `/api/v1/namespaces/${namespace}/pods`);
    // Settled, so that a failure waits for the end of the scope to be thrown.
    this.#running = Promise.allSettled((paths ?? ["/api/v1/pods"]).map((path) => this.#run(path)));
  }

  /** Starts at once; Pods that exist already become ready too. */
  static start(options: KubeletOptions): Kubelet {
    return new Kubelet(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const results = await this.#running;
    this.#http.close();
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async #run(path: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#listAndWatch(path);
      } catch (error) {
        if (signal.aborted) return;
        // The connection was refused or cut, or the API server said so: it is restarting.
        if (!(error instanceof TypeError) && !(error instanceof NotNow)) throw error;
        await realClock.sleep(RETRY_MS, { signal }).catch(() => {});
      }
    }
  }

  async #listAndWatch(path: string): Promise<void> {
    const list = await (await this.#request("GET", path)).json();
    for (const pod of list.items) await this.#makeReady(pod);
    const query = `watch=1&resourceVersion=${list.metadata.resourceVersion}&timeoutSeconds=300`;
    const { body } = await this.#request("GET", `${path}?${query}`);
    let rest = "";
    for await (const text of this.#texts(body ?? new Blob([]).stream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line);
        // The version expired, or the server goes down: list again.
        if (event.type === "ERROR") return;
        if (event.type !== "DELETED") await this.#makeReady(event.object);
      }
    }
  }

  /**
   * The decoded body, which ends when we stop. Not left to fetch's own signal: Deno 2.9.6 forgets it
   * once its Response was garbage-collected, and the read would wait for ever.
   */
  async *#texts(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, void> {
    const reader = body.getReader();
    const { signal } = this.#stop;
    const cancel = () => reader.cancel().catch(() => {}); // failed already: the read says so
    signal.addEventListener("abort", cancel, { once: true });
    const decoder = new TextDecoder();
    try {
      while (!signal.aborted) {
        const { done, value } = await reader.read();
        if (done) return;
        yield decoder.decode(value, { stream: true });
      }
    } finally {
      signal.removeEventListener("abort", cancel);
      await cancel();
    }
  }

  async #makeReady(pod: Pod): Promise<void> {
    const isReady = pod.status?.conditions?.some(({ type, status }) =>
      type === "Ready" && status === "True"
    );
    if (isReady === true || pod.metadata.deletionTimestamp !== undefined) return;
    const { namespace, name } = pod.metadata;
    const response = await this.#request(
      "PATCH",
      `/api/v1/namespaces/${namespace}/pods/${name}/status`,
      { status: readyStatus(pod) },
    );
    await response.body?.cancel();
  }

  /** A response that is 2xx, or 404 and 409 to a patch: the Pod went meanwhile. */
  async #request(method: "GET" | "PATCH", path: string, patch?: unknown): Promise<Response> {
    const response = await fetch(this.#options.server + path, {
      method,
      client: this.#http,
      signal: this.#stop.signal,
      headers: {
        authorization: `Bearer ${this.#options.token}`,
        "user-agent": "fake-kubelet",
        ...(method === "PATCH" && { "content-type": "application/merge-patch+json" }),
      },
      ...(method === "PATCH" && { body: JSON.stringify(patch) }),
    });
    if (response.ok || (method === "PATCH" && [404, 409].includes(response.status))) {
      return response;
    }
    const text = await response.text();
    if (response.status === 429 || response.status >= 500) throw new NotNow(text);
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }
}

/** The API server can't answer now. */
class NotNow extends Error {
  override readonly name = "NotNow";
}

function readyStatus(pod: Pod): unknown {
  const now = new Date(realClock.wallMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const condition = (type: string) => ({ type, status: "True", lastTransitionTime: now });
  return {
    phase: "Running",
    startTime: now,
    podIP: "10.1.0.1",
    podIPs: [{ ip: "10.1.0.1" }],
    conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition),
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: image,
      containerID: `fake://${pod.metadata.name}/${name}`,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: now } },
    })),
  };
}

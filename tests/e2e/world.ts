/**
 * What an end-to-end test needs around it: a real control plane and one running operator a file,
 * an independent client, the audit log as the judge of what was written.
 *
 * @module
 */

import { realClock } from "../../lib/core/clock.ts";
import { ControlPlane, hasControlPlane } from "../support/control_plane.ts";
import { Kube, KubeError } from "../support/kube.ts";
import type { Json } from "../support/kube.ts";
import { Kubelet } from "../support/kubelet.ts";
import { OperatorProcess } from "../support/operator_process.ts";
import { TcpRelay } from "../support/tcp_relay.ts";
import { parseYaml } from "../../lib/core/yaml.ts";

/** How a file's world differs from the plain one. */
export interface WorldOptions {
  /** CRD to install before the operator starts. @default {"ours"} */
  readonly crd?: "ours" | "none" | Json;
  /** Keep an audit log, for {@linkcode World.writes}. */
  readonly audit?: boolean;
  /** Put a relay between operator and API server, for `relay.cut()`. */
  readonly relay?: boolean;
  /** More arguments of `run`. */
  readonly args?: readonly string[];
  /** Starts the program; default: from source. */
  readonly start?: (args: readonly string[]) => OperatorProcess;
}

/** One request of the operator, as the API server logged it. */
export interface LoggedRequest {
  readonly verb: string;
  /** Resource with its subresource, e.g. `foos/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
}

/** Longest wait for anything that the operator should do, in milliseconds. */
const EVENTUALLY_MAX_MS = 90_000;

const WRITE_VERBS = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** See the module. */
export class World implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly kube: Kube;
  readonly #options: WorldOptions;
  readonly #relay: TcpRelay | undefined;
  readonly #kubelets: Kubelet[] = [];
  #operator: OperatorProcess | undefined;

  private constructor(plane: ControlPlane, options: WorldOptions) {
    this.plane = plane;
    this.#options = options;
    this.kube = new Kube({ server: plane.server, caPem: plane.caPem, token: plane.adminToken });
    this.#relay = options.relay === true
      ? new TcpRelay({ hostname: "127.0.0.1", port: plane.port })
      : undefined;
  }

  /** Starts control plane and operator, with the CRD in place. */
  static async start(options: WorldOptions): Promise<World> {
    const plane = await ControlPlane.start({
      controllerManager: true,
      audit: options.audit === true,
    });
    const world = new World(plane, options);
    try {
      if (options.crd !== "none") await world.applyCrd();
      await world.restartOperator();
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The running operator. */
  get operator(): OperatorProcess {
    if (this.#operator === undefined) throw new Error("no operator runs");
    return this.#operator;
  }

  /** The relay in between. */
  get relay(): TcpRelay {
    if (this.#relay === undefined) throw new Error("this world was made without a relay");
    return this.#relay;
  }

  /** Creates the CRD and waits until it is served. */
  async applyCrd(): Promise<void> {
    const { crd = "ours" } = this.#options;
    const made = await this.kube.post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      crd === "ours" || crd === "none" ? await ownCrd() : crd,
    );
    await this.kube.until(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      made.metadata.name,
      (object) =>
        object.status?.conditions?.some((each: Json) =>
          each.type === "Established" && each.status === "True"
        ),
    );
  }

  /** Stops the operator, if one runs, and starts it again; waits until it works. */
  async restartOperator(): Promise<void> {
    if (this.#operator !== undefined && !this.#operator.isEnded) await this.#operator.stop();
    const server = this.#relay?.server ?? this.plane.server;
    const kubeconfig = await this.file(
      (await Deno.readTextFile(this.plane.kubeconfig("token"))).replace(this.plane.server, server),
    );
    const args = ["run", "--kubeconfig", kubeconfig, "--log-format", "json"];
    const start = this.#options.start ?? ((all) => OperatorProcess.start({ args: all }));
    this.#operator = start([...args, ...(this.#options.args ?? [])]);
    if (this.#options.crd !== "none") await this.#operator.line("Controller started");
  }

  /** Plays the kubelet for the Pods of `namespace` until the world ends. */
  kubelet(namespace: string): void {
    const { server, caPem, adminToken: token } = this.plane;
    this.#kubelets.push(Kubelet.start({ server, caPem, token, namespaces: [namespace] }));
  }

  /** A read-only file with `text` in the control plane's folder; returns its path. */
  async file(text: string): Promise<string> {
    const path = await Deno.makeTempFile({ dir: this.plane.dir });
    await Deno.writeTextFile(path, text);
    await Deno.chmod(path, 0o400);
    return path;
  }

  /** Requests of the operator so far, leases left out. */
  async requests(): Promise<LoggedRequest[]> {
    return (await this.plane.auditRecords())
      .filter((record) =>
        record.stage === "ResponseComplete" && record.userAgent?.startsWith("foo-operator") &&
        record.objectRef?.resource !== "leases"
      )
      .map((record) => ({
        verb: record.verb,
        resource: [record.objectRef?.resource, record.objectRef?.subresource]
          .filter((part) => part !== undefined).join("/"),
        namespace: record.objectRef?.namespace ?? "",
        name: record.objectRef?.name ?? "",
        code: record.responseStatus?.code ?? 0,
      }));
  }

  /** Those of {@linkcode World.requests} that write. */
  async writes(): Promise<LoggedRequest[]> {
    return (await this.requests()).filter((request) => WRITE_VERBS.has(request.verb));
  }

  /** Tries `probe`, once every 50 ms, until it gives a value; connection failures count as none. */
  async eventually<T>(probe: () => Promise<T | undefined>): Promise<T> {
    const untilMs = realClock.monotonicMs() + EVENTUALLY_MAX_MS;
    let last: unknown = "no value";
    while (realClock.monotonicMs() < untilMs) {
      try {
        const value = await probe();
        if (value !== undefined) return value;
      } catch (error) {
        if (!(error instanceof TypeError) && !(error instanceof KubeError)) throw error;
        last = error;
      }
      await this.passes(50);
    }
    throw new Error(`not so within ${EVENTUALLY_MAX_MS} ms: ${probe}`, { cause: last });
  }

  /** Lets real time pass: only for claims about what does not happen in a span of time. */
  passes(ms: number): Promise<void> {
    return realClock.sleep(ms, { signal: new AbortController().signal });
  }

  /** Waits until no write was logged for two seconds. */
  async quiet(): Promise<void> {
    for (let before = -1, now = 0; before !== now;) {
      before = now;
      await this.passes(2000);
      now = (await this.writes()).length;
    }
  }

  /** Waits until the operator has resynced `times` more times. */
  async resyncs(times: number): Promise<void> {
    const flag = this.#options.args?.indexOf("--resync") ?? -1;
    const seconds = Number(this.#options.args?.[flag + 1]?.replace("s", ""));
    await this.passes(times * seconds * 1000 + 500);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    for (const kubelet of this.#kubelets) await kubelet[Symbol.asyncDispose]();
    await this.#relay?.[Symbol.asyncDispose]();
    this.kube[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

/** Declares tests of one file that share one {@linkcode World}; call it once a file. */
export function operatorSuite(
  options: WorldOptions,
  { ignore = !hasControlPlane({ controllerManager: true }) }: { ignore?: boolean } = {},
): (name: string, body: (world: World, t: Deno.TestContext) => Promise<void>) => void {
  let world: World | undefined;
  if (!ignore) {
    Deno.test.beforeAll(async () => {
      world = await World.start(options);
    });
    Deno.test.afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });
  }
  return (name, body) =>
    Deno.test({
      name,
      ignore,
      // The world outlives a test: its process pipes and connections are open on purpose, and it
      // closes them after the last one.
      sanitizeOps: false,
      sanitizeResources: false,
      async fn(t) {
        if (world === undefined) throw new Error("the control plane did not start");
        await body(world, t);
      },
    });
}

async function ownCrd(): Promise<Json> {
  return parseYaml(await Deno.readTextFile(new URL("../../crds/foo.yaml", import.meta.url)));
}

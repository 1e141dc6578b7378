/**
 * A real control plane for one test file: etcd, kube-apiserver and, where the assets have it,
 * kube-controller-manager, on loopback, with their own certificates and users.
 *
 * There is no kubelet and no scheduler: Pods stay Pending until something sets their status (see
 * `kubelet.ts`). Everything lives in one temporary folder and in processes that end with the test
 * run, whatever happens to it. Tests share a control plane by working in namespaces of their own.
 *
 * @module
 */

import { realClock, realRandom } from "../../lib/core/clock.ts";
import { hasProgram, localAssets } from "../../tools/assets.ts";
import { GuardedProcess } from "./guarded_process.ts";
import { createPki, type TestPki } from "./pki.ts";

/** What to start. */
export interface ControlPlaneOptions {
  /** Folder with `etcd` and `kube-apiserver`; default: the one that {@linkcode localAssets} finds. */
  readonly assets?: string;
  /**
   * Start kube-controller-manager: Deployments make ReplicaSets, those make Pods, owners are
   * garbage-collected, namespaces end.
   *
   * @default {false}
   */
  readonly controllerManager?: boolean;
  /**
   * Write each request to the audit log, level Metadata.
   *
   * @default {false}
   */
  readonly audit?: boolean;
  /** More flags for kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
}

/** Users that exist on every control plane. */
export type UserName = "admin" | "token" | "nobody";

/** One finished request in the audit log; only the fields that tests ask for. */
export interface AuditRecord {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly stage: string;
  readonly requestReceivedTimestamp: string;
}

/** Longest start of the API server, in milliseconds: ten times what an idle machine takes. */
const READY_MAX_MS = 60_000;

/** How often a start is tried when another process took one of the ports between probe and use. */
const STARTS_MAX = 3;

/**
 * Ports are drawn from below Linux' range for outgoing connections (from 32768), where a parallel
 * test's connection could take a port between our probe and the server's start.
 */
const PORTS = { from: 15_000, to: 32_000 };

const ADMIN_TOKEN = "admin-token";
const NOBODY_TOKEN = "nobody-token";

const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`;

const CONTROLLERS = "deployment-controller,replicaset-controller,garbage-collector-controller," +
  "namespace-controller,serviceaccount-controller";

/** The folder with `etcd` and `kube-apiserver`, or `undefined`: then suites that need it skip. */
export function controlPlaneAssets(): string | undefined {
  return localAssets({ get: (name) => Deno.env.get(name) });
}

/** True if a control plane, with kube-controller-manager if asked for, can be started here. */
export function hasControlPlane({ controllerManager = false } = {}): boolean {
  const assets = controlPlaneAssets();
  return assets !== undefined &&
    (!controllerManager || hasProgram(assets, "kube-controller-manager"));
}

/** A running control plane. Leaving the scope ends its processes and deletes its folder. */
export class ControlPlane implements AsyncDisposable {
  /** `https://127.0.0.1:port`. */
  readonly server: string;
  readonly port: number;
  readonly caPem: string;
  /** Bearer token with all rights. */
  readonly adminToken = ADMIN_TOKEN;
  /** Bearer token of a user without any right. */
  readonly nobodyToken = NOBODY_TOKEN;
  /** Folder of this control plane: logs, certificates, kubeconfigs. */
  readonly dir: string;
  /** Certificate authority of the API server and of client certificates. */
  readonly pki: TestPki;
  readonly #assets: string;
  readonly #options: ControlPlaneOptions;
  readonly #etcdPort: number;
  readonly #processes = new Map<string, GuardedProcess>();
  readonly #http: Deno.HttpClient;

  private constructor(
    options: ControlPlaneOptions,
    made: { assets: string; dir: string; pki: TestPki; ports: Ports },
  ) {
    this.#options = options;
    this.#assets = made.assets;
    this.dir = made.dir;
    this.pki = made.pki;
    this.caPem = made.pki.caPem;
    this.port = made.ports.apiServer;
    this.#etcdPort = made.ports.etcd;
    this.server = `https://127.0.0.1:${this.port}`;
    this.#http = Deno.createHttpClient({ caCerts: [this.caPem], http2: false });
  }

  /**
   * Starts a control plane and waits until the API server is ready.
   *
   * @throws {Error} If there are no assets, or a program ended early; with the end of its log.
   */
  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const assets = options.assets ?? controlPlaneAssets();
    if (assets === undefined) throw new Error('No control plane here: run "deno task assets"');
    for (let attempt = 1;; attempt++) {
      const dir = await Deno.makeTempDir({ prefix: "control-plane-" });
      const pki = await createPki("control-plane-ca");
      const plane = new ControlPlane(options, { assets, dir, pki, ports: freePorts() });
      try {
        await plane.#writeFiles();
        await plane.#startAll();
        return plane;
      } catch (error) {
        const isPortTaken = await plane.#logsMention("address already in use");
        await plane[Symbol.asyncDispose]();
        if (!isPortTaken || attempt === STARTS_MAX) throw error;
      }
    }
  }

  /** Path of the kubeconfig of `user`: `admin` by client certificate, the others by token. */
  kubeconfig(user: UserName): string {
    return `${this.dir}/${user}.kubeconfig`;
  }

  /** Path of the audit log; it exists once the first request was logged. */
  get auditLog(): string {
    return `${this.dir}/audit.log`;
  }

  /** The finished requests logged so far, oldest first. A line still being written is left out. */
  async auditRecords(): Promise<AuditRecord[]> {
    const text = await readIfExists(this.auditLog);
    const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
    return lines.filter((line) => line !== "").map((line): AuditRecord => JSON.parse(line));
  }

  /** Crashes the API server. etcd, and so all state, stays. */
  async killApiServer(): Promise<void> {
    await this.#stop("kube-apiserver", "SIGKILL");
  }

  /** Stops the API server as a rollout does: it says no to new requests and ends watches. */
  async stopApiServer(): Promise<void> {
    await this.#stop("kube-apiserver", "SIGTERM");
  }

  /** Starts the API server again, on the same port and with `flags` added, until it is ready. */
  async startApiServer(flags: readonly string[] = []): Promise<void> {
    this.#spawn("kube-apiserver", [
      ...this.#apiServerFlags(),
      ...(this.#options.apiServerFlags ?? []),
      ...flags,
    ]);
    await this.#ready();
  }

  /** The last lines that `program` logged. */
  async logTail(program: string, lines = 20): Promise<string> {
    return (await readIfExists(`${this.dir}/${program}.log`)).split("\n").slice(-lines).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.close();
    // Nothing of it is needed again, so no program gets time to end well.
    for (const program of [...this.#processes.keys()].reverse()) {
      await this.#stop(program, "SIGKILL");
    }
    await Deno.remove(this.dir, { recursive: true });
  }

  async #startAll(): Promise<void> {
    const etcd = `http://127.0.0.1:${this.#etcdPort}`;
    // etcd insists on a peer address; nobody will ever dial it.
    const peer = "http://127.0.0.1:0";
    this.#spawn("etcd", [
      `--data-dir=${this.dir}/etcd`,
      "--unsafe-no-fsync",
      "--log-level=warn",
      `--listen-client-urls=${etcd}`,
      `--advertise-client-urls=${etcd}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ]);
    await this.startApiServer();
    if (this.#options.controllerManager === true) {
      this.#spawn("kube-controller-manager", this.#controllerManagerFlags());
    }
  }

  #apiServerFlags(): string[] {
    const { dir } = this;
    return [
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      "--endpoint-reconciler-type=none",
      `--secure-port=${this.port}`,
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      "--service-cluster-ip-range=10.0.0.0/24",
      "--allow-privileged",
      `--cert-dir=${dir}/run`,
      `--tls-cert-file=${dir}/server.crt`,
      `--tls-private-key-file=${dir}/server.key`,
      `--client-ca-file=${dir}/ca.crt`,
      `--token-auth-file=${dir}/tokens.csv`,
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${dir}/service-account.crt`,
      `--service-account-signing-key-file=${dir}/service-account.key`,
      // Without the controller that makes service accounts, no Pod could be created.
      ...(this.#options.controllerManager === true
        ? []
        : ["--disable-admission-plugins=ServiceAccount"]),
      ...(this.#options.audit === true
        ? [
          `--audit-policy-file=${dir}/audit-policy.yaml`,
          `--audit-log-path=${this.auditLog}`,
          // In megabytes; never rotated, since tests count its lines.
          "--audit-log-maxsize=4000",
        ]
        : []),
    ];
  }

  #controllerManagerFlags(): string[] {
    return [
      `--kubeconfig=${this.kubeconfig("token")}`,
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
      "--secure-port=0",
      "--use-service-account-credentials=false",
      `--service-account-private-key-file=${this.dir}/service-account.key`,
      `--root-ca-file=${this.dir}/ca.crt`,
      "--kube-api-qps=500",
      "--kube-api-burst=1000",
      `--controllers=${CONTROLLERS}`,
    ];
  }

  async #ready(): Promise<void> {
    const process = this.#processes.get("kube-apiserver");
    const { signal } = new AbortController();
    const untilMs = realClock.monotonicMs() + READY_MAX_MS;
    while (realClock.monotonicMs() < untilMs) {
      if (process === undefined || process.hasEnded) break;
      if (await this.#answers("/readyz")) return;
      await realClock.sleep(50, { signal });
    }
    const log = await this.logTail("kube-apiserver", 8);
    throw new Error(`kube-apiserver is not ready; the end of its log:\n${log}`);
  }

  async #answers(path: string): Promise<boolean> {
    try {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const response = await fetch(this.server + path, { client: this.#http, headers });
      await response.body?.cancel();
      return response.ok;
    } catch (error) {
      // Not listening yet.
      if (error instanceof TypeError) return false;
      throw error;
    }
  }

  #spawn(program: string, args: readonly string[]): void {
    const logFile = `${this.dir}/${program}.log`;
    const path = `${this.#assets}/${program}`;
    this.#processes.set(program, GuardedProcess.start({ program: path, args, logFile }));
  }

  async #stop(program: string, signal: Deno.Signal): Promise<void> {
    await this.#processes.get(program)?.stop(signal);
    this.#processes.delete(program);
  }

  async #logsMention(text: string): Promise<boolean> {
    const logs = await Promise.all(["etcd", "kube-apiserver"].map((name) => this.logTail(name)));
    return logs.some((log) => log.includes(text));
  }

  async #writeFiles(): Promise<void> {
    const write = (name: string, text: string) =>
      Deno.writeTextFile(`${this.dir}/${name}`, text, { mode: 0o600 });
    const hosts = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "10.0.0.1"];
    const server = await this.pki.issue({ commonName: "kube-apiserver", hosts });
    const admin = await this.pki.issue({ commonName: "admin", organizations: ["system:masters"] });
    const serviceAccount = await this.pki.issue({ commonName: "service-account" });
    await write("ca.crt", this.caPem);
    await write("server.crt", server.certificatePem);
    await write("server.key", server.keyPem);
    await write("service-account.crt", serviceAccount.certificatePem);
    await write("service-account.key", serviceAccount.keyPem);
    await write(
      "tokens.csv",
      `${ADMIN_TOKEN},token-admin,1,"system:masters"\n${NOBODY_TOKEN},nobody,2\n`,
    );
    await write("audit-policy.yaml", AUDIT_POLICY);
    await write(
      "admin.kubeconfig",
      this.kubeconfigText({
        "client-certificate-data": btoa(admin.certificatePem),
        "client-key-data": btoa(admin.keyPem),
      }),
    );
    await write("token.kubeconfig", this.kubeconfigText({ token: ADMIN_TOKEN }));
    await write("nobody.kubeconfig", this.kubeconfigText({ token: NOBODY_TOKEN }));
  }

  /** A kubeconfig for this API server with `user` as its only user's fields. */
  kubeconfigText(user: Readonly<Record<string, string>>): string {
    const fields = Object.entries(user).map(([name, value]) => `    ${name}: ${value}`);
    return `apiVersion: v1
kind: Config
clusters:
- name: control-plane
  cluster:
    server: ${this.server}
    certificate-authority-data: ${btoa(this.caPem)}
contexts:
- name: control-plane
  context: {cluster: control-plane, user: user, namespace: default}
current-context: control-plane
users:
- name: user
  user:
${fields.join("\n")}
`;
  }
}

interface Ports {
  readonly apiServer: number;
  readonly etcd: number;
}

/** Two ports that nobody listens on now. */
function freePorts(): Ports {
  using first = probe();
  using second = probe();
  return { apiServer: first.addr.port, etcd: second.addr.port };
}

function probe(): Deno.TcpListener {
  for (;;) {
    const port = PORTS.from + Math.floor(realRandom() * (PORTS.to - PORTS.from));
    try {
      return Deno.listen({ hostname: "127.0.0.1", port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

async function readIfExists(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

/**
 * The program with an intruder in its worker (`tests/support/probe_main.ts`), from source and as a
 * compiled binary, and the control plane that it works on.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { ControlPlane, hasControlPlane } from "../support/control_plane.ts";
import { Kube } from "../support/kube.ts";
import { OperatorProcess } from "../support/operator_process.ts";
import type { ProbeOrder } from "../support/probe_main.ts";
import { parseYaml } from "../../lib/core/yaml.ts";
import { build } from "../../tools/build.ts";
import { VERSION_NUMBER } from "../../lib/cli/build_info.ts";

const SUPPORT = fileURLToPath(new URL("../support/", import.meta.url));
const CRD = new URL("../../crds/foo.yaml", import.meta.url);

/** How the program is run. */
export type Form = "source" | "binary";

const FORMS: readonly Form[] = ["source", "binary"];

/** What a run is given. */
export interface StartOptions {
  readonly args: readonly string[];
  readonly order?: ProbeOrder;
  readonly environment?: Record<string, string>;
}

/** A control plane with the definition of Foo, and both forms of the program. */
export class SandboxWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly kube: Kube;
  readonly #binary: string;

  private constructor(plane: ControlPlane, binary: string) {
    this.plane = plane;
    this.#binary = binary;
    this.kube = new Kube({ server: plane.server, caPem: plane.caPem, token: plane.adminToken });
  }

  /** Starts the control plane and builds the binary. */
  static async start(): Promise<SandboxWorld> {
    const plane = await ControlPlane.start({ controllerManager: true });
    const binary = `${plane.dir}/program/probe`;
    const world = new SandboxWorld(plane, binary);
    try {
      await build({
        main: `${SUPPORT}probe_main.ts`,
        workers: [`${SUPPORT}probe_worker.ts`],
        output: binary,
        compiler: Deno.env.get("DENO_FOR_COMPILE") ?? Deno.execPath(),
        // All there is: what the worker lacks, the sandbox took.
        permissions: ["--allow-all"],
        hasDynamicImports: true,
        version: VERSION_NUMBER,
      });
      await world.kube.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        parseYaml(await Deno.readTextFile(CRD)),
      );
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts `run` in one of the forms. */
  run(form: Form, { args, order, environment }: StartOptions): OperatorProcess {
    return OperatorProcess.start({
      args: ["run", "--log-format", "json", ...args],
      environment: {
        ...environment,
        ...(order !== undefined && { PROBE_ORDER: JSON.stringify(order) }),
      },
      ...(form === "binary" ? { binary: this.#binary } : { main: `${SUPPORT}probe_main.ts` }),
    });
  }

  /** A file in the control plane's folder; returns its path. */
  async file(name: string, text: string, mode = 0o600): Promise<string> {
    const path = `${this.plane.dir}/${name}`;
    await Deno.writeTextFile(path, text, { mode });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kube[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

/** Declares tests of one file that share one {@linkcode SandboxWorld}, once for each form. */
export function sandboxSuite(): (
  name: string,
  body: (world: SandboxWorld, form: Form) => Promise<void>,
  options?: { forms?: readonly Form[] },
) => void {
  const ignore = !hasControlPlane({ controllerManager: true });
  let world: SandboxWorld | undefined;
  if (!ignore) {
    Deno.test.beforeAll(async () => {
      world = await SandboxWorld.start();
    });
    Deno.test.afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });
  }
  return (name, body, { forms = FORMS } = {}) => {
    for (const form of forms) {
      Deno.test({
        name: `${name} (${form})`,
        ignore,
        // The world outlives a test: it closes its processes and connections after the last one.
        sanitizeOps: false,
        sanitizeResources: false,
        async fn() {
          if (world === undefined) throw new Error("the control plane did not start");
          await body(world, form);
        },
      });
    }
  };
}

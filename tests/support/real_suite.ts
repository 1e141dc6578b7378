/**
 * Tests against a real API server that share one control plane per file.
 *
 * Where no control plane can be started the tests are ignored, and `deno task test` says so at its
 * end (in CI it fails). Tests keep apart by working in namespaces of their own.
 *
 * @module
 */

import { ControlPlane, type ControlPlaneOptions, hasControlPlane } from "./control_plane.ts";

/** Adds tests to one file's suite; see {@linkcode realSuite}. */
export interface RealSuite {
  /** A test that gets the file's control plane. */
  test(name: string, body: (plane: ControlPlane, t: Deno.TestContext) => Promise<void>): void;
}

/**
 * A suite whose control plane starts before the first test of the file and ends after the last.
 * Call it once a file.
 *
 * @example A file of tests
 * ```ts ignore
 * const suite = realSuite({ controllerManager: true, audit: true });
 *
 * suite.test("run: makes a Deployment", async (plane) => {
 *   using kube = new Kube({ ...plane, token: plane.adminToken });
 *   const namespace = await kube.namespace();
 * });
 * ```
 */
export function realSuite(options: ControlPlaneOptions = {}): RealSuite {
  const ignore = !hasControlPlane(options);
  let plane: ControlPlane | undefined;
  if (!ignore) {
    Deno.test.beforeAll(async () => {
      plane = await ControlPlane.start(options);
    });
    Deno.test.afterAll(async () => {
      await plane?.[Symbol.asyncDispose]();
    });
  }
  return {
    test(name, body) {
      Deno.test({
        name,
        ignore,
        async fn(t) {
          if (plane === undefined) throw new Error("the control plane did not start");
          await body(plane, t);
        },
      });
    },
  };
}

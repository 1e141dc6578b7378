/**
 * Tests against a real API server that share one control plane per file.
 *
 * Where no control plane can be started the tests are ignored, and `deno task test` says so at its
 * end (in CI it fails). Tests keep apart by working in namespaces of their own.
 *
 * @module
 */

import { ControlPlane, type ControlPlaneOptions, hasControlPlane } from "./control_plane.ts";

/** Body of a test against a real API server. */
export type RealTest = (plane: ControlPlane, t: Deno.TestContext) => Promise<void>;

/** Adds tests to one file's suite; see {@linkcode realSuite}. */
export interface RealSuite {
  /** A test that gets the file's control plane. */
  test(name: string, body: RealTest): void;
  /**
   * A test that stops and starts programs of the file's control plane. The leak sanitizers are off
   * in it, since a process that another test's scope started ends here, and the other way round.
   */
  outageTest(name: string, body: RealTest): void;
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
  const add = (name: string, body: RealTest, sanitize: boolean) =>
    Deno.test({
      name,
      ignore,
      sanitizeOps: sanitize,
      sanitizeResources: sanitize,
      async fn(t) {
        if (plane === undefined) throw new Error("the control plane did not start");
        await body(plane, t);
      },
    });
  return {
    test: (name, body) => add(name, body, true),
    outageTest: (name, body) => add(name, body, false),
  };
}

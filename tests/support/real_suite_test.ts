import { strictEqual } from "node:assert/strict";
import { Kube } from "./kube.ts";
import { realSuite } from "./real_suite.ts";

const suite = realSuite();
let first: string | undefined;

suite.test("realSuite() gives a test a running API server", async (plane) => {
  first = plane.server;
  using kube = new Kube({ ...plane, token: plane.adminToken });
  strictEqual((await kube.get("/api/v1/namespaces/default")).metadata.name, "default");
});

suite.test("realSuite() gives the next test the same one", async (plane) => {
  strictEqual(plane.server, first ?? plane.server);
  using kube = new Kube({ ...plane, token: plane.adminToken });
  strictEqual(await kube.get("/readyz/ping").catch((error) => error.name), "SyntaxError");
});

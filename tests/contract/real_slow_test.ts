/**
 * The contract suite on a real kube-apiserver; see `cases.ts`.
 *
 * @module
 */

import { realClock } from "../../lib/core/clock.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { realSuite } from "../support/real_suite.ts";
import { Api, type Backend } from "./backend.ts";
import { CONTRACT } from "./cases.ts";

const suite = realSuite({ controllerManager: true });

/** The backend that reaches `plane` as its administrator, over `client`. */
function real(plane: ControlPlane, client: Deno.HttpClient): Backend {
  const { signal } = new AbortController();
  return {
    name: "real",
    fetch(path, init) {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${plane.adminToken}`);
      return fetch(plane.server + path, { ...init, headers, client });
    },
    pass: (ms) => realClock.sleep(ms, { signal }),
    async waitFor(promise, limitMs) {
      const over = new AbortController();
      const limit = realClock.sleep(limitMs, { signal: over.signal }).then(
        () => {
          throw new Error(`real: no answer within ${limitMs} ms`);
        },
        () => undefined as never,
      );
      try {
        return await Promise.race([promise, limit]);
      } finally {
        over.abort();
      }
    },
  };
}

for (const [index, each] of CONTRACT.entries()) {
  suite.test(`real: ${each.name}`, async (plane) => {
    using client = Deno.createHttpClient({ caCerts: [plane.caPem], http2: false });
    await new Api(real(plane, client), `r${index}`).run(each);
  });
}

suite.test("real: prints the count of contract cases", () => {
  const line = `contract: ${CONTRACT.length} cases on a real kube-apiserver\n`;
  Deno.stdout.writeSync(new TextEncoder().encode(line));
  return Promise.resolve();
});

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { ReflectorHealth } from "../../lib/cache/reflector_health.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { refusal } from "./scripted_source.ts";

const listed = { reason: "start", by: "pages", items: 0, changes: 0, durationMs: 1 } as const;

Deno.test("W11 ReflectorHealth keeps a watch's failure while lists succeed", () => {
  const health = new ReflectorHealth({ clock: new SimClock() });
  health.failed({ verb: "watch", error: refusal(403), retryInMs: 800 });
  health.listed(listed);
  strictEqual(health.failure?.verb, "watch");
  health.watchWorked();
  strictEqual(health.failure, undefined);
});

Deno.test("ReflectorHealth tells since when the same verb has failed, and what it said last", async () => {
  const clock = new SimClock();
  const health = new ReflectorHealth({ clock });
  health.failed({ verb: "list", error: refusal(503), retryInMs: 800 });
  await clock.advance(5000);
  health.failed({ verb: "list", error: refusal(403), retryInMs: 1600 });
  deepStrictEqual(health.failure, { verb: "list", sinceMs: 0, message: "refused with 403" });
  health.watchWorked(); // A watch proves nothing about lists.
  strictEqual(health.failure?.verb, "list");
  health.listed(listed);
  strictEqual(health.failure, undefined);
});

Deno.test("ReflectorHealth passes everything on to its observer", () => {
  const told: string[] = [];
  const health = new ReflectorHealth({
    clock: new SimClock(),
    observer: {
      listed: ({ items }) => told.push(`listed ${items}`),
      watchStarted: ({ resourceVersion }) => told.push(`started ${resourceVersion}`),
      watchWorked: () => told.push("worked"),
      watchEnded: ({ end }) => told.push(end),
      signOfLife: () => told.push("sign"),
      failed: ({ verb }) => told.push(`failed ${verb}`),
    },
  });
  health.listed(listed);
  health.watchStarted({ resourceVersion: "7" });
  health.signOfLife();
  health.watchWorked();
  health.watchEnded({ end: "ended", events: 0, durationMs: 1 });
  health.failed({ verb: "watch", error: refusal(500), retryInMs: 1 });
  deepStrictEqual(told, ["listed 0", "started 7", "sign", "worked", "ended", "failed watch"]);
  deepStrictEqual([health.lists, health.watches], [1, 1]);
});

import { rejects, strictEqual } from "node:assert/strict";
import type { RestRequest } from "../../lib/client/rest.ts";
import {
  type Answer,
  json,
  scriptedBody,
  scriptedRest,
  silence,
  status,
} from "../support/scripted_transport.ts";

/** A signal that lives as long as the process would, and how many listen to it. */
function countedSignal(): { signal: AbortSignal; listeners: () => number } {
  const { signal } = new AbortController();
  let count = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    count++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    count--;
    remove(...args);
  };
  return { signal, listeners: () => count };
}

const get = (signal: AbortSignal): RestRequest => ({
  verb: "get",
  method: "GET",
  path: "/",
  signal,
});

Deno.test("P3 RestClient leaves nothing on a long-lived signal, however a request ends", async () => {
  const { signal, listeners } = countedSignal();
  const answers: Answer[] = [json({}), status(404), () => new Response("{"), silence()];
  const { rest, clock } = scriptedRest(answers);
  await rest.request(get(signal));
  await rejects(rest.request(get(signal)), { name: "ApiError" });
  await rejects(rest.request(get(signal)), { name: "ProtocolError" });
  const late = rejects(rest.request(get(signal)), { name: "DeadlineError" });
  await clock.settle();
  strictEqual(listeners() > 0, true);
  await clock.advance(30_000);
  await late;
  strictEqual(listeners(), 0);
  strictEqual(clock.pendingTimers, 0);
});

Deno.test("P3 RestClient.stream() leaves nothing on a long-lived signal, however it is left", async () => {
  const { signal, listeners } = countedSignal();
  const bodies = [scriptedBody(), scriptedBody(), scriptedBody()] as const;
  const { rest, clock } = scriptedRest(bodies.map(({ answer }) => answer));
  for (const body of bodies) body.send("x");

  for await (const _ of rest.stream(get(signal))) break;
  strictEqual(bodies[0].isCancelled, true);

  bodies[1].end();
  await Array.fromAsync(rest.stream(get(signal)));

  await rejects(async () => {
    for await (const _ of rest.stream(get(signal))) throw new Error("reader");
  }, { message: "reader" });
  strictEqual(bodies[2].isCancelled, true);

  strictEqual(listeners(), 0);
  strictEqual(clock.pendingTimers, 0);
});
